"""VLANs and access lists hold while a station is away, and when it is back.

With a real Open vSwitch.
"""

from __future__ import annotations

import pytest

from conftest import commanded, real
from harm_scene import BURST, OTHER, STATION, Scene, acting, tcp, udp

pytestmark = [real, commanded, pytest.mark.usefixtures("nothing_is_left")]


def test_01_vlan_isolation_holds(scene: Scene) -> None:
    """Access ports: another VLAN's host reaches the station neither while it is there, nor held, nor released."""
    for port, vlan in ((1, 10), (2, 10), (3, 10), (4, 20)):
        scene.port(port, f"tag={vlan}")
    daemon = acting(scene)
    daemon.associated("ap1", 1)
    scene.send(4, *(udp(STATION, n, source=OTHER) for n in range(BURST)))
    assert scene.came(2) == []
    daemon.disassociated("ap1", 1)
    scene.diverts()
    scene.send(4, *(tcp(STATION, 100 * n, source=OTHER) for n in range(BURST)))
    scene.send(1, *(tcp(STATION, 100 * n) for n in range(BURST)))
    daemon.associated("ap2", 2)
    daemon.wait("released")
    assert len(scene.came(3)) == BURST, "what its own VLAN sent"
    assert scene.came(2) == []


def test_01_a_clone_in_another_vlan_is_another_station(scene: Scene) -> None:
    """It neither moves the station nor ends it, and gets nothing that is held for it."""
    for port in (1, 2, 3):
        scene.port(port, "trunks=10,20", "vlan_mode=trunk")
    daemon = acting(scene, ap1="vlan = 10", ap2="vlan = 20")
    scene.learn({1: 10, 2: 10})
    daemon.associated("ap1", 1)
    daemon.associated("ap2", 7)
    daemon.disassociated("ap2", 7)
    scene.diverts()
    scene.send(1, *(tcp(STATION, 100 * n, vlan=10) for n in range(BURST)))
    assert [frame.vlan for frame in scene.came(2)] == [10] * BURST
    daemon.disassociated("ap1", 2)
    daemon.wait("station away", 2)
    scene.send(1, *(tcp(STATION, 5000 + 100 * n, vlan=10) for n in range(BURST)))
    daemon.associated("ap2", 8)
    daemon.wait("released")
    assert scene.came(3) == [], "held in VLAN 10"
    daemon.associated("ap1", 3)
    daemon.wait("released", 2)
    assert [frame.vlan for frame in scene.came(2)] == [10] * BURST


def test_02_a_trunk_keeps_its_tags(scene: Scene) -> None:
    """Access points on trunks, the correspondent on an access port."""
    scene.port(1, "tag=10")
    for port in (2, 3):
        scene.port(port, "trunks=10,20", "vlan_mode=trunk")
    daemon = acting(scene, ap1="vlan = 10", ap2="vlan = 10")
    scene.learn({2: 10})
    daemon.associated("ap1", 1)
    scene.send(1, *(udp(STATION, n) for n in range(BURST)))
    assert [frame.vlan for frame in scene.came(2)] == [10] * BURST
    daemon.disassociated("ap1", 1)
    scene.diverts()
    scene.send(1, *(tcp(STATION, 100 * n) for n in range(BURST)))
    daemon.associated("ap2", 2)
    daemon.wait("released")
    assert [frame.vlan for frame in scene.came(3)] == [10] * BURST
    scene.send(1, *(udp(STATION, n) for n in range(BURST)))
    assert [frame.vlan for frame in scene.came(3)] == [10] * BURST, "and where it is now"


def test_02_a_native_vlan_stays_untagged(scene: Scene) -> None:
    scene.port(1, "tag=10")
    for port in (2, 3):
        scene.port(port, "tag=10", "trunks=10,20", "vlan_mode=native-untagged")
    daemon = acting(scene)
    daemon.associated("ap1", 1)
    daemon.disassociated("ap1", 1)
    scene.diverts()
    scene.send(1, *(tcp(STATION, 100 * n) for n in range(BURST)))
    daemon.associated("ap2", 2)
    daemon.wait("released")
    assert [frame.vlan for frame in scene.came(3)] == [None] * BURST


def test_02_an_access_list_of_another_controller_holds(scene: Scene) -> None:
    """Entries below ours in the same table, and a second table behind them."""
    acl = "cookie=0x77,table=0,priority=100,ip,nw_src=10.0.0.4,actions=drop"
    daemon = scene.daemon()
    scene.connect()
    for entry in (acl, "cookie=0x77,table=0,priority=10,actions=goto_table:1", "cookie=0x77,table=1,actions=NORMAL"):
        scene.enter(entry)
    daemon.ready()
    scene.learn()
    daemon.associated("ap1", 1)
    daemon.disassociated("ap1", 1)
    scene.diverts()
    scene.send(4, *(tcp(STATION, 100 * n, source=OTHER) for n in range(BURST)))
    scene.send(1, *(tcp(STATION, 100 * n) for n in range(BURST)))
    daemon.associated("ap2", 2)
    daemon.wait("released")
    assert {frame.source for frame in scene.came(3)} == {bytes.fromhex("02000a000001")}
    scene.send(4, *(tcp(STATION, 9000 + n, source=OTHER) for n in range(BURST)))
    assert scene.came(3) == []
    assert len([entry for entry in scene.entries() if "cookie=0x77" in entry]) == 3
