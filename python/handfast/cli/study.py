"""What the commands of studies share."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from handfast.cli import console
from handfast.engine import Progress
from handfast.studies.grid import RUNS
from handfast.studies.table import Study


@contextmanager
def resumable(label: str, out: Path) -> Iterator[Progress | None]:
    """A progress bar; an interruption says that finished runs are kept."""
    try:
        with console.progress(label) as progress:
            yield progress
    except KeyboardInterrupt:
        console.note(f"finished runs are kept in {out / RUNS}; the same command does the rest")
        raise


def printed(made: Study, *, json: bool) -> bool:
    """Prints the document where that is asked for, and says whether."""
    if json:
        sys.stdout.write(made.document())
    return json


def note_runs(runs: int, reused: int, rest: str = "") -> None:
    """Says how many runs there are, and what `rest` says."""
    console.note(f"{runs} runs, {reused} of them found on disk{rest}")
