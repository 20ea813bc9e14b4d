"""`handfast schema`: what a scenario file may hold, for editors."""

from __future__ import annotations

import sys

import typer

from handfast import _handfast


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(schema)


def schema() -> None:
    """Print the JSON Schema of the scenario file.

    \b
    handfast schema > scenario.schema.json

    Editors that know TOML schemas (taplo, Even Better TOML) then complete and
    check as you type; the file's first line tells them:
    #:schema ./scenario.schema.json
    """
    sys.stdout.write(_handfast.schema().rstrip() + "\n")
