"""`handfast lab measure`: what the packet loop carries on this machine, and how late it is."""

from __future__ import annotations

import json as json_module
import sys
from dataclasses import asdict
from typing import Annotated

import typer
from rich.table import Table

from handfast.cli import console, options
from handfast.errors import FAILED
from handfast.lab import capacity


def register(group: typer.Typer) -> None:
    """Add the command."""
    group.command("measure")(measure)


def measure(
    seconds: Annotated[float, typer.Option(help="How long each transfer lasts.", min=0.5, max=600)] = capacity.SECONDS,
    json: options.JsonOption = False,
) -> None:
    """Measure how many frames a second the packet loop carries, and how late they leave.

    \b
    handfast lab measure
    handfast lab measure --seconds 10      steadier figures

    Kernels send to each other at growing rates until frames leave more than 1 ms
    late at the 99th percentile, or the rate is not reached. The result is kept,
    and a run that would ask for more is refused.
    """
    measured = capacity.measure(seconds, None if json else _tell)
    if json:
        sys.stdout.write(json_module.dumps(asdict(measured), indent=2) + "\n")
    else:
        console.out().print(_table(measured))
        if not measured.real_time:
            console.note("without real-time priority (run as root): lateness is what the machine's other work makes it")
    if measured.frames_per_s <= 0:
        raise typer.Exit(FAILED)


def _tell(step: capacity.Step) -> None:
    console.note(f"{step['rate_bps'] / 1e6:.0f} Mbit/s: {step['frames_per_s']:.0f} frames/s")


def _table(measured: capacity.Capacity) -> Table:
    table = Table(title=f"the packet loop carries {measured.frames_per_s:.0f} frames/s")
    for column in ("Mbit/s", "frames/s", "used", "p50 µs late", "p99", "p99.9", "most", "punctual"):
        table.add_column(column, justify="right")
    for step in measured.steps:
        late = (step[f"lateness_{which}_us"] for which in ("p50", "p99", "p999", "max"))
        table.add_row(
            f"{step['rate_bps'] / 1e6:.0f}",
            f"{step['frames_per_s']:.0f}",
            f"{step['used']:.0%}",
            *(f"{micros:.0f}" for micros in late),
            "yes" if step["sustained"] else "no",
        )
    return table
