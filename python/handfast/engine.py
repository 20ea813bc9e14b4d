"""Runs many simulations at once, and runs in the lab one by one.

The core releases the interpreter lock, so threads use all cores.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from handfast import _handfast, series
from handfast.crew import Control, Crew, Progress, Runnable
from handfast.errors import InputError
from handfast.results import Result
from handfast.signals import deferred, terminable

__all__ = ["Control", "Progress", "Runnable", "Task", "default_jobs", "execute"]


@dataclass(frozen=True, slots=True)
class Task:
    """One simulation to be done."""

    scenario: _handfast.Scenario
    scheme: str
    seed: int
    series_dir: Path | None = None
    """Where the time series go; None: not recorded."""
    capture_dir: Path | None = None
    """Where the packet captures go; None: not captured."""
    verify_wire: bool = False
    control: _handfast.Control = field(default_factory=_handfast.Control)
    alone: ClassVar[bool] = False

    def run(self) -> Result:
        """Simulate, and write what is to be written."""
        run = self.scenario.run(
            self.scheme,
            self.seed,
            series=self.series_dir is not None,
            capture_dir=self.capture_dir,
            verify_wire=self.verify_wire,
            control=self.control,
        )
        result = Result.from_json(run.json)
        if self.series_dir is not None:
            series.write(self.series_dir, result, run.series)
        return result


def execute(
    tasks: Sequence[Runnable],
    *,
    jobs: int | None = None,
    progress: Progress | None = None,
    finished: Callable[[Result], None] | None = None,
) -> list[Result]:
    """Run all tasks on `jobs` threads (default: all cores) and return their results in the order of the tasks.

    Those that must be alone follow, one by one. `finished` is called in the worker as each run ends, in no particular
    order. The first exception, or an interruption, stops the runs in progress and drops the others.
    """
    check_jobs(jobs)
    results: dict[int, Result] = {}
    for alone in (False, True):
        batch = {index: task for index, task in enumerate(tasks) if task.alone is alone}
        if batch:
            with terminable() if alone else nullcontext():
                told = _shifted(progress, len(results), len(tasks))
                done = _batch(list(batch.values()), 1 if alone else jobs or default_jobs(), told, finished)
            results.update(zip(batch, done, strict=True))
    return [results[index] for index in range(len(tasks))]


def _batch(
    tasks: Sequence[Runnable], jobs: int, progress: Progress | None, finished: Callable[[Result], None] | None
) -> list[Result]:
    with deferred(), Crew(tasks, jobs, finished) as crew:
        return crew.wait(progress)


def _shifted(progress: Progress | None, before: int, total: int) -> Progress | None:
    return None if progress is None else lambda done, _: progress(before + done, total)


def check_jobs(jobs: int | None) -> None:
    """Raise where `jobs` is no number of runs at a time."""
    if jobs is not None and jobs < 1:
        raise InputError(
            f"{jobs} jobs: at least 1 run at a time is needed; the default is one for each core, {default_jobs()}"
        )


def default_jobs() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
