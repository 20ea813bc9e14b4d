"""Time series as Parquet: one file a run and table, columns named with their unit (docs/reference/results.md)."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from handfast.errors import InputError
from handfast.results import SIM, Result

if TYPE_CHECKING:
    import polars as pl

Table = Mapping[str, "list[str] | memoryview"]
"""Equally long columns by name: names, or numbers with NaN where there is no value."""

DIRECTORY = "series"
"""Where a result directory keeps them."""

FLOWS = "flows"
"""The table of flows."""

PACKETS = "packets"
"""The table of single packets, of flows that measure their delays; there is no file where no flow does."""


def file_name(run: Result, table: str) -> str:
    """The name of a run's series file."""
    place = "" if run.backend == SIM else f"{run.backend}."
    return f"{run.scheme}-{run.seed}.{place}{table}.parquet"


def is_of(run: Result, name: str) -> bool:
    """Whether a file of that name is one of the run's tables."""
    return name == file_name(run, name.removesuffix(".parquet").rpartition(".")[2])


def write(directory: Path, run: Result, tables: Mapping[str, Table]) -> None:
    """Write a run's tables into `directory`."""
    directory.mkdir(parents=True, exist_ok=True)
    for table, columns in tables.items():
        if table == PACKETS and not columns["flow"]:
            continue
        (directory / file_name(run, table)).write_bytes(parquet(_frame(columns)))


def parquet(frame: pl.DataFrame) -> bytes:
    """A table as a Parquet file's content: polars has errors of its own for a full disk when it writes the file."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd")
    return buffer.getvalue()


def _frame(columns: Table) -> pl.DataFrame:
    import numpy as np
    import polars as pl
    import polars.selectors as cs

    values = {
        name: pl.Series(column, dtype=pl.Categorical) if isinstance(column, list) else np.asarray(column)
        for name, column in columns.items()
    }
    return pl.DataFrame(values).with_columns(cs.float().fill_nan(None))


def read(directory: Path, run: Result, table: str) -> pl.DataFrame | None:
    """Read a run's table; None where the directory has none."""
    import polars as pl

    path = directory / file_name(run, table)
    if not path.is_file():
        return None
    try:
        return pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{path}: not a readable Parquet file ({error})") from error
