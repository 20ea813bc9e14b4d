"""Runs many simulations at once, and runs in the lab one by one.

The core releases the interpreter lock, so threads use all cores.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import ClassVar, Protocol

from handfast import _handfast, series
from handfast.results import Result

POLL_S = 0.1
"""How often the waiting thread looks at progress and lets signals in, seconds."""


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


class Control(Protocol):
    """A handle on a run in progress: `_handfast.Control`, or one for another program."""

    @property
    def progress(self) -> float:
        """How much of it is done, 0 to 1."""

    def cancel(self) -> None:
        """Ask the run to stop soon."""


class Runnable(Protocol):
    """One run to be done, on whatever backend."""

    @property
    def alone(self) -> bool:
        """Whether nothing else may run meanwhile."""

    @property
    def control(self) -> Control:
        """To watch and to stop it."""

    def run(self) -> Result:
        """Do it, and write what is to be written."""


Progress = Callable[[float, int], None]
"""Told the work done so far, in runs (a fraction counts those in progress), and the number of runs in all."""


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
    with _pool(tasks, jobs) as pool:
        futures = [pool.submit(_run, task, finished) for task in tasks]
        _watch(tasks, futures, progress)
        return [future.result() for future in futures]


def _shifted(progress: Progress | None, before: int, total: int) -> Progress | None:
    return None if progress is None else lambda done, _: progress(before + done, total)


@contextmanager
def terminable() -> Iterator[None]:
    """SIGTERM interrupts as Ctrl-C does, and nothing interrupts the tidying up that follows."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    signals = (signal.SIGINT, signal.SIGTERM)

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        for number in signals:
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = [signal.signal(number, interrupt) for number in signals]
    try:
        yield
    finally:
        for number, handler in zip(signals, before, strict=True):
            signal.signal(number, handler)


def default_jobs() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _run(task: Runnable, finished: Callable[[Result], None] | None) -> Result:
    result = task.run()
    if finished is not None:
        finished(result)
    return result


@contextmanager
def _pool(tasks: Sequence[Runnable], jobs: int) -> Iterator[ThreadPoolExecutor]:
    pool = ThreadPoolExecutor(max_workers=max(1, min(jobs, len(tasks))), thread_name_prefix="run")
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for task in tasks:
            task.control.cancel()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _watch(tasks: Sequence[Runnable], futures: list[Future[Result]], progress: Progress | None) -> None:
    pending = True
    while pending:
        # A timeout, not an endless wait: signals reach Python only between waits.
        done, not_done = wait(futures, timeout=POLL_S, return_when=FIRST_EXCEPTION)
        pending = bool(not_done)
        for future in done:
            future.result()  # raises what the run raised
        if progress is not None:
            running = sum(
                task.control.progress for task, future in zip(tasks, futures, strict=True) if not future.done()
            )
            progress(len(done) + running, len(tasks))
