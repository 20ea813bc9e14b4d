"""Makes what a plan says, and removes it.

All of it is done in one thread that goes from namespace to namespace, and that ends when it is done: the rest of the
process never leaves its own. Veths and bridges are made inside the namespaces and vanish with them, so what has to be
removed is names.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from handfast.errors import MissingRequirementError
from handfast.lab import names
from handfast.lab.names import Namespace
from handfast.signals import deferred

if TYPE_CHECKING:
    from handfast.lab.plan import Node, Plan

CLONE_NEWNET = 0x4000_0000
"""linux/sched.h."""
BRIDGE = "bridge"
NUD_REACHABLE, NUD_NOARP = 0x02, 0x40
"""linux/neighbour.h: to a bridge, both together are a static entry."""
NTF_MASTER = 0x04
"""linux/neighbour.h: the entry is the bridge's, not the port's."""
EVERYWHERE = {
    # Only what flows send is to cross the links.
    "net/ipv6/conf/all/disable_ipv6": "1",
    "net/ipv6/conf/default/disable_ipv6": "1",
    "net/ipv4/conf/all/rp_filter": "0",
    "net/ipv4/conf/default/rp_filter": "0",
    "net/ipv4/ip_forward": "0",
}
"""What every namespace is told."""
OPTIONAL = {"net/ipv4/tcp_rto_max_ms": "120000", "net/ipv4/tcp_rto_min_us": "200000"}
"""Settings that older kernels lack, and what they do then."""

_runs = count(1)
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Spaces:
    """The namespaces of a run."""

    hub: Namespace
    nodes: tuple[Namespace, ...]

    @property
    def all(self) -> tuple[Namespace, ...]:
        """Each of them."""
        return (self.hub, *self.nodes)


@contextmanager
def spaces(plan: Plan) -> Iterator[Spaces]:
    """What the plan says, there as long as the block lasts."""
    run = next(_runs)
    nodes = tuple(names.mine(run, index, node.name) for index, node in enumerate(plan.nodes))
    made = Spaces(names.mine(run, len(nodes), "links"), nodes)
    try:
        _apart(lambda: _make(plan, made))
        yield made
    finally:
        remove(made.all)


def leftovers(*, everything: bool = False) -> list[Namespace]:
    """Namespaces of processes that are gone; with `everything` also those that a process still uses."""
    return [space for space in names.existing() if everything or space.is_orphan]


def clean(*, everything: bool = False) -> list[Namespace]:
    """Remove what `leftovers` finds, and say what that was."""
    found = leftovers(everything=everything)
    remove(found)
    return found


def remove(found: tuple[Namespace, ...] | list[Namespace]) -> None:
    """Remove namespaces and all that is in them; those that are not there are no error."""
    from pyroute2 import netns

    for space in found:
        with suppress(FileNotFoundError):
            netns.remove(space.name)
        shutil.rmtree(names.scratch_of(space), ignore_errors=True)


def _apart(work: Callable[[], _T]) -> _T:
    """Do something in a thread of its own, and wait until that is over even if a signal comes."""
    with deferred(), ThreadPoolExecutor(max_workers=1, thread_name_prefix="plumbing") as pool:
        return pool.submit(work).result()


def _make(plan: Plan, made: Spaces) -> None:
    for space in made.all:
        _create(space)
    with _handles(made) as handles:
        for space in made.all:
            _enter(handles[space])
            _apply(EVERYWHERE)
        _enter(handles[made.hub])
        _lay_wires(plan, [handles[space] for space in made.nodes])
        for number, (node, space) in enumerate(zip(plan.nodes, made.nodes, strict=True)):
            _enter(handles[space])
            _apply(node.settings)
            commanded = number in plan.commanded
            interfaces = [wire.interface for wire in plan.wires if wire.node == number]
            _furnish(node, interfaces, bridge=node.forwards and not commanded)


def control_address(number: int) -> tuple[str, str]:
    """The addresses of a wire of the control network: the controller's, and that of node `number`."""
    third = number + 1
    return f"192.168.{third}.1", f"192.168.{third}.2"


@contextmanager
def control_network(nodes: Sequence[Namespace], index: int) -> Iterator[Namespace]:
    """A namespace with a wire to each of these, there as long as the block lasts."""
    control = names.mine(nodes[0].run, index, "control")
    try:
        _apart(lambda: _make_control(control, nodes))
        yield control
    finally:
        remove([control])


def _make_control(control: Namespace, nodes: Sequence[Namespace]) -> None:
    _create(control)
    with ExitStack() as stack:
        spaces = (control, *nodes)
        opened = [os.open(names.DIRECTORY / space.name, os.O_RDONLY | os.O_CLOEXEC) for space in spaces]
        for handle in opened:
            stack.callback(os.close, handle)
        _enter(opened[0])
        _apply(EVERYWHERE)
        with _netlink() as link:
            link.link("set", index=_index(link, "lo"), state="up")
            for number, node in enumerate(opened[1:]):
                peer: dict[str, Any] = {"ifname": "control", "net_ns_fd": node}
                link.link("add", ifname=f"node{number}", kind="veth", peer=peer)
                _address(link, f"node{number}", control_address(number)[0])
        for number, node in enumerate(opened[1:]):
            _enter(node)
            with _netlink() as link:
                _address(link, "control", control_address(number)[1])


def _address(link: Any, interface: str, address: str) -> None:  # noqa: ANN401 (pyroute2 is untyped)
    index = _index(link, interface)
    link.addr("add", index=index, address=address, prefixlen=30)
    link.link("set", index=index, state="up")


def _create(space: Namespace) -> None:
    from pyroute2 import netns

    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), f"a network namespace: {os.strerror(ctypes.get_errno())}")
    # Of this thread: `self` alone is the process's first one.
    netns.attach(space.name, f"self/task/{threading.get_native_id()}")


@contextmanager
def _handles(made: Spaces) -> Iterator[dict[Namespace, int]]:
    handles: dict[Namespace, int] = {}
    try:
        for space in made.all:
            handles[space] = os.open(names.DIRECTORY / space.name, os.O_RDONLY | os.O_CLOEXEC)
        yield handles
    finally:
        for handle in handles.values():
            os.close(handle)


def _enter(handle: int) -> None:
    from pyroute2 import netns

    netns.setns(handle)


def _apply(settings: Mapping[str, str]) -> None:
    for path, value in settings.items():
        file = Path("/proc/sys") / path
        try:
            file.write_text(value, encoding="ascii")
        except FileNotFoundError:
            if OPTIONAL.get(path) != value and not path.startswith("net/ipv6/"):
                raise MissingRequirementError(
                    f"this kernel has no setting {path.replace('/', '.')} (wanted: {value}); a newer one has it"
                ) from None
        except OSError as error:
            raise MissingRequirementError(
                f"this kernel does not take {path.replace('/', '.')} = {value}: {error.strerror}"
            ) from error


def _lay_wires(plan: Plan, handles: list[int]) -> None:
    with _netlink() as link:
        for wire in plan.wires:
            node = plan.nodes[wire.node]
            peer: dict[str, Any] = {"ifname": wire.interface, "net_ns_fd": handles[wire.node]}
            if not node.forwards:
                peer["address"] = node.mac
            link.link("add", ifname=wire.loop_interface, kind="veth", peer=peer)
            link.link("set", index=_index(link, wire.loop_interface), state="up")


def _furnish(node: Node, interfaces: list[str], *, bridge: bool) -> None:
    with _netlink() as link:
        link.link("set", index=_index(link, "lo"), state="up")
        indices = {name: _index(link, name) for name in interfaces}
        for index in indices.values():
            link.link("set", index=index, state="up")
        if bridge:
            _make_bridge(link, node, indices)
        elif node.kernel and not node.forwards:
            _make_host(link, node, indices)


def _make_host(link: Any, node: Node, indices: Mapping[str, int]) -> None:  # noqa: ANN401 (pyroute2 is untyped)
    if indices:
        link.addr("add", index=next(iter(indices.values())), address=node.address, prefixlen=32)
    for peer in node.peers:
        index = indices[peer.interface]
        metrics = {"metrics": dict(node.metrics)} if node.metrics else {}
        link.route("add", dst=f"{peer.address}/32", oif=index, prefsrc=node.address, scope="link", **metrics)
        link.neigh("add", dst=peer.address, lladdr=peer.mac, ifindex=index, state="permanent")


def _make_bridge(link: Any, node: Node, indices: Mapping[str, int]) -> None:  # noqa: ANN401 (pyroute2 is untyped)
    link.link("add", ifname=BRIDGE, kind="bridge", br_stp_state=0, br_mcast_snooping=0)
    bridge = _index(link, BRIDGE)
    for index in indices.values():
        link.link("set", index=index, master=bridge)
        # The simulator's routes and no others: nothing is learnt, nothing is flooded.
        link.brport("set", index=index, learning=0, unicast_flood=0, mcast_flood=0, bcast_flood=0)
    for entry in node.forwarding:
        port, state = indices[entry.interface], NUD_REACHABLE | NUD_NOARP
        link.fdb("append", ifindex=port, lladdr=entry.mac, state=state, flags=NTF_MASTER)
    link.link("set", index=bridge, state="up")


def _netlink() -> Any:  # noqa: ANN401 (pyroute2 is untyped)
    from pyroute2 import IPRoute

    return IPRoute()


def _index(link: Any, name: str) -> int:  # noqa: ANN401 (pyroute2 is untyped)
    (found,) = link.link_lookup(ifname=name)
    return int(found)
