"""`handfast peers`: a paper's figure here and in another simulator."""

from __future__ import annotations

from typing import Annotated

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from handfast.cli import console, options, study
from handfast.stats import Summary
from handfast.studies.grid import Order
from handfast.studies.peers import OUT, quick_start
from handfast.studies.peers import eln as throughput
from handfast.studies.peers.eln import Row, Throughput

MARK = "!"
"""Beside a difference that is beyond both intervals."""

peers = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(peers, name="peers", help="Run a figure here and in another simulator, side by side.")


@peers.callback()
def about() -> None:
    """Run a figure here and in another simulator, side by side."""


@peers.command()
def eln(
    schemes: options.SchemesOption = None,
    seeds: Annotated[
        str | None, typer.Option("--seeds", metavar="SEEDS", help="Instead of 1..12, or 1..6 with --quick.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Three losses, 50 s, six seeds: a look.")] = False,
    out: options.OutOption = None,
    jobs: options.JobsOption = None,
    json: options.JsonOption = False,
) -> None:
    """Throughput against loss on the radio, as in figure 2 of the ELN paper, here and in ns-2 (package ns2).

    \b
    handfast peers eln --quick               a look, in a minute
    handfast peers eln                       all of it, and out/peers/eln/figure.svg
    handfast peers eln --schemes sack,snoop --seeds 1..30

    Finished runs are kept in DIR/runs (DIR is --out, else out/peers/eln).
    What differs beyond both intervals is marked; docs/explanation/peers.md says why.
    """
    numbers = options.seeds(seeds) if seeds is not None else None
    order = Order(out or OUT / "eln", options.names(schemes), numbers, quick, jobs)
    with console.progress("here and in ns-2") as progress:
        made = throughput.study(order, progress)
    made.write(order.out)
    if study.printed(made, json=json):
        return
    for rows in made.caps.values():
        console.out().print(_table(made, rows))
    study.note_runs(made.runs, made.reused, f"; figure: {order.out / 'figure.svg'}")


@peers.command("quick-start")
def quick_start_command(
    out: options.OutOption = None, jobs: options.JobsOption = None, json: options.JsonOption = False
) -> None:
    """Quick-Start (RFC 4782), here and in ns-2 (package ns2): what one download delivers by when.

    \b
    handfast peers quick-start

    Without a request; one refused, approved and reduced by the routers; and a loss in the Quick-Start window.
    docs/explanation/peers.md says what differs, and why.
    """
    directory = out or OUT / "quick-start"
    with console.progress("here and in ns-2") as progress:
        made = quick_start.study(progress=progress, jobs=jobs)
    made.write(directory)
    if not study.printed(made, json=json):
        console.out().print(_delivered(made))


def _delivered(made: quick_start.Delivered) -> Table:
    table = Table(
        title=f"Quick-Start · segments delivered · ours and ns-{made.version}",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    table.add_column("request", no_wrap=True)
    table.add_column("", no_wrap=True)
    for time in quick_start.TIMES_S:
        table.add_column(f"{time:g} s", justify="right", no_wrap=True)
    for row in made.rows:
        table.add_row(row.case, "ours", *(f"{one:,}" for one in row.ours))
        table.add_row("", "ns-2", *(f"{one:,}" for one in row.theirs), end_section=True)
    return table


def _table(made: Throughput, rows: list[Row]) -> Table:
    beyond = sum(row.beyond for row in rows)
    table = Table(
        title=f"[eln] figure 2 · Mbit/s · at most {rows[0].cap} segments on their way · ns-{made.version}",
        caption=f"Medians of {len(made.seeds)} seeds and their intervals. {MARK}: the intervals have nothing in common "
        f"({beyond} of {len(rows)}).",
        title_justify="left",
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    table.add_column("loss", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for scheme in dict.fromkeys(row.scheme for row in rows):
        table.add_column(scheme, justify="right", no_wrap=True)
    for loss in dict.fromkeys(row.loss for row in rows):
        some = [row for row in rows if row.loss == loss]
        table.add_row(loss, "ours", *(_cell(row.ours) for row in some))
        table.add_row("", "ns-2", *(_cell(row.theirs) for row in some))
        table.add_row("", "", *(_apart(row) for row in some), end_section=True)
    return table


def _cell(goodput: Summary) -> Text:
    low, high = goodput.low / 1e6, goodput.high / 1e6
    return Text(f"{goodput.median / 1e6:.3f}").append(f"\n{low:.3f}–{high:.3f}", style="dim")


def _apart(row: Row) -> Text:
    return Text(f"{row.difference:+.1%}{MARK if row.beyond else ' '}", style="yellow" if row.beyond else "green")
