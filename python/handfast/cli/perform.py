"""What `run` and `compare` print, and the exit code that says whether every run counts."""

from __future__ import annotations

import sys
from dataclasses import replace

import typer

from handfast import bundle, keeping, results, tasks
from handfast.cli import console, detail, table
from handfast.errors import FAILED, MissingRequirementError
from handfast.perform import Answer, Request, check, perform
from handfast.results import SIM


def carry_out(request: Request, *, json: bool) -> None:
    """Run, write, print.

    Where the lab cannot run, what was asked of the simulator is done all the same before that is said.
    """
    check(request)
    try:
        tasks.check(request.backends, [request.scenario], request.schemes)
    except MissingRequirementError:
        if SIM not in request.backends:
            raise
        _perform(replace(request, backends=[SIM]), json)
        raise
    _perform(request, json)


def _perform(request: Request, json: bool) -> None:
    with console.progress(request.scenario.name) as progress:
        answer = perform(request, progress)
    if json:
        sys.stdout.write(results.document(answer.runs).rstrip() + "\n")
    else:
        _print(request, answer)
    if not all(run.valid for run in answer.runs):
        raise typer.Exit(FAILED)


def _print(request: Request, answer: Answer) -> None:
    screen = console.out()
    screen.print(table.build(answer.runs))
    for part in table.felt(answer.runs):
        screen.print(part)
    for part in detail.build(answer.runs[0]) if len(answer.runs) == 1 else ():
        screen.print(part)
    for run in answer.runs:
        for problem in run.problems:
            console.note(f"{run.row}, seed {run.seed}, does not count: {problem}")
    if request.out is not None:
        console.note(f"report: {request.out / bundle.REPORT}")
    if answer.old:
        console.note(f"the report also shows what was there: {keeping.named(answer.old)}")
    if request.figures is not None:
        console.note(f"figures: {request.figures}")
