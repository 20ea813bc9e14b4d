"""One run in the lab."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from handfast import _handfast, series
from handfast.lab import controller, sdtp
from handfast.lab.plan import Plan
from handfast.lab.plumbing import spaces
from handfast.results import Result


@dataclass(frozen=True, slots=True)
class LabTask:
    """One run to be done in real time."""

    scenario: _handfast.Scenario
    scheme: str
    seed: int
    series_dir: Path | None = None
    """Where the time series go; None: not recorded."""
    capture_dir: Path | None = None
    """Where the packet captures go; None: not captured."""
    control: _handfast.Control = field(default_factory=_handfast.Control)
    alone: ClassVar[bool] = True
    """Nothing else may run meanwhile: it would be late."""

    def run(self) -> Result:
        """Make the namespaces, run, remove them, and write what is to be written."""
        plan = Plan.of(self.scenario, self.scheme)
        with spaces(plan) as made, ExitStack() as stack:
            socket = None
            if plan.controlled is not None:
                space = made.nodes[plan.controlled.switch]
                socket = stack.enter_context(controller.running(plan.controlled, space)).association_socket
            line = stack.enter_context(sdtp.running(plan, plan.sdtp, made)) if plan.sdtp else None
            run = self.scenario.run_lab(
                self.scheme,
                self.seed,
                made.hub.name,
                [space.name for space in made.nodes],
                association_socket=socket,
                series=self.series_dir is not None,
                capture_dir=self.capture_dir,
                control=self.control,
            )
            text = run.json if line is None else _with_counters(run.json, line.counters())
        result = Result.from_json(text)
        if self.series_dir is not None:
            series.write(self.series_dir, result, run.series)
        return result


def _with_counters(text: str, counters: Mapping[str, int]) -> str:
    """A result with what daemons have counted, which the core does not hear of."""
    return json.dumps({**json.loads(text), "controller": dict(counters)})
