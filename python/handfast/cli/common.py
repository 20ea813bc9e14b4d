"""`handfast common`: who wins where, by how much, and how far from the limit."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from handfast import common as bench
from handfast import figures, sweeps
from handfast.cli import console, options
from handfast.common import BASELINE, Cell, Order, Row, Study
from handfast.store import staged, write_whole
from handfast.tables import UNKNOWN

OUT = Path("out") / "common"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(common)


def common(
    groups: Annotated[
        str | None, typer.Option("--groups", metavar="A,B", help="Only these groups of rows (default: all).")
    ] = None,
    schemes: options.SchemesOption = None,
    seeds: Annotated[
        str | None, typer.Option("--seeds", metavar="SEEDS", help="Instead of the sweeps' own: 1..30.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Few seeds: a look.")] = False,
    out: options.OutOption = None,
    jobs: options.JobsOption = None,
    json: options.JsonOption = False,
) -> None:
    """Every scheme in every situation: who wins, by how much, how far from the limit.

    \b
    handfast common --quick                                a look
    handfast common                                        README's table, out/common/common.svg
    handfast common --groups announced,unannounced --schemes linux,spurious

    The network and the schemes are scenarios/common/network.toml. Finished runs
    are kept in DIR/runs (DIR is --out, else out/common); DIR gets the tables in
    Markdown too, short and whole.
    """
    order = Order(
        groups=options.listed("--groups", groups),
        schemes=options.names(schemes),
        seeds=options.seeds(seeds) if seeds is not None else None,
        quick=quick,
        jobs=jobs,
        out=out or OUT,
    )
    with _explained(order), console.progress("common table") as progress:
        made = bench.study(order, progress)
    _write(order, made)
    if json:
        sys.stdout.write(bench.document(made))
        return
    screen = console.out()
    for table in _tables(made):
        screen.print(table)
    screen.print(
        f"Share of the capacity limit, and the stall after the link's return: medians of {len(made.seeds)} seeds, "
        f"{made.duration_s:g} s each. Named or alike: at most 0.2 points apart, seed by seed."
    )
    console.note(f"{made.runs} runs, {made.reused} of them found on disk; picture: {order.out / 'common.svg'}")


@contextmanager
def _explained(order: Order) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        console.note(f"finished runs are kept in {order.out / sweeps.RUNS}; the same command does the rest")
        raise


def _write(order: Order, made: Study) -> None:
    with staged(order.out) as stage, figures.style():
        figures.save(bench.draw(made), stage / "common")
    for name, text in (
        ("common.json", bench.document(made)),
        ("short.md", bench.short(made)),
        ("whole.md", bench.whole(made)),
    ):
        write_whole(order.out / name, text)


def _tables(made: Study) -> Iterator[Table]:
    for key in dict.fromkeys(row.group.key for row in made.rows):
        yield _table([row for row in made.rows if row.group.key == key])


def _table(rows: list[Row]) -> Table:
    table = Table(
        title=rows[0].group.title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False
    )
    table.add_column("", no_wrap=True, min_width=20)
    for head, width in ((BASELINE, 13), ("best", 34), ("above", 5)):
        table.add_column(head, justify="right" if head == "above" else "left", min_width=width)
    for row in rows:
        base = row.of(BASELINE)
        table.add_row(
            row.name,
            UNKNOWN if base is None else _cell(base),
            Text(f"{_cell(row.winners[0])}  {bench.named(row).replace('`', '')}", style="green"),
            UNKNOWN if row.gain is None else f"{100 * row.gain:+.1f}",
        )
    return table


def _cell(cell: Cell) -> str:
    stall = bench.stall(cell)
    return f"{cell.share.median:.1%}" + ("" if stall == UNKNOWN else f" {stall}s")
