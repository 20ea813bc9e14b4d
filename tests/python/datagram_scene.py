"""Targets of UDP behind an end of sessions, for a client whose address changes."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pyroute2 import IPRoute
from pyroute2.netlink.rtnl.ifaddrmsg import IFA_F_NODAD

from conftest import mine
from handfast.lab.names import Namespace
from sdtp_scene import inside
from session_scene import SERVER, Scene, scene

CALL, NAMES, QUIC = 9_000, 53, 4_433
SIX = "fd00:2::1"
"""The server's address of IPv6, to which the client has no route."""


def _has_six() -> None:
    with IPRoute() as link:
        index = link.link_lookup(ifname="wire")[0]
        link.addr("add", index=index, address=SIX, prefixlen=64, flags=IFA_F_NODAD)


@contextmanager
def made_with(folder: Path, below: str) -> Iterator[Scene]:
    """A client and a server, whose end leads to these ports by what is below."""
    with scene(folder, pages=False, target=f"udp_ports = [{CALL}, {NAMES}, {QUIC}]") as made:
        config = made.daemon.config.read_text().replace("[session]", f'[session]\nbelow = "{below}"', 1)
        more = f'targets = [{{address = "{SIX}", ports = [9], udp_ports = [{CALL}]}}, '
        made.daemon.config.write_text(config.replace("targets = [", more, 1))
        inside(made.server, _has_six)
        made.daemon.start()
        made.daemon.until(lambda status: status["ok"])
        yield made
    assert mine() == []


@contextmanager
def serving(
    space: Namespace,
    port: int,
    answer: Callable[[bytes], bytes],
    callers: list[str] | None = None,
    *,
    six: bool = False,
) -> Iterator[list[bytes]]:
    """A server that knows one client, the first: whoever calls from another address gets no answer. What has come.

    `callers`: it answers everybody, and lists here from which addresses it was called. `six`: at `SIX`.
    """
    family, host = (socket.AF_INET6, SIX) if six else (socket.AF_INET, SERVER)
    server = inside(space, lambda: socket.socket(family, socket.SOCK_DGRAM))
    server.bind((host, port))
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
