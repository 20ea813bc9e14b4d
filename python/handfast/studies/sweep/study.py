"""Does the runs of a grid of values, and keeps what they gave."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, ClassVar

from handfast import frames, results, series, tasks
from handfast.engine import Progress
from handfast.results import SIM, Result
from handfast.studies.grid import Order, Point, ScenarioCell, fill
from handfast.studies.table import Drawn, Table
from handfast.values import written

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from handfast.api import Scenario


@dataclass(frozen=True, slots=True)
class Sweep(Drawn):
    """What a sweep gave: the runs in the order points, schemes, seeds."""

    FIGURE: ClassVar[str] = "sweep"

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

    def document(self) -> str:
        """The runs as `result.json` holds them."""
        return results.document(self.results).rstrip() + "\n"

    def files(self) -> Mapping[str, str | bytes]:
        """The runs as Parquet, CSV and JSON."""
        from handfast import bundle

        frame = self.to_frame()
        return {
            "runs.parquet": series.parquet(frame),
            "runs.csv": frame.write_csv(),
            bundle.RESULT: self.document(),
        }

    def draw(self) -> Figure:
        """A line a scheme over the values of the first path, a panel for each value of the others."""
        from handfast.studies.sweep import figure, pivot

        return figure.draw(pivot.of(self))

    def overviews(self) -> Mapping[str, Table]:
        """A table for each figure, by its name: a row a combination of values, a column a scheme."""
        from handfast.studies.sweep import pivot

        made = pivot.of(self)
        heads = [*made.axes, *made.schemes]
        return {
            column.wide: Table(
                heads,
                [[*point, *(made.cell(point, scheme, column) for scheme in made.schemes)] for point in made.points],
            )
            for column in made.columns
        }

    def _repr_html_(self) -> str:
        return "".join(f"<p><b>{title}</b></p>{table.html()}" for title, table in self.overviews().items())


def sweep(
    scenario: Scenario,
    values: Mapping[str, Sequence[object]],
    order: Order,
    backends: Sequence[str] = (SIM,),
    progress: Progress | None = None,
) -> Sweep:
    """Do the runs that the directory does not hold yet, keep each as it ends, and return all of them.

    The grid is validated as a whole before the first run, so that a mistake in its last value costs nothing.
    """
    done = fill(_grid(scenario, values, order, backends), order, progress)
    made = Sweep(tuple((point, result) for point, some in done.results.items() for result in some), done.reused)
    made.write(order.out)
    return made


def _grid(
    scenario: Scenario, values: Mapping[str, Sequence[object]], order: Order, backends: Sequence[str]
) -> dict[Point, list[ScenarioCell]]:
    axes = [[(path, written(value)) for value in choices] for path, choices in values.items()]
    variants = {point: scenario.with_overrides(point) for point in product(*axes)}
    tasks.check(backends, list(variants.values()), order.schemes)
    return {
        point: [
            ScenarioCell(point, variant, scheme, seed, backend)
            for scheme in variant.choose(order.schemes)
            for backend in backends
            for seed in (order.seeds if order.seeds is not None else (1,))
        ]
        for point, variant in variants.items()
    }
