"""SDTP for a run: a `handfastd sdtp` for each switch of a line, and their controller in a namespace of its own.

A switch that the controller gives no function is an Open vSwitch.
"""

from __future__ import annotations

import secrets
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from handfast.errors import MissingRequirementError
from handfast.lab import controller, names, openvswitch, plumbing, processes

if TYPE_CHECKING:
    from handfast.lab.names import Namespace
    from handfast.lab.plan import Plan, SdtpLine

PORT = 6654
"""Where nodes connect: one more than OpenFlow's own, which `handfastd controller` has."""
BRIDGE = "switch"
"""The name of a switch without functions for its Open vSwitch."""
READY_S = 10.0
_LOOK_EVERY_S = 0.02


@dataclass(frozen=True, slots=True)
class Running:
    """The daemons of a run."""

    sockets: tuple[Path, ...]
    """Of the controller, and of the nodes in the order of the line."""

    def counters(self) -> Mapping[str, int]:
        """What all of them have counted, added up."""
        total: Counter[str] = Counter()
        for socket in self.sockets:
            total.update(controller.status(socket)["counters"])
        return dict(sorted(total.items()))


@contextmanager
def running(plan: Plan, line: SdtpLine, made: plumbing.Spaces) -> Iterator[Running]:
    """Nodes and controller, there as long as the block lasts."""
    nodes = [made.nodes[node.switch] for node in line.nodes]
    with ExitStack() as stack:
        for number in line.switches:
            interfaces = [wire.interface for wire in plan.wires if wire.node == number]
            stack.enter_context(_ordinary(made.nodes[number], interfaces))
        control = stack.enter_context(plumbing.control_network(nodes, len(plan.nodes) + 1))
        folder = names.scratch_of(control)
        folder.mkdir(parents=True, mode=0o700)
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        key = folder / "key"
        key.touch(mode=0o600)
        key.write_text(secrets.token_hex(32), encoding="ascii")
        ways = f'listen = "127.0.0.1:{PORT}"\n'
        files = {"controller": _with(line.controller, ways + _socket(folder, "controller"))}
        for number, node in enumerate(line.nodes):
            name = f"node{number}"
            sealed = f'key_file = "{key}"\n' if line.sealed else ""
            ways = f'controller = "{plumbing.control_address(number)[0]}:{PORT}"\n'
            files[name] = _with(node.configuration, sealed + ways + _socket(folder, name))
        _start(stack, control, folder, "controller", "sdtp-controller", files)
        listen = [plumbing.control_address(number)[0] for number in range(len(nodes))]
        command = [sys.executable, "-m", "handfast.lab.delay", str(line.control_delay_s), str(PORT), *listen]
        stack.enter_context(processes.running(control.name, command, log=folder / "delay.log"))
        for number, space in enumerate(nodes):
            _start(stack, space, folder, f"node{number}", "sdtp", files)
        sockets = tuple(folder / f"{name}.sock" for name in files)
        _await(sockets[0], len(nodes), folder)
        yield Running(sockets)


@contextmanager
def _ordinary(space: Namespace, interfaces: Sequence[str]) -> Iterator[None]:
    """A switch that does what any switch does."""
    folder = names.scratch_of(space)
    folder.mkdir(parents=True, mode=0o700)
    try:
        with openvswitch.running(space.name, folder) as switch:
            switch.add(openvswitch.Bridge(BRIDGE, 1, {interface: at for at, interface in enumerate(interfaces, 1)}))
            yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _with(table: str, keys: str) -> str:
    """A table of TOML with more keys."""
    name, _, rest = table.partition("\n")
    return f"{name}\n{keys}{rest}"


def _socket(folder: Path, name: str) -> str:
    return f'socket = "{folder / name}.sock"\n'


def _start(stack: ExitStack, space: Namespace, folder: Path, name: str, service: str, files: Mapping[str, str]) -> None:
    config = folder / f"{name}.toml"
    config.write_text(files[name], encoding="utf-8")
    command = [str(controller.daemon()), service, "--config", str(config)]
    stack.enter_context(processes.running(space.name, command, log=folder / f"{name}.log"))


def _await(socket: Path, count: int, folder: Path) -> None:
    """Until all nodes have found the controller."""
    deadline = time.monotonic() + READY_S
    while True:
        with suppress(OSError, ValueError):
            if len(controller.status(socket)["switches"]) == count:
                return
        if time.monotonic() > deadline:
            logs = [f"{path.stem}: {processes.last_words(path, 2)}" for path in sorted(folder.glob("*.log"))]
            raise MissingRequirementError(f"nodes of SDTP did not find their controller: {'; '.join(logs)}")
        time.sleep(_LOOK_EVERY_S)
