"""One node of SDTP between two wires: a test holds the other ends, frames and kernels."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyroute2 import IPRoute, netns

from handfast.lab import names
from handfast.lab.names import Namespace
from sdtp_scene import Daemon, inside, remove, write_node

_ETH_P_ALL = 3
_PACKET_AUXDATA, _SOL_PACKET = 8, 263
_TAG_IS_THERE, _TYPE_IS_THERE = 1 << 4, 1 << 6
"""`TP_STATUS_VLAN_VALID` and `TP_STATUS_VLAN_TPID_VALID` of packet(7)."""


@dataclass(slots=True)
class Bump:
    """One node between two wires whose other ends the test holds."""

    daemon: Daemon
    ends: tuple[socket.socket, socket.socket]
    hosts: tuple[Namespace, Namespace]

    def set_mode(self, mode: str) -> None:
        text = self.daemon.config.read_text().replace('mode = "observe"', f'mode = "{mode}"')
        self.daemon.config.write_text(text.replace('mode = "act"', f'mode = "{mode}"'))
        assert self.daemon.ask("reload")["mode"] == mode

    def pass_through(self, side: int, frames: list[bytes]) -> list[bytes]:
        """Send frames at a side: those that come out at the other one, tags where they were."""
        here, there = self.ends[side], self.ends[1 - side]
        for frame in frames:
            here.send(frame)
        came: list[bytes] = []
        deadline = time.monotonic() + 2
        while len(came) < len(frames) and (left := deadline - time.monotonic()) > 0:
            there.settimeout(left)
            with suppress(TimeoutError):
                data, beside, _, where = there.recvmsg(65536, 256)
                if where[2] != socket.PACKET_OUTGOING:
                    came.append(_retagged(data, beside))
        return came

    def wire_again(self) -> None:
        """The left wire is taken away, and laid again."""
        self.ends[0].close()
        inside(self.daemon.space, _cut)
        self.ends = (_wired(self.daemon.space, self.hosts[0], 1), self.ends[1])

    def transfer(self, data: bytes) -> tuple[bytes, float]:
        """Send bytes from the left kernel to the right one: what came, and how long that took."""
        server = inside(self.hosts[1], lambda: socket.create_server(("10.1.0.2", 7001)))
        with server, inside(self.hosts[0], lambda: socket.create_connection(("10.1.0.2", 7001), 5.0)) as client:
            peer, _ = server.accept()
            with peer, ThreadPoolExecutor(1) as pool:
                peer.settimeout(5.0)
                began, came = time.monotonic(), bytearray()
                sending = pool.submit(client.sendall, data)
                while len(came) < len(data) and (part := peer.recv(1 << 20)):
                    came += part
                took = time.monotonic() - began
                sending.result()
                return bytes(came), took

    def datagrams(self, count: int) -> int:
        """Send datagrams from one kernel to the other: how many come."""
        spaces = self.hosts
        receiver = inside(spaces[1], lambda: _bound("10.1.0.2"))
        sender = inside(spaces[0], lambda: _bound("10.1.0.1"))
        with receiver, sender:
            receiver.settimeout(1.0)
            for number in range(count):
                sender.sendto(b"%06d" % number * 50, ("10.1.0.2", 7000))
            came = 0
            with suppress(TimeoutError):
                while came < count:
                    came += receiver.recv(2000) == b"%06d" % came * 50
            return came


def _bound(address: str) -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.bind((address, 7000))
    return made


def _retagged(data: bytes, beside: list[tuple[int, int, bytes]]) -> bytes:
    """The frame with the tag that the kernel has taken off."""
    for level, kind, more in beside:
        if (level, kind) == (_SOL_PACKET, _PACKET_AUXDATA):
            words = ((0, 4), (16, 2), (18, 2))
            status, tci, tpid = (int.from_bytes(more[at : at + size], "little") for at, size in words)
            if status & _TAG_IS_THERE:
                tpid = tpid if status & _TYPE_IS_THERE else 0x8100
                return data[:12] + tpid.to_bytes(2, "big") + tci.to_bytes(2, "big") + data[12:]
    return data


@contextmanager
def bump(packet_io: str = "auto") -> Iterator[Bump]:
    """A node that observes, between two hosts with the checksum offload that kernels begin with."""
    node, *hosts = (names.mine(920_000, number, name) for number, name in enumerate(("node", "left", "right")))
    folder = names.scratch_of(node)
    folder.mkdir(parents=True, mode=0o700)
    with ExitStack() as stack:
        stack.callback(remove, folder)
        for space in (node, *hosts):
            netns.create(space.name)
            stack.callback(netns.remove, space.name)
            inside(space, _quiet)
        ends = tuple(stack.enter_context(_wired(node, host, number)) for number, host in enumerate(hosts, 1))
        daemon = Daemon(node, "node", folder, stack)
        keys: dict[str, Any] = {"inside": "end1", "outside": "end2", "hosts": '["10.1.0.1"]'}
        write_node(daemon.config, number=1, **keys, socket=daemon.socket, mode="observe")
        with daemon.config.open("a", encoding="utf-8") as file:
            file.write(f'packet_io = "{packet_io}"\n')
        daemon.start()
        daemon.until(lambda status: status["ok"])
        made = Bump(daemon, (ends[0], ends[1]), (hosts[0], hosts[1]))
        yield made
        made.ends[0].close()


def _cut() -> None:
    with IPRoute() as link:
        link.link("del", index=link.link_lookup(ifname="end1")[0])


def _quiet() -> None:
    for which in ("all", "default"):
        Path(f"/proc/sys/net/ipv6/conf/{which}/disable_ipv6").write_text("1")


def _wired(node: Namespace, host: Namespace, number: int) -> socket.socket:
    """A veth from the node, `endN`, to a host, and a raw socket at the host's end."""
    with (names.DIRECTORY / host.name).open("rb") as there:

        def lay() -> None:
            with IPRoute() as link:
                peer = {"ifname": "eth0", "address": f"02:00:0a:00:00:0{number}", "net_ns_fd": there.fileno()}
                link.link("add", ifname=f"end{number}", kind="veth", peer=peer)
                link.link("set", index=link.link_lookup(ifname=f"end{number}")[0], state="up")

        inside(node, lay)

    def make() -> socket.socket:
        with IPRoute() as link:
            index = link.link_lookup(ifname="eth0")[0]
            link.addr("add", index=index, address=f"10.1.0.{number}", prefixlen=24)
            link.link("set", index=index, state="up")
            other = 3 - number
            link.neigh(
                "add", dst=f"10.1.0.{other}", lladdr=f"02:00:0a:00:00:0{other}", ifindex=index, state="permanent"
            )
        raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETH_P_ALL))
        raw.bind(("eth0", _ETH_P_ALL))
        raw.setsockopt(_SOL_PACKET, _PACKET_AUXDATA, 1)
        return raw

    made: socket.socket = inside(host, make)
    return made
