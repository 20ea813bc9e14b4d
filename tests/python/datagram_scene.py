"""Targets of UDP behind an end of sessions, for a client whose address changes."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from conftest import mine
from handfast.lab.names import Namespace
from sdtp_scene import inside
from session_scene import SERVER, Scene, scene

CALL, NAMES, QUIC = 9_000, 53, 4_433


@contextmanager
def made_with(folder: Path, below: str) -> Iterator[Scene]:
    """A client and a server, whose end leads to these ports by what is below."""
    with scene(folder, pages=False, target=f"udp_ports = [{CALL}, {NAMES}, {QUIC}]") as made:
        config = made.daemon.config.read_text().replace("[session]", f'[session]\nbelow = "{below}"', 1)
        made.daemon.config.write_text(config)
        made.daemon.start()
        made.daemon.until(lambda status: status["ok"])
        yield made
    assert mine() == []


@contextmanager
def serving(
    space: Namespace, port: int, answer: Callable[[bytes], bytes], callers: list[str] | None = None
) -> Iterator[list[bytes]]:
    """A server that knows one client, the first: whoever calls from another address gets no answer. What has come.

    `callers`: it answers everybody, and lists here from which addresses it was called.
    """
    server = inside(space, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    server.bind((SERVER, port))
    server.settimeout(0.1)
    stop, came, clients = threading.Event(), list[bytes](), list[tuple[str, int]]()

    def serve() -> None:
        while not stop.is_set():
            try:
                datagram, client = server.recvfrom(65_535)
            except TimeoutError:
                continue
            came.append(datagram)
            clients.append(client)
            if callers is not None:
                callers.append(client[0])
            if client == clients[0] or callers is not None:
                server.sendto(answer(datagram), client)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield came
    finally:
        stop.set()
        thread.join()
        server.close()
