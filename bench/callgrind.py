#!/usr/bin/env python3
"""A guard against slow code that no noise of the machine can hide: instructions per packet, counted by callgrind.

Compares short runs with the committed `bench/callgrind.json`. Exit 1 where one needs more than 2 % above that;
`--update` writes the present figures there.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from cases import DUMBBELL, LONG_PATH, WIRELESS, Case
from measure import WHEEL_RUNNER, Failed, build_runner, say

BASELINE = Path(__file__).resolve().parent / "callgrind.json"
TOLERANCE = 0.02
DURATION_S = {WIRELESS.name: 300.0, DUMBBELL.name: 1.5, LONG_PATH.name: 3.5}
"""Simulated seconds: 150,000 packets or so each."""


def instructions_per_packet(case: Case, folder: Path) -> float:
    """Instructions of a whole run, the reading of the scenario included, divided by its packets."""
    profile = folder / "callgrind.out"
    tool = ["valgrind", "--quiet", "--tool=callgrind", f"--callgrind-out-file={profile}"]
    sample = case.ours(1, DURATION_S[case.name], folder, command=[*tool, WHEEL_RUNNER])
    found = re.search(r"^(?:summary|totals): (\d+)", profile.read_text(), re.MULTILINE)
    if found is None:
        raise Failed("callgrind wrote no total")
    return int(found[1]) / float(sample.facts["packets"])


def toolchain() -> str:
    """The compiler that the figures depend on."""
    return subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True).stdout.strip()


def compare(measured: dict[str, float]) -> bool:
    """Print each figure beside the baseline's; False if one is too high."""
    baseline = json.loads(BASELINE.read_text())
    if baseline["toolchain"] != toolchain():
        say(f"the baseline was made by {baseline['toolchain']}, this is {toolchain()}")
    good = True
    for name, count in measured.items():
        before = baseline["instructions_per_packet"][name]
        change = count / before - 1
        within = change <= TOLERANCE
        good &= within
        verdict = "ok" if within else f"FAIL: more than {TOLERANCE:.0%} above"
        sys.stdout.write(
            f"{name}: {count:.0f} instructions a packet, baseline {before:.0f} ({change:+.1%}) {verdict}\n"
        )
    return good


def main() -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true", help="make the present figures the baseline")
    args = parser.parse_args()
    if shutil.which("valgrind") is None:
        sys.stdout.write("skipped: valgrind is not installed (Debian: apt-get install valgrind)\n")
        return 0
    try:
        build_runner("wheel")
        with tempfile.TemporaryDirectory() as folder:
            cases = (WIRELESS, DUMBBELL, LONG_PATH)
            measured = {case.name: round(instructions_per_packet(case, Path(folder)), 1) for case in cases}
    except Failed as error:
        say(f"error: {error}")
        return 2
    if args.update:
        content = {"toolchain": toolchain(), "instructions_per_packet": measured}
        BASELINE.write_text(json.dumps(content, indent=2) + "\n")
        sys.stdout.write(f"{BASELINE.name}: {measured}\n")
        return 0
    return 0 if compare(measured) else 1


if __name__ == "__main__":
    sys.exit(main())
