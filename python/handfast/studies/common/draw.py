"""The common table as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from handfast import figures
from handfast.studies.common.page import RECONNECTS
from handfast.studies.common.study import Common, Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROW_IN = 0.155
"""The height of a row, inches."""
COLUMN_IN = 0.31
"""The least width of a column, inches: that of the longest number, `98.8r` in bold."""
NAMES_IN = 1.2
"""What the names of the rows take."""
WORST = 0.5
"""Shares at or below this have the darkest colour."""
GAP = 1.3
"""Between two groups, rows."""


def draw(made: Common) -> Figure:
    """A row a situation, a column a scheme: the share of the capacity limit, winners in bold; `r`: reconnects."""
    places = _places(made)
    last = max(places.values(), default=0) + 1  # without a row nothing is drawn
    width = max(figures.PAGE_IN[0], NAMES_IN + COLUMN_IN * len(made.schemes))
    figure = figures.blank((width, ROW_IN * last + 0.9))
    axes = figure.subplots()
    for row in made.limited:
        _situation(axes, made, row, places[row.group.key, row.value])
    _titles(axes, made, places)
    axes.set_xlim(-0.5, len(made.schemes) - 0.5)
    axes.set_ylim(last - 0.5, -1.6)
    axes.set_xticks(range(len(made.schemes)), made.schemes, rotation=40, ha="left", rotation_mode="anchor")
    axes.xaxis.tick_top()
    axes.set_yticks(
        [places[row.group.key, row.value] for row in made.limited], [row.value for row in made.limited], fontsize=6
    )
    axes.tick_params(length=0)
    axes.grid(False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    return figure


def _places(made: Common) -> dict[tuple[str, str], float]:
    """Where each row stands; a title and a gap before each group."""
    places: dict[tuple[str, str], float] = {}
    at, group = -1.0 - GAP, ""
    for row in made.limited:
        at += 1 if row.group.key == group else 1 + GAP
        group = row.group.key
        places[group, row.value] = at
    return places


def _titles(axes: Axes, made: Common, places: dict[tuple[str, str], float]) -> None:
    for key in dict.fromkeys(row.group.key for row in made.limited):
        first = next(row for row in made.limited if row.group.key == key)
        axes.text(-0.5, places[key, first.value] - 0.62, first.group.title, fontsize=6.5, style="italic", va="bottom")


def _situation(axes: Axes, made: Common, row: Row, at: float) -> None:
    from matplotlib import colormaps
    from matplotlib.patches import Rectangle

    colours = colormaps["RdYlGn"]
    winners = {cell.scheme for cell in row.winners}
    for place, scheme in enumerate(made.schemes):
        cell = row.of(scheme)
        if cell is None:
            axes.text(place, at, "–", ha="center", va="center", fontsize=6, color="#888888")
            continue
        height = max(0.0, (cell.value.median - WORST) / (1 - WORST))
        axes.add_patch(Rectangle((place - 0.5, at - 0.5), 1, 1, color=colours(0.1 + 0.8 * height), lw=0, alpha=0.75))
        axes.text(
            place,
            at,
            f"{cell.value.median:.1%}".rstrip("%") + (RECONNECTS if row.group.reconnects(scheme) else ""),
            ha="center",
            va="center",
            fontsize=6,
            fontweight="bold" if scheme in winners else "normal",
        )
