"""One run in detail: its handovers, outages and flows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich import box
from rich.table import Table

from handfast import outages, tables
from handfast.readings import NEVER, NOTHING
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
        "handovers and outages", ("what", "link", "station"), ("down, s", "back, s", "stall, s", "to full rate, s")
    )
    for one in handovers[:MAX_ROWS]:
        back = "not in the run" if one.up_s is None else _seconds(one.up_s, NOTHING)
        # Where no flow was open as the link came back there is nothing to measure.
        missing = NEVER if one.flows else NOTHING
        stall, full = (_seconds(time, missing) for time in (one.stall_s, one.time_to_full_rate_s))
        table.add_row(outages.name(one), one.link, one.station, _seconds(one.down_s, NOTHING), back, stall, full)
    return _with_rest(table, len(handovers))


def _flows(result: Result) -> Table:
    table = _table("flows", ("flow", "outcome"))
    shown = tables.columns([result])
    for column in shown:
        head, width = column.narrow
        table.add_column(head, justify="right", min_width=width)
    for flow in result.flows[:MAX_ROWS]:
        table.add_row(flow.flow, flow.outcome, *tables.flow_cells([result], flow.flow, shown))
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


def _seconds(time: float | None, missing: str) -> str:
    return missing if time is None else f"{time:.3f}"
