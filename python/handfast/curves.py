"""The curves that reports and figures draw, taken from a result directory's time series."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from handfast import series
from handfast.bundle import Bundle
from handfast.results import Result

if TYPE_CHECKING:
    import polars as pl

MAX_LINES = 4
"""Flows drawn for each scheme; more are a blur."""

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#7f7f7f")
"""Okabe and Ito's palette (yellow left out: it is lost on white paper), one colour a scheme."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What a chart shows."""

    key: str
    """Names its files."""
    title: str
    unit: str
    table: str
    column: str
    name_column: str
    """The column that tells the lines of one run apart."""
    scale: float = 1.0
    """Factor from the column's unit to the shown one."""


KINDS = (
    Kind("delivered", "Delivered to the receiving application", "MB", "flows", "delivered_bytes", "flow", 1e-6),
    Kind("cwnd", "Congestion window", "pkt", "flows", "cwnd_pkt", "flow"),
    Kind("ssthresh", "Slow-start threshold", "pkt", "flows", "ssthresh_pkt", "flow"),
    Kind("rtt", "Smoothed round-trip time", "ms", "flows", "srtt_s", "flow", 1e3),
    Kind("rto", "Retransmission timeout", "s", "flows", "rto_s", "flow"),
    Kind("queue", "Fullest queue", "pkt", "queues", "queue_pkt", "queue"),
)


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a chart."""

    scheme: str
    name: str
    """The flow or queue."""
    x: list[float]
    """Seconds from the run's start."""
    y: list[float | None]
    """In the kind's unit; None is a gap."""


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart: a line, or a few, for each scheme."""

    kind: Kind
    lines: list[Line]


@dataclass(frozen=True, slots=True)
class Drawing:
    """All charts of a bundle, drawn from one seed."""

    seed: int
    charts: list[Chart]
    schemes: list[str]
    absences: list[tuple[float, float]]
    """When a link was down: from, to, seconds."""

    def colour(self, scheme: str) -> str:
        """The scheme's colour."""
        return COLOURS[self.schemes.index(scheme) % len(COLOURS)]


def draw(bundle: Bundle, points: int) -> Drawing:
    """The charts of the first seed, each line thinned out to about `points` points."""
    seed = bundle.document.runs[0].seed
    runs = [run for run in bundle.document.runs if run.seed == seed]
    charts = [Chart(kind, list(_lines(bundle, runs, kind, points))) for kind in KINDS]
    return Drawing(
        seed,
        [chart for chart in charts if chart.lines],
        list(dict.fromkeys(run.scheme for run in bundle.document.runs)),
        _absences(runs),
    )


def _absences(runs: Sequence[Result]) -> list[tuple[float, float]]:
    spans = {(one.down_s, one.up_s) for run in runs for one in run.handovers if one.up_s is not None}
    return sorted(spans)


def _lines(bundle: Bundle, runs: Sequence[Result], kind: Kind, points: int) -> Iterator[Line]:
    for run in runs:
        frame = series.read(bundle.directory / series.DIRECTORY, run.scheme, run.seed, kind.table)
        if frame is None or not {kind.column, kind.name_column, "time_s"} <= set(frame.columns):
            continue
        for name in _names(frame, kind):
            picked = frame.filter(frame[kind.name_column] == name)
            values = [None if value is None else value * kind.scale for value in picked[kind.column].to_list()]
            x, y = thin(picked["time_s"].to_list(), values, points)
            yield Line(run.scheme, name, x, y)


def _names(frame: pl.DataFrame, kind: Kind) -> list[str]:
    names: list[str] = frame[kind.name_column].unique(maintain_order=True).to_list()
    if kind.table != "queues":
        return names[:MAX_LINES]
    # One queue tells the story: the one that filled up most.
    peaks = {name: frame.filter(frame[kind.name_column] == name)[kind.column].max() or 0 for name in names}
    return sorted(names, key=lambda name: -float(str(peaks[name])))[:1]


def thin(x: list[float], y: list[float | None], points: int) -> tuple[list[float], list[float | None]]:
    """Keep the first, lowest, highest and last point of each of `points`/4 stretches: peaks and gaps survive."""
    if len(x) <= points:
        return x, y
    width = -(-len(x) // max(1, points // 4))
    keep = [index for start in range(0, len(x), width) for index in _telling(y, start, min(start + width, len(x)))]
    return [x[index] for index in keep], [y[index] for index in keep]


def _telling(y: list[float | None], start: int, end: int) -> list[int]:
    known = [index for index in range(start, end) if y[index] is not None]
    if not known:
        return [start]
    extremes = {min(known, key=lambda i: y[i] or 0), max(known, key=lambda i: y[i] or 0)}
    return sorted(extremes | {start, end - 1})
