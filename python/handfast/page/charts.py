"""The charts on the screen: their data as JSON, and the scripts that draw it (`uplot/`, `charts.js`)."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from handfast.curves import COLOURS, FLOW_KINDS, Chart, Drawing, Line, columns_within, draw
from handfast.results import by_row
from handfast.thinning import PER_COLUMN

if TYPE_CHECKING:
    from handfast.bundle import Bundle

POINTS = 200_000
"""Of all lines together: about as many bytes as pictures of the same take."""
MAX_COLUMNS, MIN_COLUMNS = 3000, 150
"""Columns of pixels for which a line is thinned; zooming in shows more than a screen has."""
MAX_FLOWS = 24
"""Flows that can be chosen; fewer where there are many schemes."""
TICK_S = 1e-4
"""Times are whole numbers of these."""
DIGITS = 4
"""A value is a whole number of the largest one's last place of so many, and one more."""
DASHES: tuple[tuple[int, ...], ...] = (
    (),
    (8, 4),
    (8, 3, 2, 3),
    (2, 3),
    (8, 2, 2, 2, 2, 2),
    (12, 4),
    (4, 2),
    (2, 6),
)


def chosen(bundle: Bundle) -> Drawing:
    """What the page draws: as many flows, as finely, as its size allows."""
    lines = len(by_row(bundle.document.runs)) * len(FLOW_KINDS)
    flows = max(1, min(MAX_FLOWS, POINTS // (PER_COLUMN * MIN_COLUMNS * lines)))
    return draw(bundle, min(MAX_COLUMNS, columns_within(bundle, POINTS, flows)), flows=flows)


def build(drawing: Drawing) -> str:
    """The charts as an empty `<div>` and the data that fills it; empty where there are no time series."""
    if not drawing.charts:
        return ""
    data = json.dumps(_data(drawing), separators=(",", ":"), ensure_ascii=False)
    # Names come from a file that may be hostile: no tag may begin inside the script.
    safe = data.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return (
        '<div id="charts"></div>\n'
        f'<script type="application/json" id="curves">{safe}</script>\n<script>{_glue()}</script>'
    )


@cache
def library() -> tuple[str, str]:
    """The script and the style of uPlot, to be written into the page: it must open offline."""
    return _text("uplot/uPlot.iife.min.js"), _text("uplot/uPlot.min.css")


@cache
def _glue() -> str:
    return _text("charts.js")


def _text(name: str) -> str:
    return files("handfast.page").joinpath(name).read_text(encoding="utf-8")


def _data(drawing: Drawing) -> dict[str, Any]:
    times: dict[tuple[int, ...], int] = {}
    return {
        "duration": drawing.duration_s,
        "tick": TICK_S,
        "colours": COLOURS,
        "dashes": DASHES,
        "schemes": [
            {"name": scheme, "colour": drawing.colour(scheme), "dash": drawing.dash(scheme, DASHES)}
            for scheme in drawing.schemes
        ],
        "flows": drawing.flows,
        "absences": [{"start": one.start, "end": one.end, "name": one.name} for one in drawing.absences],
        "charts": [_chart(drawing, chart, times) for chart in drawing.charts],
        # Last, as the charts fill it: lines of one flow share their times.
        "times": [list(one) for one in times],
    }


def _chart(drawing: Drawing, chart: Chart, times: dict[tuple[int, ...], int]) -> dict[str, Any]:
    largest = max((abs(value) for line in chart.lines for value in line.y if value is not None), default=0.0)
    step = 10.0 ** (math.floor(math.log10(largest)) - DIGITS) if largest else 1.0
    return {
        "title": chart.kind.title,
        "axis": chart.kind.axis,
        "unit": chart.kind.unit,
        "steps": chart.kind.steps,
        # The queue is everybody's.
        "shared": not set(chart.names) <= set(drawing.flows),
        "step": step,
        "lines": [_line(drawing, line, step, times) for line in chart.lines],
    }


def _line(drawing: Drawing, line: Line, step: float, times: dict[tuple[int, ...], int]) -> dict[str, Any]:
    ticks = tuple(_differences([round(x / TICK_S) for x in line.x]))
    values = [None if value is None else round(value / step) for value in line.y]
    return {
        "scheme": drawing.schemes.index(line.scheme),
        "name": line.name,
        "x": times.setdefault(ticks, len(times)),
        "y": _differences(values),
    }


def _differences(values: Sequence[int | None]) -> list[Any]:
    """Each value less the last known one: small numbers, few bytes."""
    last, made = 0, []
    for value in values:
        made.append(None if value is None else value - last)
        last = last if value is None else value
    return made
