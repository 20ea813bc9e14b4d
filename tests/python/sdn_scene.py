"""A roam in the lab with the SDN controller, in which a test has its hands: it starts, kills and asks what takes part.

The run is in a thread of its own: what a test starts lives as long as the thread that started it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import handfast as hf
from conftest import ROAM, skip_if_late
from handfast.lab import controller, processes
from handfast.lab.names import Namespace
from handfast.lab.plan import Plan
from handfast.lab.plumbing import spaces

DOWN_S = 3.0
RATE_BPS = 20e6
"""Of the path before the switch."""
SPEAKS = '[[flows]]\nname = "up"\nfrom = "mn"\nto = "cn"\napp = {paced = {size = "100B", interval = "100ms"}}\n'
"""Switches learn from what a station sends; one that never says a word is found by nobody but its controller."""
PATIENCE_S = 20.0


@dataclass(frozen=True, slots=True)
class Host:
    """A node of the scenario, for what a test does there besides."""

    space: Namespace
    address: str


@dataclass(frozen=True, slots=True)
class Scene:
    """What takes part in a run."""

    controller: controller.Controller
    hosts: Mapping[str, Host]
    """All nodes, by name."""
    space: Namespace
    """The switch's, and the controller's."""
    stack: ExitStack

    def said(self, what: str) -> list[dict[str, Any]]:
        """The lines of this kind in the daemon's log, of all its lives."""
        lines = map(json.loads, self.controller.log.read_text(encoding="utf-8").splitlines())
        return [line for line in lines if line["message"] == what]

    def wait(self, what: str, count: int = 1) -> None:
        """Until the log has as many lines of this kind."""
        deadline = time.monotonic() + PATIENCE_S
        while len(self.said(what)) < count:
            assert time.monotonic() < deadline, self.controller.log.read_text(encoding="utf-8")
            time.sleep(0.01)

    def kill(self) -> None:
        self.controller.process.kill()
        self.controller.process.wait()

    def start(self) -> None:
        again = processes.running(self.space.name, self.controller.command, log=self.controller.log)
        self.stack.enter_context(again)

    def entries(self) -> list[str]:
        """The switch's flow entries."""
        return self.controller.switch.flow(controller.BRIDGE, "dump-flows").splitlines()[1:]

    def enter(self, entry: str) -> None:
        """Make a flow entry, past the controller."""
        self.controller.switch.flow(controller.BRIDGE, "add-flow", entry)

    def connect_to(self, where: str) -> None:
        """Tell the switch who its controller is."""
        self.controller.switch.configure("set-controller", controller.BRIDGE, where)

    def counters(self) -> dict[str, Any]:
        """Of the controller that is there; empty: nobody is."""
        try:
            return dict(controller.status(self.controller.association_socket)["counters"])
        except (ConnectionRefusedError, FileNotFoundError):
            return {}


@dataclass(frozen=True, slots=True)
class Ran:
    """A run that is over."""

    result: hf.Result
    delivered: list[tuple[float, int]]
    """Of the download: seconds, bytes."""
    log: list[dict[str, Any]]
    counters: dict[str, Any]
    entries: list[str]

    def said(self, what: str) -> list[dict[str, Any]]:
        return [line for line in self.log if line["message"] == what]

    @property
    def stall_s(self) -> float:
        (roam,) = self.result.handovers
        assert roam.stall_s is not None
        return roam.stall_s

    @property
    def last_bps(self) -> float:
        """The download's rate in the last two seconds."""
        end, last = self.delivered[-1]
        before = max(count for at, count in self.delivered if at <= end - 2)
        return 8 * (last - before) / 2

    @property
    def goes_on(self) -> bool:
        return self.last_bps > RATE_BPS / 4


def run(
    script: Callable[[Scene], None] = lambda _: None,
    *,
    between: Callable[[Path], Path] | None = None,
    gap_s: float = 1.5,
    duration_s: float = 9.0,
    speaks: bool = False,
    record: Path | None = None,
    **more: str,
) -> Ran:
    """A roam under `spurious`, during which `script` does what it does.

    `between` makes a socket between the access points and the daemon's; `more` are keys of the agent.
    """
    text = ROAM.read_text(encoding="utf-8") + (SPEAKS if speaks else "")
    agent = {f"schemes.spurious.agents.0.{key}": f'"{value}"' for key, value in more.items()}
    changes = {"duration": f"{duration_s}s", "events.0.at": f"{DOWN_S}s", "events.0.gap": f"{gap_s}s", **agent}
    scenario = hf.parse(text, "wifi-roam.toml", list(changes.items())).core
    plan = Plan.of(scenario, "spurious")
    assert plan.controlled is not None
    with ThreadPoolExecutor(1) as pool, spaces(plan) as made, ExitStack() as stack:
        space = made.nodes[plan.controlled.switch]
        running = stack.enter_context(controller.running(plan.controlled, space, record=record))
        hosts = {node.name: Host(there, node.address) for node, there in zip(plan.nodes, made.nodes, strict=True)}
        scene = Scene(running, hosts, space, stack)
        socket = between(running.association_socket) if between else running.association_socket
        nodes = [node.name for node in made.nodes]
        measuring = pool.submit(
            scenario.run_lab, "spurious", 1, made.hub.name, nodes, association_socket=socket, series=True
        )
        script(scene)
        measured = measuring.result()
        counters, entries = scene.counters(), scene.entries()
        log = list(map(json.loads, running.log.read_text(encoding="utf-8").splitlines()))
    rows = measured.series["flows"]
    table = zip(rows["flow"], rows["time_s"], rows["delivered_bytes"], strict=True)
    delivered = [(float(str(at)), int(str(count))) for flow, at, count in table if flow != "up"]
    result = hf.Result.from_json(measured.json)
    skip_if_late(result)
    return Ran(result, delivered, log, counters, entries)
