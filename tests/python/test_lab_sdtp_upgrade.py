"""A `handfastd sdtp` is followed by another one: packets lost meanwhile, and connections that go on."""

from __future__ import annotations

import random
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import pytest

from conftest import real
from handfast.lab import controller
from sdtp_across import Across, across
from sdtp_scene import Core, inside
from sdtp_traffic import both_ways, both_ways_once, connected

pytestmark = [
    real,
    pytest.mark.usefixtures("nothing_is_left"),
    pytest.mark.skipif(controller.missing() is not None, reason=f"no daemon to run: {controller.missing()}"),
]

DATA = random.Random(4).randbytes(2_000_000)


@dataclass(slots=True)
class Pings:
    """A datagram every millisecond, which comes back."""

    ping: socket.socket
    echo: socket.socket
    sending: threading.Event = field(default_factory=threading.Event)
    waiting: threading.Event = field(default_factory=threading.Event)
    sent: int = 0
    came: list[int] = field(default_factory=list)

    @property
    def lost(self) -> int:
        return self.sent - len(set(self.came))

    def send(self) -> None:
        due = time.monotonic()
        while not self.sending.is_set():
            self.ping.send(self.sent.to_bytes(4, "big"))
            self.sent += 1
            due += 0.001
            time.sleep(max(0.0, due - time.monotonic()))

    def answer(self) -> None:
        while not self.waiting.is_set():
            with suppress(TimeoutError):
                self.echo.sendto(*self.echo.recvfrom(100))

    def hear(self) -> None:
        while not self.waiting.is_set():
            with suppress(TimeoutError):
                self.came.append(int.from_bytes(self.ping.recv(100), "big"))


@contextmanager
def _pinging(line: Across) -> Iterator[Pings]:
    echo, ping = (inside(line.hosts[host], _datagrams) for host in "ba")
    echo.bind((line.address("b"), 7007))
    ping.connect((line.address("b"), 7007))
    pings = Pings(ping, echo)
    threads = [threading.Thread(target=work) for work in (pings.send, pings.answer, pings.hear)]
    with echo, ping:
        for thread in threads:
            thread.start()
        try:
            yield pings
        finally:
            pings.sending.set()
            threads[0].join()
            time.sleep(0.5)
            pings.waiting.set()
            for thread in threads[1:]:
                thread.join()


def _datagrams() -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.settimeout(0.5)
    return made


@pytest.mark.parametrize("protect", ["tcp", "all"])
def test_nodes_are_followed_without_a_gap(protect: str) -> None:
    """An edge, a node of the core, the other edge, one after the other, while a transfer and pings cross them."""
    with (
        across(Core(protect=protect), access=1500, loss=0) as line,
        connected(line, 7800) as ends,
        connected(line, 7801) as busy,
    ):
        both_ways_once(*ends, b"before")
        with _pinging(line) as pings, _transferring(busy):
            for number in (0, 2, 4):
                assert line.scene.nodes[number].upgrade() == 0
                line.scene.ready()
                both_ways_once(*ends, b"after")
        totals = line.totals()
        assert totals["strangers"] == 0, "what was on its way was reverted"
        assert pings.sent > 3000
        assert pings.lost == 0
        twice = len(pings.came) - len(set(pings.came))
        assert twice <= 5
        with connected(line, 7802) as new, line.counting() as found:
            both_ways(*new, DATA[:100_000], b"")
        assert found["converted"] > 70, "new connections are converted again"


@contextmanager
def _transferring(busy: tuple[socket.socket, socket.socket]) -> Iterator[None]:
    """Bytes one way all the time; none is lost, and the sender repeats none."""
    client, server = busy
    over, heard = threading.Event(), bytearray()

    def send() -> None:
        while not over.is_set():
            client.sendall(DATA[:20_000])
            time.sleep(0.01)
        client.shutdown(socket.SHUT_WR)

    def hear() -> None:
        while part := server.recv(65_536):
            heard.extend(part)

    threads = [threading.Thread(target=work) for work in (send, hear)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert len(heard) > 1_000_000
    assert bytes(heard) == DATA[:20_000] * (len(heard) // 20_000)
    info = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    # `tcpi_total_retrans` of linux/tcp.h.
    assert int.from_bytes(info[100:104], "little") <= 3


def test_a_takeover_that_is_given_up_leaves_the_node_where_it_was() -> None:
    with across(Core(), access=1500, loss=0) as line:
        node = line.scene.nodes[0]
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
            other.connect(str(node.socket))
            other.sendall(b'{"event": "handover"}\n')
            time.sleep(0.2)
            assert node.ask("handover") == {"error": "another one takes over already"}
        line.scene.ready()
        node.until(lambda status: status["controller"])
        with connected(line, 7900) as ends, line.counting() as found:
            both_ways(*ends, DATA[:100_000], b"")
        assert found["converted"] > 70
        assert node.process is not None
        assert node.process.poll() is None


def test_without_another_one_it_just_starts() -> None:
    with across(Core(), access=1500, loss=0) as line:
        node = line.scene.nodes[0]
        node.stop()
        node.start("--take-over")
        line.scene.ready()
        with connected(line, 7900) as ends:
            both_ways_once(*ends, b"hello")
