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
    congestion_control: str | None
    """The kernel's, of its sockets."""
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
            congestion_control=data["congestion_control"],
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
class SdtpNode:
    """A node of SDTP in place of a switch."""

    switch: int
    """Which node."""
    configuration: str
    """But for its sockets and its key: TOML."""


@dataclass(frozen=True, slots=True)
class SdtpLine:
    """The nodes of SDTP in their order, and their controller."""

    nodes: tuple[SdtpNode, ...]
    switches: tuple[int, ...]
    """The line's other switches, which have no function: each is an Open vSwitch."""
    controller: str
    """Its configuration, but for its sockets: TOML."""
    control_delay_s: float
    """One way between the controller and a node."""
    sealed: bool
    """Whether nodes seal what they tell each other."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read `sdtp`."""
        nodes = tuple(SdtpNode(**node) for node in data["nodes"])
        return cls(**{**data, "nodes": nodes, "switches": tuple(data["switches"])})


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run needs."""

    nodes: tuple[Node, ...]
    wires: tuple[Wire, ...]
    controlled: Controlled | None
    sdtp: SdtpLine | None

    @property
    def commanded(self) -> set[int]:
        """The switches that are no bridges."""
        lined = [*(node.switch for node in self.sdtp.nodes), *self.sdtp.switches] if self.sdtp else []
        return {*lined, *([self.controlled.switch] if self.controlled else [])}

    @classmethod
    def of(cls, scenario: _handfast.Scenario, scheme: str) -> Self:
        """What `scenario` under `scheme` needs; raises `ScenarioError` where the lab cannot do it."""
        data = json.loads(scenario.lab_plan(scheme))
        nodes = tuple(map(Node.from_json, data["nodes"]))
        wires = tuple(Wire(**wire) for wire in data["wires"])
        controlled = Controlled(**data["controlled"]) if data["controlled"] else None
        return cls(nodes, wires, controlled, SdtpLine.from_json(data["sdtp"]) if data["sdtp"] else None)
