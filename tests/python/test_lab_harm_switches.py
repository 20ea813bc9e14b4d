"""Roams between switches: what is held at one is handed in where the station is, and nowhere else.

Each with real Open vSwitch bridges: ap1 is at the first, ap2 at the second.
"""

from __future__ import annotations

import pytest

from conftest import commanded, real
from harm_scene import (
    BRIDGE,
    BURST,
    CORRESPONDENT,
    OTHER,
    OURS,
    SECOND_BRIDGE,
    SECOND_DATAPATH,
    STATION,
    Daemon,
    Scene,
    tcp,
    udp,
    until,
)

pytestmark = [real, commanded, pytest.mark.usefixtures("nothing_is_left")]

PORT_OF = {"ap1": 2, "ap2": 3}


def acting(scene: Scene, *, core: bool, more: str = "") -> Daemon:
    """Two switches that a daemon commands; with `core` both hang at a third, where the correspondent is."""
    scene.second(core=core)
    daemon = scene.daemon(second=SECOND_DATAPATH, more=more)
    scene.connect()
    until(lambda: len(daemon.status()["switches"]) == 2)
    return daemon


def speak(scene: Scene, port: int) -> None:
    """The station is where `port` leads, and all switches know that, as they know the others."""
    for at, host in ((1, CORRESPONDENT), (4, OTHER), (port, STATION)):
        scene.send(at, udp(b"\xff" * 6, 0, source=host))
    scene.forget()


def ours(scene: Scene) -> list[str]:
    return [entry for name in (BRIDGE, SECOND_BRIDGE) for entry in scene.entries(name) if OURS in entry]


def roam(scene: Scene, daemon: Daemon, old: str, new: str, epoch: int, *, seq: int = 0) -> None:
    """Segments come while the station is away, and others after."""
    daemon.associated(old, epoch)
    speak(scene, PORT_OF[old])
    daemon.disassociated(old, epoch)
    until(lambda: ours(scene))
    # Of two bridges the userspace datapath of Open vSwitch 3.1 at times goes on as it did before an entry was made, as
    # long as a flow stays in its cache. It is emptied, so that what is tried here is what the entries say.
    scene.switch.forget_cache()
    scene.send(1, *(tcp(STATION, seq + 100 * n) for n in range(BURST)))
    assert scene.came(PORT_OF[old], within_s=0.1) == []
    done = len(daemon.said("released"))
    daemon.associated(new, epoch + 1)
    daemon.wait("released", done + 1)
    came = scene.came(PORT_OF[new])
    assert [frame.rest[42:50] for frame in came] == [b"%08d" % (seq + 100 * n) for n in range(BURST)], len(came)
    assert {frame.source for frame in came} == {CORRESPONDENT}
    scene.send(1, *(udp(STATION, n) for n in range(BURST)))
    assert len(scene.came(PORT_OF[new])) == BURST, "and goes straight"
    assert ours(scene) == []


@pytest.mark.parametrize("core", [True, False])
def test_a_roam_between_switches_loses_nothing(scene: Scene, core: bool) -> None:
    daemon = acting(scene, core=core)
    roam(scene, daemon, "ap1", "ap2", 1)
    roam(scene, daemon, "ap2", "ap1", 3, seq=10_000)
    roam(scene, daemon, "ap1", "ap2", 5, seq=20_000)
    assert daemon.status()["counters"]["false_alarms"] == 0
    # Nobody has learnt a host where it is not: what the station sends finds the correspondent, and only that.
    scene.send(3, udp(CORRESPONDENT, 7, source=STATION))
    assert len(scene.came(1, to=CORRESPONDENT)) == 1
    assert scene.came(2, to=CORRESPONDENT) == []
