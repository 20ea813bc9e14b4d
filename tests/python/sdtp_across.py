"""A lossy line of nodes that lasts as long as a test needs it, and what programs of this machine send across."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyroute2 import IPRoute

import handfast as hf
from handfast import _handfast
from handfast.lab import processes
from handfast.lab.names import Namespace
from handfast.lab.plan import Plan, Wire
from handfast.lab.plumbing import Spaces, spaces
from sdtp_frames import wire
from sdtp_scene import LINE, RAW, V6, Core, Scene, furnished, inside

RAW_MAC = "02:00:0a:00:09:09"
LOSS = 0.02
_ACCESS = frozenset({"link0", "link5"})
"""Interfaces of hosts and of edges towards them."""


@dataclass(slots=True)
class Across:
    """Two kernels, and between them five nodes whose links lose packets."""

    scene: Scene
    hosts: Mapping[str, Namespace]
    macs: Mapping[str, str]
    interfaces: Mapping[str, str]

    def address(self, host: str, version: int = 4) -> str:
        return self.scene.hosts[host][1] if version == 4 else V6[host]

    def wires(self) -> dict[str, socket.socket]:
        """What comes and leaves at each host."""
        return {
            host: inside(self.hosts[host], lambda name=name: wire(name))  # type: ignore[misc]
            for host, name in self.interfaces.items()
        }

    def run(self, host: str, command: Sequence[str], timeout: float = 20.0) -> subprocess.CompletedProcess[str]:
        """A program at a host, to its end."""
        return subprocess.run(
            processes.inside(self.hosts[host].name, command),
            check=True, capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def totals(self) -> dict[str, int]:
        """What all nodes have counted."""
        counted = [node.counters() for node in self.scene.nodes]
        return {name: sum(of[name] for of in counted) for name in counted[0]}

    @contextmanager
    def counting(self) -> Iterator[dict[str, int]]:
        """What nodes count during the block."""
        found: dict[str, int] = {}
        before = self.totals()
        yield found
        found.update({name: count - before[name] for name, count in self.totals().items()})

    @contextmanager
    def repaired(self, converted: int, repeats: int = 1) -> Iterator[dict[str, int]]:
        """At least so many packets of hosts are converted during the block, and so many losses repaired."""
        with self.counting() as found:
            yield found
        assert found["converted"] >= converted, found
        assert found["repeats"] >= repeats, found
        for failure in ("frames_refused", "unsendable", "too_long", "strangers", "forged", "unsealed"):
            assert found[failure] == 0, (failure, found)


@contextmanager
def across(core: Core, *, access: int, loss: float = LOSS) -> Iterator[Across]:
    """Hosts whose interfaces take packets of `access` bytes; those between nodes take what the nodes' `mtu` says."""
    changes = {"duration": "600s", "links.0.delay": "1ms", "links.5.delay": "1ms"}
    changes |= {f"links.s{n}-s{n + 1}.loss": str(loss) for n in range(1, 5)}
    scenario = hf.parse(LINE.read_text(encoding="utf-8"), "lossy-line.toml", list(changes.items())).core
    plan, control = Plan.of(scenario, "linux"), _handfast.Control()
    with ThreadPoolExecutor(1) as pool, spaces(plan) as made, ExitStack() as stack:
        _widen(plan, made, core.mtu, access)
        scene = stack.enter_context(furnished(plan, made.nodes, "act", core))
        hosts = {name: scene.hosts[name][0] for name in "ab"}
        _settle(plan, hosts)
        names = [space.name for space in made.nodes]
        running = pool.submit(scenario.run_lab, "linux", 1, made.hub.name, names, control=control)

        def end() -> None:
            control.cancel()
            with suppress(_handfast.Cancelled):
                running.result()

        stack.callback(end)
        kernels = [node for node in plan.nodes if node.name in hosts]
        macs = {node.name: node.mac for node in kernels}
        yield Across(scene, hosts, macs, {node.name: node.peers[0].interface for node in kernels})


def _widen(plan: Plan, made: Spaces, core: int, access: int) -> None:
    """Both ends of each wire."""

    def mtu(one: Wire) -> int:
        return max(access, 1500) if one.interface in _ACCESS else core

    def set_each(given: Mapping[str, int]) -> None:
        with IPRoute() as link:
            for interface, size in given.items():
                link.link("set", index=link.link_lookup(ifname=interface)[0], mtu=size)

    inside(made.hub, lambda: set_each({one.loop_interface: mtu(one) for one in plan.wires}))
    for number, space in enumerate(made.nodes):
        own = {one.interface: mtu(one) for one in plan.wires if one.node == number}
        inside(space, lambda own=own: set_each(own))  # type: ignore[misc]


def _settle(plan: Plan, hosts: Mapping[str, Namespace]) -> None:
    """IPv6 between the hosts, and a way from b to the host that no kernel has."""
    nodes = {node.name: node for node in plan.nodes}
    for name, other in (("a", "b"), ("b", "a")):
        peer = next(peer for peer in nodes[name].peers if peer.address == nodes[other].address)
        known = {V6[other]: peer.mac} | ({RAW: RAW_MAC} if name == "b" else {})

        def settle(name: str = name, interface: str = peer.interface, known: Mapping[str, str] = known) -> None:
            Path(f"/proc/sys/net/ipv6/conf/{interface}/disable_ipv6").write_text("0")
            with IPRoute() as link:
                index = link.link_lookup(ifname=interface)[0]
                # `IFA_F_NODAD` of linux/if_addr.h: nobody else has it.
                link.addr("add", index=index, address=V6[name], prefixlen=128, flags=0x02)
                for address, mac in known.items():
                    width = 128 if ":" in address else 32
                    more: dict[str, Any] = {} if ":" in address else {"scope": "link"}
                    link.route("add", dst=f"{address}/{width}", oif=index, **more)
                    link.neigh("add", dst=address, lladdr=mac, ifindex=index, state="permanent")

        inside(hosts[name], settle)
