"""Runs packetdrill's scripts against the endpoint, each in a network namespace of its own and in virtual time."""

from __future__ import annotations

import argparse
import collections
import json
import os
import shutil
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from packetdrill import getting, namespaces
from packetdrill.verdicts import FAIL, PASS, UNSUPPORTED, Runner, Verdict, as_json, find

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "target" / "debug" / "libhandfast_packetdrill.so"
LIMIT_S = 60.0
SCHEMA = 1

DONE, FAILED, WRONG_INPUT, INTERRUPTED = 0, 1, 2, 130


def parsed() -> argparse.Namespace:
    """What the command was told."""
    parser = argparse.ArgumentParser(
        prog="python3 tools/packetdrill",
        description=__doc__,
        epilog="Exit code: 0 none failed, 1 some did, 2 something is missing, 130 interrupted.",
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "scripts", type=Path, nargs="?", help="a folder of scripts, searched with all below it, or one script"
    )
    what.add_argument(
        "--get", type=Path, metavar="FOLDER", help="clone and build packetdrill there, and say where it is"
    )
    parser.add_argument("--tool", default=os.environ.get("PACKETDRILL", "packetdrill"), help="packetdrill itself")
    parser.add_argument("--library", type=Path, default=LIBRARY, help="the stack (default: %(default)s)")
    parser.add_argument(
        "--ip",
        choices=[*namespaces.VERSIONS, "all"],
        default="ipv4",
        help="which version of IP carries the segments (default: %(default)s)",
    )
    parser.add_argument(
        "--limit",
        type=float,
        default=LIMIT_S,
        metavar="S",
        help="seconds that a script may take (default: %(default)g)",
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="scripts at once (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print verdicts as JSON")
    return parser.parse_args()


def lacking(options: argparse.Namespace) -> str | None:
    """What is missing, and how to get it."""
    if shutil.which(options.tool) is None:
        return getting.HOW
    if not options.library.exists():
        return f"{options.library} is not there: cargo build -p handfast-packetdrill makes it"
    if not find(options.scripts):
        return f"{options.scripts}: no script (*.pkt) is there"
    absent = [name for name in ("unshare", "ip", "tc", "sysctl") if shutil.which(name) is None]
    if absent:
        return f"{', '.join(absent)}: not found; apt-get install util-linux iproute2 procps"
    if os.geteuid() != 0:
        return "network namespaces and the tool's locked memory need root: run it with sudo"
    return None


def verdicts(options: argparse.Namespace) -> Iterator[Verdict]:
    """Each script's, in the order of their names."""
    tool = Path(shutil.which(options.tool) or options.tool).resolve()
    runner = Runner(tool, options.library.resolve(), options.limit)
    folder = options.scripts if options.scripts.is_dir() else options.scripts.parent
    asked = list(namespaces.VERSIONS) if options.ip == "all" else [options.ip]
    cases = [
        (script.resolve(), str(script.relative_to(folder)), version)
        for script in find(options.scripts)
        for version in asked
        if namespaces.fits(script, version)
    ]
    with ThreadPoolExecutor(max(options.jobs, 1)) as crew:
        for done, verdict in enumerate(crew.map(lambda case: runner.judge(*case), cases), 1):
            if sys.stderr.isatty():
                sys.stderr.write(f"\r\x1b[K{done}/{len(cases)} {verdict.script}")
                sys.stderr.flush()
            yield verdict
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")


def gotten(folder: Path) -> int:
    """Prints where the tool is."""
    try:
        sys.stdout.write(f"{getting.get(folder)}\n")
    except getting.Failed as error:
        sys.stderr.write(f"{error}\n")
        return WRONG_INPUT
    return DONE


def main() -> int:
    """Prints the verdicts and how many there are of each."""
    options = parsed()
    if options.get is not None:
        return gotten(options.get)
    if problem := lacking(options):
        sys.stderr.write(problem + "\n")
        return WRONG_INPUT
    found = list(verdicts(options))
    counts = collections.Counter(verdict.verdict for verdict in found)
    summary = {name: counts[name] for name in (PASS, FAIL, UNSUPPORTED)}
    if options.json:
        shown = {"schema": SCHEMA, "summary": summary, "scripts": [as_json(verdict) for verdict in found]}
        sys.stdout.write(json.dumps(shown, indent=1) + "\n")
    else:
        sys.stdout.writelines(f"{verdict}\n" for verdict in found)
        sys.stdout.write(", ".join(f"{count} {name}" for name, count in summary.items()) + "\n")
    return FAILED if counts[FAIL] else DONE


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
