"""sdn-11: packet-ins of generated switches to the live controller, by `bench/controller.py`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from handfast.errors import MissingRequirementError
from handfast.lab import controller
from handfast.studies.reproduce import NotRun
from handfast.studies.reproduce.verdict import MIN_SEEDS

BENCH = Path(__file__).parents[2] / "bench" / "controller.py"
RUNS = 10
"""Controllers started for each number of hosts."""
ATTEMPTS = 3
"""How often those are started again that this machine was too busy for."""
LATE_US = 1000.0
"""A run during which this machine woke sleepers later than that in 1 of 100 cases does not count, as in the lab."""
RESTING = "resting"
"""The control: a controller that is stopped every other 10 ms."""
REMARK = (
    "Packet-ins of generated switches over loopback, 500 a second, of stations in release; real-time priority where "
    "the system grants it, and only runs during which it woke sleepers within 1 ms count"
)
MOST_S = 300.0
"""A measurement takes a minute."""

Figures = Mapping[str, Sequence[Mapping[str, float]]]
"""By number of hosts, for each controller started: p50_us and p99_us."""

_measured: dict[bool, Figures] = {}


def response(*, quick: bool) -> Figures:
    """Measure once in this process: a claim and its figure look at the same numbers."""
    if quick not in _measured:
        _measured[quick] = _measure(quick)
    return _measured[quick]


def _measure(quick: bool) -> Figures:
    counted: dict[str, list[Mapping[str, float]]] = {}
    for _ in range(ATTEMPTS):
        for hosts, samples in _bench(quick).items():
            on_time = [one for one in samples if hosts == RESTING or one["late_p99_us"] <= LATE_US]
            counted.setdefault(hosts, []).extend(on_time)
        if all(len(samples) >= MIN_SEEDS for samples in counted.values()):
            return counted
    few = {hosts: len(samples) for hosts, samples in counted.items()}
    raise NotRun(f"this machine was too busy: of {ATTEMPTS * RUNS} runs each so many count: {few}")


def _bench(quick: bool) -> Figures:
    if not BENCH.is_file():
        raise NotRun("the bench is not part of an installed handfast; run it in the source tree")
    try:
        binaries = controller.daemon().parent
    except MissingRequirementError as error:
        raise NotRun(str(error)) from error
    if not (binaries / "examples" / "switches").is_file():
        raise NotRun(f"{binaries}: no examples/switches beside handfastd: make build")
    command = [sys.executable, BENCH, "--response", "--pairs", str(RUNS), "--binaries", binaries]
    words = [*map(str, command), *(["--quick"] if quick else [])]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=MOST_S)  # noqa: S603 (our own script)
    except subprocess.TimeoutExpired:
        raise NotRun(f"the bench took more than {MOST_S:.0f} s") from None
    if done.returncode != 0:
        raise NotRun(f"the bench does not run: {done.stderr.strip()[-300:]}")
    figures: Figures = json.loads(done.stdout)["response"]
    return figures
