"""Static figures: the lines lie on the samples, and nothing of a legend is cut off or covered."""

from __future__ import annotations

from bisect import bisect_right
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from handfast import bundle, curves, figures, thinning
from handfast.curves import Chart, Drawing, Kind, Line
from handfast.outages import Absence

KIND = Kind("queue", "Queue", "queue", "pkt", "queue_pkt")


def test_a_queue_without_a_link_stays_empty(compared: Path) -> None:
    """Of the printed queue, each scheme's line is at zero while the samples are: from 10.2 s to 14 s."""
    drawing = curves.draw(bundle.read(compared), figures.COLUMNS)
    (queue,) = [chart for chart in drawing.charts if chart.kind.key == "queue"]
    figure = figures._single(drawing, queue, figures.COLUMN_IN)
    for scheme in ("tahoe", "newreno"):
        frame = pl.read_parquet(compared / "series" / f"{scheme}-1.queues.parquet")
        frame = frame.filter((frame["queue"] == "ap>phone") & frame["time_s"].is_between(10.0, 14.0))
        # A sample like its neighbours is left out, so what holds is the last one: nothing waits.
        assert frame["queue_pkt"][-1] == 0
        for time in np.arange(10.2, 14.0, 0.01):
            assert drawn_at(figure.axes[0], scheme, time) == 0, (scheme, time)


@pytest.mark.parametrize("key", [*(kind.key for kind in curves.FLOW_KINDS), "queue"])
def test_every_line_of_the_shipped_scenario_lies_on_its_samples(compared: Path, key: str) -> None:
    made = bundle.read(compared)
    columns = 60  # few, so that much is left out
    drawing = curves.draw(made, columns)
    (chart,) = [chart for chart in drawing.charts if chart.kind.key == key]
    figure = figures._single(drawing, chart, figures.COLUMN_IN)
    table = "queues" if key == "queue" else "flows"
    for line in chart.lines:
        frame = pl.read_parquet(compared / "series" / f"{line.scheme}-1.{table}.parquet")
        frame = frame.filter(frame[table[:-1]] == line.name)
        x = frame["time_s"].to_numpy()
        y = frame[chart.kind.column].cast(pl.Float64).fill_null(np.nan).to_numpy() * chart.kind.scale
        assert len(line.x) < len(x)
        assert_lies_on(figure.axes[0], line.scheme, x, y, columns, drawing.duration_s)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("steps", [True, False])
def test_any_line_lies_on_its_samples(seed: int, *, steps: bool) -> None:
    """Samples at random times, with long pauses, equal values and gaps."""
    random = np.random.default_rng(seed)
    count = int(random.integers(500, 4000))
    x = np.cumsum(random.choice([0.001, 0.01, 3.0], count, p=[0.5, 0.498, 0.002]))
    y = np.round(np.abs(np.cumsum(random.normal(size=count)))).astype(np.float64)
    for start in random.integers(0, count, 5):
        y[start : start + int(random.integers(1, 80))] = np.nan
    duration = float(x[-1])
    columns = 100
    keep = thinning.kept(x, y, (0.0, duration), columns)
    values = [None if np.isnan(value) else float(value) for value in y[keep]]
    kind = KIND if steps else Kind("delivered", "Delivered", "delivered", "MB", "delivered_bytes", 1, False)
    chart = Chart(kind, [Line("a", "f", x[keep].tolist(), values)])
    figure = figures._single(Drawing(1, [chart], ["a"], [], duration), chart, figures.COLUMN_IN)
    assert len(keep) < count
    assert_lies_on(figure.axes[0], "a", x, y, columns, duration)


def assert_lies_on(axes: Axes, scheme: str, x: np.ndarray, y: np.ndarray, columns: int, duration: float) -> None:
    """At each sample's time the line lies between the lowest and highest sample of that column; gaps stay gaps."""
    column = np.clip((x / duration * columns).astype(int), 0, columns - 1)
    for place in np.unique(column):
        inside = y[column == place]
        for time, value in zip(x[column == place], inside, strict=True):
            drawn = drawn_at(axes, scheme, time)
            if np.isnan(value) or drawn is None:
                assert np.isnan(value), f"{scheme}: a hole at {time}"
                assert drawn is None, f"{scheme}: {drawn} is drawn in the gap at {time}"
            else:
                assert np.nanmin(inside) - 1e-9 <= drawn <= np.nanmax(inside) + 1e-9, (scheme, time, drawn)


def drawn_at(axes: Axes, scheme: str, time: float) -> float | None:
    """Where the scheme's line is at that time; None where there is none."""
    (line,) = [line for line in axes.lines if line.get_label() == scheme]
    x, y = np.asarray(line.get_xdata(), dtype=float), np.asarray(line.get_ydata(), dtype=float)
    after = bisect_right(x.tolist(), time)
    before = after - 1
    if before < 0 or np.isnan(y[before]):
        return None
    if line.get_drawstyle() == "steps-post" or x[before] == time:
        return float(y[before])
    if after == len(x) or np.isnan(y[after]):
        return None
    return float(np.interp(time, x[before : after + 1], y[before : after + 1]))


LONG = "a scheme with a name that nobody would give it twice, 40 characters and many more"


SIZES = {"column": figures.COLUMN_IN, "page": figures.PAGE_IN}
NAMES = {"short": "s{}", "usual": "newreno-with-help-{}", "long": LONG + " {}"}
CASES = [
    (size, count, name)
    for size in SIZES
    for name in NAMES
    for count in range(1, 16)
    if name != "long" or count in (1, 2, 5, 15)
]


@pytest.mark.parametrize(("wide", "count", "name"), CASES)
def test_a_legend_is_whole_and_covers_nothing(wide: str, count: int, name: str) -> None:
    size = SIZES[wide]
    schemes = [NAMES[name].format(number) for number in range(count)]
    lines = [Line(scheme, "f", [0.0, 5.0, 10.0], [0.0, 1.0, 2.0]) for scheme in schemes]
    chart = Chart(KIND, lines)
    drawing = Drawing(1, [chart], schemes, [Absence(3, 4, "roam to ap2")], 10.0)
    with figures.style():
        figure = figures._single(drawing, chart, size)
        whole, legend, axes = boxes(figure)
    assert whole.x0 <= legend.x0
    assert legend.x1 <= whole.x1
    assert whole.y0 <= legend.y0
    assert legend.y1 <= whole.y1 + 1
    assert not legend.overlaps(axes)
    # The axes keep their room: the figure grows by what the legend needs.
    assert axes.height >= 0.5 * size[1] * figure.dpi


def boxes(figure: Figure) -> tuple[Bbox, Bbox, Bbox]:
    """Where the figure, its legend with all its texts and lines, and its axes with their labels are, in pixels."""
    figure.draw_without_rendering()
    (legend,) = figure.legends
    parts = [legend.get_window_extent(), *(text.get_window_extent() for text in legend.get_texts())]
    parts += [handle.get_window_extent() for handle in legend.legend_handles if handle is not None]
    axes = figure.axes[0].get_tightbbox()
    assert axes is not None
    return Bbox(figure.bbox.get_points()), Bbox.union(parts), Bbox(axes.get_points())


def test_several_flows_get_a_panel_each() -> None:
    lines = [Line(scheme, flow, [0.0, 1.0], [0.0, 1.0]) for scheme in "ab" for flow in ("up", "down")]
    chart = Chart(KIND, lines)
    figure = figures._single(Drawing(1, [chart], ["a", "b"], [], 1.0), chart, figures.COLUMN_IN)
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["up", "down"]
    assert [len(axes.lines) for axes in figure.axes] == [2, 2]
