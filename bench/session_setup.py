"""How long a program waits for a session to open: curl's times of a small page over a wire of 20 ms each way.

As root: bench/session_setup.py, with HANDFASTD naming the binary. Plain, by each thing below sessions, by each way to
take a program's connections, and the second connection of one run. Medians of seven, in milliseconds.
"""

from __future__ import annotations

import shlex
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

sys.path.append(str(Path(__file__).parent / "roaming"))

from moving import WIRE
from session_scene import PAGES, PEER, SERVER, Scene, scene

ROUNDS = 7
URL = f"http://{SERVER}:{PAGES}/part"
CURL = ["curl", "--silent", "--output", "/dev/null", "--write-out", "%{time_connect} %{time_starttransfer}", URL]
AFTER_ANOTHER = ["sh", "-c", f"curl --silent --output /dev/null {URL}; exec {shlex.join(CURL)}"]
"""The second connection of one run."""
BELOW = ("tcp", "mptcp", "udp", "sctp")


def medians(made: Scene, command: Sequence[str]) -> tuple[float, float]:
    """Until the program is connected, and until the page's first octet."""
    found = []
    for _ in range(ROUNDS):
        code, said, errors = made.run(command)
        if code:
            raise SystemExit(f"error: {' '.join(command)}: {errors}")
        connected, first = map(float, said.split())
        found.append((connected * 1e3, first * 1e3))
    connected, first = (statistics.median(column) for column in zip(*found, strict=True))
    return connected, first


def main() -> int:
    """Measure and print a table."""
    sys.stdout.write("| way | connected, ms | first octet, ms |\n|---|--:|--:|\n")
    wire = [str(WIRE), "160Mbit/s", "20ms", "600pkt"]
    with tempfile.TemporaryDirectory() as name, scene(Path(name), wire=wire) as made:
        config = made.daemon.config
        config.write_text(config.read_text().replace("[session]", '[session]\nbelow = ["mptcp", "udp", "sctp"]', 1))
        made.daemon.start()
        made.daemon.until(lambda status: status["ok"])
        run = ("run", "--peer", PEER)
        ways = {"plain": CURL, "`run` (its proxy)": made.session(*run, "--", *CURL)}
        ways |= {f"`run --all`, {below}": made.session(*run, "--all", "--below", below, "--", *CURL) for below in BELOW}
        ways["`run --cgroup`"] = made.session(*run, "--cgroup", "--", *CURL)
        ways["the second of a `run --all`"] = made.session(*run, "--all", "--", *AFTER_ANOTHER)
        for way, command in ways.items():
            connected, first = medians(made, command)
            sys.stdout.write(f"| {way} | {connected:.0f} | {first:.0f} |\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
