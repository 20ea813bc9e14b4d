"""Runs a program and measures its processor time and peak memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
RUNNER = TARGET / "release" / "examples" / "runner"
WHEEL_RUNNER = TARGET / "wheel" / "examples" / "runner"
"""As `make build` compiles the Python extension, and so what `handfast run` does; `make test` has most of it."""

POLL_S = 0.02
"""Between two looks at a program's memory, seconds."""


class Failed(Exception):
    """A program that ought to run does not; the message is for people."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One run of a program."""

    cpu_s: float
    """User and system time, its children's included."""
    peak_mib: float
    """Largest resident set."""
    facts: dict[str, Any]
    """What was simulated: `packets`, `packet_hops`, `segments_sent`, `retransmitted_segments`, `goodput_bps`."""

    @property
    def packets_per_cpu_s(self) -> float:
        """Packets, each counted once at its destination endpoint, per second of processor time."""
        return float(self.facts["packets"]) / self.cpu_s


def say(text: str = "", *, end: str = "\n") -> None:
    """Tell the person who waits; standard output is for results."""
    sys.stderr.write(text + end)
    sys.stderr.flush()


def build(what: str, *options: str, profile: str = "release") -> None:
    """Build a package as it is released, or with another profile."""
    say(f"building {what} ({profile}, takes minutes the first time)")
    try:
        subprocess.run(["cargo", "build", "--profile", profile, "--quiet", *options], cwd=ROOT, check=True)
    except FileNotFoundError:
        raise Failed("cargo is not installed") from None
    except subprocess.CalledProcessError:
        raise Failed(f"{what} does not build") from None


def make_peer(folder: Path, requirement: str, *more: str) -> bool:
    """Make a virtual environment with what something is compared with; whether that went well."""
    if (folder / requirement).exists():
        return True
    say(f"installing {requirement}")
    try:
        subprocess.run([ROOT / "tools" / "make-venv", folder], check=True)
        pip = [str(folder / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "--quiet"]
        subprocess.run([*pip, "install", requirement, *more], check=True)
    except subprocess.CalledProcessError:
        return False
    (folder / requirement).touch()
    return True


def build_runner(profile: str = "release") -> None:
    """Build the pure-Rust runner: the code path of `handfast run`, without an interpreter."""
    build("the runner", "-p", "handfast-sim", "--example", "runner", profile=profile)


def measure(command: Sequence[str | Path], read: Callable[[str], dict[str, Any]] = json.loads) -> Sample:
    """Run `command` to its end; `read` makes the facts of what it prints."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen([str(word) for word in command], stdout=output, cwd=ROOT)
        peak_kib, (status, usage) = _watch(process.pid)
        # The process is gone already: subprocess must not wait for it again.
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise Failed(f"exit {process.returncode} from: {' '.join(map(str, command))}")
        output.seek(0)
        facts = read(output.read().decode())
    return Sample(usage.ru_utime + usage.ru_stime, peak_kib / 1024, facts)


def _watch(pid: int) -> tuple[int, tuple[int, Any]]:
    # Not ru_maxrss: that begins with the size of this interpreter, from which the program was forked.
    peak_kib = 0
    while True:
        done, status, usage = os.wait4(pid, os.WNOHANG)
        if done:
            return peak_kib, (status, usage)
        peak_kib = max(peak_kib, high_water_kib(pid))
        time.sleep(POLL_S)


def high_water_kib(pid: int) -> int:
    """The largest resident set of a process so far, KiB; 0 if it is gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:")), 0)


def cpu_s(pid: int) -> float:
    """User and system time of a process with all its threads so far, seconds."""
    # proc_pid_stat(5): the name, in parentheses, may have spaces; utime and stime are fields 14 and 15.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
