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
class Order:
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
class Done:
    """What was done."""

    runs: list[Result]
    old: list[Result]
    """What the directory held already, and the report shows too."""


def check(order: Order) -> None:
    """Raise where captures or figures cannot be had."""
    if order.out is None and order.pcap:
        raise InputError("--pcap needs --out DIR, where the captures go")
    if order.out is None and order.figures is not None:
        raise InputError("figures need time series, and these a directory: out")
    if order.pcap and not order.scenario.core.captures:
        raise InputError(
            '--pcap: the scenario names no node to capture at; add `capture = ["NODE"]` to it, '
            "or --set 'capture=[\"NODE\"]'"
        )
    if not order.seeds:
        raise InputError("no seeds, so there is nothing to run; the default is seed 1")


def perform(order: Order, progress: Progress | None = None) -> Done:
    """Do the runs and write them."""
    order.kept()  # nobody waits for runs that must not be written
    with staged(order.out, bundle.ENTRIES) if order.out is not None else nullcontext() as stage:
        runs = execute(_tasks(order, stage), jobs=order.jobs, progress=progress)
        old = _write(order, stage, runs) if stage is not None else []
    return Done(runs, old)


def _tasks(order: Order, stage: Path | None) -> list[Runnable]:
    wanted = product(order.schemes, order.backends, order.seeds)
    return [_task(order, stage, scheme, backend, seed) for scheme, backend, seed in wanted]


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
