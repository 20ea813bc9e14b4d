"""`handfast trace`: what a link may follow over time: shown, imported, drawn."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from handfast import _handfast
from handfast import trace as traces
from handfast.cli import console, options
from handfast.errors import InputError, unknown

HELP = """Traces that links follow: shown, imported from recordings, drawn.

\b
A scenario follows one with the key `trace` of a link:
  trace = {file = "bus.csv"}             a file, by its path from the scenario
  trace = {generate = "starlink"}        drawn anew for each run
\b
A file is mahimahi's (each line a millisecond at which a packet may leave) or
lines that hold until the next, under names that carry their unit:
  time_s,rate_mbps,delay_ms,loss
  0,2,30,0
  1,8,20,0.01
  2,0,0,0                                the last line is the end
"""

group = typer.Typer(no_args_is_help=True, help=HELP)

Way = Annotated[str, typer.Option("--way", metavar="WAY", help="down, to the user, or up, from the user.")]
Out = Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Where it goes; without it, standard output.")]
SHORTEST, LONGEST = 1e-3, 86400.0
"""Of what is drawn, seconds."""


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(group, name="trace")


def _figures(trace: _handfast.Trace) -> str:
    return "".join(f"  {name:8} {value}\n" for name, value in traces.summary(trace))


def _write(text: str, out: Path | None) -> None:
    if out is None:
        sys.stdout.write(text)
    else:
        out.write_text(text, encoding="utf-8")


@group.command()
def show(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A trace.")], json: options.JsonOption = False
) -> None:
    """Say what a trace holds.

    \b
    handfast trace show bus.csv
    """
    trace = traces.parse(file)
    sys.stdout.write(trace.summary() + "\n" if json else f"{file}\n{_figures(trace)}")


@group.command()
def generate(
    name: Annotated[str, typer.Argument(metavar="NAME", help="starlink, mmwave or train.")],
    seed: Annotated[int, typer.Option("--seed", min=0, max=2**64 - 1, help="Another draws another.")] = 1,
    duration: Annotated[str, typer.Option("--duration", metavar="TIME", help="How long, e.g. 60s or 10min.")] = "60s",
    way: Way = "down",
    out: Out = None,
) -> None:
    """Draw a trace and write it as lines of values.

    \b
    handfast trace generate starlink --seed 1 --duration 60s > home.csv
    handfast trace generate starlink --seed 1 --way up > home-up.csv

    With one seed both ways have one course. In a scenario `trace = {generate =
    "starlink"}` draws another for each run.
    """
    names = [name for name, _ in _handfast.generators()]
    if name not in names:
        raise unknown(f"there is no generator {name!r}", name, names)
    _check_way(way)
    _write(_handfast.Trace.generate(name, way, _seconds(duration), seed).csv(), out)


def _check_way(way: str) -> None:
    if way not in ("down", "up"):
        raise InputError(f"`--way {way}`: expected down or up")


def _seconds(text: str) -> float:
    units = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
    for unit, worth in units.items():
        number = text.removesuffix(unit)
        if number != text and number.replace(".", "", 1).isdecimal():
            seconds = float(number) * worth
            if not SHORTEST <= seconds <= LONGEST:
                raise InputError(f"`--duration {text}`: expected 1 ms to 24 h")
            return seconds
    raise InputError(f"`--duration {text}`: expected a time such as 60s, 10min or 1h")


@group.command("import")
def import_(
    files: Annotated[list[Path], typer.Argument(metavar="FILES", help="Recordings.")],
    time: Annotated[str | None, typer.Option("--time", metavar="COLUMN:UNIT", help="s, ms, us or date.")] = None,
    rate: Annotated[
        str | None, typer.Option("--rate", metavar="COLUMN:UNIT", help="bit/s, kbit/s, Mbit/s or Gbit/s.")
    ] = None,
    delay: Annotated[str | None, typer.Option("--delay", metavar="COLUMN:UNIT", help="One way: s, ms or us.")] = None,
    rtt: Annotated[
        str | None, typer.Option("--rtt", metavar="COLUMN:UNIT", help="There and back: half of it is the delay.")
    ] = None,
    loss: Annotated[str | None, typer.Option("--loss", metavar="COLUMN:UNIT", help="1 (a probability) or %.")] = None,
    way: Way = "down",
    part: Annotated[
        int | None, typer.Option("--part", min=0, help="Which part of a recording that pauses; without it the longest.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="PATH", help="A file; of several traces a folder.")
    ] = None,
) -> None:
    """Make traces of recordings: lines of time, rate, delay and loss.

    \b
    handfast trace import Verizon-LTE-short.down > lte.csv
    handfast trace import drive.csv --time when:date --rate mbps:Mbit/s \\
        --rtt ping:ms --loss lost:% > drive-trace.csv

    mahimahi's files need no columns (a scenario follows them as they are, packet
    by packet; here they become means of 100 ms), nor do those of
    Starlink-on-the-Road. A recording is cut where it pauses for ten times as
    long as its lines are apart. What was found goes to standard error.
    """
    _check_way(way)
    mapping = _mapping(time, rate, delay, rtt, loss)
    if len(files) > 1 and (out is None or not out.is_dir()):
        raise InputError("of several recordings: give `--out` a folder that exists")
    for file in files:
        trace, parts = traces.imported(file, mapping, way, part)
        which = "the longest" if part is None else f"number {part}"
        parted = f", {which} of {len(parts)} parts" if len(parts) > 1 else ""
        console.note(f"{file}{parted}\n{_figures(trace).rstrip()}")
        _write(trace.csv(), out / f"{file.stem}-{way}.csv" if out is not None and len(files) > 1 else out)


def _mapping(
    time: str | None, rate: str | None, delay: str | None, rtt: str | None, loss: str | None
) -> traces.Mapping | None:
    if all(said is None for said in (time, rate, delay, rtt, loss)):
        return None
    if time is None:
        raise InputError("columns without `--time COLUMN:UNIT`, the time of each line")
    if delay is not None and rtt is not None:
        raise InputError("`--delay` and `--rtt` say one thing twice: leave out one of them")
    if rate is None and delay is None and rtt is None and loss is None:
        raise InputError("`--time` alone: declare `--rate`, `--delay`, `--rtt` or `--loss` as well")

    def column(option: str, said: str | None, units: dict[str, float]) -> tuple[str, float] | None:
        if said is None:
            return None
        name, worth = traces.column(option, said, units)
        return name, worth or 1.0

    return traces.Mapping(
        traces.column("--time", time, traces.TIME),
        column("--rate", rate, traces.RATE),
        column("--rtt" if rtt else "--delay", rtt or delay, traces.DELAY),
        column("--loss", loss, traces.LOSS),
        round_trip=rtt is not None,
    )
