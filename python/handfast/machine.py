"""What this machine has and lacks, and how to get it."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from handfast import _handfast, lab, shipped
from handfast.engine import default_jobs
from handfast.store import build_id

MIN_PYTHON = (3, 11)
LOW_MEMORY_MIB = 512
"""Below this a report of a large comparison may not fit."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at."""

    name: str
    ok: bool
    required: bool
    found: str
    advice: str = ""
    """What is missing without it, and how to get it; empty where it is there."""


def checks() -> list[Check]:
    """Look at everything, required things first."""
    return [*_required(), *_libraries(), *_lab(), *_tools()]


def _required() -> Iterator[Check]:
    python = sys.version_info >= MIN_PYTHON
    yield Check("python", python, True, platform.python_version(), "" if python else "install Python 3.11 or later")
    yield Check("extension", True, True, f"{_handfast.__version__}, build {build_id()}")
    yield Check("cores", True, True, f"{default_jobs()} usable")
    yield _memory()
    count = sum(1 for _ in shipped.scenarios())
    yield Check("scenarios", count > 0, False, f"{count} shipped", "" if count else "the scenarios folder is missing")


def _memory() -> Check:
    if not hasattr(os, "sysconf") or "SC_AVPHYS_PAGES" not in os.sysconf_names:
        return Check("memory", True, False, "not known on this system")
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20
    advice = "" if free >= LOW_MEMORY_MIB else "reports of large comparisons may not fit"
    return Check("memory", not advice, False, f"{free} MiB free", advice)


def _libraries() -> Iterator[Check]:
    for name in ("numpy", "polars", "matplotlib", "rich", "typer"):
        try:
            yield Check(name, True, True, version(name))
        except PackageNotFoundError:
            yield Check(name, False, True, "missing", f"pip install {name}")


def _lab() -> Iterator[Check]:
    for need in lab.needs():
        advice = "" if need.ok else f"only for `--backend lab`: {need.advice}"
        yield Check(need.name, need.ok, False, need.found, advice)
    orphans = sum(1 for _ in lab.leftovers())
    yield Check("lab: leftovers", not orphans, False, str(orphans), "handfast lab clean" if orphans else "")


@dataclass(frozen=True, slots=True)
class _Tool:
    command: str
    package: str
    use: str


_TOOLS = (
    _Tool("ns", "ns2", "`handfast peers`, and the speed comparison of `make bench`"),
    _Tool("tshark", "tshark", "reading captures on the command line"),
    _Tool("valgrind", "valgrind", "counting instructions in CI"),
    _Tool("chromium", "chromium", "printing reports to PDF without a screen"),
    _Tool("cargo", "rustup (rustup.rs)", "building from source"),
)


def _tools(which: Callable[[str], str | None] = shutil.which) -> Iterator[Check]:
    for tool in _TOOLS:
        path = which(tool.command)
        advice = "" if path else f"only for {tool.use}: install {tool.package}"
        yield Check(tool.command, path is not None, False, path or "missing", advice)
