"""The comparison as a table for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from handfast import tables
from handfast.results import Result


def build(results: Sequence[Result]) -> Table:
    """A row a scheme, and what the links' capacity allows as the last one."""
    table = Table(
        title=tables.heading(results),
        caption=tables.footnote(results),
        title_justify="left",
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    table.add_column("scheme", no_wrap=True, vertical="top")
    for column in tables.COLUMNS:
        head, width = column.narrow
        table.add_column(head, justify="right", vertical="top", min_width=width)
    for row in tables.rows(results):
        if row[0] == tables.LIMIT:
            table.add_section()
        table.add_row(*(Text(text) for text in row), style="italic" if row[0] == tables.LIMIT else None)
    return table
