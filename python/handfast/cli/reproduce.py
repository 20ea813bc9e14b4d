"""`handfast reproduce`: a paper's claims, judged."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from handfast.cli import complete, console, options, study
from handfast.studies import document
from handfast.studies import reproduce as bench
from handfast.studies.grid import Order
from handfast.studies.reproduce import Outcome, Question, Verdict

COLOURS = {"holds": "green", "fails": "red", "not-run": "yellow"}
SHOWN = 12
"""Figures of a claim on the screen; the report and --json have them all."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(reproduce)


def reproduce(
    targets: Annotated[
        list[str] | None,
        typer.Argument(metavar="[KEY[/ID]]...", help="A paper, or some of its claims.", autocompletion=complete.claims),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Few seeds: a look, in seconds.")] = False,
    beyond: Annotated[bool, typer.Option("--beyond", help="Where the papers stop, too: claims of our own.")] = False,
    seeds: Annotated[
        str | None, typer.Option("--seeds", metavar="SEEDS", help="Instead of the sweeps' own: 1..30.")
    ] = None,
    out: options.OutOption = None,
    jobs: options.JobsOption = None,
    json: options.JsonOption = False,
) -> None:
    """Judge what a paper claims: each claim measured, beside the paper's figure, and with a control.

    \b
    handfast reproduce                       the papers and their claims
    handfast reproduce sdn/7a --quick        one claim, in seconds
    handfast reproduce sdn                   all of them, and out/reproduce/sdn/report.html
    handfast reproduce eln --beyond          and what its authors leave to future work
    handfast reproduce sdn --json | jq -r '.claims[] | [.id, .verdict] | @tsv'

    Finished runs are kept in DIR/KEY/runs (DIR is --out, else out/reproduce):
    after Ctrl-C the same command does only what is missing.
    Exit code 1 if a claim fails, 2 if none could be judged.
    """
    questions = _questions(targets or [], beyond=beyond or not targets)
    numbers = options.seeds(seeds) if seeds is not None else None
    if not targets:
        _list(questions, json)
        return
    outcomes = [
        _carry_out(one, Order((out or bench.OUT) / one.paper.key, None, numbers, quick, jobs), json)
        for one in questions
    ]
    verdicts = [one for outcome in outcomes for one in outcome.verdicts]
    if json:
        sys.stdout.write(bench.document(verdicts))
    code = bench.exit_code(verdicts)
    if code:
        raise typer.Exit(code)


def _questions(targets: Sequence[str], *, beyond: bool) -> list[Question]:
    names: dict[str, list[str]] = {}
    whole: set[str] = set()
    for target in targets or bench.known():
        key, slash, name = target.partition("/")
        names.setdefault(key, []).append(name)
        if not slash:
            whole.add(key)
    papers = {key: bench.load(key) for key in names}
    return [
        Question(paper, paper.choose([] if key in whole else names[key], beyond=beyond))
        for key, paper in papers.items()
    ]


def _list(questions: Sequence[Question], json: bool) -> None:
    if json:
        found = [{"key": one.paper.key, "title": one.paper.claims.title, "claims": _lines(one)} for one in questions]
        sys.stdout.write(document.written({"papers": found}))
        return
    screen = console.out()
    for one in questions:
        table = Table(title=f"{one.paper.key}: {one.paper.claims.title}", title_justify="left", box=box.SIMPLE_HEAD)
        table.add_column("claim", no_wrap=True)
        table.add_column("what")
        for claim in one.claims:
            table.add_row(claim.id, Text(claim.title))
        screen.print(table)
    if not questions:
        screen.print("no paper comes with this handfast")


def _lines(question: Question) -> list[dict[str, str]]:
    return [{"id": claim.id, "title": claim.title, "paper": claim.paper} for claim in question.claims]


def _carry_out(question: Question, order: Order, json: bool) -> Outcome:
    with study.resumable(question.paper.key, order.out) as progress:
        outcome = bench.reproduce(question, order, progress)
    if not json:
        console.out().print(_table(question, outcome.verdicts))
        study.note_runs(outcome.runs, outcome.reused, f"; report: {outcome.page}")
    return outcome


def _table(question: Question, verdicts: Sequence[Verdict]) -> Table:
    table = Table(title=question.paper.claims.title, title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("claim", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    table.add_column("what was found")
    for one in verdicts:
        table.add_row(one.id, Text(one.verdict, style=COLOURS[one.verdict]), _found(one), end_section=True)
    return table


def _found(one: Verdict) -> Text:
    text = Text(one.title)
    measured = "; ".join(map(str, one.measured[:SHOWN]))
    if len(one.measured) > SHOWN:
        measured += f"; {len(one.measured) - SHOWN} more in the report"
    control = one.controlled.brief if one.controlled is not None else one.control
    for name, words in (("paper", one.paper), ("measured", measured), ("reason", one.brief), ("control", control)):
        if words:
            text.append(f"\n{name}: ", style="bold")
            text.append(words)
    return text
