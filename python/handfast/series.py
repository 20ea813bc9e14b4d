"""Time series as Parquet: one file a run and table, columns named with their unit (docs/results.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from handfast.errors import InputError

if TYPE_CHECKING:
    import polars as pl

Table = Mapping[str, tuple[str, bytes]]
"""Equally long columns by name: the NumPy type of the values, and the values, little-endian."""

DIRECTORY = "series"
"""Where a result directory keeps them."""

NULL = 0xFFFF_FFFF
"""What the core writes into a 32-bit column where there is no value."""


def file_name(scheme: str, seed: int, table: str) -> str:
    """The name of a run's series file."""
    return f"{scheme}-{seed}.{table}.parquet"


def write(
    directory: Path, scheme: str, seed: int, tables: Mapping[str, Table], *, flows: Sequence[str], links: Sequence[str]
) -> None:
    """Write a run's tables into `directory`; the core numbers flows and links in the order of their names here."""
    directory.mkdir(parents=True, exist_ok=True)
    names = {"flow": flows, "link": links}
    for table, columns in tables.items():
        frame = _frame(columns, names)
        frame.write_parquet(directory / file_name(scheme, seed, table), compression="zstd")


def _frame(columns: Table, names: Mapping[str, Sequence[str]]) -> pl.DataFrame:
    import numpy as np
    import polars as pl

    raw = pl.DataFrame({name: np.frombuffer(values, dtype=dtype) for name, (dtype, values) in columns.items()})
    known = raw.with_columns(
        pl.when(pl.col(pl.UInt32) != NULL).then(pl.col(pl.UInt32)),
    )
    return known.select(_column(name, names) for name in known.columns)


def _column(name: str, names: Mapping[str, Sequence[str]]) -> pl.Expr:
    import polars as pl

    column = pl.col(name)
    if name in names:
        return column.replace_strict(list(range(len(names[name]))), list(names[name]), return_dtype=pl.Categorical)
    if name == "backward":
        return column == 1
    for suffix, unit in _SECONDS.items():
        if name.endswith(suffix):
            return (column / unit).alias(name.removesuffix(suffix) + "_s")
    return column


_SECONDS: Mapping[str, float] = {"_ns": 1e9, "_us": 1e6}


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
