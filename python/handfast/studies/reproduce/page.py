"""The page of verdicts. Every text is escaped, and nothing is fetched: the page opens offline."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from html import escape

from handfast import __version__
from handfast.page import document as page
from handfast.studies.reproduce.verdict import FEW_CHECKS, Verdict

UNFOLDED = 30
"""Figures of a claim that are shown at once."""
MARKS = {"holds": "✓", "fails": "✗", "not-run": "–"}


def build(title: str, verdicts: Sequence[Verdict], drawn: Mapping[str, bytes], facts: Mapping[str, str]) -> str:
    """The page as one HTML document; `drawn` holds the claims' figures as SVG."""
    parts = [
        f"<h1>{escape(title)}</h1>",
        page.facts({"handfast": __version__, **facts}),
        _summary(verdicts),
        *(_claim(one, drawn.get(one.id)) for one in verdicts),
    ]
    return page.document(title, parts)


def _summary(verdicts: Sequence[Verdict]) -> str:
    rows = [[one.id, one.title, f"{MARKS[one.verdict]} {one.verdict}"] for one in verdicts]
    return f'<section class="verdicts"><h2>Verdicts</h2>{page.table(["claim", "", "verdict"], rows)}</section>'


def _claim(one: Verdict, svg: bytes | None) -> str:
    cells = {
        "measured": _measured(one),
        "paper": escape(one.paper) or "–",
        "reason": _reason(one),
        "control": _control(one),
    }
    rows = "".join(f'<tr><th scope="row">{name}</th><td>{cell}</td></tr>' for name, cell in cells.items())
    return (
        f'<section class="claim"><h2 id="{escape(one.id)}">{escape(one.id)}: {escape(one.title)} '
        f'<span class="{one.verdict}">{MARKS[one.verdict]} {one.verdict}</span></h2>'
        f"{_figure(one, svg)}<table><tbody>{rows}</tbody></table></section>"
    )


def _measured(one: Verdict) -> str:
    """All figures; folded where they would fill a screen."""
    if len(one.measured) <= UNFOLDED:
        return _lines(one.measured) or "–"
    return _folded(f"{len(one.measured)} figures", one.measured)


def _reason(one: Verdict) -> str:
    """The checks, those that fail first; folded where they are more than a few. Then what a reader must know."""
    if len(one.checks) <= FEW_CHECKS:
        return escape(one.reason) or "–"
    ordered = sorted(one.checks, key=lambda check: check.holds)
    explained = f"<p>{escape(one.explained)}</p>" if one.explained else ""
    return _folded(one.tally, ordered) + explained


def _control(one: Verdict) -> str:
    control = one.controlled
    if control is None or len(control.failed) <= FEW_CHECKS:
        return escape(one.control) or "–"
    return _folded(f"{control.word} ({len(control.failed)} checks)", [check.says for check in control.failed])


def _folded(says: str, lines: Iterable[object]) -> str:
    return f"<details><summary>{escape(says)}</summary>{_lines(lines)}</details>"


def _lines(lines: Iterable[object]) -> str:
    return "<br>".join(escape(str(line)) for line in lines)


def _figure(one: Verdict, svg: bytes | None) -> str:
    if svg is None:
        return ""
    return f'<figure><img alt="{escape(one.title)}" src="data:image/svg+xml;base64,{b64encode(svg).decode()}"></figure>'
