"""A sweep as a figure: a line a scheme over the values of the first path, a panel for each value of the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from handfast import curves, figures, readings, stats
from handfast.studies.sweep.pivot import Pivot
from handfast.tables import Column

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_PANELS = 4
"""Panels beside each other; more values of the other paths are left to the tables."""
PANEL_IN = (1.6, 2.1)
"""The least width of a panel, and its height."""
MARKER_PT = 3.0


def draw(pivot: Pivot) -> Figure:
    """The figure: a line of panels for each of the pivot's columns."""
    others = list(dict.fromkeys(point[1:] for point in pivot.points))[:MAX_PANELS]
    width = max(figures.COLUMN_IN[0], PANEL_IN[0] * len(others) + 0.6)
    figure = figures.blank((width, PANEL_IN[1] * len(pivot.columns)))
    grid = figure.subplots(len(pivot.columns), len(others), sharex=True, sharey="row", squeeze=False)
    shown: dict[str, Any] = {}
    for line, column in zip(grid, pivot.columns, strict=True):
        for axes, other in zip(line, others, strict=True):
            shown.update(_panel(axes, pivot, column, other))
        # Once all is drawn: a limit that is set no longer follows the data.
        line[0].set_ylim(bottom=0)
        line[0].set_ylabel(column.wide)
    for axes, other in zip(grid[0], others, strict=True):
        axes.set_title("\n".join(map(_named, pivot.axes[1:], other)), fontsize=7)
    for axes in grid[-1]:
        axes.set_xlabel(pivot.axes[0])
    figures.legend_above(figure, shown)
    return figure


def _named(path: str, value: str) -> str:
    return f"{path} = {value}"


def _panel(axes: Axes, pivot: Pivot, column: Column, other: tuple[str, ...]) -> dict[str, Any]:
    values = list(dict.fromkeys(point[0] for point in pivot.points))
    drawn = {
        scheme: _line(axes, pivot, column, [(value, *other) for value in values], place)
        for place, scheme in enumerate(pivot.schemes)
    }
    # As far apart as they are many: values may be names, and a path's unit is not known here.
    axes.set_xticks(range(len(values)), values)
    axes.set_xlim(-0.5, len(values) - 0.5)
    return drawn


def _line(axes: Axes, pivot: Pivot, column: Column, points: list[tuple[str, ...]], place: int) -> Any:  # noqa: ANN401 (matplotlib's own)
    # Beside each other, or the intervals of schemes that are alike would hide one another.
    shift = 0.5 * (place - (len(pivot.schemes) - 1) / 2) / len(pivot.schemes)
    found = [_summary(pivot, point, pivot.schemes[place], column) for point in points]
    known = [(index + shift, one) for index, one in enumerate(found) if one is not None]
    medians = [one.median * column.scale for _, one in known]
    errors = [
        [(one.median - one.low) * column.scale for _, one in known],
        [(one.high - one.median) * column.scale for _, one in known],
    ]
    return axes.errorbar(
        [x for x, _ in known],
        medians,
        errors,
        color=curves.COLOURS[place % len(curves.COLOURS)],
        ls=curves.dash(place, figures.DASHES),
        marker="o",
        markersize=MARKER_PT,
        elinewidth=0.8,
        label=pivot.schemes[place],
    )


def _summary(pivot: Pivot, point: tuple[str, ...], scheme: str, column: Column) -> stats.Summary | None:
    runs = pivot.runs.get((point, scheme), ())
    return stats.summarise([readings.of_run(run, column.measure).value for run in runs if run.valid])
