"""`handfast sweep`: a grid of values, resumable."""

from __future__ import annotations

from pathlib import Path

import typer

from handfast import keeping
from handfast.cli import console, options, study
from handfast.cli import pivot as tables
from handfast.errors import FAILED, InputError
from handfast.studies import sweep as bench
from handfast.studies.grid import RUNS, Order
from handfast.studies.sweep import Sweep, pivot


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(sweep)


def sweep(
    scenario: options.ScenarioArgument,
    settings: options.SetOption = None,
    schemes: options.SchemesOption = None,
    seeds: options.SeedsOption = "1",
    backend: options.BackendOption = "sim",
    out: options.OutOption = None,
    jobs: options.JobsOption = None,
    json: options.JsonOption = False,
) -> None:
    """Run every combination of values, schemes and seeds, on all cores.

    \b
    handfast sweep wifi-outage --set links.radio.loss=0.001,0.01 --seeds 1..10
    handfast sweep wifi-outage --set events.0.gap=1s,3s,9s --schemes sack,cubic

    Several --set make a grid. Every finished run is kept in DIR/runs (DIR is
    --out, else out/NAME-sweep): after Ctrl-C, or with more values or seeds, the
    same command does only what is missing. At the end DIR holds runs.parquet
    and runs.csv, a row a run, and the figure sweep.svg and sweep.png.

    Prints a table with a row a combination and a column a scheme: the median over
    seeds. The first --set is the figure's horizontal axis.
    """
    loaded = options.load(scenario, None)
    directory = out if out is not None else Path("out") / f"{loaded.name}-sweep"
    keeping.check_sweep(directory, RUNS)
    axes = _axes(scenario, settings)
    order = Order(directory, options.names(schemes), options.seeds(seeds), jobs=jobs)
    with study.resumable(loaded.name, directory) as progress:
        done = bench.sweep(loaded, axes, order, options.backends(backend), progress)
    if not study.printed(done, json=json):
        _print(directory, done)
    if not all(result.valid for result in done.results):
        raise typer.Exit(FAILED)


def _axes(scenario: str, settings: list[str] | None) -> dict[str, list[str]]:
    if not settings:
        raise InputError(
            "a sweep needs values to go through: --set PATH=VALUE,VALUE\n"
            f"  handfast sweep {scenario} --set duration=20s,40s      a path is the file's keys with dots\n"
            f"  handfast compare {scenario} --seeds 1..10             several seeds, no values"
        )
    axes: dict[str, list[str]] = {}
    for path, values in map(options.axis, settings or ()):
        if path in axes:
            raise InputError(f"--set {path}: given twice; write its values once, between commas")
        axes[path] = values
    return axes


def _print(directory: Path, done: Sweep) -> None:
    made, screen = pivot.of(done), console.out()
    for table in tables.build(made):
        screen.print(table)
    if said := tables.notes(made):
        screen.print(said)
    study.note_runs(len(done.rows), done.reused)
    figure = Sweep.FIGURE
    console.note(f"table: {directory / 'runs.parquet'}, runs.csv; figure: {directory / figure}.svg, {figure}.png")
