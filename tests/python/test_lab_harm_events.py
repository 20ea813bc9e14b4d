"""Events that are wrong, forged, or too many.

With a real Open vSwitch.
"""

from __future__ import annotations

import time

import pytest

from conftest import commanded, real
from harm_scene import BURST, CORRESPONDENT, STATION, Scene, acting, tcp

pytestmark = [real, commanded, pytest.mark.usefixtures("nothing_is_left")]


def test_05_no_number_locks_a_station_out(scene: Scene) -> None:
    daemon = acting(scene)
    daemon.associated("ap1", 1)
    daemon.associated("ap2", 2**64 - 1)
    (ignored,) = daemon.wait("event ignored")
    assert ignored["why"] == "its epoch lies too far ahead"
    other = bytes.fromhex("02000a000006")
    daemon.associated("ap2", 2**64 - 1, station=other)
    assert len(daemon.wait("event ignored", 2)) == 2, "nor of one that is heard of for the first time"
    daemon.disassociated("ap1", 1)
    scene.diverts()
    scene.send(1, *(tcp(STATION, 100 * n) for n in range(BURST)))
    daemon.associated("ap2", 2)
    daemon.wait("released")
    assert len(scene.came(3)) == BURST
    # What is nevertheless wrong is forgotten on request, and nobody needs to number anything.
    assert daemon.tell(event="forget", station=STATION.hex(":")) == {"ok": True}
    assert daemon.associated("ap1", 1) == {"ok": True, "epoch": 1}
    unnumbered = daemon.tell(event="disassociated", station=STATION.hex(":"), ap="ap1")
    assert unnumbered == {"ok": True, "epoch": 1}
    assert daemon.tell(event="associated", station=STATION.hex(":"), ap="ap2") == {"ok": True, "epoch": 2}


def test_07_nobody_cuts_off_a_gateway(scene: Scene) -> None:
    """One that is configured, and one that has shown what it is by what it sends."""
    gateway = "02:00:0a:00:00:fe"
    daemon = acting(scene, more=f'top.never_hold = ["{gateway}"]')
    daemon.associated("ap1", 1)
    daemon.disassociated("ap1", 1)
    scene.diverts()
    scene.send(1, tcp(STATION, 0))
    daemon.associated("ap1", 2)
    daemon.wait("released")
    for address in (gateway, CORRESPONDENT.hex(":")):
        daemon.tell(event="disassociated", station=address, ap="ap1", epoch=1)
    assert {line["why"] for line in daemon.wait("event ignored", 2)} == {"never held: a gateway or a server"}
    assert scene.ours() == []


def test_08_ten_thousand_invented_stations_keep_nobody_out(scene: Scene) -> None:
    daemon = acting(scene)
    with daemon.talking() as say:
        for number in range(10_001):
            say(event="associated", station=f"02:aa:00:00:{number >> 8:02x}:{number & 255:02x}", ap="ap1", epoch=1)
        for number in range(2000):
            say(event="disassociated", station=f"02:aa:00:00:{number >> 8:02x}:{number & 255:02x}", ap="ap1", epoch=1)
    assert len(scene.ours()) <= 4 * 1000
    assert daemon.status()["counters"]["unhelped"] >= 999
    known = len(daemon.said("station associated"))
    daemon.associated("ap1", 1)
    daemon.wait("station associated", known + 1)
    ignored = daemon.said("event ignored")
    assert not [line for line in ignored if line["why"] == "too many stations"]
    assert not [line for line in ignored if line["station"] == STATION.hex(":")]
    began = time.monotonic()
    assert daemon.stop() == 0
    assert time.monotonic() - began < 2
    time.sleep(max(0.0, 1 - (time.monotonic() - began)))
    assert scene.ours() == [], "all of them are gone a second after it was told to stop"


def test_05_after_a_hello_only_its_numbered_events_count(scene: Scene) -> None:
    daemon = acting(scene)
    station = STATION.hex(":")
    old = daemon.tell(event="hello", ap="ap1", stations=[station])["session"]
    session = daemon.tell(event="hello", ap="ap1", stations=[station])["session"]
    gone = {"event": "disassociated", "ap": "ap1", "station": station}
    assert "session is over" in daemon.tell(**gone, session=old, seq=1)["error"]
    assert "only numbered" in daemon.tell(**gone)["error"]
    assert "only numbered" in daemon.tell(**gone, epoch=99)["error"]
    assert "are missing" in daemon.tell(**gone, session=session, seq=2**63)["error"]
    assert scene.ours() == []
    assert daemon.tell(**gone, session=session, seq=1) == {"ok": True}
    scene.diverts()
    assert "was used" in daemon.tell(**gone, session=session, seq=1)["error"]
    scene.send(1, *(tcp(STATION, 100 * n) for n in range(BURST)))
    # The agent begins anew: the station is there.
    daemon.tell(event="hello", ap="ap1", stations=[station])
    daemon.wait("released")
    assert len(scene.came(2)) == BURST
    # And once more, without it.
    daemon.tell(event="hello", ap="ap1", stations=[])
    scene.diverts()
