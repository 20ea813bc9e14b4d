"""`handfast sweep`: a grid of values, resumable."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from handfast import keeping, pivot, results, sweeps
from handfast.cli import console, options
from handfast.cli import pivot as tables
from handfast.errors import FAILED, InputError


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
    keeping.check_sweep(directory, sweeps.RUNS)
    axes = _axes(scenario, settings)
    chosen, numbers = options.names(schemes), options.seeds(seeds)
    with _explained(directory), console.progress(loaded.name) as progress:
        done = sweeps.sweep(
            loaded,
            axes,
            out=directory,
            schemes=chosen,
            seeds=numbers,
            backends=options.backends(backend),
            jobs=jobs,
            progress=progress,
        )
    _print(directory, done, json)
    if not all(result.valid for result in done.results):
        raise typer.Exit(FAILED)


@contextmanager
def _explained(directory: Path) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        console.note(f"finished runs are kept in {directory / sweeps.RUNS}; the same command does the rest")
        raise


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


def _print(directory: Path, done: sweeps.Sweep, json: bool) -> None:
    if json:
        sys.stdout.write(results.document(done.results).rstrip() + "\n")
        return
    made, screen = pivot.of(done), console.out()
    for table in tables.build(made):
        screen.print(table)
    if said := tables.notes(made):
        screen.print(said)
    console.note(f"{len(done.rows)} runs, {done.reused} of them found on disk")
    console.note(
        f"table: {directory / 'runs.parquet'}, runs.csv; figure: {directory / sweeps.FIGURE}.svg, {sweeps.FIGURE}.png"
    )
