"""`handfast fidelity`: the simulator's `linux` beside this machine's kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from handfast.cli import console, options, study
from handfast.errors import FAILED
from handfast.results import SIM
from handfast.studies import fidelity as bench
from handfast.studies.fidelity import BOUNDS, SHARE, Case, Fidelity, Row
from handfast.studies.fidelity.bounds import Bound, Compared, Spread, Summary
from handfast.studies.fidelity.draw import Drops, Reorder, Trouble
from handfast.tables import UNKNOWN

MAX_CASES = 10_000
_ABOVE = {SIM: "sim", bench.AGAIN: "lab, another run"}
MARK = "!"
"""Beside a figure that is out of bounds."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(fidelity)


def fidelity(
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="What the cases are drawn from.", min=0)],
    cases: Annotated[int, typer.Option("--cases", metavar="N", help="How many.", min=1, max=MAX_CASES)] = 30,
    case: Annotated[
        int | None, typer.Option("--case", metavar="K", help="Only this one, from 1.", min=1, max=MAX_CASES)
    ] = None,
    scheme: Annotated[
        str | None,
        typer.Option("--scheme", metavar="S", help=f"One of {', '.join(bench.SCHEMES)} for all, not what is drawn."),
    ] = None,
    twice: Annotated[
        bool, typer.Option("--kernel-twice", help="The kernel beside itself: how far two of its runs are apart.")
    ] = False,
    out: options.OutOption = None,
    json: options.JsonOption = False,
) -> None:
    """Draw cases, run them in the simulator and on this machine's kernel, and say how far apart they are.

    Half of the cases are one download with an outage or dropped segments; the
    others reorder, upload, have two flows or two outages.

    \b
    handfast fidelity --seed 7 --cases 30       some ten minutes; root
    handfast fidelity --seed 7 --case 3         one of them again
    handfast fidelity --seed 7 --scheme linux-bbr    all of them by BBR
    handfast fidelity --seed 7 --kernel-twice        how far the kernel is from itself
    handfast compare out/fidelity-7/case-03/scenario.toml --backend sim,lab

    Each case goes to a folder of DIR (--out, else out/fidelity-SEED; its name
    ends in -SCHEME with --scheme and in -kernel with --kernel-twice), with its
    scenario; with --json alone
    nothing is written. A lab run that was late is repeated once. Exit code 1:
    fewer than 80 % of the cases are within bounds
    (docs/explanation/fidelity.md).
    """
    chosen = [bench.draw(seed, number, scheme) for number in ([case] if case is not None else range(1, cases + 1))]
    name = "-".join(["fidelity", str(seed), *([scheme] if scheme else []), *(["kernel"] if twice else [])])
    against = bench.AGAIN if twice else SIM
    wanted = out if out is not None or json else Path("out") / name
    with console.progress("lab") as progress:
        made = bench.study(chosen, against=against, out=wanted, progress=progress)
    # One case done again says nothing about all of them.
    if wanted is not None and case is None:
        made.write(wanted)
    if not study.printed(made, json=json):
        _print(made, wanted)
    if not made.holds:
        raise typer.Exit(FAILED)


def _print(made: Fidelity, out: Path | None) -> None:
    screen = console.out()
    screen.print(_cases(made))
    screen.print(_errors(made))
    screen.print(_kinds(made))
    invalid = [row for row in made.rows if not row.counts]
    for row in invalid:
        console.note(f"case {row.case.number} does not count: {'; '.join(row.problems)}")
    share = f" ({made.within / len(made.counted):.0%}; at least {SHARE:.0%} is wanted)" if made.counted else ""
    screen.print(f"{made.within} of {len(made.counted)} cases within bounds{share}")
    if out is not None:
        console.note(f"cases: {out}")


def _cases(made: Fidelity) -> Table:
    table = Table(
        title=f"fidelity · seed {made.seed} · above: {_ABOVE[made.against]}, below: lab",
        caption=f"{MARK}: out of bounds. {UNKNOWN}: not reached, or not known.",
        title_justify="left",
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    table.add_column("case", justify="right")
    table.add_column("path, trouble", no_wrap=True)
    for bound in BOUNDS:
        head, width = bound.column.narrow
        table.add_column(head, justify="right", vertical="bottom", min_width=width)
    table.add_column("in?", no_wrap=True)
    for row in made.rows:
        figures = (Text(_pair(bound, row.metrics[bound.measure])) for bound in BOUNDS)
        table.add_row(str(row.case.number), Text(_described(row.case)), *figures, _verdict(row))
    return table


def _described(case: Case) -> str:
    path = f"{case.rate_kbps / 1000:.1f} Mbit/s {case.rtt_us / 1000:.0f} ms {case.queue_pkt} pkt"
    kind = f"{case.kind}, " if case.kind in ("upload", "two flows") else ""
    return f"{path}\n{kind}{_troubled(case.trouble)}\n{case.scheme}{'' if case.timestamps else ', no ts'}"


def _troubled(trouble: Trouble) -> str:
    if isinstance(trouble, Drops):
        return f"{len(trouble.segments)} dropped"
    if isinstance(trouble, Reorder):
        return f"{trouble.probability:.1%} {trouble.by_us / 1000:.0f} ms late"
    return " and ".join(str(one.gap_ms) for one in trouble) + " ms gone"


def _pair(bound: Bound, one: Compared) -> str:
    ours, theirs = (UNKNOWN if value is None else bound.column.show(value) for value in (one.beside, one.lab))
    mark = MARK if one.within is False else " "
    return f"{ours}{mark}\n{theirs} "


def _verdict(row: Row) -> str:
    if not row.counts:
        return "invalid"
    return "yes" if row.within else "no"


def _errors(made: Fidelity) -> Table:
    table = Table(title="error", title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("metric")
    for column in ("median", "90th percentile", "bound", "within"):
        table.add_column(column, justify="right")
    for bound in BOUNDS:
        summary = made.summary(bound)
        spreads = (_spread(bound, summary, which) for which in ("median", "p90"))
        table.add_row(bound.column.header, *spreads, _limits(bound), f"{summary.within} of {summary.judged}")
    return table


def _kinds(made: Fidelity) -> Table:
    table = Table(title="kind of case", title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("kind")
    table.add_column("within", justify="right")
    for kind, (within, counted) in made.by_kind.items():
        table.add_row(kind, f"{within} of {counted}")
    return table


def _spread(bound: Bound, summary: Summary, which: str) -> str:
    def figure(spread: Spread) -> float:
        return float(getattr(spread, which))

    parts = []
    if bound.relative is not None and summary.relative is not None:
        parts.append(f"{figure(summary.relative):.1%}")
    if summary.absolute is not None:
        parts.append(f"{bound.column.show(figure(summary.absolute))} {bound.column.unit}".rstrip())
    return ", ".join(parts) or UNKNOWN


def _limits(bound: Bound) -> str:
    parts = []
    if bound.relative is not None:
        parts.append(f"{bound.relative:.0%}")
    if bound.absolute is not None:
        parts.append(f"{bound.column.show(bound.absolute)} {bound.column.unit}".rstrip())
    return " or ".join(parts)
