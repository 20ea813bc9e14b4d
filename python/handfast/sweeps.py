"""Many runs over a grid of values: on all cores, and resumable, because each finished run is kept on disk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from handfast import series, tasks
from handfast.engine import Progress, Runnable, execute
from handfast.results import MEASURES, SIM, Result
from handfast.store import RunStore, build_id

if TYPE_CHECKING:
    import polars as pl

    from handfast.api import Scenario

RUNS = "runs"
"""Where a sweep's directory keeps the finished runs."""

Point = tuple[tuple[str, str], ...]
"""One combination of values: (path, value) for each axis."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """What a sweep gave: the runs in the order points, schemes, seeds."""

    rows: tuple[tuple[Point, Result], ...]
    reused: int
    """How many runs were found on disk."""

    @property
    def results(self) -> list[Result]:
        """The runs without their points."""
        return [result for _, result in self.rows]

    def frame(self) -> pl.DataFrame:
        """One row a run: the point's values, what ran, and the aggregate's figures."""
        import polars as pl

        return pl.DataFrame([_row(point, result) for point, result in self.rows], infer_schema_length=None)


def _row(point: Point, result: Result) -> dict[str, object]:
    what = {name: getattr(result, name) for name in ("scenario", "scenario_hash", "scheme", "backend", "seed", "valid")}
    figures = {name: getattr(result.aggregate, name) for name in MEASURES}
    return {**dict(point), **what, **figures}


@dataclass(frozen=True, slots=True)
class Cell:
    """One run of a grid."""

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


def sweep(
    scenario: Scenario,
    values: Mapping[str, Sequence[str]],
    *,
    out: Path,
    schemes: Sequence[str] | None = None,
    seeds: Sequence[int] = (1,),
    backends: Sequence[str] = (SIM,),
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Sweep:
    """Do the runs that `out` does not hold yet, keep each as it ends, and return all of them.

    The grid is validated as a whole before the first run, so that a mistake in its last value costs nothing.
    """
    cells = _grid(scenario, values, schemes, seeds, backends)
    results, reused = fill(cells, out=out, jobs=jobs, progress=progress)
    return Sweep(tuple((cell.point, result) for cell, result in zip(cells, results, strict=True)), reused)


def fill(
    cells: Sequence[Cell], *, out: Path, jobs: int | None = None, progress: Progress | None = None
) -> tuple[list[Result], int]:
    """The results of `cells`, in their order, and how many runs `out` held already; cells alike are one run."""
    store = RunStore(out / RUNS)
    alike = {cell.key: cell for cell in cells}
    known = {key: found for key, cell in alike.items() if (found := cell.stored(store, out)) is not None}
    missing = [key for key in alike if key not in known]
    if missing:
        todo = [alike[key].task(out) for key in missing]
        results = execute(todo, jobs=jobs, progress=progress, finished=store.save)
        known.update(zip(missing, results, strict=True))
    return [known[cell.key] for cell in cells], len(alike) - len(missing)


def _grid(
    scenario: Scenario,
    values: Mapping[str, Sequence[str]],
    schemes: Sequence[str] | None,
    seeds: Sequence[int],
    backends: Sequence[str],
) -> list[Cell]:
    axes = [[(path, value) for value in choices] for path, choices in values.items()]
    variants = [(point, scenario.with_overrides(point)) for point in product(*axes)]
    tasks.check(backends, [variant for _, variant in variants], schemes)
    return [
        Cell(point, variant, scheme, seed, backend)
        for point, variant in variants
        for scheme in variant.choose(schemes)
        for backend in backends
        for seed in seeds
    ]
