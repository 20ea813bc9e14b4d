"""The comparison as cells of text, for terminal and report: a row a scheme and backend, the capacity limit last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from handfast import stats
from handfast.results import Result, by_row

UNKNOWN = "–"
LIMIT = "capacity limit"
"""The name of the last row: what the links allow."""


@dataclass(frozen=True, slots=True)
class Column:
    """One figure of the table."""

    measure: str
    """The name in `results.Measures`."""
    header: str
    short: str
    """The header where there is little room."""
    unit: str
    digits: int
    scale: float = 1.0
    """Factor from the measure's unit to the shown one."""

    @property
    def narrow(self) -> tuple[str, int]:
        """The header for a narrow column, and how narrow the column may be."""
        return f"{self.short}\n{self.unit}", max(map(len, [*self.short.split(), self.unit]))

    def show(self, value: float) -> str:
        """The value in the shown unit."""
        return f"{value * self.scale:.{self.digits}f}"


COLUMNS = (
    Column("stall_s", "stall after return", "stall after return", "s", 3),
    Column("goodput_bps", "goodput", "goodput", "Mbit/s", 2, 1e-6),
    Column("time_to_full_rate_s", "time to full rate", "to full rate", "s", 2),
    Column("retransmitted_segments", "retransmitted", "retrans.", "seg", 0),
    Column("timeouts", "timeouts", "time outs", "", 0),
    Column("cwnd_mean_pkt", "mean cwnd", "mean cwnd", "pkt", 1),
    Column("cwnd_min_pkt", "minimum cwnd", "min cwnd", "pkt", 1),
)

GOODPUT = COLUMNS[1]


def heading(results: Sequence[Result]) -> str:
    """What was run, in one line."""
    seeds = list(dict.fromkeys(result.seed for result in results))
    what = f"seed {seeds[0]}" if len(seeds) == 1 else f"median of {len(seeds)} seeds"
    backends = ", ".join(dict.fromkeys(result.backend for result in results))
    return f"{results[0].scenario} · {backends} · {what}"


def footnote(results: Sequence[Result]) -> str:
    """How to read the cells."""
    count = len({result.seed for result in results})
    notes = [f"{UNKNOWN}: not reached, or not known."]
    if count > 1:
        rank = stats.interval_rank(count)
        notes.append(f"Brackets: interval of the median, {stats.coverage(count, rank):.1%} sure.")
    if any(not result.valid for result in results):
        notes.append("!: holds runs that are not valid; they are left out.")
    return " ".join(notes)


def rows(results: Sequence[Result]) -> list[list[str]]:
    """The table's cells as text: the row's name, then a cell for each of COLUMNS."""
    table = [[_name(row, runs), *cells(runs)] for row, runs in by_row(results).items()]
    limit = stats.summarise([result.aggregate.limit_bps for result in results if result.valid])
    if limit is not None:
        blank = [UNKNOWN] * len(COLUMNS)
        blank[COLUMNS.index(GOODPUT)] = GOODPUT.show(limit.median)
        table.append([LIMIT, *blank])
    return table


def _name(row: str, runs: Sequence[Result]) -> str:
    return row if all(run.valid for run in runs) else f"{row} !"


def cells(runs: Sequence[Result]) -> list[str]:
    """One row: a cell for each of COLUMNS, over the valid ones of `runs`."""
    valid = [run.aggregate for run in runs if run.valid]
    return [cell(column, [getattr(measures, column.measure) for measures in valid]) for column in COLUMNS]


def cell(column: Column, values: Sequence[float | None]) -> str:
    """The median, with its interval below where there are several seeds."""
    summary = stats.summarise(values)
    if summary is None:
        return UNKNOWN
    text = column.show(summary.median)
    if len(values) > 1:
        text += f"\n[{column.show(summary.low)}, {column.show(summary.high)}]"
    if summary.missing:
        text += f"\n({summary.missing} of {len(values)} {UNKNOWN})"
    return text
