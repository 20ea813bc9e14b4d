"""A client moves to a network that is slower than the one before: what comes in the first seconds, by what is below.

With `udp` and `sctp` the new path begins with the window of the old one; with `tcp` it begins anew. Needs root:
HANDFASTD=... PYTHONPATH=python:tests/python bench/roaming/slower.py [RATE]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from handfast.lab import processes
from session_scene import PAGES, PEER, RATE, SERVER, Scene, scene

BELOW = ("tcp", "udp", "sctp")
ROUNDS = 3
BEFORE_S = 2.5
AFTER_S = (1.0, 2.0, 4.0)


def move(made: Scene, rate: str) -> None:
    """The client has another address, and the server's wire another rate."""
    slower = f"tc qdisc replace dev wire root tbf rate {rate} burst 256kb latency 50ms"
    subprocess.run(processes.inside(made.server.name, slower.split()), check=True)
    made.leave()
    made.come()


def download(made: Scene, below: str, got: Path, rate: str) -> list[float]:
    """Megabytes that have come after each time."""
    made.daemon.config.write_text(
        made.daemon.config.read_text().replace("[session]", f'[session]\nbelow = "{below}"', 1)
    )
    made.daemon.start()
    made.daemon.until(lambda status: status["ok"])
    curl = ("curl", "-sS", "-o", str(got), f"http://{SERVER}:{PAGES}/times/3")
    with made.start(made.session("run", "--below", below, "--peer", PEER, "--", *curl)) as program:
        time.sleep(BEFORE_S)
        move(made, rate)
        begin, before, came = time.monotonic(), got.stat().st_size, []
        for after in AFTER_S:
            time.sleep(max(0.0, begin + after - time.monotonic()))
            came.append((got.stat().st_size - before) / 1e6)
        program.terminate()
    return came


def main() -> int:
    """Measure and print a line a download."""
    rate = sys.argv[1] if len(sys.argv) > 1 else "16mbit"
    sys.stdout.write(f"from {RATE} to {rate}: MB after {', '.join(f'{after:.0f} s' for after in AFTER_S)}\n")
    for below in BELOW:
        for _ in range(ROUNDS):
            with tempfile.TemporaryDirectory() as folder, scene(Path(folder)) as made:
                came = download(made, below, Path(folder) / "got", rate)
            sys.stdout.write(f"{below}: {', '.join(f'{each:.2f}' for each in came)}\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
