"""The comparison as a table for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from handfast import tables
from handfast.results import Result

MAX_FLOWS = 8
"""Flows shown one by one; more are in the report."""
MAX_NAMED = 3
"""Flows that a title names."""


def build(results: Sequence[Result]) -> Table:
    """A row a scheme, what the links' capacity allows as the last one; then the same of each flow of no person."""
    felt_too = {name for names, _ in tables.groups(results) for name in names}
    flows = [name for name in tables.flows(results) if name not in felt_too] if len(results) > 1 else []
    table = Table(
        title=tables.heading(results),
        caption=_caption(results, flows),
        title_justify="left",
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    table.add_column("scheme", no_wrap=True, vertical="top")
    for column in tables.columns(results):
        head, width = column.narrow
        table.add_column(head, justify="right", vertical="top", min_width=width)
    if flows:
        table.add_row(Text(f"all {len(tables.flows(results))} flows", style="bold"))
    _add(table, tables.rows(results))
    for flow in flows[:MAX_FLOWS]:
        table.add_section()
        table.add_row(Text(flow, style="bold"))
        _add(table, tables.flow_rows(results, flow))
    return table


def felt(results: Sequence[Result]) -> Iterator[Table]:
    """What persons feel of their flows, where the comparison shows something else."""
    for names, shown in tables.groups(results):
        table = Table(
            title=", ".join(names) if len(names) <= MAX_NAMED else f"{len(names)} flows of persons",
            title_justify="left",
            box=box.SIMPLE_HEAD,
            padding=(0, 1, 0, 0),
        )
        table.add_column("scheme", no_wrap=True, vertical="top")
        if len(names) > 1:
            table.add_column("flow", vertical="top")
        for column in shown:
            head, width = column.narrow
            table.add_column(head, justify="right", vertical="top", min_width=width)
        _add(table, tables.group_rows(results, names[:MAX_FLOWS], shown))
        yield table


def _add(table: Table, rows: Sequence[Sequence[str]]) -> None:
    for row in rows:
        table.add_row(*(Text(text) for text in row), style="italic" if row[0] == tables.LIMIT else None)


def _caption(results: Sequence[Result], flows: Sequence[str]) -> str:
    left = len(flows) - MAX_FLOWS
    return tables.footnote(results) + (f" {left} more flows: in the report, or with --json." if left > 0 else "")
