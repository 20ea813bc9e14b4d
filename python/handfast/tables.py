"""The comparison as cells of text, for terminal and report: a row a scheme and backend, the capacity limit last."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from handfast import _handfast, readings, stats
from handfast.readings import NOTHING, Reading
from handfast.results import Result, by_row

UNKNOWN = NOTHING
"""What a cell without a figure shows."""
LIMIT = "capacity limit"
"""The name of the last row: what the links allow."""


@dataclass(frozen=True, slots=True)
class Column:
    """One figure of the table."""

    measure: str
    """The name in `measures.Measures`."""
    header: str
    short: str
    """The header where there is little room."""
    unit: str
    digits: int
    scale: float = 1.0
    """Factor from the measure's unit to the shown one."""
    felt: bool = False
    """Whether only flows of a person have it."""

    @property
    def narrow(self) -> tuple[str, int]:
        """The header for a narrow column, and how narrow the column may be."""
        return f"{self.short}\n{self.unit}", max(map(len, [*self.short.split(), self.unit]))

    @property
    def wide(self) -> str:
        """The header with its unit, in one line."""
        return f"{self.header}, {self.unit}" if self.unit else self.header

    def show(self, value: float) -> str:
        """The value in the shown unit."""
        return f"{value * self.scale:.{self.digits}f}"


def _columns() -> tuple[Column, ...]:
    """Those of the table of metrics, from left to right."""
    shown = [one for one in json.loads(_handfast.metrics())["metrics"] if one["column"]]
    return tuple(
        Column(
            one["name"],
            one["column"]["header"],
            one["column"]["short"],
            one["column"]["unit"],
            one["column"]["digits"],
            one["column"]["scale"],
            felt=one["optional"],
        )
        for one in sorted(shown, key=lambda one: one["column"]["order"])
    )


_ALL = _columns()
_BY_MEASURE = {column.measure: column for column in _ALL}
COLUMNS = tuple(column for column in _ALL if not column.felt)
FELT = tuple(column for column in _ALL if column.felt)
"""What persons feel: the time to an echo, a page's load, a video's stalls."""
STALL, GOODPUT = _BY_MEASURE["stall_s"], _BY_MEASURE["goodput_bps"]
FULL_RATE, LEAST_WINDOW = _BY_MEASURE["time_to_full_rate_s"], _BY_MEASURE["cwnd_min_pkt"]


def felt(results: Sequence[Result], flow: str) -> list[Column]:
    """The columns of what a person feels of a flow; empty where nobody does."""
    measured = [one.measures for run in results for one in run.flows if one.flow == flow]
    return [column for column in FELT if any(getattr(one, column.measure) is not None for one in measured)]


def felt_by_all(results: Sequence[Result]) -> list[Column]:
    """The same where all flows are of persons who do the same."""
    each = [felt(results, name) for name in _names(results)]
    return each[0] if each and all(one == each[0] for one in each) else []


def groups(results: Sequence[Result]) -> list[tuple[list[str], list[Column]]]:
    """Flows of persons who do the same, with what they feel; none where the comparison itself shows it."""
    if felt_by_all(results):
        return []
    found: list[tuple[list[str], list[Column]]] = []
    for name in _names(results):
        shown = felt(results, name)
        alike = next((names for names, one in found if one == shown), None)
        if alike is not None:
            alike.append(name)
        elif shown:
            found.append(([name], shown))
    return found


def columns(results: Sequence[Result]) -> list[Column]:
    """The columns that say something: what persons feel where all flows are theirs, or else what moves data.

    No stall without an outage, no smallest window where it is 1 everywhere; none of a person, who may just be reading.
    """
    if own := felt_by_all(results):
        return list(own)
    shown = list(COLUMNS)
    if not readings.had_outage(results):
        shown.remove(STALL)
        shown.remove(FULL_RATE)
    if {run.aggregate.cwnd_min_pkt for run in results} == {1.0}:
        shown.remove(LEAST_WINDOW)
    return shown


def _names(results: Sequence[Result]) -> list[str]:
    return list(dict.fromkeys(flow.flow for run in results for flow in run.flows))


def flows(results: Sequence[Result]) -> list[str]:
    """The names of the flows; empty where there is one, which the comparison itself shows."""
    names = _names(results)
    return names if len(names) > 1 else []


def ends(results: Sequence[Result], flow: str) -> str:
    """Who sends to whom."""
    for run in results:
        for one in run.flows:
            if one.flow == flow and one.source and one.target:
                return f"{one.source} → {one.target}"
    return ""


def heading(results: Sequence[Result]) -> str:
    """What was run, in one line."""
    seeds = list(dict.fromkeys(result.seed for result in results))
    what = f"seed {seeds[0]}" if len(seeds) == 1 else f"median of {len(seeds)} seeds"
    backends = ", ".join(dict.fromkeys(result.backend for result in results))
    return f"{results[0].scenario} · {backends} · {what}"


def footnote(results: Sequence[Result]) -> str:
    """How to read the cells: what is said of them holds of at least one."""
    count = len({result.seed for result in results})
    notes = [f"{why}: {readings.MEANINGS[why]}." for why in readings.MEANINGS if why in _why(results)]
    if not readings.had_outage(results):
        notes.append("No link was gone while a flow was open, so there is no stall.")
    if flows(results) and felt_by_all(results):
        notes.append("All flows together: counts add up; times are means, and so are bitrates.")
    elif flows(results):
        notes.append("All flows together: goodput, retransmissions and timeouts add up; stalls and windows are means.")
    if count > 1:
        rank = stats.interval_rank(count)
        notes.append(f"Brackets: interval of the median, {stats.coverage(count, rank):.1%} sure.")
    if any(not result.valid for result in results):
        notes.append("!: holds runs that are not valid; they are left out.")
    return " ".join(notes)


def _why(results: Sequence[Result]) -> set[str]:
    """The reasons for which a figure is missing somewhere."""
    valid, names = [run for run in results if run.valid], flows(results)
    shown = [column.measure for column in columns(results)]
    found = {why for run in valid for name in shown for why in readings.of_run(run, name).missing}
    return found | {
        why for run in valid for flow in names for name in shown for why in readings.of_flow(run, flow, name).missing
    }


def rows(results: Sequence[Result]) -> list[list[str]]:
    """The table's cells as text: the row's name, then a cell for each of `columns(results)`."""
    shown = columns(results)
    table = [[_name(row, runs), *cells(runs, shown)] for row, runs in by_row(results).items()]
    return table + _limit([run.aggregate.limit_bps for run in results if run.valid], shown)


def flow_rows(results: Sequence[Result], flow: str) -> list[list[str]]:
    """The same of one flow."""
    shown = columns(results)
    table = [[_name(row, runs), *flow_cells(runs, flow, shown)] for row, runs in by_row(results).items()]
    limits = [one.measures.limit_bps for run in _valid(results) for one in run.flows if one.flow == flow]
    return table + _limit(limits, shown)


def group_rows(results: Sequence[Result], names: Sequence[str], shown: Sequence[Column]) -> list[list[str]]:
    """What persons feel: the row's name, the flow's where there are several, then a cell for each of `shown`."""
    return [
        [_name(row, runs), *([name] if len(names) > 1 else []), *flow_cells(runs, name, shown)]
        for name in names
        for row, runs in by_row(results).items()
    ]


def _limit(limits: Sequence[float | None], shown: Sequence[Column]) -> list[list[str]]:
    limit = stats.summarise(limits)
    if limit is None or GOODPUT not in shown:
        return []
    return [[LIMIT, *(GOODPUT.show(limit.median) if column is GOODPUT else "" for column in shown)]]


def _valid(runs: Iterable[Result]) -> list[Result]:
    return [run for run in runs if run.valid]


def _name(row: str, runs: Sequence[Result]) -> str:
    return row if all(run.valid for run in runs) else f"{row} !"


def cells(runs: Sequence[Result], shown: Sequence[Column] = COLUMNS) -> list[str]:
    """One row: a cell for each column, over the valid ones of `runs`."""
    return [_cell(column, [readings.of_run(run, column.measure) for run in _valid(runs)]) for column in shown]


def flow_cells(runs: Sequence[Result], flow: str, shown: Sequence[Column]) -> list[str]:
    """The same of one flow."""
    return [_cell(column, [readings.of_flow(run, flow, column.measure) for run in _valid(runs)]) for column in shown]


def cell(column: Column, values: Sequence[float | None]) -> str:
    """The median of plain values, with its interval below where there are several."""
    return _cell(column, [Reading(value, () if value is not None else (UNKNOWN,)) for value in values])


def _cell(column: Column, read: Sequence[Reading]) -> str:
    """The median, its interval below where there are several seeds, and how much is missing, and why."""
    summary = stats.summarise([reading.value for reading in read])
    why = readings.reasons(read)
    if summary is None:
        return "\n".join(why) or UNKNOWN
    text = column.show(summary.median)
    if len(read) > 1:
        text += f"\n[{column.show(summary.low)}, {column.show(summary.high)}]"
    parts = sum(reading.parts for reading in read)
    return text + "".join(f"\n({count} of {parts} {reason})" for reason, count in why.items())
