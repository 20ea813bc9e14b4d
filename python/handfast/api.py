"""The Python API: the same words as the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from handfast import _handfast, sweeps, tasks
from handfast.engine import execute
from handfast.errors import InputError, unknown
from handfast.results import SIM, Result

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
                raise unknown(f"there is no scheme and no profile called {name!r}", name, names)
        if not schemes and not self.schemes:
            raise InputError(
                f"{self.origin}: the file has no scheme; add one, such as [schemes.sack], or name a profile "
                "(`handfast list` has them)"
            )
        return list(dict.fromkeys(schemes)) if schemes else self.schemes

    def run(
        self, scheme: str | None = None, seed: int = 1, *, series_dir: Path | None = None, backend: str = SIM
    ) -> Result:
        """Run one scheme (default: the first) with one seed; `series_dir` receives the time series."""
        chosen = self.choose([scheme] if scheme is not None else None)[:1]
        tasks.check([backend], [self], chosen)
        return execute([tasks.task(backend, self.core, chosen[0], seed, series_dir)])[0]

    def compare(
        self,
        schemes: Sequence[str] | None = None,
        seeds: Sequence[int] = (1,),
        *,
        backends: Sequence[str] = (SIM,),
        jobs: int | None = None,
    ) -> list[Result]:
        """Run every scheme (default: all of the file) on every backend with every seed, in that order."""
        chosen = self.choose(schemes)
        tasks.check(backends, [self], chosen)
        todo = [
            tasks.task(backend, self.core, scheme, seed) for scheme in chosen for backend in backends for seed in seeds
        ]
        return execute(todo, jobs=jobs)

    def sweep(
        self,
        values: Mapping[str, Sequence[str]],
        *,
        out: Path,
        schemes: Sequence[str] | None = None,
        seeds: Sequence[int] = (1,),
        backends: Sequence[str] = (SIM,),
        jobs: int | None = None,
    ) -> Sweep:
        """Run every combination of `values` (by path), schemes, backends and seeds; runs in `out` are kept."""
        return sweeps.sweep(self, values, out=out, schemes=schemes, seeds=seeds, backends=backends, jobs=jobs)


def parse(text: str, name: str, overrides: Overrides = ()) -> Scenario:
    """Validate a scenario's text, called `name`; raises `ScenarioError` with the line and what was expected."""
    return Scenario(_handfast.load(text, name, list(overrides)), text, name, tuple(overrides))


def load(path: str | Path, overrides: Overrides = ()) -> Scenario:
    """Read and validate a scenario file."""
    path = Path(path)
    try:
        with path.open("rb") as file:
            # One more than is read: a file without an end must not take the memory of the machine either.
            data = file.read(_handfast.LONGEST_FILE + 1)
        if len(data) > _handfast.LONGEST_FILE:
            raise InputError(f"{path}: the file is longer than {_handfast.LONGEST_FILE} bytes")
        text = data.decode("utf-8")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not a text file (byte {error.start} is not UTF-8)") from error
    return parse(text, str(path), overrides)
