"""The curves that reports and figures draw, taken from a result directory's time series."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, TypeVar

from handfast import _handfast, series
from handfast.bundle import Bundle
from handfast.outages import Absence, absences
from handfast.results import Result, by_row
from handfast.thinning import PER_COLUMN, kept

if TYPE_CHECKING:
    import polars as pl

Dash = TypeVar("Dash")
"""However what draws writes a pattern of dashes."""

MAX_FLOWS = 4
"""Flows drawn on paper, a panel each: more do not fit on a page."""

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#7f7f7f")
"""Okabe and Ito's palette (yellow left out: it is lost on white paper), one colour a scheme."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What a chart shows."""

    key: str
    """Names its files."""
    title: str
    axis: str
    """What the axis says, without the unit."""
    unit: str
    column: str
    scale: float = 1.0
    """Factor from the column's unit to the shown one."""
    steps: bool = True
    """Whether a value holds until the next sample; else it grows from one sample to the next."""


FIRST = "delivered"
"""The chart that stands above all others."""


def _kinds(table: str) -> tuple[Kind, ...]:
    """The curves of a table of time series."""
    (series,) = [one for one in json.loads(_handfast.metrics())["series"] if one["name"] == table]
    kinds = [Kind(**column["curve"], column=column["name"]) for column in series["columns"] if column["curve"]]
    return tuple(sorted(kinds, key=lambda kind: kind.key != FIRST))


FLOW_KINDS = _kinds("flows")
(QUEUE_KIND,) = _kinds("queues")


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a chart."""

    scheme: str
    """What it is called: `Result.row`."""
    name: str
    """The flow or queue."""
    x: list[float]
    """Seconds from the run's start."""
    y: list[float | None]
    """In the kind's unit; None is a gap."""


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart: a line for each flow of each scheme."""

    kind: Kind
    lines: list[Line]

    @property
    def names(self) -> list[str]:
        """The flows, or the queue, that it shows."""
        return list(dict.fromkeys(line.name for line in self.lines))


@dataclass(frozen=True, slots=True)
class Drawing:
    """All charts of a bundle, drawn from one seed."""

    seed: int
    charts: list[Chart]
    schemes: list[str]
    absences: list[Absence]
    """When a link was gone."""
    duration_s: float = 0.0
    left_out: int = 0
    """Flows that are not drawn: there are too many."""
    flows: list[str] = field(default_factory=list)
    """Those drawn."""

    def colour(self, scheme: str) -> str:
        """The scheme's colour."""
        return COLOURS[self.schemes.index(scheme) % len(COLOURS)]

    def dash(self, scheme: str, dashes: Sequence[Dash]) -> Dash:
        """The scheme's pattern among `dashes`: with its colour no other's, while there are pairs of the two."""
        return dash(self.schemes.index(scheme), dashes)


def dash(place: int, dashes: Sequence[Dash]) -> Dash:
    """The pattern of the line with that number: another one when the colours begin again."""
    return dashes[(place + place // len(COLOURS)) % len(dashes)]


def typical_seed(runs: Sequence[Result]) -> int:
    """The seed that stands for all: its goodput lies nearest to every scheme's median, where it counts."""
    groups = [_rates(group) for group in by_row(runs).values()]
    return min(dict.fromkeys(run.seed for run in runs), key=lambda seed: sum(_distance(one, seed) for one in groups))


def _rates(group: Sequence[Result]) -> dict[int, float]:
    return {run.seed: run.aggregate.goodput_bps or 0.0 for run in group if run.valid}


def _distance(rates: dict[int, float], seed: int) -> float:
    """How far the seed's goodput lies from the median, as a share of it; far indeed where no run of it counts."""
    if seed not in rates:
        return 1e9
    middle = median(rates.values())
    return abs(rates[seed] - middle) / (middle or 1.0)


def columns_within(bundle: Bundle, points: int, flows: int) -> int:
    """How many columns of pixels leave so many points to all lines together."""
    runs = bundle.document.runs
    named = {flow.flow for run in runs for flow in run.flows}
    lines = len(by_row(runs)) * (len(FLOW_KINDS) * min(flows, max(1, len(named))) + 1)
    return max(1, points // (PER_COLUMN * lines))


def draw(bundle: Bundle, columns: int, *, flows: int = MAX_FLOWS) -> Drawing:
    """The charts of the typical seed and its first `flows` flows, for a picture of so many columns of pixels."""
    seed = typical_seed(bundle.document.runs)
    runs = [run for run in bundle.document.runs if run.seed == seed]
    names = list(dict.fromkeys(flow.flow for run in runs for flow in run.flows))
    read = _Reader(bundle.directory / series.DIRECTORY, runs, names[:flows], columns)
    charts = [Chart(kind, list(read.flow_lines(kind))) for kind in FLOW_KINDS]
    charts.append(read.queue_chart())
    return Drawing(
        seed,
        [chart for chart in charts if chart.lines],
        list(dict.fromkeys(run.row for run in bundle.document.runs)),
        absences(runs, bundle.scenario_text),
        read.duration_s,
        len(names[flows:]),
        names[:flows],
    )


class _Reader:
    """Reads lines from the runs' tables."""

    def __init__(self, directory: Path, runs: Sequence[Result], flows: Sequence[str], columns: int) -> None:
        self._frames = _tables(directory, runs, "flows")
        self._queues = _tables(directory, runs, "queues")
        self._flows = flows
        self._columns = columns
        self.duration_s = max(run.duration_s for run in runs)

    def flow_lines(self, kind: Kind) -> Iterator[Line]:
        """The kind's line of every flow, scheme by scheme."""
        for scheme, frame in self._frames.items():
            for flow in self._flows:
                line = self._line(scheme, flow, kind, frame.filter(frame["flow"] == flow))
                if any(value is not None for value in line.y):
                    yield line

    def queue_chart(self) -> Chart:
        """One queue tells the story: the one that filled up most, under any scheme."""
        peaks = [(peak, queue) for frame in self._queues.values() for queue, peak in _peaks(frame).items()]
        if not peaks:
            return Chart(QUEUE_KIND, [])
        queue = max(peaks)[1]
        picked = {scheme: frame.filter(frame["queue"] == queue) for scheme, frame in self._queues.items()}
        kind = replace(QUEUE_KIND, title=f"{QUEUE_KIND.title}: {queue}")
        return Chart(kind, [self._line(scheme, queue, kind, frame) for scheme, frame in picked.items()])

    def _line(self, scheme: str, name: str, kind: Kind, frame: pl.DataFrame) -> Line:
        import numpy as np
        import polars as pl

        x = frame["time_s"].to_numpy()
        y = frame[kind.column].cast(pl.Float64).fill_null(np.nan).to_numpy() * kind.scale
        keep = kept(x, y, (0.0, self.duration_s), self._columns)
        values = [None if np.isnan(value) else value for value in y[keep].tolist()]
        return Line(scheme, name, x[keep].tolist(), values)


def _tables(directory: Path, runs: Sequence[Result], table: str) -> dict[str, pl.DataFrame]:
    read = ((run.row, series.read(directory, run, table)) for run in runs)
    return {row: frame for row, frame in read if frame is not None}


def _peaks(frame: pl.DataFrame) -> dict[str, int]:
    import polars as pl

    return dict(frame.group_by("queue").agg(pl.col("queue_pkt").max()).rows())
