"""Static figures: SVG for the printed report, PNG and SVG for a paper. matplotlib, without a screen."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from handfast.curves import Chart, Drawing, draw
from handfast.errors import InputError
from handfast.store import staged

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from handfast.bundle import Bundle

POINTS = 800
"""Points of a line: more cannot be told apart in print."""
COLUMN_IN = (3.5, 2.2)
"""One column of a two-column paper, inches."""
PAGE_IN = (7.0, 2.3)
"""The width of a page, inches."""
PNG_DPI = 300
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (1, 1)), (0, (3, 3)))
"""Lines stay apart in black and white too."""


def write(bundle: Bundle, directory: Path) -> None:
    """Write NAME.png and NAME.svg of every chart, and of the overview, into `directory`."""
    drawing = draw(bundle, POINTS)
    if not drawing.charts:
        raise InputError(f"{bundle.directory}: no time series, so there is nothing to draw")
    with staged(directory) as stage, style():
        for chart in drawing.charts:
            save(_single(drawing, chart, COLUMN_IN), stage / chart.kind.key)
        save(_overview(drawing), stage / "overview")


def svgs(bundle: Bundle) -> Iterator[tuple[Chart, bytes]]:
    """Every chart as SVG, page-wide."""
    drawing = draw(bundle, POINTS)
    with style():
        for chart in drawing.charts:
            yield chart, svg(_single(drawing, chart, PAGE_IN))


@contextmanager
def style() -> Iterator[None]:
    """How everything drawn inside looks."""
    import matplotlib as mpl

    settings: dict[Any, Any] = {
        "font.size": 8,
        "axes.linewidth": 0.6,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.linewidth": 0.3,
        "grid.color": "#cccccc",
        "lines.linewidth": 1.0,
        "legend.frameon": False,
        "legend.handlelength": 2.5,
        "svg.hashsalt": "handfast",  # the same input gives the same bytes
    }
    with mpl.rc_context(settings):
        yield


def _single(drawing: Drawing, chart: Chart, size: tuple[float, float]) -> Figure:
    figure = blank(size)
    axes = figure.subplots()
    _draw(axes, drawing, chart)
    axes.set_xlabel("time, s")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=5, fontsize=7)
    return figure


def _overview(drawing: Drawing) -> Figure:
    charts = [chart for chart in drawing.charts if chart.kind.key in ("delivered", "cwnd")]
    figure = blank((PAGE_IN[0], PAGE_IN[1] * len(charts)))
    for axes, chart in zip(figure.subplots(len(charts), sharex=True, squeeze=False).flat, charts, strict=True):
        _draw(axes, drawing, chart)
        axes.set_title(chart.kind.title, fontsize=8, loc="left")
    figure.axes[-1].set_xlabel("time, s")
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=8)
    return figure


def blank(size: tuple[float, float]) -> Figure:
    """An empty figure of `size`, inches."""
    # Not pyplot: it keeps global state and looks for a screen.
    from matplotlib.figure import Figure

    return Figure(figsize=size, layout="constrained")


def _draw(axes: Axes, drawing: Drawing, chart: Chart) -> None:
    for start, end in drawing.absences:
        axes.axvspan(start, end, color="#dddddd", linewidth=0)
    named: set[str] = set()
    for line in chart.lines:
        values = [float("nan") if value is None else value for value in line.y]
        label = line.scheme if line.scheme not in named else "_"
        named.add(line.scheme)
        axes.plot(
            line.x,
            values,
            color=drawing.colour(line.scheme),
            ls=drawing.dash(line.scheme, DASHES),
            label=label,
        )
    axes.set_ylabel(f"{chart.kind.key}, {chart.kind.unit}")
    axes.set_ylim(bottom=0)
    axes.margins(x=0)


def save(figure: Figure, stem: Path) -> None:
    """Write STEM.svg and STEM.png."""
    stem.with_suffix(".svg").write_bytes(svg(figure, "path"))
    figure.savefig(stem.with_suffix(".png"), dpi=PNG_DPI, metadata={"Software": "handfast"})


def svg(figure: Figure, text_as: str = "none") -> bytes:
    """The figure as SVG; text as it is (`none`) or as paths, which need no font."""
    import matplotlib as mpl

    buffer = io.BytesIO()
    with mpl.rc_context({"svg.fonttype": text_as}):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": "handfast"})
    return buffer.getvalue()
