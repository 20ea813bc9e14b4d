"""What a run needs of the machine, as the core says it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from handfast import _handfast


@dataclass(frozen=True, slots=True)
class Peer:
    """The other end of a flow."""

    address: str
    mac: str
    interface: str
    """The interface that leads to it."""


@dataclass(frozen=True, slots=True)
class Forwarding:
    """An entry of a bridge's table."""

    mac: str
    interface: str


@dataclass(frozen=True, slots=True)
class Node:
    """One node's namespace."""

    name: str
    forwards: bool
    kernel: bool
    """Whether its TCP is the kernel's; our own endpoint wants an interface without addresses."""
    address: str
    mac: str
    peers: tuple[Peer, ...]
    forwarding: tuple[Forwarding, ...]
    settings: Mapping[str, str]
    """Path below /proc/sys, value."""
    metrics: Mapping[str, int]
    """Metrics of its routes."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read an entry of `nodes`."""
        return cls(
            name=data["name"],
            forwards=data["forwards"],
            kernel=data["kernel"],
            address=data["address"],
            mac=data["mac"],
            peers=tuple(Peer(**peer) for peer in data["peers"]),
            forwarding=tuple(Forwarding(**entry) for entry in data["forwarding"]),
            settings=data["settings"],
            metrics=data["metrics"],
        )


@dataclass(frozen=True, slots=True)
class Wire:
    """A veth from a node to the packet loop."""

    node: int
    interface: str
    loop_interface: str


@dataclass(frozen=True, slots=True)
class Controlled:
    """The switch that a controller commands."""

    switch: int
    """Which node."""
    datapath_id: int
    ports: Mapping[str, int]
    """Its interfaces, and their OpenFlow numbers."""
    configuration: str
    """The controller's, but for its sockets: TOML."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run needs."""

    nodes: tuple[Node, ...]
    wires: tuple[Wire, ...]
    controlled: Controlled | None

    @classmethod
    def of(cls, scenario: _handfast.Scenario, scheme: str) -> Self:
        """What `scenario` under `scheme` needs; raises `ScenarioError` where the lab cannot do it."""
        data = json.loads(scenario.lab_plan(scheme))
        nodes = tuple(map(Node.from_json, data["nodes"]))
        wires = tuple(Wire(**wire) for wire in data["wires"])
        return cls(nodes, wires, Controlled(**data["controlled"]) if data["controlled"] else None)
