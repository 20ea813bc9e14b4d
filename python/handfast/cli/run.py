"""`handfast run`: one scheme, in detail."""

from __future__ import annotations

from typing import Annotated

import typer

from handfast.cli import complete, options, perform
from handfast.perform import Request


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(run)


def run(
    scenario: options.ScenarioArgument,
    scheme: Annotated[
        str | None,
        typer.Option(
            "--scheme",
            metavar="NAME",
            help="A scheme of the file, or a profile (default: its first).",
            autocompletion=complete.schemes,
        ),
    ] = None,
    seeds: options.SeedsOption = "1",
    settings: options.SetOption = None,
    out: options.OutOption = None,
    force: options.ForceOption = False,
    pcap: options.PcapOption = False,
    verify_wire: Annotated[
        bool,
        typer.Option("--verify-wire", help="Emit and parse every packet at every hop; results must not change."),
    ] = False,
    backend: options.BackendOption = "sim",
    jobs: options.JobsOption = None,
    json: options.JsonOption = False,
) -> None:
    """Run one scheme of a scenario.

    \b
    handfast run wifi-outage                         the first scheme, seed 1
    handfast run wifi-outage --scheme cubic --seed 1..5
    handfast run mine.toml --scheme sack --pcap --out out/sack
    handfast run wifi-outage --scheme linux --backend lab
    handfast run wifi-outage --set links.radio.delay=80ms --json | jq .runs

    With --out DIR: result.json, time series as Parquet, captures and report.html.
    Runs that DIR holds stay there, as `handfast compare --help` explains.
    """
    loaded = options.load(scenario, settings)
    chosen = loaded.choose([scheme] if scheme is not None else None)[:1]
    perform.carry_out(
        Request(
            loaded,
            chosen,
            options.seeds(seeds),
            options.backends(backend),
            out,
            pcap=pcap,
            verify_wire=verify_wire,
            jobs=jobs,
            force=force,
        ),
        json=json,
    )
