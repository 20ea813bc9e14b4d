"""Threads that do runs, and the thread that waits for them.

The waiting thread holds no lock that a worker needs. `concurrent.futures.wait` holds the locks of all its futures, and
an exception out of a signal handler left them held.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Protocol, Self, TypeVar

from handfast.results import Result
from handfast.signals import check

_T = TypeVar("_T")

POLL_S = 0.1
"""How often the waiting thread looks at progress and signals, seconds."""


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


@dataclass(frozen=True, slots=True)
class _Ended:
    """What a worker says of a run: its result, or what it raised."""

    place: int
    result: Result | None = None
    error: BaseException | None = None


class Crew:
    """`jobs` threads that do `tasks`; the end of the block stops those that still run, and waits for them."""

    def __init__(self, tasks: Sequence[Runnable], jobs: int, finished: Callable[[Result], None] | None) -> None:
        self._tasks = tasks
        self._finished = finished
        self._places: SimpleQueue[int] = SimpleQueue()
        self._ended: SimpleQueue[_Ended] = SimpleQueue()
        # Held while nobody has news. `SimpleQueue.get` with a timeout would do, but CPython 3.11 waits for ever in it
        # when a signal comes in the last moment of the timeout.
        self._quiet = threading.Lock()
        self._quiet.acquire()
        self._running: dict[int, Runnable] = {}
        self._threads = [
            threading.Thread(target=self._work, name=f"run-{number}", daemon=True)
            for number in range(max(1, min(jobs, len(tasks))))
        ]

    def __enter__(self) -> Self:
        for place in range(len(self._tasks)):
            self._places.put(place)
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        while _taken(self._places) is not None:
            pass
        if error is not None:
            for task in self._tasks:
                task.control.cancel()
        for thread in self._threads:
            thread.join()

    def wait(self, progress: Progress | None) -> list[Result]:
        """The results in the order of the tasks. Raises what the first run to fail raised."""
        results: dict[int, Result] = {}
        told = 0.0
        while len(results) < len(self._tasks):
            check()
            self._collect(results)
            if progress is not None and time.monotonic() - told >= POLL_S:
                progress(len(results) + self._under_way(), len(self._tasks))
                told = time.monotonic()
        if progress is not None:
            progress(len(results), len(self._tasks))
        return [results[place] for place in range(len(self._tasks))]

    def _collect(self, results: dict[int, Result]) -> None:
        self._quiet.acquire(timeout=POLL_S)
        while (ended := _taken(self._ended)) is not None:
            if ended.error is not None:
                raise ended.error
            if ended.result is not None:
                results[ended.place] = ended.result

    def _tell(self, ended: _Ended) -> None:
        self._ended.put(ended)
        # Two workers may ring at once, or ring before anybody has listened.
        with suppress(RuntimeError):
            self._quiet.release()

    def _under_way(self) -> float:
        return sum(task.control.progress for task in list(self._running.values()))

    def _work(self) -> None:
        while (place := _taken(self._places)) is not None:
            self._running[place] = self._tasks[place]
            try:
                self._tell(_Ended(place, self._one(self._tasks[place])))
            except BaseException as error:
                self._tell(_Ended(place, error=error))
            finally:
                del self._running[place]

    def _one(self, task: Runnable) -> Result:
        result = task.run()
        if self._finished is not None:
            self._finished(result)
        return result


def _taken(queue: SimpleQueue[_T]) -> _T | None:
    """The next entry; None where there is none."""
    try:
        return queue.get_nowait()
    except Empty:
        return None
