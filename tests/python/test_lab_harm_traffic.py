"""What stations pay for help: one that is there, one of a false alarm, and one with datagrams.

With a real Open vSwitch.
"""

from __future__ import annotations

import time

import pytest

from conftest import commanded, real
from harm_scene import BURST, CORRESPONDENT, STATION, TCP, UDP, Scene, acting, tcp, udp

pytestmark = [real, commanded, pytest.mark.usefixtures("nothing_is_left")]


def test_a_present_station_has_no_entry_and_one_that_is_away_four(scene: Scene) -> None:
    daemon = acting(scene)
    daemon.associated("ap1", 1)
    assert scene.ours() == []
    daemon.disassociated("ap1", 1)
    time.sleep(2.5)
    assert len(scene.ours()) == 4, "renewed"
    assert all("hard_timeout=2" in entry for entry in scene.ours())
    daemon.process.kill()
    time.sleep(2.6)
    assert scene.ours() == [], "traffic is normal two seconds after any death"


def test_datagrams_that_are_to_be_held_leave_in_order_and_only_those_of_the_last_second(scene: Scene) -> None:
    daemon = acting(scene, more='[not_tcp]\nudp = "hold"')
    daemon.associated("ap1", 1)
    daemon.disassociated("ap1", 1)
    scene.diverts()
    scene.send(1, udp(STATION, 999))
    time.sleep(1.2)
    scene.send(1, *(udp(STATION, n) for n in range(BURST)))
    late = [frame.rest[30:43] for frame in scene.came(2, within_s=0.2)]
    assert late == [b"number %06d" % 999], "what was held for a second goes on as without the daemon"
    daemon.associated("ap2", 2)
    daemon.wait("released")
    scene.send(1, udp(STATION, BURST))
    assert [frame.rest[30:43] for frame in scene.came(3)] == [b"number %06d" % n for n in range(BURST + 1)]
    (released,) = daemon.wait("released")
    assert (released["datagrams"], released["datagrams_expired"], released["datagrams_evicted"]) == (BURST, 1, 0)


def test_07_a_false_alarm_costs_datagrams_nothing_and_segments_little(scene: Scene) -> None:
    """The station is still there, sends a datagram every 100 ms, and answers what it gets."""
    daemon = acting(scene)
    daemon.associated("ap1", 1)
    daemon.disassociated("ap1", 1)
    scene.diverts()
    began, number = time.monotonic(), 0
    held: float | None = None
    while time.monotonic() - began < 3:
        scene.send(1, udp(STATION, number), tcp(STATION, 100 * number))
        number += 1
        frames = scene.came(2, within_s=0.1)
        assert [frame for frame in frames if frame.rest[11] == UDP], f"datagram {number} is lost"
        if held is None and [frame for frame in frames if frame.rest[11] == TCP]:
            held = time.monotonic() - began
        scene.send(2, udp(CORRESPONDENT, number, source=STATION))
    assert held is not None
    assert held < 1, "until it was heard"
    assert daemon.wait("station heard: it is not away")
    assert scene.ours() == []
