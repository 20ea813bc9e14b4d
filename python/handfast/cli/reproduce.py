"""`handfast reproduce`: a paper's claims, judged."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from handfast import sweeps
from handfast.cli import complete, console, options
from handfast.studies import reproduce as bench
from handfast.studies.reproduce import Claim, Order, Outcome, Paper, Verdict

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
    orders = [
        _order(paper, claims, quick, seeds, out, jobs)
        for paper, claims in _chosen(targets or [], beyond=beyond or not targets)
    ]
    if not targets:
        _list(orders, json)
        return
    outcomes = [_carry_out(order, json) for order in orders]
    verdicts = [one for outcome in outcomes for one in outcome.verdicts]
    if json:
        sys.stdout.write(bench.document(verdicts))
    code = bench.exit_code(verdicts)
    if code:
        raise typer.Exit(code)


def _chosen(targets: Sequence[str], *, beyond: bool) -> list[tuple[Paper, list[Claim]]]:
    names: dict[str, list[str]] = {}
    whole: set[str] = set()
    for target in targets or bench.known():
        key, slash, name = target.partition("/")
        names.setdefault(key, []).append(name)
        if not slash:
            whole.add(key)
    papers = {key: bench.load(key) for key in names}
    return [(paper, paper.choose([] if key in whole else names[key], beyond=beyond)) for key, paper in papers.items()]


def _order(
    paper: Paper, claims: list[Claim], quick: bool, seeds: str | None, out: Path | None, jobs: int | None
) -> Order:
    numbers = options.seeds(seeds) if seeds is not None else None
    return Order(paper, claims, (out or bench.OUT) / paper.key, quick=quick, seeds=numbers, jobs=jobs)


def _list(orders: Sequence[Order], json: bool) -> None:
    if json:
        import json as json_module

        found = [
            {"key": order.paper.key, "title": order.paper.claims.title, "claims": _lines(order)} for order in orders
        ]
        sys.stdout.write(json_module.dumps({"papers": found}, indent=2) + "\n")
        return
    screen = console.out()
    for order in orders:
        table = Table(title=f"{order.paper.key}: {order.paper.claims.title}", title_justify="left", box=box.SIMPLE_HEAD)
        table.add_column("claim", no_wrap=True)
        table.add_column("what")
        for claim in order.claims:
            table.add_row(claim.id, Text(claim.title))
        screen.print(table)
    if not orders:
        screen.print("no paper comes with this handfast")


def _lines(order: Order) -> list[dict[str, str]]:
    return [{"id": claim.id, "title": claim.title, "paper": claim.paper} for claim in order.claims]


def _carry_out(order: Order, json: bool) -> Outcome:
    with _explained(order), console.progress(order.paper.key) as progress:
        outcome = bench.reproduce(order, progress)
    if not json:
        console.out().print(_table(order, outcome.verdicts))
        console.note(f"{outcome.runs} runs, {outcome.reused} of them found on disk; report: {outcome.page}")
    return outcome


@contextmanager
def _explained(order: Order) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        console.note(f"finished runs are kept in {order.out / sweeps.RUNS}; the same command does the rest")
        raise


def _table(order: Order, verdicts: Sequence[Verdict]) -> Table:
    table = Table(title=order.paper.claims.title, title_justify="left", box=box.SIMPLE_HEAD)
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
    for name, words in (("paper", one.paper), ("measured", measured), ("reason", one.reason), ("control", one.control)):
        if words:
            text.append(f"\n{name}: ", style="bold")
            text.append(words)
    return text
