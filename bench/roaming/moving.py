"""What moves, and the wire that it moves on: for the download and for the terminal."""

from __future__ import annotations

import argparse
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

from measure import ROOT, say
from sdtp_scene import inside
from session_scene import Scene

GAPS_S = (0.0, 1.0, 3.0, 0.3, 5.0, 2.0)
"""Without an address, in turn."""
ALLOWED = Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control")
CONGESTION = Path("/proc/sys/net/ipv4/tcp_congestion_control")
WIRE = ROOT / "target" / "release" / "examples" / "wire"


class Roaming(threading.Thread):
    """Another address again and again."""

    def __init__(self, leave: Callable[[], None], come: Callable[[], None], every: float) -> None:
        super().__init__()
        self.came: list[float] = []
        self._leave, self._come, self._every, self._end = leave, come, every, threading.Event()

    def run(self) -> None:
        """Until it is told to stop; then there is an address."""
        turn = 0
        while not self._end.wait(self._every):
            self._leave()
            time.sleep(GAPS_S[turn % len(GAPS_S)])
            self.came.append(time.monotonic())
            self._come()
            turn += 1

    def stop(self) -> None:
        """And wait."""
        self._end.set()
        self.join()


def add_wire_options(parser: argparse.ArgumentParser) -> None:
    """`--every`, `--delay` and `--congestion`."""
    parser.add_argument("--every", type=float, default=4.0, help="seconds with an address (default: 4)")
    parser.add_argument("--delay", type=int, default=0, help="milliseconds of the wire, each way (default: 0)")
    parser.add_argument("--congestion", default="cubic", help="of the kernels' TCP (default: cubic, as Linux has it)")


def congest(scene: Scene, name: str) -> None:
    """Both kernels have this congestion control, whatever this machine's default is."""
    # A namespace may have what the first one allows everybody.
    allowed = ALLOWED.read_text().split()
    if name not in allowed:
        ALLOWED.write_text(" ".join([*allowed, name]))
    for space in (scene.client, scene.server):
        inside(space, lambda: CONGESTION.write_text(name))


def wire_of(options: argparse.Namespace) -> list[str]:
    """The scene's wire: none of its own without a delay."""
    if not options.delay:
        return []
    say("building the wire (release, takes minutes the first time)")
    subprocess.run(
        ["cargo", "build", "--quiet", "--release", "-p", "handfast-lab", "--example", "wire"], cwd=ROOT, check=True
    )
    return [str(WIRE), "160Mbit/s", f"{options.delay}ms", "600pkt"]
