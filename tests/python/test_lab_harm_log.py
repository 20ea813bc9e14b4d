"""A log that cannot be written, that nobody reads, or that a flood would fill.

With a real Open vSwitch.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress

import pytest

from conftest import commanded, real
from harm_scene import DATAPATH, How, Scene, acting

pytestmark = [real, commanded, pytest.mark.usefixtures("nothing_is_left")]


@pytest.mark.parametrize("closed", [False, True])
def test_03_a_log_that_cannot_be_written_ends_nothing(scene: Scene, closed: bool) -> None:
    """Standard error is a full disk, or its reader has closed it."""
    if closed:
        reader, target = os.pipe()
        os.close(reader)
    else:
        target = os.open("/dev/full", os.O_WRONLY)
    daemon = scene.daemon(how=How(target))
    scene.connect()
    daemon.ready()
    os.close(target)
    for epoch in range(1, 50):
        daemon.associated("ap1", epoch)
        daemon.disassociated("ap1", epoch)
    assert daemon.process.poll() is None
    assert daemon.stop() == 0


def test_04_a_log_that_nobody_reads_stops_nothing(scene: Scene) -> None:
    """Standard error is a FIFO that is full: the switch stays, events are answered, and it ends when it is told to."""
    reader, target = os.pipe()
    daemon = scene.daemon(how=How(target))
    scene.connect()
    daemon.ready()
    for epoch in range(1, 3001):
        daemon.associated("ap1", epoch)
        daemon.disassociated("ap1", epoch)
    status = daemon.status()
    assert status["switches"] == [DATAPATH]
    assert status["log_lines_dropped"] > 0
    began = time.monotonic()
    assert daemon.stop() == 0
    assert time.monotonic() - began < 3
    os.close(reader)
    os.close(target)


def test_12_a_flood_of_connections_is_a_handful_of_lines(scene: Scene) -> None:
    daemon = acting(scene)
    count = 0
    began = time.monotonic()
    while time.monotonic() - began < 3:
        with scene.connections(20) as flood:
            for stream in flood:
                with suppress(OSError):
                    stream.sendall(b"GET / HTTP/1.1\r\n\r\n")
            count += len(flood)
    assert count > 300
    left_out = daemon.wait("lines left out")
    assert len(daemon.lines()) < 60
    assert sum(line["left_out"] for line in left_out) > count / 2
    assert daemon.status()["switches"] == [DATAPATH]
