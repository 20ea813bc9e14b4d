"""`handfast doctor`: what this machine has and lacks."""

from __future__ import annotations

import json as json_module
import sys
from dataclasses import asdict

import typer
from rich.table import Table

from handfast import commands, machine
from handfast.cli import console, options
from handfast.errors import WRONG_INPUT


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(doctor)


def doctor(json: options.JsonOption = False) -> None:
    """Check what this machine has and lacks, and say how to get it.

    \b
    handfast doctor

    Exits with 2 where something required is missing; what is optional only
    costs the named feature.
    """
    found = commands.doctor()
    if json:
        sys.stdout.write(json_module.dumps({"checks": [asdict(check) for check in found]}, indent=2) + "\n")
    else:
        console.out().print(_table(found))
    if any(check.required and not check.ok for check in found):
        raise typer.Exit(WRONG_INPUT)


def _table(found: list[machine.Check]) -> Table:
    table = Table("", "what", "found", "advice")
    for check in found:
        mark = "ok" if check.ok else "MISSING" if check.required else "–"
        table.add_row(mark, check.name, check.found, check.advice)
    return table
