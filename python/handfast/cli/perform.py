"""What `run` and `compare` share: do the runs, then write a result directory that is whole or absent."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

import typer

from handfast import bundle, figures, page, results, series, tasks
from handfast.api import Scenario
from handfast.cli import console, detail, table
from handfast.engine import Runnable, execute
from handfast.errors import FAILED, MissingRequirementError
from handfast.results import SIM, Result
from handfast.store import staged, write_whole


@dataclass(frozen=True, slots=True)
class Order:
    """What the user asked for."""

    scenario: Scenario
    schemes: Sequence[str]
    seeds: Sequence[int]
    backends: Sequence[str]
    out: Path | None
    """The result directory; None writes none."""
    json: bool = False
    pcap: bool = False
    verify_wire: bool = False
    figures: Path | None = None
    jobs: int | None = None


def carry_out(order: Order) -> None:
    """Run, write, print; the exit code says whether every run counts.

    Where the lab cannot run, what was asked of the simulator is done all the same before that is said.
    """
    try:
        tasks.check(order.backends, [order.scenario], order.schemes)
    except MissingRequirementError:
        if SIM not in order.backends:
            raise
        _perform(replace(order, backends=[SIM]))
        raise
    _perform(order)


def _perform(order: Order) -> None:
    with staged(order.out, bundle.ENTRIES) if order.out is not None else nullcontext() as stage:
        runs = _run(order, stage)
        if stage is not None:
            _write(order, stage, runs)
    _print(order, runs)
    if not all(run.valid for run in runs):
        raise typer.Exit(FAILED)


def _run(order: Order, stage: Path | None) -> list[Result]:
    todo = [
        _task(order, stage, scheme, backend, seed)
        for scheme in order.schemes
        for backend in order.backends
        for seed in order.seeds
    ]
    with console.progress(order.scenario.name) as progress:
        return execute(todo, jobs=order.jobs, progress=progress)


def _task(order: Order, stage: Path | None, scheme: str, backend: str, seed: int) -> Runnable:
    captures = None
    if stage is not None and order.pcap:
        place = "" if backend == SIM else f".{backend}"
        captures = stage / bundle.CAPTURES / f"{scheme}-{seed}{place}"
        captures.mkdir(parents=True)
    return tasks.task(
        backend,
        order.scenario.core,
        scheme,
        seed,
        series_dir=stage / series.DIRECTORY if stage is not None else None,
        capture_dir=captures,
        verify_wire=order.verify_wire,
    )


def _write(order: Order, stage: Path, runs: list[Result]) -> None:
    bundle.write(stage, order.scenario, runs)
    made = bundle.read(stage)
    write_whole(stage / bundle.REPORT, page.build(made))
    if order.figures is not None:
        figures.write(made, order.figures)


def _print(order: Order, runs: list[Result]) -> None:
    if order.json:
        sys.stdout.write(results.document(runs).rstrip() + "\n")
        return
    screen = console.out()
    screen.print(table.build(runs))
    for part in detail.build(runs[0]) if len(runs) == 1 else ():
        screen.print(part)
    for run in runs:
        for problem in run.problems:
            console.note(f"{run.row}, seed {run.seed}, does not count: {problem}")
    if order.out is not None:
        console.note(f"report: {order.out / bundle.REPORT}")
    if order.figures is not None:
        console.note(f"figures: {order.figures}")
