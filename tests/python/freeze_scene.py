"""A server that sends to a client over a link which goes away: 20 Mbit/s, 20 ms each way, 100 packets."""

from __future__ import annotations

import ctypes
import fcntl
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from pyroute2 import IPRoute, netns

from handfast.lab import names, processes
from handfast.lab.names import Namespace
from sdtp_scene import Daemon, inside

SENDER, RECEIVER = "198.18.31.1", "198.18.31.2"
LINK = ["20e6", "0.02", "100"]
OUTAGE_S = 3.0
SIOCETHTOOL = 0x8946
OFFLOADS = (0x17, 0x1F, 0x24, 0x2C)
"""ETHTOOL_STXCSUM, ETHTOOL_STSO, ETHTOOL_SGSO and ETHTOOL_SGRO of linux/ethtool.h."""
_CWND_AT = 8 + 4 * 18
"""Of `struct tcp_info`: eight octets, then numbers of 32 bits; tcpi_snd_cwnd is the nineteenth."""


@dataclass(slots=True)
class Outage:
    """What became of a transfer."""

    before: int
    """cwnd when the link went, in packets."""
    after: int
    """Half a second after the link's return."""
    stall_s: float
    """From the return to the first new octets at the receiver."""
    second: int
    """Octets that came in the second after the return."""
    received: int
    control: str
    """The congestion control."""


@dataclass(slots=True)
class Scene:
    sender: Namespace
    receiver: Namespace
    link: subprocess.Popen[str]
    stack: ExitStack
    folder: Path
    arrivals: list[tuple[float, int]] = field(default_factory=list)

    def daemon(self, space: Namespace, text: str) -> Daemon:
        daemon = Daemon(space, "end", self.folder, self.stack, "session freeze")
        daemon.config.write_text(text.format(socket=daemon.socket))
        daemon.start()
        daemon.until(lambda status: status["ok"])
        return daemon

    def say(self, word: str) -> None:
        assert self.link.stdin is not None
        assert self.link.stdout is not None
        print(word, file=self.link.stdin, flush=True)
        assert self.link.stdout.readline().strip() == word

    @contextmanager
    def transfer(self, control: str | None = None) -> Iterator[socket.socket]:
        """Octets without end, from the sender to the receiver."""
        with ExitStack() as stack:
            listener = stack.enter_context(inside(self.receiver, lambda: socket.create_server((RECEIVER, 0))))
            port = listener.getsockname()[1]
            sending = stack.enter_context(inside(self.sender, lambda: _connected(port, control)))
            receiving, _ = listener.accept()
            stack.enter_context(receiving)
            self.arrivals.clear()
            threads = [
                threading.Thread(target=_send, args=(sending,)),
                threading.Thread(target=_receive, args=(receiving, self.arrivals)),
            ]
            for thread in threads:
                thread.start()
            try:
                yield sending
            finally:
                sending.shutdown(socket.SHUT_RDWR)
                receiving.shutdown(socket.SHUT_RDWR)
                for thread in threads:
                    thread.join()

    @contextmanager
    def quiet(self) -> Iterator[tuple[socket.socket, socket.socket]]:
        """A connection on which nothing is sent: both ends, the sender's first."""
        with ExitStack() as stack:
            listener = stack.enter_context(inside(self.receiver, lambda: socket.create_server((RECEIVER, 0))))
            port = listener.getsockname()[1]
            sending = stack.enter_context(inside(self.sender, lambda: _connected(port, None)))
            receiving, _ = listener.accept()
            stack.enter_context(receiving)
            yield sending, receiving

    def outage(self, daemon: Daemon | None, *, ahead_s: float = 0.0, control: str | None = None) -> Outage:
        """One, of which `daemon` is told so long before the link goes, and when it is back."""
        with self.transfer(control) as sending:
            time.sleep(4.0)
            before = cwnd(sending)
            if daemon is not None:
                assert tell(daemon, "away", RECEIVER if daemon.space == self.sender else SENDER) == {"ok": True}
            time.sleep(ahead_s)
            self.say("down")
            time.sleep(OUTAGE_S)
            had = self.arrivals[-1][1]
            self.say("up")
            back = time.monotonic()
            if daemon is not None:
                assert tell(daemon, "back", RECEIVER if daemon.space == self.sender else SENDER) == {"ok": True}
            time.sleep(0.5)
            after = cwnd(sending)
            time.sleep(3.0)
            name = sending.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0").decode()
        first = next((at for at, total in self.arrivals if total > had), float("inf"))
        second = max((total for at, total in self.arrivals if at < back + 1), default=had) - had
        return Outage(before, after, first - back, second, self.arrivals[-1][1], name)


def tell(daemon: Daemon, event: str, peers: str) -> dict[str, object]:
    return daemon.say({"event": event, "peers": peers})


def cwnd(connection: socket.socket) -> int:
    found: int = struct.unpack_from("I", connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104), _CWND_AT)[0]
    return found


def middle(outages: list[Outage]) -> tuple[float, float, float]:
    """Cwnd after the return, the stall, and the megabits of the second after it: medians."""
    return (
        median(one.after for one in outages),
        median(one.stall_s for one in outages),
        median(one.second for one in outages) * 8e-6,
    )


def _connected(port: int, control: str | None) -> socket.socket:
    made = socket.socket()
    if control is not None:
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
    made.connect((RECEIVER, port))
    return made


def _send(sending: socket.socket) -> None:
    octets = bytes(64 << 10)
    with suppress(OSError):
        while True:
            sending.sendall(octets)


def _receive(receiving: socket.socket, arrivals: list[tuple[float, int]]) -> None:
    total = 0
    # Whoever ends the transfer leaves octets that nobody has read.
    with suppress(OSError):
        while got := receiving.recv(1 << 20):
            total += len(got)
            arrivals.append((time.monotonic(), total))


def _wire(here: Namespace, name: str, there: Namespace, other: str) -> None:
    def lay() -> None:
        with (names.DIRECTORY / there.name).open("rb") as space, IPRoute() as link:
            link.link("add", ifname=name, kind="veth", peer={"ifname": other, "net_ns_fd": space.fileno()})

    inside(here, lay)


def _up(addresses: dict[str, str | None]) -> None:
    with IPRoute() as link:
        for name, address in addresses.items():
            index = link.link_lookup(ifname=name)[0]
            if address is not None:
                link.addr("add", index=index, address=address, prefixlen=24)
            link.link("set", index=index, state="up")


def _offloads_off() -> None:
    """What a sender has left for a network card, the link's relay does not do."""
    with socket.socket() as any_socket:
        for command in OFFLOADS:
            value = ctypes.create_string_buffer(struct.pack("II", command, 0))
            request = struct.pack("16sP16x", b"wire", ctypes.addressof(value))
            fcntl.ioctl(any_socket, SIOCETHTOOL, request)


@contextmanager
def scene(folder: Path) -> Iterator[Scene]:
    """Both, and the link between them."""
    sender, receiver, hub = (
        names.mine(940_000, number, name) for number, name in enumerate(("sender", "receiver", "hub"))
    )
    with ExitStack() as stack:
        for space in (sender, receiver, hub):
            netns.create(space.name)
            stack.callback(netns.remove, space.name)
        _wire(hub, "one", sender, "wire")
        _wire(hub, "other", receiver, "wire")
        inside(sender, lambda: _up({"lo": None, "wire": f"{SENDER}"}))
        inside(receiver, lambda: _up({"lo": None, "wire": f"{RECEIVER}"}))
        inside(hub, lambda: _up({"one": None, "other": None}))
        for space in (sender, receiver):
            inside(space, _offloads_off)
        relay = [sys.executable, str(Path(__file__).with_name("slow_link.py")), "one", "other", *LINK]
        with subprocess.Popen(
            processes.inside(hub.name, relay), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as link:
            assert link.stdout is not None
            assert link.stdout.readline() == "ready\n"
            try:
                yield Scene(sender, receiver, link, stack, folder)
            finally:
                link.kill()
