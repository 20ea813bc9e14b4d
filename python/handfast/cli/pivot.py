"""A sweep as tables for the terminal: a row a combination of values, a column a scheme, a table a figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from handfast import readings, stats, tables
from handfast.studies.sweep.pivot import Pivot
from handfast.tables import Column

MAX_POINTS = 30
"""Combinations shown; runs.csv has all of them."""
LONGEST_PATH = 10
"""A longer one is broken at its dots."""
WIDTH = 80
"""Columns of the terminal that tables are laid out for."""
EDGES = 2
"""Of them, what stands left and right of a table."""


def build(pivot: Pivot) -> Iterator[Table | Text]:
    """The tables; those of many schemes are cut into several that fit the width."""
    for column in pivot.columns:
        yield Text(f"{column.wide} · {tables.heading(pivot.results)}", style="bold")
        for schemes in _blocks(pivot, column):
            yield _table(pivot, column, schemes)


def notes(pivot: Pivot) -> str:
    """How to read the cells, and what is left out."""
    cells = {pivot.cell(*key, column) for key in pivot.runs for column in pivot.columns}
    said = [f"{why}: {what}." for why, what in readings.MEANINGS.items() if any(why in cell.split() for cell in cells)]
    count = len({run.seed for run in pivot.results})
    if count > 1:
        rank = stats.interval_rank(count)
        said.append(f"Below each median its interval, {stats.coverage(count, rank):.1%} sure.")
    if not all(run.valid for run in pivot.results):
        said.append("Runs that are not valid are left out.")
    if len(pivot.points) > MAX_POINTS:
        said.append(f"{len(pivot.points) - MAX_POINTS} more combinations: in runs.csv.")
    return " ".join(said)


def _table(pivot: Pivot, column: Column, schemes: Sequence[str]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=0, pad_edge=False)
    for path in pivot.axes:
        table.add_column(_broken(path), overflow="fold", vertical="top")
    for scheme in schemes:
        table.add_column(scheme, justify="right", no_wrap=True, vertical="top")
    for point in pivot.points[:MAX_POINTS]:
        table.add_row(*point, *(Text(pivot.cell(point, scheme, column)) for scheme in schemes))
    return table


def _blocks(pivot: Pivot, column: Column) -> Iterator[list[str]]:
    """The schemes, as many at a time as fit beside the values."""
    room = (
        WIDTH
        - EDGES
        - sum(
            _width([_broken(path), *(point[place] for point in pivot.points)]) for place, path in enumerate(pivot.axes)
        )
    )
    block: list[str] = []
    used = 0
    for scheme in pivot.schemes:
        width = _width([scheme, *(pivot.cell(point, scheme, column) for point in pivot.points[:MAX_POINTS])])
        if block and used + width > room:
            yield block
            block, used = [], 0
        block.append(scheme)
        used += width
    yield block


def _broken(path: str) -> str:
    return path.replace(".", ".\n") if len(path) > LONGEST_PATH else path


def _width(cells: Sequence[str]) -> int:
    """How wide a column is, with the space after it."""
    return 1 + max(len(line) for cell in cells for line in cell.splitlines() or [""])
