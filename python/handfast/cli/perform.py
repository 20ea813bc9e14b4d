"""What `run` and `compare` print, and the exit code that says whether every run counts."""

from __future__ import annotations

import sys
from dataclasses import replace

import typer

from handfast import bundle, keeping, results, tasks
from handfast.cli import console, detail, table
from handfast.errors import FAILED, MissingRequirementError
from handfast.perform import Done, Order, check, perform
from handfast.results import SIM


def carry_out(order: Order, *, json: bool) -> None:
    """Run, write, print.

    Where the lab cannot run, what was asked of the simulator is done all the same before that is said.
    """
    check(order)
    try:
        tasks.check(order.backends, [order.scenario], order.schemes)
    except MissingRequirementError:
        if SIM not in order.backends:
            raise
        _perform(replace(order, backends=[SIM]), json)
        raise
    _perform(order, json)


def _perform(order: Order, json: bool) -> None:
    with console.progress(order.scenario.name) as progress:
        done = perform(order, progress)
    if json:
        sys.stdout.write(results.document(done.runs).rstrip() + "\n")
    else:
        _print(order, done)
    if not all(run.valid for run in done.runs):
        raise typer.Exit(FAILED)


def _print(order: Order, done: Done) -> None:
    screen = console.out()
    screen.print(table.build(done.runs))
    for part in detail.build(done.runs[0]) if len(done.runs) == 1 else ():
        screen.print(part)
    for run in done.runs:
        for problem in run.problems:
            console.note(f"{run.row}, seed {run.seed}, does not count: {problem}")
    if order.out is not None:
        console.note(f"report: {order.out / bundle.REPORT}")
    if done.old:
        console.note(f"the report also shows what was there: {keeping.named(done.old)}")
    if order.figures is not None:
        console.note(f"figures: {order.figures}")
