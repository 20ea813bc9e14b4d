"""Static figures: SVG for the printed report, PNG and SVG for a paper. matplotlib, without a screen."""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from handfast.curves import MAX_FLOWS, Chart, Drawing, columns_within, draw
from handfast.errors import InputError, refuse_unknown
from handfast.store import staged

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from handfast.bundle import Bundle

COLUMNS = 450
"""Columns of pixels on paper: one is as wide as a line is thick, so what shares it cannot be told apart."""
PAGE_POINTS = 60_000
"""Of all lines that one page holds: with more it is no small file."""
COLUMN_IN = (3.5, 2.2)
"""One column of a two-column paper, inches."""
PAGE_IN = (7.0, 2.3)
"""The width of a page, inches."""
OVERVIEW = "overview"
LEGEND_PT = 7
MAX_COLUMNS = 8
"""Of a legend."""
PNG_DPI = 300
ABSENT = "#dddddd"
"""The shade of a time without a link."""
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (1, 1)), (0, (3, 3)))
"""Lines stay apart in black and white too."""


def write(bundle: Bundle, directory: Path) -> None:
    """Write NAME.png and NAME.svg of every chart, and of the overview, into `directory`."""
    drawing = draw(bundle, COLUMNS)
    if not drawing.charts:
        raise InputError(f"{bundle.directory}: no time series, so there is nothing to draw")
    with staged(directory) as stage, style():
        for chart in drawing.charts:
            save(_single(drawing, chart, COLUMN_IN), stage / chart.kind.key)
        save(_overview(drawing), stage / OVERVIEW)


def one(bundle: Bundle, name: str) -> Figure:
    """The chart of that key, or the `overview`."""
    drawing = draw(bundle, COLUMNS)
    if not drawing.charts:
        raise InputError(f"{bundle.directory}: no time series, so there is nothing to draw")
    charts = {chart.kind.key: chart for chart in drawing.charts}
    refuse_unknown([name], [OVERVIEW, *charts], "figure", more=" of these runs")
    with style():
        return _overview(drawing) if name == OVERVIEW else _single(drawing, charts[name], COLUMN_IN)


def svgs(bundle: Bundle) -> Iterator[tuple[Chart, bytes]]:
    """Every chart as SVG, page-wide."""
    drawing = draw(bundle, min(COLUMNS, columns_within(bundle, PAGE_POINTS, MAX_FLOWS)))
    with style():
        for chart in drawing.charts:
            yield chart, svg(_single(drawing, chart, PAGE_IN))


_SHAPE = re.compile(rb' d="[^"]*"')
_DIGITS = re.compile(rb"(\.\d\d)\d+")


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
    """The chart alone: a panel a flow."""
    panels = [(chart, name) for name in chart.names]
    return _panels(drawing, panels, size, [name if len(panels) > 1 else "" for name in chart.names])


def _overview(drawing: Drawing) -> Figure:
    """Delivery and window, a panel a flow."""
    charts = [chart for chart in drawing.charts if chart.kind.key in ("delivered", "cwnd")]
    panels = [(chart, name) for chart in charts for name in chart.names]
    titles = [chart.kind.title + (f": {name}" if len(chart.names) > 1 else "") for chart, name in panels]
    return _panels(drawing, panels, PAGE_IN, titles)


def _panels(
    drawing: Drawing, panels: Sequence[tuple[Chart, str]], size: tuple[float, float], titles: Sequence[str]
) -> Figure:
    """One above the other, each of `size`, with one legend for all."""
    figure = blank((size[0], size[1] * len(panels)))
    grid = figure.subplots(len(panels), sharex=True, squeeze=False).flat
    for axes, (chart, name), title in zip(grid, panels, titles, strict=True):
        _draw(axes, drawing, chart, name)
        axes.set_title(title, fontsize=8, loc="left")
    figure.axes[-1].set_xlabel("time, s")
    shown = {label: handle for axes in figure.axes for handle, label in zip(*_legend_of(axes), strict=True)}
    legend_above(figure, shown)
    return figure


def _legend_of(axes: Axes) -> tuple[list[Any], list[Any]]:
    return axes.get_legend_handles_labels()


def legend_above(figure: Figure, shown: Mapping[str, Any]) -> None:
    """One legend above all axes, with as many columns as fit the width; the figure grows by its further rows."""
    for columns in range(min(len(shown), MAX_COLUMNS), 0, -1):
        width, height, row = _place_legend(figure, shown, columns)
        if width <= 1:
            break
    else:
        # One column is too wide: the names are, and break.
        limit = max(8, int(max(map(len, shown)) * 0.85 / width))
        shown = {textwrap.fill(label, limit): handle for label, handle in shown.items()}
        _, height, row = _place_legend(figure, shown, 1)
    figure.set_figheight(figure.get_figheight() + height - row)


def _place_legend(figure: Figure, shown: Mapping[str, Any], columns: int) -> tuple[float, float, float]:
    """Its width as a share of the figure's, its height and that of one row in inches."""
    for old in list(figure.legends):
        old.remove()
    legend = figure.legend(
        list(shown.values()), list(shown), loc="outside upper center", ncols=columns, fontsize=LEGEND_PT
    )
    box = legend.get_window_extent()
    return box.width / figure.bbox.width, box.height / figure.dpi, 2 * LEGEND_PT / 72


def blank(size: tuple[float, float]) -> Figure:
    """An empty figure of `size`, inches."""
    # Not pyplot: it keeps global state and looks for a screen.
    from matplotlib.figure import Figure

    return Figure(figsize=size, layout="constrained")


def _draw(axes: Axes, drawing: Drawing, chart: Chart, name: str) -> None:
    for line in chart.lines:
        if line.name == name:
            axes.plot(
                line.x,
                [float("nan") if value is None else value for value in line.y],
                color=drawing.colour(line.scheme),
                ls=drawing.dash(line.scheme, DASHES),
                drawstyle="steps-post" if chart.kind.steps else "default",
                label=line.scheme,
            )
    # After the lines, for the legend's order; below them all the same.
    for absence in drawing.absences:
        axes.axvspan(absence.start, absence.end, color=ABSENT, linewidth=0, zorder=0, label=_absent(drawing))
    axes.set_ylabel(f"{chart.kind.axis}, {chart.kind.unit}")
    axes.set_xlim(0, drawing.duration_s)
    axes.set_ylim(bottom=0)


def _absent(drawing: Drawing) -> str:
    """What the legend calls the shade."""
    names = {absence.name for absence in drawing.absences}
    return names.pop() if len(names) == 1 else "link gone"


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
    return _SHAPE.sub(_shorter, buffer.getvalue())


def _shorter(shape: re.Match[bytes]) -> bytes:
    """A path's coordinates to a hundredth of a point, a path a line: half the bytes."""
    return _DIGITS.sub(rb"\1", shape[0]).replace(b"\n", b" ")
