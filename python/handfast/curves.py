"""The curves that reports and figures draw, taken from a result directory's time series."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from handfast import series
from handfast.bundle import Bundle
from handfast.results import Result

if TYPE_CHECKING:
    import polars as pl

Dash = TypeVar("Dash")
"""However what draws writes a pattern of dashes."""

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
    column: str
    scale: float = 1.0
    """Factor from the column's unit to the shown one."""


FLOW_KINDS = (
    Kind("delivered", "Delivered to the receiving application", "MB", "delivered_bytes", 1e-6),
    Kind("cwnd", "Congestion window", "pkt", "cwnd_pkt"),
    Kind("ssthresh", "Slow-start threshold", "pkt", "ssthresh_pkt"),
    Kind("rtt", "Smoothed round-trip time", "ms", "srtt_s", 1e3),
    Kind("rto", "Retransmission timeout", "s", "rto_s"),
)
QUEUE_KIND = Kind("queue", "Fullest queue", "pkt", "queue_pkt")


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

    def dash(self, scheme: str, dashes: Sequence[Dash]) -> Dash:
        """The scheme's pattern among `dashes`: with its colour no other's, while there are pairs of the two."""
        return dash(self.schemes.index(scheme), dashes)


def dash(place: int, dashes: Sequence[Dash]) -> Dash:
    """The pattern of the line with that number: another one when the colours begin again."""
    return dashes[(place + place // len(COLOURS)) % len(dashes)]


def draw(bundle: Bundle, points: int) -> Drawing:
    """The charts of the first seed, each line thinned out to about `points` points."""
    seed = bundle.document.runs[0].seed
    runs = [run for run in bundle.document.runs if run.seed == seed]
    directory = bundle.directory / series.DIRECTORY
    charts = [Chart(kind, list(_flow_lines(directory, runs, kind, points))) for kind in FLOW_KINDS]
    charts.append(_queue_chart(directory, runs, points))
    return Drawing(
        seed,
        [chart for chart in charts if chart.lines],
        list(dict.fromkeys(run.row for run in bundle.document.runs)),
        _absences(runs),
    )


def _absences(runs: Sequence[Result]) -> list[tuple[float, float]]:
    return sorted({(one.down_s, one.up_s or run.duration_s) for run in runs for one in run.handovers})


def _flow_lines(directory: Path, runs: Sequence[Result], kind: Kind, points: int) -> Iterator[Line]:
    for run in runs:
        frame = series.read(directory, run, "flows")
        if frame is None:
            continue
        for flow in run.flows[:MAX_LINES]:
            picked = frame.filter(frame["flow"] == flow.flow)
            values = [None if value is None else value * kind.scale for value in picked[kind.column].to_list()]
            if any(value is not None for value in values):
                yield Line(run.row, flow.flow, *thin(picked["time_s"].to_list(), values, points))


def _queue_chart(directory: Path, runs: Sequence[Result], points: int) -> Chart:
    read = ((run.row, series.read(directory, run, "queues")) for run in runs)
    frames = {scheme: frame for scheme, frame in read if frame is not None}
    peaks = [(peak, queue) for frame in frames.values() for queue, peak in _peaks(frame).items()]
    if not peaks:
        return Chart(QUEUE_KIND, [])
    # One queue tells the story: the one that filled up most, under any scheme.
    queue = max(peaks)[1]
    lines = [_queue_line(scheme, frame, queue, points) for scheme, frame in frames.items()]
    return Chart(replace(QUEUE_KIND, title=f"{QUEUE_KIND.title}: {queue}"), lines)


def _queue_line(scheme: str, frame: pl.DataFrame, queue: str, points: int) -> Line:
    picked = frame.filter(frame["queue"] == queue)
    return Line(scheme, queue, *thin(picked["time_s"].to_list(), picked["queue_pkt"].to_list(), points))


def _peaks(frame: pl.DataFrame) -> dict[str, int]:
    import polars as pl

    return dict(frame.group_by("queue").agg(pl.col("queue_pkt").max()).rows())


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
