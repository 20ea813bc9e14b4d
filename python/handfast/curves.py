"""The curves that reports and figures draw, taken from a result directory's time series."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
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
    column: str
    scale: float = 1.0
    """Factor from the column's unit to the shown one."""
    per_segment: bool = False
    """Divide by the flow's segment size."""
    steps: bool = False
    """The value holds until the next point."""


FLOW_KINDS = (
    Kind("delivered", "Delivered to the receiving application", "MB", "delivered_bytes", 1e-6),
    Kind("cwnd", "Congestion window", "pkt", "cwnd_bytes", per_segment=True),
    Kind("ssthresh", "Slow-start threshold", "pkt", "ssthresh_bytes", per_segment=True),
    Kind("rtt", "Smoothed round-trip time", "ms", "srtt_s", 1e3),
    Kind("rto", "Retransmission timeout", "s", "rto_s"),
)
QUEUE_KIND = Kind("queue", "Fullest queue", "pkt", "packets", steps=True)


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
    directory = bundle.directory / series.DIRECTORY
    charts = [Chart(kind, list(_flow_lines(directory, runs, kind, points))) for kind in FLOW_KINDS]
    charts.append(_queue_chart(directory, runs, points))
    return Drawing(
        seed,
        [chart for chart in charts if chart.lines],
        list(dict.fromkeys(run.scheme for run in bundle.document.runs)),
        _absences(runs),
    )


def _absences(runs: Sequence[Result]) -> list[tuple[float, float]]:
    return sorted({(one.down_s, one.up_s or run.duration_s) for run in runs for one in run.handovers})


def _flow_lines(directory: Path, runs: Sequence[Result], kind: Kind, points: int) -> Iterator[Line]:
    for run in runs:
        frame = series.read(directory, run.scheme, run.seed, "flow")
        if frame is None:
            continue
        for flow in run.flows[:MAX_LINES]:
            picked = frame.filter(frame["flow"] == flow.flow)
            scale = kind.scale / flow.mss_bytes if kind.per_segment else kind.scale
            values = [None if value is None else value * scale for value in picked[kind.column].to_list()]
            if any(value is not None for value in values):
                yield Line(run.scheme, flow.flow, *thin(picked["time_s"].to_list(), values, points))


def _queue_chart(directory: Path, runs: Sequence[Result], points: int) -> Chart:
    frames = {
        run.scheme: frame
        for run in runs
        if (frame := series.read(directory, run.scheme, run.seed, "queue")) is not None
    }
    peaks = [(peak, queue) for frame in frames.values() for queue, peak in _peaks(frame).items()]
    if not peaks:
        return Chart(QUEUE_KIND, [])
    # One queue tells the story: the one that filled up most, under any scheme.
    link, backward = max(peaks)[1]
    lines = [_queue_line(run, frames[run.scheme], link, backward, points) for run in runs if run.scheme in frames]
    way = "backward" if backward else "forward"
    return Chart(replace(QUEUE_KIND, title=f"{QUEUE_KIND.title}: {link}, {way}"), lines)


def _queue_line(run: Result, frame: pl.DataFrame, link: str, backward: bool, points: int) -> Line:
    picked = frame.filter((frame["link"] == link) & (frame["backward"] == backward))
    # A row is written on a change only: the last one holds to the end.
    x = [*picked["time_s"].to_list(), run.duration_s]
    y = [*picked["packets"].to_list(), *picked["packets"].tail(1).to_list()]
    return Line(run.scheme, link, *thin(x, y, points))


def _peaks(frame: pl.DataFrame) -> dict[tuple[str, bool], int]:
    import polars as pl

    peaks = frame.group_by("link", "backward").agg(pl.col("packets").max())
    return {(str(link), bool(backward)): peak for link, backward, peak in peaks.rows()}


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
