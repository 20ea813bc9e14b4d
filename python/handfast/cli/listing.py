"""`handfast list`: what there is to start from."""

from __future__ import annotations

import json as json_module
import sys
from dataclasses import asdict
from typing import Any

import typer
from rich.table import Table

from handfast import commands
from handfast.cli import console, options


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="list")(listing)


def listing(json: options.JsonOption = False) -> None:
    """List shipped scenarios with their schemes, TCP profiles, agents, queue disciplines, and papers.

    \b
    handfast list
    handfast list --json | jq -r .profiles[].name
    """
    found = asdict(commands.listing())
    if json:
        sys.stdout.write(json_module.dumps(found, indent=2, default=str) + "\n")
    else:
        _print(found)


def _print(found: dict[str, list[dict[str, Any]]]) -> None:
    screen = console.out()
    for kind, entries in found.items():
        table = Table("name", "what", title=kind, title_justify="left", show_lines=False, expand=True)
        for entry in entries:
            schemes = f"\n(schemes: {', '.join(entry['schemes'])})" if "schemes" in entry else ""
            table.add_row(entry["name"], entry["description"] + schemes)
        screen.print(table)
