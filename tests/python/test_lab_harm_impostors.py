"""Others who command: a second connection of a datapath, and a second daemon.

With a real Open vSwitch.
"""

from __future__ import annotations

import socket
import time
from contextlib import suppress

import pytest

from conftest import commanded, real
from harm_scene import BRIDGE, BURST, DATAPATH, STATION, Scene, acting, tcp

pytestmark = [real, commanded, pytest.mark.usefixtures("nothing_is_left")]


def test_10_a_second_connection_of_a_datapath_that_lives_gets_nothing(scene: Scene) -> None:
    daemon = acting(scene)
    daemon.associated("ap1", 1)
    daemon.disassociated("ap1", 1)
    scene.diverts()
    scene.send(1, *(tcp(STATION, 100 * n) for n in range(BURST)))
    with scene.connections(1) as (impostor,):
        impostor.settimeout(5)
        impostor.sendall(bytes([4, 0, 0, 8, 0, 0, 0, 1]))
        got = _claim(impostor, int(DATAPATH, 16))
        daemon.associated("ap2", 2)
        daemon.wait("released")
        got += _rest(impostor)
    assert 13 not in got, "no packet-out"
    assert 14 not in got, "no flow entry"
    assert len(scene.came(3)) == BURST
    assert daemon.wait("a second connection claims a switch whose first one lives: closed")
    assert len(daemon.said("switch ready")) == 1


def test_11_two_daemons_do_not_undo_one_another(scene: Scene) -> None:
    """The one that began later commands; what the first has made it leaves alone."""
    first = scene.daemon("first")
    first.wait("started")
    second = scene.daemon("second", listen="127.0.0.1:6654")
    scene.connect()
    first.ready()
    scene.learn()
    first.associated("ap1", 1)
    first.disassociated("ap1", 1)
    scene.diverts()
    assert len(scene.ours()) == 4
    scene.configure("set-controller", BRIDGE, "tcp:127.0.0.1:6653", "tcp:127.0.0.1:6654")
    second.ready()
    scene.enter("priority=0,actions=NORMAL")
    first.wait("switch left alone")
    assert first.status()["switches"] == []
    time.sleep(2.5)
    assert scene.ours() == [], "those of the first have ended by themselves"
    second.associated("ap1", 1)
    second.disassociated("ap1", 1)
    scene.diverts()
    assert first.stop() == 0
    assert len(scene.ours()) == 4, "and its end takes none of the second's"


def _messages(data: bytes) -> list[tuple[int, bytes]]:
    """OpenFlow messages: type, and from the header's transaction on."""
    found = []
    while len(data) >= 8 and len(data) >= (length := int.from_bytes(data[2:4], "big")):
        found.append((data[1], data[4:length]))
        data = data[length:]
    return found


def _claim(stream: socket.socket, datapath_id: int) -> list[int]:
    """Answer the question for features with somebody else's datapath; the types of what came until then."""
    got: list[int] = []
    while True:
        for kind, rest in _messages(stream.recv(65536)):
            got.append(kind)
            if kind == 5:
                features = datapath_id.to_bytes(8, "big") + bytes([0, 0, 0, 0, 254, 0, 0, 0]) + bytes(8)
                stream.sendall(bytes([4, 6, 0, 32]) + rest[:4] + features)
                return got


def _rest(stream: socket.socket) -> list[int]:
    stream.settimeout(0.5)
    data = b""
    with suppress(OSError):
        while more := stream.recv(65536):
            data += more
    return [kind for kind, _ in _messages(data)]
