"""The runs of a study: on all cores, and resumable, because each finished run is kept on disk."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from handfast import series, tasks
from handfast.engine import Progress, Runnable, execute
from handfast.results import SIM, Result
from handfast.store import RunStore, build_id

if TYPE_CHECKING:
    from handfast.api import Scenario

RUNS = "runs"
"""Where a study's directory keeps the finished runs."""

Point = tuple[tuple[str, str], ...]
"""One combination of values: (axis, value) for each axis."""
Label = TypeVar("Label", bound=Hashable)
"""What a study calls runs that belong together."""


@dataclass(frozen=True, slots=True)
class Order:
    """What the user asks of a study, whatever its question is."""

    out: Path
    """The study's directory."""
    schemes: Sequence[str] | None = None
    """None: all of the study."""
    seeds: Sequence[int] | None = None
    """None: those of the study."""
    quick: bool = False
    """Whether a look is wanted, not a measurement."""
    jobs: int | None = None

    def seeds_of(self, whole: Sequence[int], quick: Sequence[int]) -> Sequence[int]:
        """The seeds, where the study has these for a measurement and for a look."""
        return self.seeds or (quick if self.quick else whole)


class Cell(Protocol):
    """One run, known by what determines it."""

    @property
    def key(self) -> Hashable:
        """What determines the run: cells with the same key are one run."""

    def task(self, out: Path) -> Runnable:
        """The run, to be done."""

    def stored(self, store: RunStore, out: Path) -> Result | None:
        """The run as an earlier call left it, if all of it is there."""


@dataclass(frozen=True, slots=True)
class ScenarioCell:
    """A run of a scenario at one point of a grid."""

    point: Point
    scenario: Scenario
    scheme: str
    seed: int
    backend: str = SIM
    with_series: bool = False
    """Whether its time series are kept too."""

    @property
    def key(self) -> tuple[str, str, int, str, bool]:
        """What determines the run: cells with the same key are one run."""
        return (self.scenario.hash, self.scheme, self.seed, self.backend, self.with_series)

    def series_dir(self, out: Path) -> Path | None:
        """Where its time series are kept: apart for each build, as runs are."""
        return out / series.DIRECTORY / f"{self.scenario.hash}-{build_id()}" if self.with_series else None

    def task(self, out: Path) -> Runnable:
        """The run, to be done."""
        return tasks.task(self.backend, self.scenario.core, self.scheme, self.seed, self.series_dir(out))

    def stored(self, store: RunStore, out: Path) -> Result | None:
        """The run as an earlier call left it, if all of it is there."""
        found = store.load(self.scenario.hash, self.scheme, self.seed, self.backend)
        directory = self.series_dir(out)
        if found is None or directory is None:
            return found
        return found if (directory / series.file_name(found, series.FLOWS)).is_file() else None


@dataclass(frozen=True, slots=True)
class Done(Generic[Label]):
    """The runs of a study."""

    results: Mapping[Label, Sequence[Result]]
    """In the order of the cells."""
    runs: int
    """How many different ones."""
    reused: int
    """How many of them were found on disk."""

    @property
    def all(self) -> list[Result]:
        """The results without their labels."""
        return [result for some in self.results.values() for result in some]


def fill(wanted: Mapping[Label, Sequence[Cell]], order: Order, progress: Progress | None = None) -> Done[Label]:
    """Do the runs that the directory does not hold yet, and keep each as it ends; cells alike are one run."""
    out = order.out
    store = RunStore(out / RUNS)
    alike = {cell.key: cell for some in wanted.values() for cell in some}
    known = {key: found for key, cell in alike.items() if (found := cell.stored(store, out)) is not None}
    missing = [key for key in alike if key not in known]
    if missing:
        todo = [alike[key].task(out) for key in missing]
        results = execute(todo, jobs=order.jobs, progress=progress, finished=store.save)
        known.update(zip(missing, results, strict=True))
    labelled = {label: [known[cell.key] for cell in some] for label, some in wanted.items()}
    return Done(labelled, len(alike), len(alike) - len(missing))
