"""`handfast list`: what there is to start from."""

from __future__ import annotations

import json as json_module
import sys
from typing import Any

import typer
from rich.table import Table

from handfast import _handfast, api, reproduce, shipped
from handfast.cli import console, options


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="list")(listing)


def listing(json: options.JsonOption = False) -> None:
    """List the shipped scenarios with their schemes, the TCP profiles, the agents, and the papers.

    \b
    handfast list
    handfast list --json | jq -r .profiles[].name
    """
    found = {"scenarios": _scenarios(), "profiles": _profiles(), "agents": _agents(), "papers": _papers()}
    if json:
        sys.stdout.write(json_module.dumps(found, indent=2) + "\n")
    else:
        _print(found)


def _scenarios() -> list[dict[str, Any]]:
    loaded = [(path, api.load(path)) for path in shipped.scenarios()]
    return [
        {"name": path.stem, "path": str(path), "description": one.description, "schemes": one.schemes}
        for path, one in loaded
    ]


def _profiles() -> list[dict[str, Any]]:
    return [{"name": name, "description": summary} for name, summary in _handfast.profiles()]


def _agents() -> list[dict[str, Any]]:
    return [{"name": name, "description": summary} for name, summary in _handfast.agents()]


def _papers() -> list[dict[str, Any]]:
    return [{"name": key, "description": reproduce.load(key).claims.title} for key in reproduce.known()]


def _print(found: dict[str, list[dict[str, Any]]]) -> None:
    screen = console.out()
    for kind, entries in found.items():
        table = Table("name", "what", title=kind, title_justify="left", show_lines=False, expand=True)
        for entry in entries:
            schemes = f"\n(schemes: {', '.join(entry['schemes'])})" if "schemes" in entry else ""
            table.add_row(entry["name"], entry["description"] + schemes)
        screen.print(table)
