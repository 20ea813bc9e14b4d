"""What `run` and `compare` do: do the runs, then write a result directory that is whole or absent."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from handfast import bundle, figures, keeping, page, series, tasks
from handfast.api import Scenario
from handfast.engine import Progress, Runnable, execute
from handfast.errors import InputError
from handfast.results import Result
from handfast.store import staged, write_whole


@dataclass(frozen=True, slots=True)
class Request:
    """What the user asked for."""

    scenario: Scenario
    schemes: Sequence[str]
    seeds: Sequence[int]
    backends: Sequence[str]
    out: Path | None
    """The result directory; None writes none."""
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


@dataclass(frozen=True, slots=True)
class Answer:
    """What was done."""

    runs: list[Result]
    old: list[Result]
    """What the directory held already, and the report shows too."""


def check(request: Request) -> None:
    """Raise where captures or figures cannot be had."""
    if request.out is None and request.pcap:
        raise InputError("--pcap needs --out DIR, where the captures go")
    if request.out is None and request.figures is not None:
        raise InputError("figures need time series, and these a directory: out")
    if request.pcap and not request.scenario.core.captures:
        raise InputError(
            '--pcap: the scenario names no node to capture at; add `capture = ["NODE"]` to it, '
            "or --set 'capture=[\"NODE\"]'"
        )
    if not request.seeds:
        raise InputError("no seeds, so there is nothing to run; the default is seed 1")


def perform(request: Request, progress: Progress | None = None) -> Answer:
    """Do the runs and write them."""
    request.kept()  # nobody waits for runs that must not be written
    with staged(request.out, bundle.ENTRIES) if request.out is not None else nullcontext() as stage:
        runs = execute(_tasks(request, stage), jobs=request.jobs, progress=progress)
        old = _write(request, stage, runs) if stage is not None else []
    return Answer(runs, old)


def _tasks(request: Request, stage: Path | None) -> list[Runnable]:
    wanted = product(request.schemes, request.backends, request.seeds)
    return [_task(request, stage, scheme, backend, seed) for scheme, backend, seed in wanted]


def _task(request: Request, stage: Path | None, scheme: str, backend: str, seed: int) -> Runnable:
    captures = None
    if stage is not None and request.pcap:
        captures = stage / bundle.CAPTURES / bundle.capture_name(scheme, backend, seed)
        captures.mkdir(parents=True)
    return tasks.task(
        backend,
        request.scenario.core,
        scheme,
        seed,
        series_dir=stage / series.DIRECTORY if stage is not None else None,
        capture_dir=captures,
        verify_wire=request.verify_wire,
    )


def _write(request: Request, stage: Path, runs: list[Result]) -> list[Result]:
    old = request.kept()
    bundle.write(stage, request.scenario, keeping.in_order(request.scenario.schemes, [*old, *runs]) if old else runs)
    if request.out is not None and not request.force:
        keeping.join(request.out, stage, old, runs)
    made = bundle.read(stage)
    write_whole(stage / bundle.REPORT, page.build(made))
    if request.figures is not None:
        # The report shows all that is there, a figure for a paper what was asked for.
        figures.write(replace(made, document=replace(made.document, runs=tuple(runs))), request.figures)
    return old
