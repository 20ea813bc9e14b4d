"""What the figures of several papers share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from handfast import figures, stats

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def with_legend(figure: Figure) -> Figure:
    """The figure with one legend for all its axes, above them."""
    shown: dict[str, Artist] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            shown.setdefault(label, handle)
    figures.legend_above(figure, shown)
    return figure


def bars(
    axes: Axes, index: int, label: str, colour: str, groups: Sequence[Sequence[float | None]], schemes: int
) -> None:
    """A bar with its interval in each group, for scheme number `index` of so many."""
    width = 0.8 / schemes
    for place, values in enumerate(groups):
        summary = stats.summarise(values)
        if summary is None:
            continue
        x = place + index * width if schemes > 1 else float(index)
        reach = [[summary.median - summary.low], [summary.high - summary.median]]
        axes.bar(x, summary.median, width, color=colour, label=label if place == 0 else "_")
        axes.errorbar(x, summary.median, yerr=reach, color="black", lw=0.6, capsize=2)
