"""A download while the client's address changes, by each way to keep it: what fails, how long, and how soon it goes on.

As root. Between two namespaces over a wire of 160 Mbit/s, with `--delay` a long one; every few seconds the client has
another address, after a while without any. Every octet is compared.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from bisect import bisect_left
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import median

from handfast.lab import processes
from measure import ROOT, Failed, say
from moving import GAPS_S, Roaming, add_wire_options, congest, wire_of
from sdtp_scene import inside
from session_scene import scene
from ways import BELOW, HERE, RTO_MAX, WAYS, Place, Way

PATIENCE_S = 60.0
"""After so long without an octet a download has failed."""
SOON_S = 1.0
"""After it went on: how fast it is again."""
UNDER_WAY_S = 1.0
"""What a network and a kernel still have of a connection that has died comes sooner."""
OUT = ROOT / "out" / "bench-roaming.json"


@dataclass(frozen=True, slots=True)
class Row:
    """What came of one way."""

    name: str
    complete: bool
    """Whether all came, and nothing else."""
    octets: int
    seconds: float
    back: list[float]
    """From each new address to the first octet after it, seconds."""
    soon: list[float]
    """What came in the second after that, MB."""
    changes: int


def one(way: Way, place: Place, digest: str, every: float) -> Row:
    """Run a way to its end, or until nothing comes any more."""
    made, heard, arrivals = place.scene, hashlib.sha256(), [time.monotonic()]
    octets, totals = 0, [0]
    with way.prepared(place) as download:
        roaming = Roaming(partial(_leave, place, way), partial(_come, place, way), every)
        if way.moved is not None:
            way.moved(place, True)
        command = processes.inside(made.client.name, download)
        start = time.monotonic()
        with subprocess.Popen(
            command, env=made.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process:
            roaming.start()
            out = process.stdout.fileno() if process.stdout else -1
            while select.select([out], [], [], PATIENCE_S)[0]:
                part = os.read(out, 1 << 18)
                if not part:
                    break
                octets += len(part)
                heard.update(part)
                arrivals.append(time.monotonic())
                totals.append(octets)
            roaming.stop()
            process.kill()
    seconds, complete = arrivals[-1] - start, heard.hexdigest() == digest
    # Of a way that has failed, what was under way may come after the address that it failed at.
    came = [moment for moment in roaming.came if complete or arrivals[-1] > moment + UNDER_WAY_S]
    back = _back(came, arrivals)
    # The last address may have come when there was little left.
    soon = [_soon(arrivals, totals, moment) for moment in back.values() if moment + SOON_S < arrivals[-1]]
    waits = [at - moment for moment, at in back.items()]
    return Row(way.name, complete, octets, seconds, waits, soon, len(roaming.came))


def _leave(place: Place, way: Way) -> None:
    place.scene.leave()
    if way.moved is not None:
        way.moved(place, False)


def _come(place: Place, way: Way) -> None:
    place.scene.come()
    if way.moved is not None:
        way.moved(place, True)


def _back(came: Sequence[float], arrivals: Sequence[float]) -> dict[float, float]:
    """When the first octet came after each new address; of one that never went on nothing."""
    found = {}
    for moment, following in pairwise([*came, float("inf")]):
        first = next((at for at in arrivals if at > moment), None)
        if first is not None and first < following:
            found[moment] = first
    return found


def _soon(arrivals: Sequence[float], totals: Sequence[int], moment: float) -> float:
    """MB that came within a second from then on."""
    first, last = (bisect_left(arrivals, at) for at in (moment, moment + SOON_S))
    return (totals[last - 1] - totals[first - 1]) / 1e6


def table(rows: Sequence[Row]) -> str:
    """For 80 columns."""
    lines = [f"{'':<34}{'all came':>9}{'time':>9}{'on again after':>18}{'1 s later':>10}"]
    for row in rows:
        back = f"{median(row.back):.2f} s, {max(row.back):.2f}" if row.back else "never"
        complete = "yes" if row.complete else f"{row.octets / 1e6:.0f} MB"
        soon = f"{median(row.soon):.1f} MB" if row.soon else "–"
        lines.append(f"{row.name:<34}{complete:>9}{row.seconds:>7.1f} s{back:>18}{soon:>10}")
    return "\n".join(lines)


def missing(way: Way) -> list[str]:
    """The programs that this machine lacks."""
    return [program for program in way.needs if shutil.which(program) is None]


def main() -> None:
    """Run them all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=400, help="MB of the file (default: 400)")
    add_wire_options(parser)
    parser.add_argument("--only", action="append", help="ways whose name contains this")
    options = parser.parse_args()
    if os.geteuid() != 0:
        raise Failed("namespaces are root's: run it with sudo")
    say("building the QUIC client (release, takes a minute the first time)")
    subprocess.run(["cargo", "build", "--quiet", "--release"], cwd=HERE / "quic", check=True)
    wire = wire_of(options)
    ways = [way for way in WAYS if not options.only or any(word in way.name for word in options.only)]
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = folder / "file"
        part = os.urandom(1_000_000)
        with file.open("wb") as out:
            for number in range(options.size):
                out.write(number.to_bytes(8) + part[8:])
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        for number, way in enumerate(ways):
            if lacking := missing(way):
                say(f"{way.name}: left out, for {', '.join(lacking)} is not installed")
                continue
            say(way.name)
            own = folder / str(number)
            own.mkdir()
            with scene(own, pages=False, wire=wire) as made:
                if "timer" in way.name and not inside(made.server, RTO_MAX.exists):
                    say(f"{way.name}: left out, for this kernel has no {RTO_MAX}")
                    continue
                congest(made, options.congestion)
                config = made.daemon.config
                config.write_text(config.read_text().replace("[session]", f"[session]\nbelow = {json.dumps(BELOW)}", 1))
                made.daemon.start()
                made.daemon.until(lambda status: status["ok"])
                rows.append(one(way, Place(made, own, file), digest, options.every))
    sys.stdout.write(table(rows) + "\n")
    OUT.parent.mkdir(exist_ok=True)
    settings = {"size_mb": options.size, "every_s": options.every, "delay_ms": options.delay, "gaps_s": GAPS_S}
    settings |= {"congestion": options.congestion}
    OUT.write_text(json.dumps({**settings, "rows": [asdict(row) for row in rows]}, indent=1))


if __name__ == "__main__":
    try:
        with suppress(BrokenPipeError):
            main()
    except Failed as failed:
        sys.exit(f"error: {failed}")
