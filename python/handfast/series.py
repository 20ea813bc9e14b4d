"""Time series as Parquet: one file a run and table, columns named with their unit (docs/results.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from handfast.errors import InputError

if TYPE_CHECKING:
    import polars as pl

Columns = Mapping[str, Sequence[object]]
"""Equally long columns by name."""

DIRECTORY = "series"
"""Where a result directory keeps them."""


def file_name(scheme: str, seed: int, table: str) -> str:
    """The name of a run's series file."""
    return f"{scheme}-{seed}.{table}.parquet"


def write(directory: Path, scheme: str, seed: int, tables: Mapping[str, Columns]) -> None:
    """Write a run's tables into `directory`."""
    import polars as pl

    directory.mkdir(parents=True, exist_ok=True)
    for table, columns in tables.items():
        frame = pl.DataFrame({name: list(values) for name, values in columns.items()}, infer_schema_length=None)
        frame.write_parquet(directory / file_name(scheme, seed, table), compression="zstd")


def read(directory: Path, scheme: str, seed: int, table: str) -> pl.DataFrame | None:
    """Read a run's table; None where the directory has none."""
    import polars as pl

    path = directory / file_name(scheme, seed, table)
    if not path.is_file():
        return None
    try:
        return pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{path}: not a readable Parquet file ({error})") from error
