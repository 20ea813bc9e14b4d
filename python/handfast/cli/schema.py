"""`handfast schema`: what a scenario file may hold, for editors."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from handfast import _handfast


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(schema)


def schema(*, result: Annotated[bool, typer.Option("--result", help="Of result.json instead.")] = False) -> None:
    """Print the JSON Schema of the scenario file, or of result.json.

    \b
    handfast schema > scenario.schema.json
    handfast schema --result > result.schema.json

    Editors that know TOML schemas (taplo, Even Better TOML) then complete and
    check as you type; the file's first line tells them:
    #:schema ./scenario.schema.json
    """
    text = _handfast.result_schema() if result else _handfast.schema()
    sys.stdout.write(text.rstrip() + "\n")
