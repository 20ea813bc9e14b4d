"""What becomes of each script."""

from __future__ import annotations

import os
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

from packetdrill import features, namespaces

PASS, FAIL, UNSUPPORTED = "pass", "fail", "unsupported"


@dataclass(frozen=True)
class Verdict:
    """One script's: `reason` says what failed or is not built."""

    script: str
    version: str
    verdict: str
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.verdict:<12}{self.script} ({self.version})" + (f": {self.reason}" if self.reason else "")


@dataclass(frozen=True)
class Runner:
    """How scripts are run: the tool, the stack's library, and how long one may take, in seconds."""

    tool: Path
    library: Path
    limit_s: float

    def judge(self, script: Path, name: str, version: str) -> Verdict:
        """Runs a script, unless it needs what is not built."""
        missing = features.missing(script.read_text(errors="replace"))
        if missing:
            return Verdict(name, version, UNSUPPORTED, ", ".join(missing))
        failed = self._run(script, version)
        return Verdict(name, version, PASS) if failed is None else Verdict(name, version, FAIL, failed)

    def _run(self, script: Path, version: str) -> str | None:
        """Why a script failed; `None`: it did not."""
        run = subprocess.Popen(
            namespaces.command(self.tool, self.library, script, version),
            cwd=script.parent,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        try:
            said, _ = run.communicate(timeout=self.limit_s)
        except subprocess.TimeoutExpired:
            return f"not done after {self.limit_s:g} s"
        finally:
            end(run)
        if run.returncode == 0:
            return None
        lines = [line.strip() for line in said.splitlines() if line.strip()]
        return shortened(lines, script.name) or f"exit code {run.returncode}"


def end(run: subprocess.Popen[str]) -> None:
    """Ends a script's processes, if any is left."""
    if run.poll() is None:
        os.killpg(run.pid, signal.SIGKILL)
        run.communicate()


def shortened(lines: list[str], name: str) -> str:
    """What the tool and the library said, in a line: what names the script, with the packets that differ."""
    telling = [line for line in lines if line.startswith((name, "handfast:", "script packet:", "actual packet:"))]
    return " | ".join(telling or lines[-1:])


def find(folder: Path) -> list[Path]:
    """The scripts in a folder and below, or the one that it is."""
    if folder.is_file():
        return [folder]
    return sorted(folder.rglob("*.pkt"))


def as_json(verdict: Verdict) -> dict[str, str]:
    """A verdict for `--json`."""
    return vars(verdict).copy()
