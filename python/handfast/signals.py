"""SIGINT, SIGTERM and SIGHUP end a command: the first tidily, the second at once.

An exception out of a signal handler can leave a library's lock held for ever, wherever the main thread happens to be.
So a handler raises nothing while `deferred` blocks are open: it leaves a mark, and our own loops look at it.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType

from handfast.errors import INTERRUPTED

HANDLED = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)  # Windows has no SIGHUP
REPEATED_S = 0.3
"""Signals closer together than this are one request, seconds: a terminal that closes sends SIGHUP twice."""
SHOW_CURSOR = b"\x1b[?25h"


@dataclass(slots=True)
class _State:
    installed: bool = False
    first: float | None = None
    """When the first signal came; None: none has come."""
    depth: int = 0
    """How many such blocks are open."""


_state = _State()


@contextmanager
def terminable() -> Iterator[None]:
    """Inside, the signals end the command; the outermost block in the main thread counts."""
    if _state.installed or threading.current_thread() is not threading.main_thread():
        yield
        return
    # What the parent ignores stays ignored: that is how nohup works.
    handled = [number for number in HANDLED if signal.getsignal(number) is not signal.SIG_IGN]
    before = [signal.signal(number, _take) for number in handled]
    _state.installed = True
    try:
        yield
    finally:
        for number, handler in zip(handled, before, strict=True):
            signal.signal(number, handler)
        _state.installed, _state.first = False, None


@contextmanager
def deferred() -> Iterator[None]:
    """Inside, a first signal raises nothing; `check` or the end of the block does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _state.depth += 1
    try:
        yield
    finally:
        _state.depth -= 1
    if _state.depth == 0:
        check()


def check() -> None:
    """Raise `KeyboardInterrupt` if a signal has come, also if a library has swallowed an earlier one."""
    if _state.first is not None and threading.current_thread() is threading.main_thread():
        raise KeyboardInterrupt


def _take(_number: int, _frame: FrameType | None) -> None:
    now = time.monotonic()
    if _state.first is None:
        _state.first = now
        if _state.depth == 0:
            raise KeyboardInterrupt
    elif now - _state.first >= REPEATED_S:
        _leave()


def _leave() -> None:
    """End without waiting for anything; the next command removes what this one leaves."""
    if sys.stderr.isatty():
        with suppress(OSError):
            os.write(sys.stderr.fileno(), SHOW_CURSOR)
    os._exit(INTERRUPTED)
