"""Connections that use up the places of switches, or the descriptors.

With a real Open vSwitch.
"""

from __future__ import annotations

import resource
import socket
import subprocess
import time
from contextlib import suppress

import pytest

from conftest import commanded, real
from harm_scene import BRIDGE, DATAPATH, How, Scene, acting

pytestmark = [real, commanded, pytest.mark.usefixtures("nothing_is_left")]


def test_09_connections_that_never_get_ready_lock_no_switch_out(scene: Scene) -> None:
    daemon = acting(scene)
    hello = bytes([4, 0, 0, 8, 0, 0, 0, 1])
    echo = bytes([4, 2, 0, 8, 0, 0, 0, 2])
    with scene.connections(64) as idle:
        for stream in idle:
            with suppress(OSError):
                stream.sendall(hello)
        scene.configure("del-controller", BRIDGE)
        daemon.wait("switch gone")
        for _ in range(3):
            for stream in idle:
                with suppress(OSError):
                    stream.sendall(echo)
            time.sleep(0.3)
        scene.connect()
        daemon.wait("switch ready", 2)
        time.sleep(5)
        alive = [stream for stream in idle if _lives(stream)]
    assert alive == [], "five seconds to get ready"
    assert daemon.status()["switches"] == [DATAPATH]


def test_13_descriptors_are_set_aside_and_their_limit_is_looked_at(scene: Scene) -> None:
    few = scene.daemon("few", how=How(subprocess.PIPE, lambda: _files(64)))
    _, said = few.process.communicate(timeout=10)
    assert few.process.returncode == 2
    assert b"64 files may be open" in said
    daemon = scene.daemon(how=How(subprocess.DEVNULL, lambda: _files(100)))
    scene.connect()
    daemon.ready()
    with scene.connections(2000, patience_s=0.05):
        assert daemon.status()["switches"] == [DATAPATH]
        daemon.associated("ap1", 1)


def _files(most: int) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _lives(stream: socket.socket) -> bool:
    stream.settimeout(0.01)
    try:
        while data := stream.recv(4096):
            del data
    except TimeoutError:
        return True
    except OSError:
        pass
    return False
