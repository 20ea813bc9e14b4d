"""What the packet loop carries on this machine: measured once, remembered, and compared with what a run would ask.

The measurement is one bulk transfer of the kernel's TCP after the other, at growing rates; see docs/how-to/lab.md.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from handfast import _handfast
from handfast.lab.plan import Plan
from handfast.lab.plumbing import spaces
from handfast.lab.requirements import require
from handfast.signals import terminable

SECONDS = 2.0
"""How long each transfer of a measurement lasts."""
BRIEF = 0.5
"""How long where nobody asked for a measurement, but a run needs one."""
MODEST = 5_000.0
"""Frames a second that need no measurement: two hundred microseconds each. Lateness is recorded all the same."""
RECEIVER_PORT = 5001
SITE = """
duration = "1s"
[nodes]
a = {kind = "host"}
b = {kind = "host"}
[[links]]
between = ["a", "b"]
rate = "1Gbit/s"
delay = "10ms"
[[flows]]
from = "a"
to = "b"
"""
"""Where it is measured."""

Step = dict[str, Any]
"""One transfer: its `rate_bps`, `frames_per_s`, `used`, `lateness_p50_us` to `lateness_max_us`, and `sustained`."""


@dataclass(frozen=True, slots=True)
class Capacity:
    """What a machine carries."""

    frames_per_s: float
    """The most that left punctually."""
    real_time: bool
    """Whether the kernel granted real-time priority."""
    steps: list[Step]
    """Every transfer, in order of rate."""

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what the core or `remember` wrote."""
        data = json.loads(text)
        return cls(float(data["frames_per_s"]), bool(data["real_time"]), list(data["steps"]))


def measure(seconds: float = SECONDS, on_step: Callable[[Step], object] | None = None) -> Capacity:
    """Measure; `on_step` gets each transfer as it ends. Remembers the result."""
    require()
    plan = Plan.of(_handfast.load(SITE, "capacity.toml"), "linux")
    ends, interfaces = ([getattr(wire, what) for wire in plan.wires] for what in ("loop_interface", "interface"))
    tell = on_step or (lambda _step: None)
    with terminable(), spaces(plan) as made:
        measured = Capacity.from_json(
            _handfast.lab_capacity(
                made.hub.name,
                ends,
                [space.name for space in made.nodes],
                interfaces,
                f"{plan.nodes[1].address}:{RECEIVER_PORT}",
                seconds,
                lambda text: tell(json.loads(text)),
            )
        )
    _remember(measured)
    return measured


def remembered() -> Capacity | None:
    """What was measured last on this machine; None: nothing that still holds."""
    try:
        data = json.loads(_file().read_text(encoding="utf-8"))
        return Capacity.from_json(json.dumps(data["capacity"])) if data["machine"] == _machine() else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def check(scenario: _handfast.Scenario, scheme: str) -> None:
    """Raise `ScenarioError` where a run would be more than this machine carries; measures where that is not known."""
    if scenario.lab_load(scheme) <= MODEST:
        return
    known = remembered() or measure(BRIEF)
    scenario.check_lab_load(scheme, known.frames_per_s)


def _remember(measured: Capacity) -> None:
    # Without a home there is nothing to remember it in: it is measured again.
    with suppress(OSError):
        _file().parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"machine": _machine(), "capacity": asdict(measured)})
        _file().write_text(text + "\n", encoding="utf-8")


def _machine() -> dict[str, object]:
    """What a measurement holds for."""
    return {"kernel": platform.release(), "cores": os.cpu_count(), "version": _handfast.__version__}


def _file() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "handfast" / "lab-capacity.json"
