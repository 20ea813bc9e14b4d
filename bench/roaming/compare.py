"""A download while the client's address changes, by each way to keep it: what fails, how long, and how soon it goes on.

As root. Between two namespaces over a wire of 160 Mbit/s, without a delay and over a long one; every few seconds the
client has another address, after a while without any. Every octet is compared. Writes a file a delay, which
`handfast reproduce iosl/rivals` judges.
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
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import median

from handfast.lab import processes
from handfast.studies import roaming
from handfast.studies.roaming import Download
from measure import Failed, say
from moving import Roaming, add_options, congest, wire_of
from programs import PORTS, PROGRAMS
from record import FOLDER, kernel, quinn, settings_of, versions, write
from sdtp_scene import inside
from session_scene import scene
from ways import HERE, RTO_MAX, WAYS, Place, Way

PATIENCE_S = 60.0
"""After so long without an octet a download has failed."""
SOON_S = 1.0
"""After it went on: how fast it is again."""
UNDER_WAY_S = 1.0
"""What a network and a kernel still have of a connection that has died comes sooner."""


def one(way: Way, place: Place, digest: str, every: float) -> Download:
    """Run a way to its end, or until nothing comes any more."""
    made, heard, arrivals = place.scene, hashlib.sha256(), [time.monotonic()]
    octets, totals = 0, [0]
    with way.prepared(place) as download:
        moves = Roaming(partial(_leave, place, way), partial(_come, place, way), every)
        if way.moved is not None:
            way.moved(place, True)
        command = processes.inside(made.client.name, download)
        start = time.monotonic()
        with subprocess.Popen(
            command, env=made.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process:
            moves.start()
            out = process.stdout.fileno() if process.stdout else -1
            while select.select([out], [], [], PATIENCE_S)[0]:
                part = os.read(out, 1 << 18)
                if not part:
                    break
                octets += len(part)
                heard.update(part)
                arrivals.append(time.monotonic())
                totals.append(octets)
            moves.stop()
            process.kill()
    complete = octets >= place.file.stat().st_size if way.counted else heard.hexdigest() == digest
    back, soon, changes = returns(moves.came, arrivals, totals, every, complete=complete)
    return Download(way.name, complete, octets, arrivals[-1] - start, back, soon, changes)


def returns(
    came: Sequence[float], arrivals: Sequence[float], totals: Sequence[int], every: float, *, complete: bool
) -> tuple[tuple[float, ...], tuple[float, ...], int]:
    """`back_s`, `soon_mb` and `changes` of a way, from when addresses came and octets arrived, and how many by then."""
    # The last address may have come when all was there. Of a way that has failed, what was under way may come after
    # the address that it failed at.
    changes = [moment for moment in came if moment < arrivals[-1] or not complete]
    back = _back([moment for moment in changes if complete or arrivals[-1] > moment + UNDER_WAY_S], arrivals)
    # Neither the end nor the next absence may lie within the second.
    whole = [at for moment, at in back.items() if at + SOON_S < min(arrivals[-1], moment + every)]
    soon = tuple(_soon(arrivals, totals, at) for at in whole)
    return tuple(at - moment for moment, at in back.items()), soon, len(changes)


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


def table(rows: Sequence[Download]) -> str:
    """For 80 columns."""
    lines = [f"{'':<33}{'all':>7}{'time':>8}{'Mbit/s':>8}{'on again after':>15}{'1 s later':>9}"]
    for row in rows:
        back = f"{median(row.back_s):.2f} s, {max(row.back_s):.2f}" if row.back_s else "never"
        complete = "yes" if row.complete else f"{row.octets / 1e6:.0f} MB"
        soon = f"{median(row.soon_mb):.1f} MB" if row.soon_mb else "–"
        rate = 8e-6 * row.octets / row.seconds if row.complete else 0.0
        lines.append(f"{row.name:<33}{complete:>7}{row.seconds:>6.1f} s{rate:>8.1f}{back:>15}{soon:>9}")
    return "\n".join(lines)


def missing(way: Way) -> list[str]:
    """The programs that this machine lacks."""
    return [program for program in way.needs if shutil.which(program) is None]


def tried(
    way: Way, own: Path, file: Path, digest: str, wire: Sequence[str], options: argparse.Namespace
) -> Download | str:
    """What came of a way, or why it was left out."""
    if lacking := missing(way):
        return f"{', '.join(lacking)} is not installed"
    own.mkdir()
    with scene(own, rate=f"{roaming.RATE_MBIT_S}mbit", pages=False, ports=PORTS, wire=wire) as made:
        if "timer" in way.name and not inside(made.server, RTO_MAX.exists):
            return f"this kernel has no {RTO_MAX}"
        congest(made, options.congestion)
        config = made.daemon.config
        below = json.dumps(roaming.BELOW)
        config.write_text(config.read_text().replace("[session]", f"[session]\nbelow = {below}", 1))
        made.daemon.start()
        made.daemon.until(lambda status: status["ok"])
        return one(way, Place(made, own, file), digest, options.every)


def over(delay_ms: int, ways: Sequence[Way], folder: Path, options: argparse.Namespace) -> roaming.Record[Download]:
    """All ways over one wire."""
    wire = wire_of(delay_ms)
    file = folder / "file"
    rows, left_out = [], {}
    part = os.urandom(1_000_000)
    with file.open("wb") as out:
        for number in range(options.size):
            out.write(number.to_bytes(8) + part[8:])
    with file.open("rb") as whole:
        digest = hashlib.file_digest(whole, "sha256").hexdigest()
    for number, way in enumerate(ways):
        say(f"{way.name}, {delay_ms} ms")
        found = tried(way, folder / str(number), file, digest, wire, options)
        if isinstance(found, str):
            say(f"{way.name}: left out, for {found}")
            left_out[way.name] = found
        else:
            rows.append(found)
    programs = versions(program for way in ways for program in way.needs if not missing(way))
    return roaming.Record(
        "download",
        delay_ms,
        settings_of(options, size_mb=options.size),
        tuple(rows),
        left_out,
        {**programs, "quinn": quinn(HERE / "quic" / "Cargo.lock")},
        kernel(),
    )


def main() -> None:
    """Run them all, over each wire."""
    size, delays = roaming.DOWNLOAD["size_mb"], list(roaming.DELAYS_MS)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=size, help=f"MB of the file (default: {size})")
    parser.add_argument(
        "--delay", type=int, action="append", help=f"milliseconds of the wire, each way (default: {delays} in turn)"
    )
    parser.add_argument("--only", action="append", help="ways whose name contains this; a file only with --out")
    parser.add_argument(
        "--programs",
        action="store_true",
        help="programs by sessions beside TCP, MPTCP and QUIC; a file only with --out",
    )
    add_options(parser)
    options = parser.parse_args()
    if os.geteuid() != 0:
        raise Failed("namespaces are root's: run it with sudo")
    say("building the QUIC client (release, takes a minute the first time)")
    subprocess.run(["cargo", "build", "--quiet", "--release"], cwd=HERE / "quic", check=True)
    known = PROGRAMS if options.programs else WAYS
    ways = [way for way in known if not options.only or any(word in way.name for word in options.only)]
    # A look at some ways leaves the file of all of them alone.
    folder = options.out or (None if options.only or options.programs else FOLDER)
    for delay_ms in options.delay or delays:
        with tempfile.TemporaryDirectory() as name:
            measured = over(delay_ms, ways, Path(name), options)
        sys.stdout.write(f"a wire of {delay_ms} ms each way\n{table(measured.rows)}\n")
        sys.stdout.flush()
        if folder is not None:
            write(measured, folder)


if __name__ == "__main__":
    try:
        with suppress(BrokenPipeError):
            main()
    except Failed as failed:
        sys.exit(f"error: {failed}")
