"""`handfast report`: the report again, from results alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from handfast import bundle, figures
from handfast import report as reports
from handfast.cli import console
from handfast.store import write_whole


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
) -> None:
    """Draw the HTML report, and figures, from results that are already there.

    \b
    handfast report out/wifi-outage
    handfast report out/wifi-outage --figures paper/figures
    handfast report result.json --out result.html
    """
    found = bundle.read(source)
    target = out if out is not None else found.directory / bundle.REPORT
    write_whole(target, reports.build(found))
    console.note(f"report: {target}")
    if figure_dir is not None:
        figures.write(found, figure_dir)
        console.note(f"figures: {figure_dir}")
