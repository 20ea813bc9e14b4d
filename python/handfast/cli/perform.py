"""What `run` and `compare` share: do the runs, then write a result directory that is whole or absent."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import typer

from handfast import bundle, figures, keeping, page, results, series, tasks
from handfast.api import Scenario
from handfast.cli import console, detail, table
from handfast.engine import Runnable, execute
from handfast.errors import FAILED, InputError, MissingRequirementError
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
    force: bool = False
    """Whether what `out` holds may be lost."""

    @property
    def keys(self) -> set[keeping.Key]:
        """What tells the runs apart."""
        return set(product(self.schemes, self.backends, self.seeds))

    def kept(self) -> list[Result]:
        """The runs in `out` that stay beside these; raises where results would be lost."""
        if self.out is None or self.force:
            return []
        return keeping.kept(self.out, self.scenario, self.keys, pcap=self.pcap)


def carry_out(order: Order) -> None:
    """Run, write, print; the exit code says whether every run counts.

    Where the lab cannot run, what was asked of the simulator is done all the same before that is said.
    """
    _check_captures(order)
    try:
        tasks.check(order.backends, [order.scenario], order.schemes)
    except MissingRequirementError:
        if SIM not in order.backends:
            raise
        _perform(replace(order, backends=[SIM]))
        raise
    _perform(order)


def _check_captures(order: Order) -> None:
    if order.pcap and order.out is None:
        raise InputError("--pcap needs --out DIR, where the captures go")
    if order.pcap and not order.scenario.core.captures:
        raise InputError(
            '--pcap: the scenario names no node to capture at; add `capture = ["NODE"]` to it, '
            "or --set 'capture=[\"NODE\"]'"
        )


def _perform(order: Order) -> None:
    order.kept()  # nobody waits for runs that must not be written
    with staged(order.out, bundle.ENTRIES) if order.out is not None else nullcontext() as stage:
        runs = _run(order, stage)
        old = _write(order, stage, runs) if stage is not None else []
    _print(order, runs, old)
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
        captures = stage / bundle.CAPTURES / bundle.capture_name(scheme, backend, seed)
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


def _write(order: Order, stage: Path, runs: list[Result]) -> list[Result]:
    old = order.kept()
    bundle.write(stage, order.scenario, keeping.in_order(order.scenario.schemes, [*old, *runs]) if old else runs)
    if order.out is not None and not order.force:
        keeping.join(order.out, stage, old, runs)
    made = bundle.read(stage)
    write_whole(stage / bundle.REPORT, page.build(made))
    if order.figures is not None:
        # The report shows all that is there, a figure for a paper what was asked for.
        figures.write(replace(made, document=replace(made.document, runs=tuple(runs))), order.figures)
    return old


def _print(order: Order, runs: list[Result], old: list[Result]) -> None:
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
    if old:
        console.note(f"the report also shows what was there: {keeping.named(old)}")
    if order.figures is not None:
        console.note(f"figures: {order.figures}")
