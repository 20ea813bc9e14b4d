"""Which backend a run is done by."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from handfast import _handfast, lab
from handfast.engine import Runnable, Task
from handfast.errors import refuse_unknown
from handfast.lab import capacity, requirements
from handfast.lab.plan import Plan
from handfast.results import BACKENDS, LAB

if TYPE_CHECKING:
    from handfast.api import Scenario


def task(
    backend: str,
    scenario: _handfast.Scenario,
    scheme: str,
    seed: int,
    series_dir: Path | None = None,
    capture_dir: Path | None = None,
    *,
    verify_wire: bool = False,
) -> Runnable:
    """A run on a backend."""
    if backend == LAB:
        return lab.LabTask(scenario, scheme, seed, series_dir, capture_dir)
    return Task(scenario, scheme, seed, series_dir, capture_dir, verify_wire)


def check(backends: Sequence[str], scenarios: Iterable[Scenario], schemes: Sequence[str] | None) -> None:
    """Raise before anything runs where a backend is unknown, not available here, or cannot run a scheme."""
    refuse_unknown(backends, BACKENDS, "backend called")
    if LAB in backends:
        lab.require()
        for scenario in scenarios:
            for scheme in scenario.choose(schemes):
                plan = Plan.of(scenario.core, scheme)
                requirements.require_controls(scheme, (node.congestion_control for node in plan.nodes))
                capacity.check(scenario.core, scheme)
