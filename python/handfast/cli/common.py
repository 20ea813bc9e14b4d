"""`handfast common`: who wins where, by how much, and how far from the limit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, cast

import typer
from rich.table import Table
from rich.text import Text

from handfast.cli import console, options, study
from handfast.studies import common as bench
from handfast.studies.common import BASELINE, RIVAL, Cell, Common, Row
from handfast.studies.grid import Order
from handfast.tables import UNKNOWN


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
    handfast common                                        README's table, and a picture
    handfast common --quick                                the same with three seeds: a look
    handfast common --groups announced,unannounced --schemes linux,spurious

    The network and the schemes are scenarios/common/network.toml. Finished runs
    are kept in DIR/runs (DIR is --out, else out/common); DIR gets the tables in
    Markdown too, short and whole.
    """
    chosen, names = options.listed("--groups", groups), options.names(schemes)
    order = Order(out or bench.OUT, names, options.seeds(seeds) if seeds is not None else None, quick, jobs)
    with study.resumable("common table", order.out) as progress:
        made = bench.study(order, chosen, progress)
    made.write(order.out)
    if study.printed(made, json=json):
        return
    screen = console.out()
    for table in (*_tables(made), *_others(made)):
        screen.print(table)
    screen.print(_legend(made))
    study.note_runs(made.runs, made.reused, f"; picture: {order.out / 'common.svg'}")


RECONNECTS = (
    " With another address every scheme but iosl-peers loses its connection, and the application opens another one: "
    "the same application with each."
)


BESIDE = (
    " Beside another download a percentage is what the one that has less of its fair part has of it. There, and in "
    "what a person feels, a difference counts that hardly comes by chance."
)


def _seeds(made: Common) -> str:
    """How many; situations whose seeds differ much have more."""
    counts = sorted({len(cell.values) for row in made.rows for cell in row.cells})
    return f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else f"{counts[0]}"


def _legend(made: Common) -> str:
    named = dict.fromkeys(bench.winner(row).scheme for row in made.rows if row.winners)
    who = "".join(f"  {scheme}: {bench.changes(scheme)}\n" for scheme in named if bench.changes(scheme))
    reconnects = any(row.group.carry for row in made.rows)
    return (
        f"\nA percentage is the share of what the links could have carried: the median of {_seeds(made)} seeds, "
        f"{made.duration_s:g} s each. Linux today: CUBIC with RACK-TLP. Stall: seconds from the link's return to the "
        "first new data. Gain: points above Linux today. Best remedy: the cheapest of those within 0.2 points of "
        "the best, seed by seed; +2: two more are."
        f"{BESIDE if any(row.measure.sure for row in made.rows) else ''}"
        f"{RECONNECTS if reconnects else ''}\n\n"
        f"Who must change what:\n{who}"
    )


COLUMNS = (
    # head, columns, justified
    ("", 25, "left"),
    ("Linux\ntoday", 7, "right"),
    ("its\nstall", 8, "right"),
    ("best\nremedy", 14, "left"),
    ("its\nshare", 7, "right"),
    ("its\nstall", 7, "right"),
    ("gain", 5, "right"),
)
"""With a space between them they fill 80 columns."""
OTHERS = (
    ("", 22, "left"),
    ("", 21, "left"),
    ("Linux\ntoday", 6, "right"),
    ("\nBBR", 5, "right"),
    ("best\nremedy", 15, "left"),
    ("its\nfigure", 6, "right"),
)
"""The same of what is no share of the limit."""


def _tables(made: Common) -> Iterator[Table]:
    for place, key in enumerate(dict.fromkeys(row.group.key for row in made.limited)):
        rows = [row for row in made.limited if row.group.key == key]
        table = _blank(rows[0].group.title, COLUMNS, headed=place == 0)
        for row in rows:
            table.add_row(*_cells(row))
        yield table


def _others(made: Common) -> Iterator[Table]:
    """What is no share of the limit: a table a group, where there is a best."""
    for key in dict.fromkeys(row.group.key for row in made.others if row.winners):
        rows = [row for row in made.others if row.group.key == key]
        table = _blank(rows[0].group.heading, OTHERS, headed=True)
        for row in rows:
            table.add_row(*_other_cells(row))
        yield table


def _blank(title: str, columns: Sequence[tuple[str, int, str]], *, headed: bool) -> Table:
    table = Table(
        title=f"\n{title}",
        title_justify="left",
        title_style="bold",
        box=None,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        show_header=headed,
    )
    for head, width, justify in columns:
        table.add_column(head, justify=cast("Any", justify), width=width, no_wrap=True)
    return table


def _cells(row: Row) -> list[str | Text]:
    base, best = row.of(BASELINE), bench.winner(row)
    return [
        row.name,
        UNKNOWN if base is None else _percent(base),
        UNKNOWN if base is None else bench.stall(base),
        Text(bench.named(row).replace("`", ""), style="green"),
        _percent(best),
        bench.stall(best),
        bench.gain(row),
    ]


def _other_cells(row: Row) -> list[str | Text]:
    base, rival = row.of(BASELINE), row.of(RIVAL)
    return [
        row.measure.title,
        row.name,
        UNKNOWN if base is None else row.measure.text(base.value.median),
        UNKNOWN if rival is None else row.measure.text(rival.value.median),
        Text(bench.named(row).replace("`", ""), style="green"),
        row.measure.text(bench.winner(row).value.median),
    ]


def _percent(cell: Cell) -> str:
    return f"{100 * cell.value.median:.1f} %"
