"""The page around the charts. Every text that comes from a result or a scenario is escaped."""

from __future__ import annotations

import tomllib
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files

from handfast import figures, headline, tables
from handfast.bundle import Bundle
from handfast.curves import MAX_FLOWS, Drawing
from handfast.outages import Absence
from handfast.page import charts
from handfast.results import Result

# Nothing may be fetched: the page must open offline, and a result from elsewhere must not call home.
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"

MAX_LISTED = 20
"""More seeds or outages are not spelled out."""
FELT = "What a person feels, as docs/reference/results.md says: what never came counts with its time up to the end."
MAX_OPEN = 6
"""Tables of flows that are unfolded; more wait for a click."""


def build(bundle: Bundle) -> str:
    """The report as one HTML document."""
    runs = bundle.document.runs
    drawing = charts.chosen(bundle)
    parts = [
        f"<h1>{escape(runs[0].scenario)}</h1>",
        _headline(runs),
        _description(bundle),
        _facts(bundle),
        comparison(runs),
        _felt(runs),
        _outages(drawing),
        _flows(runs),
        _curves(bundle, drawing),
        _runs(runs),
        _scenario(bundle),
    ]
    script, style = charts.library() if drawing.charts else ("", "")
    return document(runs[0].scenario, parts, script, style)


def document(title: str, parts: Iterable[str], script: str = "", style: str = "") -> str:
    """The document around `parts`, which are escaped already."""
    ours = files("handfast.page").joinpath("style.css").read_text(encoding="utf-8")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)} · handfast</title>\n<style>\n{style}\n{ours}</style>\n"
        # Who runs no scripts sees what paper shows.
        "<noscript><style>.screen { display: none; } .paper { display: block; }</style></noscript>\n"
        f"<script>{script}</script>\n</head>\n<body>\n<main>\n{''.join(part + chr(10) for part in parts if part)}"
        "</main>\n</body>\n</html>\n"
    )


def _headline(runs: Sequence[Result]) -> str:
    said = headline.sentences(runs)
    return f'<p class="headline">{escape(said)}</p>' if said else ""


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


def comparison(runs: Sequence[Result]) -> str:
    """The table of all schemes, and how to read it."""
    rows = tables.rows(runs)
    return (
        "<section><h2>Comparison</h2>"
        + table(["scheme", *_heads(runs)], rows, last_apart=rows[-1][0] == tables.LIMIT)
        + f'<p class="note">{escape(f"{tables.footnote(runs)} {_words(runs)}")}</p></section>'
    )


def _felt(runs: Sequence[Result]) -> str:
    """What persons feel of their flows, where the comparison shows something else."""
    drawn = [_group(runs, names[:MAX_LISTED], shown) for names, shown in tables.groups(runs)]
    note = f'<p class="note">{escape(FELT)}</p>'
    return f"<section><h2>What a person feels</h2>{''.join(drawn)}{note}</section>" if drawn else ""


def _group(runs: Sequence[Result], names: Sequence[str], shown: Sequence[tables.Column]) -> str:
    heads = ["scheme", *(["flow"] if len(names) > 1 else []), *(column.wide for column in shown)]
    return f"<h3>{escape(', '.join(names))}</h3>" + table(heads, tables.group_rows(runs, names, shown))


def _words(runs: Sequence[Result]) -> str:
    """What the columns mean."""
    stalls = (
        "Stall: from the link's return to the first new data at the receiving application. Time to full rate: from the "
        "link's return to 90 % of the rate before. "
    )
    limit = "Capacity limit: what the links would carry without a protocol in the way."
    shown = tables.columns(runs)
    # The stall has its words with the time to full rate, and what persons feel has neither that nor a limit.
    said = stalls if tables.FULL_RATE in shown else ""
    return said + (limit if tables.GOODPUT in shown else FELT)


def _heads(runs: Sequence[Result]) -> list[str]:
    return [column.wide for column in tables.columns(runs)]


def _outages(drawing: Drawing) -> str:
    absences = drawing.absences
    if not absences:
        return ""
    listed = [_outage(absence) for absence in absences[:MAX_LISTED]]
    if more := len(absences) - len(listed):
        listed.append(f"{more} more")
    return f"<p>Without a link (shaded in the charts): {escape('; '.join(listed))}.</p>"


def _outage(absence: Absence) -> str:
    if not absence.back:
        return f"{absence.name}, {absence.start:.3f} s to the run's end"
    return f"{absence.name}, {absence.start:.3f} s to {absence.end:.3f} s"


def _flows(runs: Sequence[Result]) -> str:
    """A table a flow, where there are several."""
    names = tables.flows(runs)
    if not names:
        return ""
    drawn = [_flow(runs, name) for name in names]
    rest = drawn[MAX_OPEN:]
    folded = f"<details><summary>{len(rest)} more flows</summary>{''.join(rest)}</details>" if rest else ""
    return f"<section><h2>Each flow</h2>{''.join(drawn[:MAX_OPEN])}{folded}</section>"


def _flow(runs: Sequence[Result], name: str) -> str:
    rows = tables.flow_rows(runs, name)
    title = f"<h3>{escape(name)} <small>{escape(tables.ends(runs, name))}</small></h3>"
    return title + table(["scheme", *_heads(runs)], rows, last_apart=rows[-1][0] == tables.LIMIT)


def _curves(bundle: Bundle, drawing: Drawing) -> str:
    drawn = charts.build(drawing)
    if not drawn:
        return "<section><h2>Curves</h2><p>These results hold no time series.</p></section>"
    printed = "".join(
        f'<figure><figcaption>{escape(chart.kind.title)}</figcaption><img alt="{escape(chart.kind.title)} over time" '
        f'src="data:image/svg+xml;base64,{b64encode(svg).decode()}"></figure>'
        for chart, svg in figures.svgs(bundle)
    )
    return (
        f"<section><h2>Curves</h2><p>{escape(_which(bundle, drawing))} <span class='screen'>Drag to zoom, double-click "
        "to go back; a click in a legend hides a line in all charts, Ctrl-click shows it alone.</span></p>"
        f'<div class="screen">{drawn}</div><div class="paper">{_printed_flows(drawing)}{printed}</div></section>'
    )


def _printed_flows(drawing: Drawing) -> str:
    """Which flows paper shows, where it has no room for all."""
    count = len(drawing.flows) + drawing.left_out
    return f"<p>Here: the first {MAX_FLOWS} of {count} flows.</p>" if count > MAX_FLOWS else ""


def _which(bundle: Bundle, drawing: Drawing) -> str:
    """Which run the curves show."""
    count = len({run.seed for run in bundle.document.runs})
    said = f"Seed {drawing.seed}"
    said += "." if count == 1 else f" of {count}: its goodput lies nearest to the medians of the schemes."
    if drawing.left_out:
        said += f" The first {len(drawing.flows)} flows; {drawing.left_out} more are in the series."
    return said


def _runs(runs: Sequence[Result]) -> str:
    if len({run.seed for run in runs}) == 1:
        return ""
    heads, shown = ["scheme", "seed", *_heads(runs)], tables.columns(runs)
    rows = [[run.row, str(run.seed), *tables.cells([run], shown)] for run in runs]
    return f"<details><summary>All {len(runs)} runs</summary>{table(heads, rows)}</details>"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, last_apart: bool = False) -> str:
    """A table of texts, which scrolls in a box of its own where it is too wide; line breaks in a cell stay."""
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in heads)
    body = "".join(
        f"<tr{' class=apart' if last_apart and index == len(rows) - 1 else ''}>"
        + "".join(f"<td>{escape(text).replace(chr(10), '<br>')}</td>" for text in row)
        + "</tr>"
        for index, row in enumerate(rows)
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _scenario(bundle: Bundle) -> str:
    if bundle.scenario_text is None:
        return ""
    return f"<section><h2>Scenario</h2><pre>{escape(bundle.scenario_text)}</pre></section>"
