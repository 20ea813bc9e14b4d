"""Typing in a terminal while the client's address changes: when each key is on the screen, by mosh, ssh and sessions.

As root. The client types a key four times a second into `cat` at the server, whose terminal echoes it. Every few
seconds its address changes, after a while without any. mosh shows keys before the server has them (local echo).
Writes a file, which `handfast reproduce iosl/rivals` judges.
"""

from __future__ import annotations

import argparse
import os
import pty
import re
import select
import shutil
import string
import subprocess
import sys
import tempfile
import termios
import time
import tty
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from handfast.lab import processes
from handfast.studies import roaming
from measure import Failed, say
from moving import Roaming, add_options, congest, wire_of
from openssh import sshd
from record import FOLDER, kernel, settings_of, versions, write
from session_scene import PEER, SERVER, Scene, scene

KEY_S = roaming.TERMINAL["key_s"]
"""Between two keys."""
PATIENCE_S = 20.0
"""How long the last keys have."""
ESCAPE = re.compile(rb"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07]*\x07|[()][A-Za-z0-9]|[=>78])")
"""ECMA-48's control sequences, and the titles of xterm."""
KEYS = string.ascii_lowercase
"""In turn, so that each echo belongs to one key: the same one comes again after 6.5 s."""


@dataclass(frozen=True, slots=True)
class Terminal:
    """One way to a shell elsewhere."""

    name: str
    command: Callable[[Scene, Sequence[str]], list[str]]
    """From how ssh is called."""
    needs: str = "ssh"


@dataclass(slots=True)
class Typed:
    """What was typed, and when it was seen."""

    at: list[float] = field(default_factory=list)
    seen: dict[int, float] = field(default_factory=dict)
    next: int = 0

    def type(self, terminal: int) -> None:
        """The next key."""
        self.at.append(time.monotonic())
        os.write(terminal, KEYS[(len(self.at) - 1) % len(KEYS)].encode())

    def read(self, octets: bytes) -> None:
        """What the screen got: keys appear in the order in which they were typed."""
        now = time.monotonic()
        for letter in ESCAPE.sub(b"", octets).decode(errors="replace"):
            ahead = range(self.next, min(len(self.at), self.next + len(KEYS)))
            found = next((number for number in ahead if KEYS[number % len(KEYS)] == letter), None)
            if found is not None:
                # A redrawn line shows those before it too.
                for number in range(self.next, found + 1):
                    self.seen[number] = now - self.at[number]
                self.next = found + 1


def line(row: roaming.Terminal) -> str:
    """For 80 columns."""
    shown = f"{len(row.shown_s)}/{row.typed}"
    if not row.shown_s:
        return f"{row.name:<38}{shown:>10}"
    return f"{row.name:<38}{shown:>10}{median(row.shown_s):>9.3f}{row.late_s:>11.3f}{max(row.shown_s):>11.3f}"


def mosh(predict: str) -> Callable[[Scene, Sequence[str]], list[str]]:
    """With its local echo, or without."""

    def command(_: Scene, ssh: Sequence[str]) -> list[str]:
        # What mosh starts there needs a locale of UTF-8, and the server's path.
        # It outlives its client: without one it ends by itself, after longer than an address is away.
        server = f"env LC_ALL=C.UTF-8 MOSH_SERVER_NETWORK_TMOUT=30 {shutil.which('mosh-server')}"
        options = [f"--predict={predict}", f"--ssh={' '.join(ssh)}", f"--server={server}", "--no-init"]
        return ["env", "LC_ALL=C.UTF-8", "TERM=xterm", "mosh", *options, f"root@{SERVER}", "--", "cat"]

    return command


def plain(_: Scene, ssh: Sequence[str]) -> list[str]:
    """Ssh as it is."""
    return [*ssh, "-tt", f"root@{SERVER}", "cat"]


def by_session(place: Scene, ssh: Sequence[str]) -> list[str]:
    """Ssh by a session."""
    proxy = " ".join(place.session("connect", "--peer", PEER, "%h", "%p"))
    return [*ssh, "-tt", f"-oProxyCommand={proxy}", f"root@{SERVER}", "cat"]


TERMINALS = (
    Terminal(roaming.SSH, plain),
    Terminal(roaming.SSH_BY_SESSION, by_session),
    *(
        Terminal(name, mosh(predict), "mosh")
        for name, predict in zip(roaming.MOSH, ("adaptive", "always", "never"), strict=True)
    ),
)


def one(terminal: Terminal, place: Scene, ssh: Sequence[str], seconds: float, every: float) -> Typed:
    """Type for so long."""
    command = processes.inside(place.client.name, terminal.command(place, ssh))
    typed = Typed()
    control, screen = pty.openpty()
    # mosh shows nothing on a screen without a size, and what this screen echoes by itself is no answer.
    tty.setraw(screen)
    termios.tcsetwinsize(screen, (24, 80))
    # The terminal is the program's own, or ssh asks this one.
    command = ["setsid", "--ctty", *command]
    with subprocess.Popen(command, env=place.environment, stdin=screen, stdout=screen, stderr=screen) as process:
        os.close(screen)
        # A terminal whose program is gone gives an error.
        with suppress(OSError):
            _type(control, typed, place, seconds, every)
        process.kill()
    os.close(control)
    return typed


def _type(control: int, typed: Typed, place: Scene, seconds: float, every: float) -> None:
    started = _until_ready(control)
    moves = Roaming(place.leave, place.come, every)
    moves.start()
    try:
        while time.monotonic() - started < seconds:
            typed.type(control)
            _read(control, typed, KEY_S)
    finally:
        moves.stop()
    deadline = time.monotonic() + PATIENCE_S
    while typed.next < len(typed.at) and time.monotonic() < deadline:
        _read(control, typed, KEY_S)


def _until_ready(control: int) -> float:
    """Until a key comes back that is none of those that are counted."""
    deadline = time.monotonic() + PATIENCE_S
    screen = b""
    while b"#" not in screen:
        if time.monotonic() > deadline:
            raise Failed(f"no terminal: {screen.decode(errors='replace')}")
        os.write(control, b"#")
        if select.select([control], [], [], 0.5)[0]:
            screen += ESCAPE.sub(b"", os.read(control, 1 << 16))
    while select.select([control], [], [], 1.0)[0]:
        os.read(control, 1 << 16)
    return time.monotonic()


def _read(control: int, typed: Typed, seconds: float) -> None:
    """What comes to the screen in so long."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        if select.select([control], [], [], left)[0]:
            typed.read(os.read(control, 1 << 16))


def main() -> None:
    """Run them all."""
    seconds = roaming.TERMINAL["typing_s"]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=seconds, help=f"of typing, each (default: {seconds:g})")
    far = roaming.FAR_MS
    parser.add_argument("--delay", type=int, default=far, help=f"milliseconds of the wire, each way (default: {far})")
    add_options(parser)
    options = parser.parse_args()
    if os.geteuid() != 0:
        raise Failed("namespaces are root's: run it with sudo")
    wire = wire_of(options.delay)
    rows, left_out = [], {}
    sys.stdout.write(f"{'':<38}{'shown':>10}{'median s':>9}{'95 % s':>11}{'longest s':>11}\n")
    with tempfile.TemporaryDirectory() as name:
        for number, terminal in enumerate(TERMINALS):
            if shutil.which(terminal.needs) is None:
                left_out[terminal.name] = f"{terminal.needs} is not installed"
                say(f"{terminal.name}: left out, for {left_out[terminal.name]}")
                continue
            own = Path(name) / str(number)
            own.mkdir()
            with (
                scene(own, rate=f"{roaming.RATE_MBIT_S}mbit", pages=False, wire=wire) as place,
                sshd(place.server, SERVER, own) as ssh,
            ):
                congest(place, options.congestion)
                place.daemon.start()
                place.daemon.until(lambda status: status["ok"])
                typed = one(terminal, place, ssh, options.seconds, options.every)
            rows.append(roaming.Terminal(terminal.name, len(typed.at), tuple(typed.seen.values())))
            sys.stdout.write(line(rows[-1]) + "\n")
            sys.stdout.flush()
    programs = versions({one.needs for one in TERMINALS} - {one.needs for one in TERMINALS if one.name in left_out})
    settings = settings_of(options, typing_s=options.seconds, key_s=KEY_S)
    measured = roaming.Record("terminal", options.delay, settings, tuple(rows), left_out, programs, kernel())
    write(measured, options.out or FOLDER)


if __name__ == "__main__":
    try:
        main()
    except (Failed, subprocess.CalledProcessError) as failed:
        sys.exit(f"error: {failed}")
