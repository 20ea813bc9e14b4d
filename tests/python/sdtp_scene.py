"""A line of switches in the lab whose switches are `handfastd sdtp`: real kernels at the ends, real interfaces between.

The links lose packets as the scenario says. Each node reaches the controller by a network of its own.
"""

from __future__ import annotations

import json
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pyroute2 import IPRoute, netns

import certificates
import handfast as hf
from conftest import ROOT, skip_if_late
from handfast.lab import controller, names, processes
from handfast.lab.names import Namespace
from handfast.lab.plan import Plan
from handfast.lab.plumbing import BRIDGE, spaces

LINE = ROOT / "scenarios" / "lossy-line.toml"
PORT = 6654
PATIENCE_S = 10.0
T = TypeVar("T")

RAW = "10.0.9.9"
"""A host behind the first edge that no kernel has."""
V6 = {"a": "fd00::a", "b": "fd00::b"}
"""Addresses of the hosts too, where a scene gives them to their kernels."""

NODE = """
[sdtp]
address = "{address}"
datapath_id = "{number:016x}"
inside = "{inside}"
outside = "{outside}"
hosts = {hosts}
controller = "192.168.{number}.1:{port}"
socket = "{socket}"
mode = "{mode}"
mtu = {mtu}
protect = "{protect}"
key_file = "{key}"
"""


@dataclass(frozen=True, slots=True)
class Core:
    """What nodes know of the network between them."""

    edges: str = "10.99.0.{}"
    """Addresses of nodes."""
    mtu: int = 1500
    protect: str = "tcp"
    certificates: Path | None = None
    """A folder with an authority, for a channel to the controller that is authenticated."""


ORDINARY = Core()


def write_node(file: Path, *, number: int, core: Core = ORDINARY, **keys: object) -> None:
    """A node's configuration, and its network's key."""
    key = file.with_suffix(".key")
    key.write_text("5d" * 32)
    of_core = {"address": core.edges.format(number), "mtu": core.mtu, "protect": core.protect}
    text = NODE.format(port=PORT, key=key, number=number, **of_core, **keys)
    if core.certificates is not None:
        certificates.certificate(core.certificates, f"s{number}")
        text += f'controller_name = "controller"\ntls = {certificates.table(core.certificates, f"s{number}")}\n'
    file.write_text(text)


@dataclass(slots=True)
class Daemon:
    """A handfastd in a namespace."""

    space: Namespace
    name: str
    folder: Path
    stack: ExitStack
    service: str = "sdtp"
    running: ExitStack = field(default_factory=ExitStack)

    @property
    def config(self) -> Path:
        return self.folder / f"{self.name}.toml"

    @property
    def log(self) -> Path:
        return self.folder / f"{self.name}.log"

    @property
    def socket(self) -> Path:
        return self.folder / f"{self.name}.sock"

    process: subprocess.Popen[bytes] | None = None

    def start(self, *options: str) -> None:
        command = [str(controller.daemon()), *self.service.split(), "--config", str(self.config), *options]
        self.running = self.stack.enter_context(ExitStack())
        self.process = self.running.enter_context(processes.running(self.space.name, command, log=self.log))

    def upgrade(self) -> int | None:
        """Another process takes over; with what the one before has ended."""
        before = self.process
        assert before is not None
        self.start("--take-over")
        return before.wait(PATIENCE_S)

    def stop(self) -> None:
        self.running.close()

    def ask(self, event: str = "status") -> dict[str, Any]:
        return self.say({"event": event})

    def say(self, line: Mapping[str, object]) -> dict[str, Any]:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            client.settimeout(PATIENCE_S)
            client.connect(str(self.socket))
            client.sendall(json.dumps(line).encode() + b"\n")
            with client.makefile("r", encoding="utf-8") as answers:
                answer: dict[str, Any] = json.loads(answers.readline())
                return answer

    def counters(self) -> dict[str, int]:
        counters: dict[str, int] = self.ask()["counters"]
        return counters

    def until(self, done: Callable[[dict[str, Any]], object], patience: float = PATIENCE_S) -> None:
        deadline = time.monotonic() + patience
        while True:
            with suppress(OSError):
                if done(self.ask()):
                    return
            assert time.monotonic() < deadline, processes.last_words(self.log)
            time.sleep(0.02)


@dataclass(slots=True)
class Scene:
    """What takes part."""

    controller: Daemon
    nodes: list[Daemon]
    hosts: Mapping[str, tuple[Namespace, str]]
    """Namespaces and addresses."""

    def ready(self) -> None:
        """Until the controller knows all nodes."""
        self.controller.until(lambda status: len(status["switches"]) == len(self.nodes))

    def counted(self, name: str) -> list[int]:
        """A counter of each node."""
        return [node.counters()[name] for node in self.nodes]


@dataclass(frozen=True, slots=True)
class Ran:
    """A run that is over."""

    result: hf.Result
    counters: list[dict[str, int]]
    controller: dict[str, int]
    segments: list[dict[str, Any]]
    """That repaired something, of all nodes."""
    found: Any
    """What the script has returned."""

    def total(self, name: str) -> int:
        return sum(counters[name] for counters in self.counters)


def run(
    script: Callable[[Scene], Any] = lambda _: None,
    *,
    mode: str = "act",
    changes: Mapping[str, Any],
    core: Core = ORDINARY,
) -> Ran:
    """The line with its flow, whose switches are nodes of SDTP."""
    scenario = hf.parse(
        LINE.read_text(encoding="utf-8"), "lossy-line.toml", [(k, str(v)) for k, v in changes.items()]
    ).core
    plan = Plan.of(scenario, "linux")
    with ThreadPoolExecutor(1) as pool, spaces(plan) as made, ExitStack() as stack:
        scene = stack.enter_context(furnished(plan, made.nodes, mode, core))
        measuring = pool.submit(scenario.run_lab, "linux", 1, made.hub.name, [space.name for space in made.nodes])
        found = script(scene)
        measured = measuring.result()
        counters = [node.counters() for node in scene.nodes]
        segments = [segment for node in scene.nodes for segment in node.ask()["segments"] if segment["repaired"]]
        control = scene.controller.counters()
    result = hf.Result.from_json(measured.json)
    skip_if_late(result)
    return Ran(result, counters, control, segments, found)


@contextmanager
def furnished(plan: Plan, made: tuple[Namespace, ...], mode: str, core: Core = ORDINARY) -> Iterator[Scene]:
    """Nodes in the switches' places, and their controller."""
    switches = [number for number, node in enumerate(plan.nodes) if node.forwards]
    hosts = {
        node.name: (made[number], node.address)
        for number, node in enumerate(plan.nodes)
        if node.kernel and not node.forwards
    }
    control = names.mine(made[0].run, 100, "control")
    folder = names.scratch_of(control)
    folder.mkdir(parents=True, mode=0o700)
    netns.create(control.name)
    with ExitStack() as stack:
        stack.callback(remove, folder)
        stack.callback(netns.remove, control.name)
        nodes = []
        for number, switch in enumerate(switches, 1):
            inside(made[switch], _unbridge)
            _join(control, made[switch], number)
            wires = [wire.interface for wire in plan.wires if wire.node == switch]
            # Of a node of the core it does not matter which is which.
            ends = {1: "a", len(switches): "b"}
            behind = ends.get(number)
            ends_of = (wires[1], wires[0]) if number == len(switches) else (wires[0], wires[1])
            node = Daemon(made[switch], f"s{number}", folder, stack)
            given = json.dumps(_hosts(hosts, behind))
            keys: dict[str, Any] = {"inside": ends_of[0], "outside": ends_of[1], "hosts": given}
            write_node(node.config, core=core, number=number, **keys, socket=node.socket, mode=mode)
            nodes.append(node)
        commander = Daemon(control, "controller", folder, stack, "sdtp-controller")
        commander.config.write_text(_line(len(switches), hosts, core, commander.socket))
        scene = Scene(commander, nodes, hosts)
        for daemon in (commander, *nodes):
            daemon.start()
        for node in nodes:
            node.until(lambda status: status["ok"])
        if mode == "act":
            scene.ready()
        yield scene


def _hosts(hosts: Mapping[str, tuple[Namespace, str]], name: str | None) -> list[str]:
    """The addresses behind an edge."""
    if name is None:
        return []
    return [hosts[name][1], V6[name], *([RAW] if name == "a" else [])]


def _line(count: int, hosts: Mapping[str, tuple[Namespace, str]], core: Core, path: Path) -> str:
    ends = {1: "a", count: "b"}
    nodes = [
        f'{{address = "{core.edges.format(number)}", datapath_id = "{number:016x}",'
        f" hosts = {json.dumps(_hosts(hosts, ends.get(number)))}}}"
        for number in range(1, count + 1)
    ]
    links = ['{delay = "5ms", loss = 0.02}'] * (count - 1)
    guard = "insecure_listen = true"
    if core.certificates is not None:
        certificates.certificate(core.certificates, "controller")
        guard = f"tls = {certificates.table(core.certificates, 'controller')}"
    return f"""
[sdtp-controller]
listen = "0.0.0.0:{PORT}"
{guard}
socket = "{path}"
nodes = [{", ".join(nodes)}]
links = [{", ".join(links)}]
"""


def inside(space: Namespace, work: Callable[[], T]) -> T:
    """Do something in a namespace, in a thread of its own."""

    def there() -> T:
        netns.setns(str(names.DIRECTORY / space.name))
        return work()

    with ThreadPoolExecutor(1) as apart:
        return apart.submit(there).result()


def _unbridge() -> None:
    with IPRoute() as link:
        link.link("del", index=link.link_lookup(ifname=BRIDGE)[0])


def _join(control: Namespace, node: Namespace, number: int) -> None:
    """A wire from the controller to a node."""
    with (names.DIRECTORY / node.name).open("rb") as there:

        def lay() -> None:
            with IPRoute() as link:
                peer = {"ifname": "control", "net_ns_fd": there.fileno()}
                link.link("add", ifname=f"node{number}", kind="veth", peer=peer)
                _up(link, f"node{number}", f"192.168.{number}.1")

        inside(control, lay)

    def join() -> None:
        with IPRoute() as link:
            _up(link, "control", f"192.168.{number}.2")

    inside(node, join)


def _up(link: IPRoute, name: str, address: str) -> None:
    index = link.link_lookup(ifname=name)[0]
    link.addr("add", index=index, address=address, prefixlen=30)
    link.link("set", index=index, state="up")


def remove(folder: Path) -> None:
    for name in folder.iterdir():
        name.unlink()
    folder.rmdir()
