"""The charts on the screen: one plotly figure, so that zooming one chart zooms all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from handfast.curves import Chart, Drawing, Line, draw

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from handfast.bundle import Bundle

COLUMNS = 750
"""Columns of pixels for which a line is thinned; zooming in shows them."""
CHART_PX = 250
"""Height of one chart."""
GAP_PX = 55
"""Between charts, for the title."""
TOP_PX = 70
"""Above the first chart, for the legend."""
DASHES = ("solid", "dash", "dashdot", "dot", "longdash", "longdashdot", "8px,2px", "2px,6px")


def build(bundle: Bundle) -> str:
    """The charts as a `<div>` and the script that fills it; empty where there are no time series."""
    drawing = draw(bundle, COLUMNS)
    if not drawing.charts:
        return ""
    config = {
        "displaylogo": False,
        # It would upload the data.
        "modeBarButtonsToRemove": ["sendChartToCloud"],
        "responsive": True,
        "toImageButtonOptions": {"format": "svg"},
    }
    html: str = _figure(drawing).to_html(
        full_html=False, include_plotlyjs=False, include_mathjax=False, div_id="charts", config=config
    )
    return html


def library() -> str:
    """plotly.js, to be written into the page: it must open offline."""
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())


def _figure(drawing: Drawing) -> go.Figure:
    from plotly.subplots import make_subplots

    count = len(drawing.charts)
    height = count * (CHART_PX + GAP_PX) + TOP_PX
    figure = make_subplots(
        rows=count,
        cols=1,
        shared_xaxes=True,
        vertical_spacing=GAP_PX / (height - TOP_PX) if count > 1 else 0,
        subplot_titles=[f"{chart.kind.title} ({chart.kind.unit})" for chart in drawing.charts],
    )
    for row, chart in enumerate(drawing.charts, start=1):
        _add(figure, drawing, chart, row)
    for absence in drawing.absences:
        figure.add_vrect(
            x0=absence.start,
            x1=absence.end,
            fillcolor="#888888",
            opacity=0.18,
            line_width=0,
            layer="below",
            row="all",
            col=1,
        )
    figure.update_layout(
        dragmode="zoom",
        template="plotly_white",
        height=height,
        margin={"l": 60, "r": 20, "t": TOP_PX, "b": 40},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1 + 30 / height, "x": 0},
        hovermode="x unified",
    )
    figure.update_xaxes(title_text="time, s", row=count, col=1)
    figure.update_xaxes(showticklabels=True)
    figure.update_yaxes(rangemode="tozero")
    figure.update_annotations(font_size=14, x=0, xanchor="left")
    return figure


def _add(figure: go.Figure, drawing: Drawing, chart: Chart, row: int) -> None:
    import plotly.graph_objects as go

    shown: set[str] = set()
    for line in chart.lines:
        trace = go.Scatter(
            x=line.x,
            y=line.y,
            name=line.scheme,
            legendgroup=line.scheme,
            showlegend=row == 1 and line.scheme not in shown,
            mode="lines",
            line={**_style(drawing, line), "shape": "hv" if chart.kind.steps else "linear"},
            hovertemplate=f"%{{y:.4~g}} {chart.kind.unit}",
        )
        figure.add_trace(trace, row=row, col=1)
        shown.add(line.scheme)


def _style(drawing: Drawing, line: Line) -> dict[str, object]:
    return {
        "color": drawing.colour(line.scheme),
        "dash": drawing.dash(line.scheme, DASHES),
        "width": 1.6,
    }
