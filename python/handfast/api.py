"""The Python API: the same words as the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from handfast import _handfast, sweeps
from handfast.engine import Task, execute
from handfast.errors import InputError
from handfast.results import Result

if TYPE_CHECKING:
    from handfast.sweeps import Sweep

Overrides = Sequence[tuple[str, str]]
"""Values that replace the file's: a path such as `links.radio.loss`, and the value as it would stand in the file."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """A validated scenario, ready to run."""

    core: _handfast.Scenario
    """The Rust core's view."""
    text: str
    """The file's text."""
    origin: str
    """What errors call the file."""
    overrides: tuple[tuple[str, str], ...] = ()
    """What replaces the file's values."""

    @property
    def name(self) -> str:
        """The `name` key, or the file's stem."""
        return self.core.name

    @property
    def description(self) -> str:
        """One line about it."""
        return self.core.description

    @property
    def hash(self) -> str:
        """Hash of the resolved content, hexadecimal."""
        return self.core.hash

    @property
    def duration_s(self) -> float:
        """How long a run lasts, seconds of virtual time."""
        return self.core.duration_s

    @property
    def schemes(self) -> list[str]:
        """The names of its schemes, in file order."""
        return list(self.core.schemes)

    def with_overrides(self, overrides: Overrides) -> Scenario:
        """The same scenario with further values replaced."""
        return parse(self.text, self.origin, (*self.overrides, *overrides))

    def choose(self, schemes: Sequence[str] | None) -> list[str]:
        """Check the names of schemes and profiles; None means all schemes, in file order."""
        names = [*self.schemes, *(name for name, _ in _handfast.profiles() if name not in self.schemes)]
        for name in schemes or ():
            if name not in names:
                raise InputError(f"there is no scheme and no profile called {name!r}; there are: {', '.join(names)}")
        return list(dict.fromkeys(schemes)) if schemes else self.schemes

    def run(self, scheme: str | None = None, seed: int = 1, *, series_dir: Path | None = None) -> Result:
        """Simulate one scheme (default: the first) with one seed; `series_dir` receives the time series."""
        chosen = self.choose([scheme] if scheme is not None else None)[0]
        return execute([Task(self.core, chosen, seed, series_dir)])[0]

    def compare(
        self, schemes: Sequence[str] | None = None, seeds: Sequence[int] = (1,), *, jobs: int | None = None
    ) -> list[Result]:
        """Simulate every scheme (default: all of the file) with every seed; schemes first, then seeds."""
        chosen = self.choose(schemes)
        return execute([Task(self.core, scheme, seed) for scheme in chosen for seed in seeds], jobs=jobs)

    def sweep(
        self,
        values: Mapping[str, Sequence[str]],
        *,
        out: Path,
        schemes: Sequence[str] | None = None,
        seeds: Sequence[int] = (1,),
        jobs: int | None = None,
    ) -> Sweep:
        """Simulate every combination of `values` (by path), schemes and seeds; runs already in `out` are kept."""
        return sweeps.sweep(self, values, out=out, schemes=schemes, seeds=seeds, jobs=jobs)


def parse(text: str, name: str, overrides: Overrides = ()) -> Scenario:
    """Validate a scenario's text, called `name`; raises `ScenarioError` with the line and what was expected."""
    return Scenario(_handfast.load(text, name, list(overrides)), text, name, tuple(overrides))


def load(path: str | Path, overrides: Overrides = ()) -> Scenario:
    """Read and validate a scenario file."""
    path = Path(path)
    try:
        text = path.read_bytes().decode("utf-8")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not a text file (byte {error.start} is not UTF-8)") from error
    return parse(text, str(path), overrides)
