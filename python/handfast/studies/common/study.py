"""Does the runs of the common table and judges its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, ClassVar

from handfast import shipped, stats
from handfast.engine import Progress
from handfast.errors import refuse_unknown
from handfast.results import Result
from handfast.stats import Summary
from handfast.studies.common.groups import GROUPS, Group
from handfast.studies.common.measures import SHARE, Measure
from handfast.studies.document import summary, written
from handfast.studies.grid import Order, ScenarioCell, fill
from handfast.studies.plan import Plan, read_plan
from handfast.studies.table import Drawn, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FOLDER = "scenarios/common"
OUT = Path("out") / "common"
BASELINE = "linux"
"""What everybody has today: the others are said to be so much above it."""
ROW = "row"
"""The axis of the sweeps."""
RIVAL = "linux-bbr"
"""The cheapest remedy, one setting at the server: what is the best one worth above it?"""


@dataclass(frozen=True, slots=True)
class Cell:
    """One scheme in one situation."""

    scheme: str
    values: tuple[float, ...]
    """What the row is judged by; by seed."""
    value: Summary
    stall: Summary | None
    """From the link's return to the first new data, seconds; None where no link went."""
    stalled: int
    """Runs in which nothing new came before the end."""


@dataclass(frozen=True, slots=True)
class Row:
    """One situation."""

    group: Group
    value: str
    limit_bps: float
    """What the links would have carried, payload bits per second."""
    cells: tuple[Cell, ...]
    measure: Measure = SHARE

    @property
    def name(self) -> str:
        """What differs from the other rows of its group: `about 1 s`."""
        return f"{self.group.row} {self.value}".strip()

    def of(self, scheme: str) -> Cell | None:
        """A scheme's cell; None where it is not run."""
        return next((cell for cell in self.cells if cell.scheme == scheme), None)

    @property
    def winners(self) -> tuple[Cell, ...]:
        """The best one by its median, and those that are alike; none where more is not better."""
        if not self.measure.sign:
            return ()
        ranked = sorted(self.cells, key=lambda cell: -self.measure.sign * cell.value.median)
        return tuple(cell for cell in ranked if cell is ranked[0] or not worse(cell, ranked[0], self.measure))

    def gain(self, over: str = BASELINE) -> float | None:
        """By how much the best is better than a scheme, in the measure's unit; None where that is not run."""
        base = self.of(over)
        if base is None or not self.winners:
            return None
        return self.measure.sign * (self.winners[0].value.median - base.value.median)


def worse(one: Cell, other: Cell, measure: Measure = SHARE) -> bool:
    """Whether `one` is worse than `other` by more than counts as alike: seed by seed, or from median to median.

    Where a stall has two lengths, by the seed, half of the differences can be small while the medians are far apart.
    A measure that has to be `sure` asks for the medians and for a sign test over the seeds that tell the two apart.
    """
    differences = [measure.sign * (theirs - mine) for mine, theirs in zip(one.values, other.values, strict=True)]
    medians = measure.sign * (other.value.median - one.value.median)
    if measure.sure:
        return medians > measure.alike and _surely(differences, measure.alike)
    return max(median(differences), medians) > measure.alike


def _surely(differences: Sequence[float], alike: float) -> bool:
    """Whether so many are above that chance does not explain it; below six, as with brackets, all of them."""
    above, below = sum(one > alike for one in differences), sum(one < -alike for one in differences)
    if above + below < stats.SEEDS:
        return above > below == 0
    return above > below and stats.coverage(above + below, below) >= stats.CONFIDENCE


@dataclass(frozen=True, slots=True)
class Common(Drawn):
    """The table."""

    FIGURE: ClassVar[str] = "common"

    rows: tuple[Row, ...]
    schemes: tuple[str, ...]
    seeds: tuple[int, ...]
    duration_s: float
    runs: int
    reused: int

    @property
    def limited(self) -> tuple[Row, ...]:
        """The rows that are shares of the capacity limit: one table, and the picture."""
        return tuple(row for row in self.rows if row.measure.limit)

    @property
    def others(self) -> tuple[Row, ...]:
        """All other rows."""
        return tuple(row for row in self.rows if not row.measure.limit)

    def _tables(self) -> Mapping[str, Callable[[], Iterator[Mapping[str, object]]]]:
        """One row a scheme and situation, and of those that are no shares of the limit one a measure too."""
        return {
            "cells": lambda: (_flat(row, cell) for row in self.limited for cell in row.cells),
            "felt": lambda: (_felt(row, cell) for row in self.others for cell in row.cells),
        }

    def draw(self) -> Figure:
        """A row a situation, a column a scheme."""
        from handfast.studies.common.draw import draw

        return draw(self)

    def document(self) -> str:
        """The table as JSON."""
        head = {"seeds": list(self.seeds), "duration_s": self.duration_s, "schemes": list(self.schemes)}
        return written({**head, "rows": [_document(row) for row in self.rows]})

    def files(self) -> Mapping[str, str | bytes]:
        """The table as JSON, and in Markdown: all of it, and short for README."""
        from handfast.studies.common.page import short, whole

        return {"common.json": self.document(), "short.md": short(self), "whole.md": whole(self)}

    def overview(self) -> Table:
        """What README has, of every situation."""
        from handfast.studies.common.page import HEADS, judged

        rows = [
            [f"{row.group.title}: {row.name}", *(text.replace("`", "") for text in judged(row))] for row in self.limited
        ]
        return Table(HEADS, rows)


def _flat(row: Row, cell: Cell) -> Mapping[str, object]:
    return {
        "group": row.group.key,
        "row": row.value,
        "scheme": cell.scheme,
        "limit_bps": row.limit_bps,
        "share": cell.value.median,
        "share_low": cell.value.low,
        "share_high": cell.value.high,
        "stall_s": cell.stall.median if cell.stall else None,
        "without_return": cell.stalled,
        "best": cell in row.winners,
        "reconnects": row.group.reconnects(cell.scheme),
    }


def _felt(row: Row, cell: Cell) -> Mapping[str, object]:
    return {
        "group": row.group.key,
        "row": row.value,
        "measure": row.measure.key,
        "scheme": cell.scheme,
        "value": cell.value.median,
        "value_low": cell.value.low,
        "value_high": cell.value.high,
        "best": cell in row.winners,
    }


def schemes() -> list[str]:
    """Every scheme of the table, in its order."""
    return _plan(GROUPS[0]).every_scheme()


def study(order: Order, groups: Sequence[str] | None = None, progress: Progress | None = None) -> Common:
    """Do the runs that the directory does not hold yet, of some `groups` or of all, and judge."""
    chosen_groups, chosen = _groups(groups), _schemes(order.schemes)
    wanted: dict[tuple[str, str, str], list[ScenarioCell]] = {}
    for group in chosen_groups:
        plan = _plan(group)
        for cell in plan.cells({}, order.seeds_of(plan.seeds, plan.quick_seeds)):
            if cell.scheme in chosen and cell.scheme not in group.cannot:
                wanted.setdefault((group.key, dict(cell.point)[ROW], cell.scheme), []).append(cell)
    done = fill(wanted, order, progress)
    by_row: dict[tuple[str, str], dict[str, Sequence[Result]]] = {}
    for (key, value, scheme), results in done.results.items():
        by_row.setdefault((key, value), {})[scheme] = results
    known = {group.key: group for group in chosen_groups}
    rows = tuple(
        _row(known[key], value, measure, runs)
        for (key, value), runs in by_row.items()
        for measure in known[key].measures
    )
    every = done.all
    seeds = tuple(dict.fromkeys(result.seed for result in every))
    return Common(rows, tuple(chosen), seeds, every[0].duration_s, len(every), done.reused)


def _plan(group: Group) -> Plan:
    return read_plan(shipped.file(f"{FOLDER}/sweeps/{group.key}.toml"))


def _groups(names: Sequence[str] | None) -> list[Group]:
    refuse_unknown(names or (), [group.key for group in GROUPS], "group")
    return [group for group in GROUPS if not names or group.key in names]


def _schemes(names: Sequence[str] | None) -> list[str]:
    every = schemes()
    refuse_unknown(names or (), every, "scheme", has="the common table has")
    return [name for name in every if not names or name in names]


def _row(group: Group, value: str, measure: Measure, runs: Mapping[str, Sequence[Result]]) -> Row:
    cells = tuple(_cell(scheme, measure, some) for scheme, some in runs.items())
    limits = stats.summarise([run.aggregate.limit_bps for some in runs.values() for run in some])
    return Row(group, value, limits.median if limits is not None else 0.0, cells, measure)


def _cell(scheme: str, measure: Measure, runs: Sequence[Result]) -> Cell:
    values = tuple(measure.of(run) for run in runs)
    summary = stats.summarise(values)
    assert summary is not None  # noqa: S101 (there are seeds)
    went = [run for run in runs if run.handovers]
    stalls = [run.handovers[0].stall_s for run in went]
    return Cell(scheme, values, summary, stats.summarise(stalls), sum(stall is None for stall in stalls))


def _document(row: Row) -> Mapping[str, object]:
    return {
        "group": row.group.key,
        "row": row.value,
        "measure": row.measure.key,
        "limit_bps": row.limit_bps,
        "winners": [cell.scheme for cell in row.winners],
        "gain_over_linux": row.gain(),
        "gain_over_bbr": row.gain(RIVAL),
        "behind_limit": 1 - row.winners[0].value.median if row.measure.limit else None,
        "reconnects": [cell.scheme for cell in row.cells if row.group.reconnects(cell.scheme)],
        "cells": {cell.scheme: _entry(row.measure, cell) for cell in row.cells},
        "not_run": dict(row.group.cannot),
    }


def _entry(measure: Measure, cell: Cell) -> Mapping[str, object]:
    return {measure.key: summary(cell.value), "stall_s": summary(cell.stall), "without_return": cell.stalled}
