"""The page around the charts. Every text that comes from a result or a scenario is escaped."""

from __future__ import annotations

import tomllib
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files

from handfast import figures, tables
from handfast.bundle import Bundle
from handfast.page import charts
from handfast.results import Result

# Nothing may be fetched: the page must open offline, and a result from elsewhere must not call home.
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"

MAX_LISTED = 20
"""More seeds or outages are not spelled out."""


def build(bundle: Bundle) -> str:
    """The report as one HTML document."""
    runs = bundle.document.runs
    drawn = charts.build(bundle)
    parts = [
        f"<h1>{escape(runs[0].scenario)}</h1>",
        _description(bundle),
        _facts(bundle),
        _comparison(runs),
        _handovers(runs),
        _curves(bundle, drawn),
        _runs(runs),
        _scenario(bundle),
    ]
    return document(runs[0].scenario, parts, charts.library() if drawn else "")


def document(title: str, parts: Iterable[str], script: str = "") -> str:
    """The document around `parts`, which are escaped already."""
    style = files("handfast.page").joinpath("style.css").read_text(encoding="utf-8")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)} · handfast</title>\n<style>\n{style}</style>\n"
        f"<script>{script}</script>\n</head>\n<body>\n<main>\n{''.join(part + chr(10) for part in parts if part)}"
        "</main>\n</body>\n</html>\n"
    )


def _description(bundle: Bundle) -> str:
    try:
        text = tomllib.loads(bundle.scenario_text or "").get("description")
    except tomllib.TOMLDecodeError:
        text = None
    return f'<p class="lead">{escape(text)}</p>' if isinstance(text, str) else ""


def _facts(bundle: Bundle) -> str:
    runs = bundle.document.runs
    seeds = list(dict.fromkeys(run.seed for run in runs))
    shown = {
        "handfast": bundle.document.version,
        "backend": ", ".join(dict.fromkeys(run.backend for run in runs)),
        "seeds": ", ".join(map(str, seeds)) if len(seeds) <= MAX_LISTED else f"{seeds[0]} … {seeds[-1]} ({len(seeds)})",
        "scenario hash": ", ".join(dict.fromkeys(run.scenario_hash for run in runs)),
    }
    return facts(shown)


def facts(shown: Mapping[str, str]) -> str:
    """What a page was made from: names and values."""
    items = "".join(f"<div><dt>{escape(key)}</dt><dd>{escape(value)}</dd></div>" for key, value in shown.items())
    return f'<dl class="facts">{items}</dl>'


def _comparison(runs: Sequence[Result]) -> str:
    heads = ["scheme", *_heads()]
    rows = tables.rows(runs)
    return (
        "<section><h2>Comparison</h2>"
        + table(heads, rows, last_apart=rows[-1][0] == tables.LIMIT)
        + f'<p class="note">{escape(tables.footnote(runs))} Stall: from the link\'s return to the first new data at '
        "the receiving application. To full rate: from the link's return to 90 % of the rate before. Capacity limit: "
        "what the links would carry without a protocol in the way.</p></section>"
    )


def _heads() -> list[str]:
    return [f"{column.header}, {column.unit}" if column.unit else column.header for column in tables.COLUMNS]


def _handovers(runs: Sequence[Result]) -> str:
    seed = runs[0].seed  # the one that the charts show
    spans = {(one.link, one.down_s, one.up_s) for run in runs if run.seed == seed for one in run.handovers}
    if not spans or len(spans) > MAX_LISTED:
        return ""
    ordered = sorted(spans, key=lambda span: (span[1], span[0]))
    text = "; ".join(
        f"{link}: {down:.3f} s to {up:.3f} s" if up is not None else f"{link}: {down:.3f} s on"
        for link, down, up in ordered
    )
    return f"<p>Link gone (shaded in the charts): {escape(text)}.</p>"


def _curves(bundle: Bundle, drawn: str) -> str:
    if not drawn:
        return "<section><h2>Curves</h2><p>These results hold no time series.</p></section>"
    seed = bundle.document.runs[0].seed
    printed = "".join(
        f'<figure><figcaption>{escape(chart.kind.title)}</figcaption><img alt="{escape(chart.kind.title)} over time" '
        f'src="data:image/svg+xml;base64,{b64encode(svg).decode()}"></figure>'
        for chart, svg in figures.svgs(bundle)
    )
    return (
        f"<section><h2>Curves</h2><p>Seed {seed}. <span class='screen'>Drag to zoom, double-click to go back; a "
        "click in the legend hides a scheme, a double-click shows it alone.</span></p>"
        f'<div class="screen">{drawn}</div><div class="paper">{printed}</div>'
        f"<noscript><div>{printed}</div></noscript></section>"
    )


def _runs(runs: Sequence[Result]) -> str:
    if len({run.seed for run in runs}) == 1:
        return ""
    heads = ["scheme", "seed", *_heads()]
    rows = [[run.row, str(run.seed), *tables.cells([run])] for run in runs]
    return f"<details><summary>All {len(runs)} runs</summary>{table(heads, rows)}</details>"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, last_apart: bool = False) -> str:
    """A table of texts; line breaks in a cell stay."""
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in heads)
    body = "".join(
        f"<tr{' class=apart' if last_apart and index == len(rows) - 1 else ''}>"
        + "".join(f"<td>{escape(text).replace(chr(10), '<br>')}</td>" for text in row)
        + "</tr>"
        for index, row in enumerate(rows)
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _scenario(bundle: Bundle) -> str:
    if bundle.scenario_text is None:
        return ""
    return f"<section><h2>Scenario</h2><pre>{escape(bundle.scenario_text)}</pre></section>"
