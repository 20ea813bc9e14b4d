"""A sweep as a pivot: a row a combination of values, a column a scheme, and in each cell the runs of all seeds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from handfast import readings, tables
from handfast.results import Result, by_row
from handfast.studies.grid import Point
from handfast.studies.sweep.study import Sweep
from handfast.tables import Column

_INTERVAL = re.compile(r"\[(.+), (.+)\]")
"""As other tables write it: here are many columns, and little room."""


@dataclass(frozen=True, slots=True)
class Pivot:
    """The runs of a sweep, by combination of values and by scheme."""

    axes: tuple[str, ...]
    """The paths that vary; one with a single value is left out while another varies."""
    points: tuple[tuple[str, ...], ...]
    """Each combination: a value for each of `axes`."""
    schemes: tuple[str, ...]
    """As `Result.row` names them."""
    runs: dict[tuple[tuple[str, ...], str], list[Result]]
    """By combination and scheme."""

    @property
    def results(self) -> list[Result]:
        """All of them."""
        return [run for some in self.runs.values() for run in some]

    @property
    def columns(self) -> list[Column]:
        """What tells the schemes apart: goodput, and the stall where there is one."""
        outage = readings.had_outage(self.results)
        return [tables.STALL, tables.GOODPUT] if outage else [tables.GOODPUT]

    def cell(self, point: tuple[str, ...], scheme: str, column: Column) -> str:
        """The median over seeds, with its interval."""
        return _INTERVAL.sub(r"\1–\2", tables.cells(self.runs[point, scheme], [column])[0])


def of(sweep: Sweep) -> Pivot:
    """The pivot of a sweep."""
    axes = _varying([point for point, _ in sweep.rows])
    runs: dict[tuple[tuple[str, ...], str], list[Result]] = {}
    for point, result in sweep.rows:
        values = dict(point)
        runs.setdefault((tuple(values[path] for path in axes), result.row), []).append(result)
    return Pivot(axes, tuple(dict.fromkeys(point for point, _ in runs)), tuple(by_row(sweep.results)), runs)


def _varying(points: Sequence[Point]) -> tuple[str, ...]:
    values: dict[str, set[str]] = {}
    for point in points:
        for path, value in point:
            values.setdefault(path, set()).add(value)
    return tuple(path for path in values if len(values[path]) > 1) or tuple(values)[:1]
