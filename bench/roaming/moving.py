"""What moves, and the wire that it moves on: for the download and for the terminal."""

from __future__ import annotations

import argparse
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

from handfast.studies import roaming
from measure import ROOT, say
from sdtp_scene import inside
from session_scene import Scene

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
            time.sleep(roaming.GAPS_S[turn % len(roaming.GAPS_S)])
            self.came.append(time.monotonic())
            self._come()
            turn += 1

    def stop(self) -> None:
        """And wait."""
        self._end.set()
        self.join()


def add_options(parser: argparse.ArgumentParser) -> None:
    """`--every`, `--congestion` and `--out`."""
    every, congestion = roaming.WIRE["every_s"], roaming.WIRE["congestion"]
    parser.add_argument("--every", type=float, default=every, help=f"seconds with an address (default: {every:g})")
    parser.add_argument("--congestion", default=congestion, help=f"of the kernels' TCP (default: {congestion})")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help=f"of the files (default: {roaming.FOLDER})")


def congest(scene: Scene, name: str) -> None:
    """Both kernels have this congestion control, whatever this machine's default is."""
    # A namespace may have what the first one allows everybody.
    allowed = ALLOWED.read_text().split()
    if name not in allowed:
        ALLOWED.write_text(" ".join([*allowed, name]))
    for space in (scene.client, scene.server):
        inside(space, lambda: CONGESTION.write_text(name))


def wire_of(delay_ms: int) -> list[str]:
    """The scene's wire: none of its own without a delay."""
    if not delay_ms:
        return []
    say("building the wire (release, takes minutes the first time)")
    subprocess.run(
        ["cargo", "build", "--quiet", "--release", "-p", "handfast-lab", "--example", "wire"], cwd=ROOT, check=True
    )
    return [str(WIRE), f"{roaming.RATE_MBIT_S}Mbit/s", f"{delay_ms}ms", f"{roaming.QUEUE_PKT}pkt"]
