"""Results as data frames: polars, or pandas where it is installed."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, overload

from handfast.errors import MissingRequirementError, refuse_unknown
from handfast.measures import MEASURES, Measures
from handfast.results import Result

if TYPE_CHECKING:
    import polars as pl

Row = Mapping[str, object]
KINDS = ("polars", "pandas")


def run(result: Result) -> dict[str, object]:
    """A run: what ran, and the figures of all flows together."""
    return {
        **_what(result),
        "scenario_hash": result.scenario_hash,
        "valid": result.valid,
        **_figures(result.aggregate),
    }


def flows(result: Result) -> Iterator[Row]:
    """A row for each flow of a run."""
    for flow in result.flows:
        ends = {"flow": flow.flow, "from": flow.source, "to": flow.target, "outcome": flow.outcome}
        yield {**_what(result), **ends, "first_byte_s": flow.measures.first_byte_s, **_figures(flow.measures)}


def handovers(result: Result) -> Iterator[Row]:
    """A row for each outage of a run."""
    names = ("station", "link", "to", "down_s", "up_s", "stall_s", "time_to_full_rate_s")
    for one in result.handovers:
        yield {**_what(result), **{name: getattr(one, name) for name in names}}


def _what(result: Result) -> dict[str, object]:
    return {name: getattr(result, name) for name in ("scenario", "scheme", "backend", "seed")}


def _figures(measures: Measures) -> dict[str, object]:
    return {name: getattr(measures, name) for name in MEASURES}


class Tabular:
    """What can be had as data frames."""

    __slots__ = ()

    def _tables(self) -> Mapping[str, Callable[[], Iterator[Row]]]:
        """Rows by the table's name; the first table is the one that is meant where none is named."""
        raise NotImplementedError

    @overload
    def to_frame(self, kind: Literal["polars"] = "polars", *, of: str | None = None) -> pl.DataFrame: ...

    @overload
    def to_frame(self, kind: Literal["pandas"], *, of: str | None = None) -> Any: ...  # noqa: ANN401 (it has no types)

    def to_frame(self, kind: str = "polars", *, of: str | None = None) -> Any:
        """A data frame: `polars.DataFrame`, or `pandas.DataFrame` with `kind="pandas"`.

        `of` names the table, where there are several. Columns carry their unit in their name. Raises
        `MissingRequirementError` where pandas is asked for and is not installed.
        """
        import polars as pl

        tables = self._tables()
        name = of or next(iter(tables))
        refuse_unknown([name], tables, "table")
        refuse_unknown([kind], KINDS, "kind of frame")
        frame = pl.DataFrame(list(tables[name]()), infer_schema_length=None)
        return frame if kind == "polars" else _pandas(frame)


def _pandas(frame: pl.DataFrame) -> Any:  # noqa: ANN401 (pandas may not be there)
    try:
        pandas = importlib.import_module("pandas")
    except ImportError as error:
        raise MissingRequirementError('pandas is not installed: pip install pandas, or kind="polars"') from error
    # Not through Arrow: that would be a further requirement.
    return pandas.DataFrame(frame.to_dict(as_series=False))
