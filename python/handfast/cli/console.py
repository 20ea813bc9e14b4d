"""Where output goes: results to stdout, everything else to stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from handfast.engine import Progress

MIN_WIDTH = 80
"""Columns assumed where there is no terminal; the tables are laid out for it."""


def out() -> Console:
    """The console on stdout."""
    # Without markup: brackets in a name or a description are text.
    console = Console(file=sys.stdout, highlight=False, markup=False)
    if not console.is_terminal and console.width < MIN_WIDTH:
        console.width = MIN_WIDTH
    return console


def note(text: str) -> None:
    """A line for the user that is not part of the result."""
    sys.stderr.write(text + "\n")


@contextmanager
def progress(label: str) -> Iterator[Progress | None]:
    """A progress bar with the time left, on stderr and only where a person looks at it."""
    console = Console(file=sys.stderr)
    if not console.is_terminal:
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Bar(*columns, TextColumn("left"), TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
