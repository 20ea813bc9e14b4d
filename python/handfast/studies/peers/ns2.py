"""ns-2: whether it is here, and a script of it as a run like ours."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar

from handfast.errors import HandfastError, MissingRequirementError
from handfast.results import Result
from handfast.store import RunStore

COMMAND = "ns"
BACKEND = "ns2"
"""What its results say that they come from."""
_VERSION_S = 10.0
"""Longest time that ns-2 may take to name its version, seconds."""


@cache
def version() -> str | None:
    """The version of the ns-2 that is installed; None without one (other programs are called `ns` too)."""
    path = shutil.which(COMMAND)
    if path is None:
        return None
    try:
        asked = subprocess.run(  # noqa: S603 (the command is ours)
            [path], input="puts [ns-version]\nexit\n", capture_output=True, text=True, timeout=_VERSION_S, check=True
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    return asked.stdout.strip().removeprefix("% ") or None


def require() -> str:
    """The version; raises where ns-2 is missing."""
    found = version()
    if found is None:
        raise MissingRequirementError(
            "ns-2 is not installed, so there is nothing to compare with\n  Debian, Ubuntu: apt-get install ns2"
        )
    return found


class Failed(HandfastError):
    """ns-2 did not do a run that it should have done."""

    exit_code = 1


class Control:
    """Stops the process of a run."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._cancelled = False
        self.progress = 0.0
        """ns-2 does not say how far it is."""

    def cancel(self) -> None:
        """End the run soon, or do not begin it."""
        self._cancelled = True
        if self._process is not None:
            self._process.kill()

    def communicate(self, command: list[str]) -> tuple[int, str, str]:
        """Run `command` to its end: exit code, output, errors."""
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as process:  # noqa: S603 (it is ours)
            self._process = process
            if self._cancelled:
                process.kill()
            out, err = process.communicate()
            return process.returncode, out, err


def facts(run: Result) -> Mapping[str, Any]:
    """All that the script of a run has printed; what has the name of a measure is in `aggregate` too."""
    found: Mapping[str, Any] = json.loads(run.raw)["aggregate"]
    return found


@dataclass(frozen=True, slots=True)
class Task:
    """One run of a script that takes `-option value` and prints a JSON object."""

    script: Path
    options: Mapping[str, str]
    """All but the scheme and the seed."""
    scheme: str
    seed: int
    duration_s: float
    control: Control = field(default_factory=Control)
    alone: ClassVar[bool] = False

    @property
    def hash(self) -> str:
        """What the run depends on, but for scheme and seed."""
        what = [version() or "", self.script.read_text(encoding="utf-8"), *map(str, sorted(self.options.items()))]
        return sha256("\0".join([*what, str(self.duration_s)]).encode()).hexdigest()[:16]

    def run(self) -> Result:
        """Simulate."""
        words = {**self.options, "scheme": self.scheme, "seed": str(self.seed), "time": f"{self.duration_s:g}"}
        command = [COMMAND, str(self.script), *(word for name, value in words.items() for word in (f"-{name}", value))]
        code, out, err = self.control.communicate(command)
        try:
            facts = json.loads(out)
        except ValueError:
            raise Failed(f"exit code {code} of: {' '.join(command)}\n{err or out}") from None
        return Result.from_json(json.dumps(self._document(facts)))

    def _document(self, facts: Mapping[str, float]) -> Mapping[str, object]:
        return {
            "scenario": self.script.stem,
            "scenario_hash": self.hash,
            "scheme": self.scheme,
            "backend": BACKEND,
            "seed": self.seed,
            "valid": True,
            "duration_s": self.duration_s,
            "aggregate": facts,
            "flows": [],
            "handovers": [],
        }


@dataclass(frozen=True, slots=True)
class Cell:
    """A run of ns-2 in a grid."""

    inner: Task

    @property
    def key(self) -> tuple[str, str, int, str]:
        """What determines the run."""
        return (self.inner.hash, self.inner.scheme, self.inner.seed, BACKEND)

    def task(self, out: Path) -> Task:  # noqa: ARG002 (it leaves nothing beside its result)
        """The run, to be done."""
        return self.inner

    def stored(self, store: RunStore, out: Path) -> Result | None:  # noqa: ARG002 (as above)
        """The run as an earlier call left it."""
        return store.load(*self.key)
