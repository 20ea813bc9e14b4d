"""Open vSwitch between edges of SDTP matches a slice by the ports of UDP, counts it, and acts on it."""

from __future__ import annotations

import re
import shutil
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from pyroute2 import IPRoute, netns

from conftest import commanded, real
from handfast.lab import names, openvswitch
from handfast.lab.names import Namespace
from handfast.lab.openvswitch import Bridge, OpenVSwitch
from sdtp_frames import wire
from sdtp_scene import PATIENCE_S, PORT, Daemon, inside, write_node
from sdtp_traffic import exactly

pytestmark = [real, commanded, pytest.mark.usefixtures("nothing_is_left")]

EDGES = (1, 2, 3)
HOST = "10.1.0.{}"
EDGE = "10.99.0.{}"
BRIDGE = "core"
SERVER = 7000

CONTROLLER = """
[sdtp-controller]
listen = "0.0.0.0:{port}"
insecure_listen = true
socket = "{socket}"
nodes = [
    {{address = "10.99.0.1", datapath_id = "0000000000000001", hosts = ["10.1.0.1"]}},
    {{address = "10.99.0.2", datapath_id = "0000000000000002", hosts = ["10.1.0.2"]}},
    {{address = "10.99.0.3", datapath_id = "0000000000000003", hosts = ["10.1.0.3"]}},
]
links = [{{delay = "1ms", loss = 0.01}}, {{delay = "1ms", loss = 0.01}}]
"""


@dataclass(slots=True)
class Core:
    """Three edges around a switch, each with a host."""

    switch: OpenVSwitch
    hosts: dict[int, Namespace]
    edges: dict[int, Daemon]
    beyond: socket.socket
    """What the switch gets from the first edge, and what it sends there."""
    servers: dict[int, socket.socket] = field(default_factory=dict)

    @contextmanager
    def connection(self, to: int) -> Iterator[tuple[socket.socket, socket.socket]]:
        """From the first host to another one: both ends."""
        server = self.servers[to]
        address = (HOST.format(to), SERVER)
        with inside(self.hosts[1], lambda: socket.create_connection(address, PATIENCE_S)) as client:
            peer, _ = server.accept()
            with peer:
                yield client, peer

    def slice_to(self, edge: int) -> int:
        """The number of the slice between the first edge and another one: the destination port of what has come."""
        found = set()
        source, destination = (socket.inet_aton(EDGE.format(number)) for number in (1, edge))
        while True:
            try:
                frame = self.beyond.recv(2000)
            except BlockingIOError:
                break
            if frame[12:14] == b"\x08\x00" and frame[23] == socket.IPPROTO_UDP and frame[26:34] == source + destination:
                found.add(int.from_bytes(frame[36:38], "big"))
        (number,) = found
        return number

    def entry(self, number: int, actions: str) -> None:
        """What the switch does with a slice that comes from the first edge: its port is all that the switch knows."""
        self.switch.flow(BRIDGE, "add-flow", f"priority=10,udp,in_port=1,tp_dst={number},actions={actions}")

    def matched(self) -> dict[int, int]:
        """Packets by slice, as the entries have counted them."""
        # The datapath tells its entries of what has matched when what it has cached goes.
        self.switch.forget_cache()
        entries = self.switch.flow(BRIDGE, "dump-flows")
        found = re.findall(r"n_packets=(\d+),.*tp_dst=(\d+)", entries)
        return {int(port): int(count) for count, port in found}

    def reverted(self) -> dict[int, int]:
        """Packets that the other edges have got for their hosts."""
        return {number: self.edges[number].counters()["reverted"] for number in (2, 3)}


@contextmanager
def core() -> Iterator[Core]:
    """The switch does what any switch does; edges and controller are where it is."""
    center, *rest = (names.mine(930_000, number, name) for number, name in enumerate(("core", "h1", "h2", "h3")))
    hosts = dict(zip(EDGES, rest, strict=True))
    folder = names.scratch_of(center)
    folder.mkdir(parents=True, mode=0o700)
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder)
        for space in (center, *rest):
            netns.create(space.name)
            stack.callback(netns.remove, space.name)
        for number, host in hosts.items():
            _join(center, host, number)
        switch = stack.enter_context(openvswitch.running(center.name, folder))
        switch.add(Bridge(BRIDGE, 0xC0, {f"port{number}": number for number in EDGES}))
        commander = Daemon(center, "controller", folder, stack, "sdtp-controller")
        commander.config.write_text(CONTROLLER.format(port=PORT, socket=commander.socket))
        edges = {}
        for number in EDGES:
            edge = edges[number] = Daemon(center, f"edge{number}", folder, stack)
            hosts_of = f'["{HOST.format(number)}"]'
            keys: dict[str, Any] = {"inside": f"in{number}", "outside": f"out{number}", "hosts": hosts_of}
            write_node(edge.config, number=number, **keys, socket=edge.socket, mode="act")
        for daemon in (commander, *edges.values()):
            daemon.start()
        commander.until(lambda status: len(status["switches"]) == len(EDGES))
        beyond = stack.enter_context(inside(center, lambda: wire("port1")))
        made = Core(switch, hosts, edges, beyond)
        for number in (2, 3):
            address = (HOST.format(number), SERVER)
            server = inside(hosts[number], lambda address=address: socket.create_server(address))  # type: ignore[misc]
            server.settimeout(PATIENCE_S)
            made.servers[number] = stack.enter_context(server)
        yield made


def _join(center: Namespace, host: Namespace, number: int) -> None:
    """A host's wire to its edge, the edge's to the switch, and the address at which it finds the controller."""
    with (names.DIRECTORY / host.name).open("rb") as there:

        def lay() -> None:
            with IPRoute() as link:
                link.link("set", index=1, state="up")
                link.addr("add", index=1, address=f"192.168.{number}.1", prefixlen=32)
                peer = {"ifname": "eth0", "net_ns_fd": there.fileno()}
                link.link("add", ifname=f"in{number}", kind="veth", peer=peer)
                link.link("add", ifname=f"out{number}", kind="veth", peer={"ifname": f"port{number}"})
                for name in (f"in{number}", f"out{number}", f"port{number}"):
                    link.link("set", index=link.link_lookup(ifname=name)[0], state="up")

        inside(center, lay)

    def furnish() -> None:
        with IPRoute() as link:
            index = link.link_lookup(ifname="eth0")[0]
            link.addr("add", index=index, address=HOST.format(number), prefixlen=24)
            link.link("set", index=index, state="up")

    inside(host, furnish)


def _sent(ends: tuple[socket.socket, socket.socket], data: bytes) -> bool:
    """Whether bytes from one end arrive at the other as they were."""
    client, peer = ends
    peer.settimeout(PATIENCE_S)
    with ThreadPoolExecutor(1) as pool:
        sending = pool.submit(client.sendall, data)
        came = exactly(peer, len(data))
        sending.result()
    return came == data


def test_a_switch_counts_and_drops_slices_by_the_ports_of_the_edges() -> None:
    with core() as line, line.connection(2) as second, line.connection(3) as third:
        numbers = {}
        for edge, ends in ((2, second), (3, third)):
            assert _sent(ends, b"first")
            numbers[edge] = line.slice_to(edge)
        assert numbers[2] != numbers[3]
        for number in numbers.values():
            line.entry(number, "NORMAL")

        # Two connections of one slice, and then one of the other.
        before, reverted = line.matched(), line.reverted()
        assert set(before) == set(numbers.values())
        with line.connection(2) as another:
            assert _sent(second, bytes(200_000))
            assert _sent(another, bytes(100_000))
        middle = line.matched()
        assert _sent(third, bytes(50_000))
        after = line.matched()
        packets = {edge: count - reverted[edge] for edge, count in line.reverted().items()}
        assert packets[2] > 200, "they fit no fewer segments"
        assert packets[3] > 30
        # What came there, and what nodes told each other: CNs, as nothing is lost.
        for edge, found in ((2, middle[numbers[2]] - before[numbers[2]]), (3, after[numbers[3]] - middle[numbers[3]])):
            assert packets[edge] <= found <= packets[edge] * 1.2 + 20, (edge, found, packets)
        quiet = middle[numbers[3]] - before[numbers[3]], after[numbers[2]] - middle[numbers[2]]
        assert max(quiet) <= 20, "the other slice had CNs at most"

        # It acts on one of them.
        line.entry(numbers[2], "drop")
        client, peer = second
        client.sendall(b"stopped")
        peer.settimeout(0.7)
        with pytest.raises(TimeoutError):
            peer.recv(1)
        assert _sent(third, b"goes on")
        line.entry(numbers[2], "NORMAL")
        began = time.monotonic()
        peer.settimeout(PATIENCE_S)
        assert exactly(peer, 7) == b"stopped"
        assert time.monotonic() - began < 5
