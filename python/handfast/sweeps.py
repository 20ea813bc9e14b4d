"""Many runs over a grid of values: on all cores, and resumable, because each finished run is kept on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from handfast import frames, results, series, tasks
from handfast.engine import Progress, Runnable, execute
from handfast.frames import Tabular
from handfast.results import SIM, Result
from handfast.store import RunStore, build_id, staged, write_whole
from handfast.values import written

if TYPE_CHECKING:
    from handfast.api import Scenario
    from handfast.picture import Picture

FIGURE = "sweep"
"""The name of the figure's files."""
RUNS = "runs"
"""Where a sweep's directory keeps the finished runs."""

Point = tuple[tuple[str, str], ...]
"""One combination of values: (path, value) for each axis."""


@dataclass(frozen=True, slots=True)
class Sweep(Tabular):
    """What a sweep gave: the runs in the order points, schemes, seeds."""

    rows: tuple[tuple[Point, Result], ...]
    reused: int
    """How many runs were found on disk."""

    @property
    def results(self) -> list[Result]:
        """The runs without their points."""
        return [result for _, result in self.rows]

    def _tables(self) -> Mapping[str, Callable[[], Iterator[frames.Row]]]:
        """One row a run: the point's values, what ran, and the aggregate's figures."""
        return {"runs": lambda: ({**dict(point), **frames.run(result)} for point, result in self.rows)}

    def figure(self) -> Picture:
        """A line a scheme over the values of the first path, a panel for each value of the others."""
        from handfast import figures, pivot, pivot_figure
        from handfast.picture import Picture

        with figures.style():
            return Picture(pivot_figure.draw(pivot.of(self)))

    def write(self, directory: Path) -> None:
        """Write the runs as Parquet, CSV and JSON, and the figure, into `directory`."""
        from handfast import bundle, figures

        frame = self.to_frame()
        write_whole(directory / "runs.parquet", series.parquet(frame))
        write_whole(directory / "runs.csv", frame.write_csv())
        write_whole(directory / bundle.RESULT, results.document(self.results).rstrip() + "\n")
        with staged(directory) as stage, figures.style():
            figures.save(self.figure().figure, stage / FIGURE)

    def _repr_html_(self) -> str:
        from handfast import pivot
        from handfast.page.document import table

        made = pivot.of(self)
        shown = [
            f"<p><b>{column.wide}</b></p>"
            + table(
                [*made.axes, *made.schemes],
                [[*point, *(made.cell(point, scheme, column) for scheme in made.schemes)] for point in made.points],
            )
            for column in made.columns
        ]
        return "".join(shown)


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
    values: Mapping[str, Sequence[object]],
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
    found, reused = fill(cells, out=out, jobs=jobs, progress=progress)
    done = Sweep(tuple((cell.point, result) for cell, result in zip(cells, found, strict=True)), reused)
    done.write(out)
    return done


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
    values: Mapping[str, Sequence[object]],
    schemes: Sequence[str] | None,
    seeds: Sequence[int],
    backends: Sequence[str],
) -> list[Cell]:
    axes = [[(path, written(value)) for value in choices] for path, choices in values.items()]
    variants = [(point, scenario.with_overrides(point)) for point in product(*axes)]
    tasks.check(backends, [variant for _, variant in variants], schemes)
    return [
        Cell(point, variant, scheme, seed, backend)
        for point, variant in variants
        for scheme in variant.choose(schemes)
        for backend in backends
        for seed in seeds
    ]
