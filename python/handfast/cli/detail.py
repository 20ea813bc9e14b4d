"""One run in detail: its handovers, outages and flows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich import box
from rich.table import Table

from handfast import tables
from handfast.results import Handover, Result

MAX_ROWS = 20
"""More flows or outages are in `result.json`."""


def build(result: Result) -> Iterator[Table]:
    """The tables worth showing: handovers and outages, if there were any, and flows, if there is more than one."""
    if result.handovers:
        yield _handovers(result.handovers)
    if len(result.flows) > 1:
        yield _flows(result)


def _handovers(handovers: Sequence[Handover]) -> Table:
    table = _table(
        "handovers and outages", ("link", "station", "to"), ("down, s", "back, s", "stall, s", "to full rate, s")
    )
    for one in handovers[:MAX_ROWS]:
        times = (one.down_s, one.up_s, one.stall_s, one.time_to_full_rate_s)
        names = (one.link, one.station, one.to or tables.UNKNOWN)
        table.add_row(*names, *(_seconds(time) for time in times))
    return _with_rest(table, len(handovers))


def _flows(result: Result) -> Table:
    table = _table("flows", ("flow", "outcome"))
    for column in tables.COLUMNS:
        head, width = column.narrow
        table.add_column(head, justify="right", min_width=width)
    for flow in result.flows[:MAX_ROWS]:
        cells = (tables.cell(column, [getattr(flow.measures, column.measure)]) for column in tables.COLUMNS)
        table.add_row(flow.flow, flow.outcome, *cells)
    return _with_rest(table, len(result.flows))


def _table(title: str, names: Sequence[str], figures: Sequence[str] = ()) -> Table:
    table = Table(*names, title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for head in figures:
        table.add_column(head, justify="right")
    return table


def _with_rest(table: Table, count: int) -> Table:
    if count > MAX_ROWS:
        table.caption = f"{count - MAX_ROWS} more with --json"
    return table


def _seconds(time: float | None) -> str:
    return tables.UNKNOWN if time is None else f"{time:.3f}"
