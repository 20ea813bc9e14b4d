"""Many runs over a grid of values: on all cores, and resumable, because each finished run is kept on disk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from handfast import tasks
from handfast.engine import Progress, Runnable, execute
from handfast.results import MEASURES, SIM, Result
from handfast.store import RunStore

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
class _Cell:
    point: Point
    scenario: Scenario
    scheme: str
    seed: int
    backend: str

    def task(self) -> Runnable:
        return tasks.task(self.backend, self.scenario.core, self.scheme, self.seed)


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
    store = RunStore(out / RUNS)
    known = {index: found for index, cell in enumerate(cells) if (found := _stored(store, cell)) is not None}
    missing = [index for index in range(len(cells)) if index not in known]
    todo = [cells[index].task() for index in missing]
    if todo:
        results = execute(todo, jobs=jobs, progress=progress, finished=store.save)
        known.update(zip(missing, results, strict=True))
    rows = tuple((cell.point, known[index]) for index, cell in enumerate(cells))
    return Sweep(rows, reused=len(cells) - len(missing))


def _grid(
    scenario: Scenario,
    values: Mapping[str, Sequence[str]],
    schemes: Sequence[str] | None,
    seeds: Sequence[int],
    backends: Sequence[str],
) -> list[_Cell]:
    axes = [[(path, value) for value in choices] for path, choices in values.items()]
    variants = [(point, scenario.with_overrides(point)) for point in product(*axes)]
    tasks.check(backends, [variant for _, variant in variants], schemes)
    return [
        _Cell(point, variant, scheme, seed, backend)
        for point, variant in variants
        for scheme in variant.choose(schemes)
        for backend in backends
        for seed in seeds
    ]


def _stored(store: RunStore, cell: _Cell) -> Result | None:
    return store.load(cell.scenario.hash, cell.scheme, cell.seed, cell.backend)
