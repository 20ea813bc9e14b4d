"""`handfast report`: the report again, from results alone."""

from __future__ import annotations

import json as json_module
import sys
from pathlib import Path
from typing import Annotated

import typer

from handfast import commands
from handfast.cli import console, options


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(report)


def report(
    source: Annotated[Path, typer.Argument(metavar="DIR|FILE", help="A result directory, or a result.json.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="The HTML file (default: report.html beside it)."),
    ] = None,
    figure_dir: Annotated[
        Path | None, typer.Option("--figures", metavar="DIR", help="Also PNG and SVG figures for a paper.")
    ] = None,
    json: options.JsonOption = False,
) -> None:
    """Draw the HTML report, and figures, from results that are already there.

    \b
    handfast report out/wifi-outage
    handfast report out/wifi-outage --figures paper/figures
    handfast report result.json --out result.html
    """
    target = commands.report(source, out, figures=figure_dir)
    written = {"report": target} if figure_dir is None else {"report": target, "figures": figure_dir}
    if json:
        sys.stdout.write(json_module.dumps(written, default=str) + "\n")
        return
    for what, where in written.items():
        console.note(f"{what}: {where}")
