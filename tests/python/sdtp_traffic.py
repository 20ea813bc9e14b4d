"""What two kernels send each other across a line of nodes; every byte is compared."""

from __future__ import annotations

import hashlib
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

from sdtp_across import Across
from sdtp_scene import PATIENCE_S, Scene, inside

Options = tuple[tuple[int, int, int | bytes], ...]
"""Of setsockopt(2)."""


def transfer(scene: Scene, data: bytes, *, port: int = 9000) -> tuple[bool, int]:
    """Send bytes from a to b by the kernels' TCP: whether all came as they were, and the segments sent again."""
    (_, address_a), (_, address_b) = scene.hosts["a"], scene.hosts["b"]
    listening = threading.Event()
    digests: list[str] = []

    def receive() -> None:
        server = socket.create_server((address_b, port))
        server.settimeout(PATIENCE_S)
        listening.set()
        peer, _ = server.accept()
        peer.settimeout(PATIENCE_S)
        digest = hashlib.sha256()
        with server, peer:
            while part := peer.recv(65536):
                digest.update(part)
            peer.sendall(b"!")
        digests.append(digest.hexdigest())

    def send() -> int:
        assert listening.wait(PATIENCE_S)
        with socket.create_connection((address_b, port), PATIENCE_S, (address_a, 0)) as client:
            # Where the kernel has BBR: over four links that lose 2 % each, CUBIC takes more than a minute.
            with suppress(OSError):
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"bbr")
            client.sendall(data)
            client.shutdown(socket.SHUT_WR)
            assert client.recv(1) == b"!"
            info = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
            # `tcpi_total_retrans` of linux/tcp.h.
            return int.from_bytes(info[100:104], "little")

    with ThreadPoolExecutor(2) as pool:
        receiving = pool.submit(inside, scene.hosts["b"][0], receive)
        sending = pool.submit(inside, scene.hosts["a"][0], send)
        again = sending.result()
        receiving.result()
    return digests == [hashlib.sha256(data).hexdigest()], int(again)


@contextmanager
def long_connection(scene: Scene, port: int = 8999) -> Iterator[Callable[[bytes], bool]]:
    """A connection from a to b that stays; a call says something, and whether it comes back."""
    (space_a, address_a), (space_b, address_b) = scene.hosts["a"], scene.hosts["b"]

    def serve() -> socket.socket:
        return socket.create_server((address_b, port))

    def connect() -> socket.socket:
        return socket.create_connection((address_b, port), PATIENCE_S, (address_a, 0))

    with inside(space_b, serve) as server, inside(space_a, connect) as client:
        server.settimeout(PATIENCE_S)
        peer, _ = server.accept()
        with peer:
            peer.settimeout(PATIENCE_S)

            def say(what: bytes) -> bool:
                client.sendall(what)
                heard = exactly(peer, len(what))
                peer.sendall(heard)
                return heard == exactly(client, len(what)) == what

            yield say


def exactly(peer: socket.socket, count: int) -> bytes:
    """So many bytes, or all until the end."""
    heard = b""
    while len(heard) < count and (part := peer.recv(count - len(heard))):
        heard += part
    return heard


@contextmanager
def connected(
    line: Across, port: int, *, version: int = 4, protocol: int = 0, client: Options = (), server: Options = ()
) -> Iterator[tuple[socket.socket, socket.socket]]:
    """A connection from a to b: both ends."""
    family = socket.AF_INET if version == 4 else socket.AF_INET6

    def made(options: Options) -> socket.socket:
        end = socket.socket(family, socket.SOCK_STREAM, protocol)
        end.settimeout(PATIENCE_S)
        for option in options:
            end.setsockopt(*option)
        return end

    listener = inside(line.hosts["b"], lambda: made(server))
    caller = inside(line.hosts["a"], lambda: made(client))
    with listener, caller:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((line.address("b", version), port))
        listener.listen()
        caller.connect((line.address("b", version), port))
        peer, _ = listener.accept()
        with peer:
            peer.settimeout(PATIENCE_S)
            yield caller, peer


def both_ways(one: socket.socket, other: socket.socket, data: bytes, back: bytes) -> None:
    """Both ends send at once, then close their side; what comes is what was sent."""
    with ThreadPoolExecutor(4) as pool:
        sending = [pool.submit(send, end, what) for end, what in ((one, data), (other, back))]
        came = [pool.submit(exactly, end, len(what) + 1) for end, what in ((other, data), (one, back))]
        assert [part.result() for part in came] == [data, back]
        for done in sending:
            done.result()


def send(end: socket.socket, data: bytes) -> None:
    """All of it, and the end."""
    end.sendall(data)
    end.shutdown(socket.SHUT_WR)


def both_ways_once(client: socket.socket, server: socket.socket, what: bytes) -> None:
    """One says something, and the other one says it again."""
    client.sendall(what)
    assert exactly(server, len(what)) == what
    server.sendall(what)
    assert exactly(client, len(what)) == what
