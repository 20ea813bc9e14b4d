"""`handfast compare`: every scheme side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from handfast.cli import options, perform
from handfast.perform import Request


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(compare)


def compare(
    scenario: options.ScenarioArgument,
    schemes: options.SchemesOption = None,
    seeds: options.SeedsOption = "1",
    settings: options.SetOption = None,
    out: options.OutOption = None,
    force: options.ForceOption = False,
    pcap: options.PcapOption = False,
    figures: Annotated[
        Path | None, typer.Option("--figures", metavar="DIR", help="Also PNG and SVG figures for a paper.")
    ] = None,
    backend: options.BackendOption = "sim",
    jobs: options.JobsOption = None,
    json: options.JsonOption = False,
) -> None:
    """Compare the schemes of a scenario: one table, and a report with the curves.

    \b
    handfast compare wifi-outage                     all schemes, seed 1
    handfast compare wifi-outage --schemes reno,sack --seeds 1..20
    handfast compare wifi-outage --set links.radio.delay=80ms --out out/far
    handfast compare wifi-outage --schemes linux,rto-max --backend sim,lab
    handfast compare wifi-outage --json > result.json

    Several seeds give medians with their 95 % intervals. Results go to DIR
    (--out, else out/NAME); with --json alone nothing is written.

    Other runs that DIR holds stay there, and the report shows them too, if they
    are of the same scenario and build of handfast, and every scheme then has the
    same seeds. Otherwise the command stops, and --force replaces what DIR holds.
    """
    loaded = options.load(scenario, settings)
    wanted = out if out is not None or (json and figures is None) else Path("out") / loaded.name
    perform.carry_out(
        Request(
            loaded,
            loaded.choose(options.names(schemes)),
            options.seeds(seeds),
            options.backends(backend),
            wanted,
            pcap=pcap,
            figures=figures,
            jobs=jobs,
            force=force,
        ),
        json=json,
    )
