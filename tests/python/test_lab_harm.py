"""`handfastd` does no harm: what broke when it was run as an operator and as an attacker would, each with Open vSwitch."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from conftest import commanded, real
from harm_scene import OTHER, STATION, Daemon, Scene, bridge, tcp, udp

pytestmark = [real, commanded, pytest.mark.usefixtures("nothing_is_left")]

N = 20


@pytest.fixture
def scene() -> Iterator[Scene]:
    with bridge() as made:
        yield made


def acting(scene: Scene, **how: str) -> Daemon:
    """A daemon that commands the switch."""
    daemon = scene.daemon(**how)
    scene.connect()
    daemon.ready()
    scene.learn()
    return daemon


def test_01_vlan_isolation_holds(scene: Scene) -> None:
    """Access ports: another VLAN's host reaches the station neither while it is there, nor held, nor released."""
    for port, vlan in ((1, 10), (2, 10), (3, 10), (4, 20)):
        scene.port(port, f"tag={vlan}")
    daemon = acting(scene)
    daemon.associated("ap1", 1)
    scene.send(4, *(udp(STATION, n, source=OTHER) for n in range(N)))
    assert scene.came(2) == []
    daemon.disassociated("ap1", 1)
    scene.diverts()
    scene.send(4, *(tcp(STATION, 100 * n, source=OTHER) for n in range(N)))
    scene.send(1, *(tcp(STATION, 100 * n) for n in range(N)))
    daemon.associated("ap2", 2)
    daemon.wait("released")
    assert len(scene.came(3)) == N, "what its own VLAN sent"
    assert scene.came(2) == []


def test_02_a_trunk_keeps_its_tags(scene: Scene) -> None:
    """Access points on trunks, the correspondent on an access port."""
    scene.port(1, "tag=10")
    for port in (2, 3):
        scene.port(port, "trunks=10,20", "vlan_mode=trunk")
    daemon = acting(scene, ap1="vlan = 10", ap2="vlan = 10")
    scene.learn({2: 10})
    daemon.associated("ap1", 1)
    scene.send(1, *(udp(STATION, n) for n in range(N)))
    assert [frame.vlan for frame in scene.came(2)] == [10] * N
    daemon.disassociated("ap1", 1)
    scene.diverts()
    scene.send(1, *(tcp(STATION, 100 * n) for n in range(N)))
    daemon.associated("ap2", 2)
    daemon.wait("released")
    assert [frame.vlan for frame in scene.came(3)] == [10] * N
    scene.send(1, *(udp(STATION, n) for n in range(N)))
    assert [frame.vlan for frame in scene.came(3)] == [10] * N, "and where it is now"


def test_02_a_native_vlan_stays_untagged(scene: Scene) -> None:
    scene.port(1, "tag=10")
    for port in (2, 3):
        scene.port(port, "tag=10", "trunks=10,20", "vlan_mode=native-untagged")
    daemon = acting(scene)
    daemon.associated("ap1", 1)
    daemon.disassociated("ap1", 1)
    scene.diverts()
    scene.send(1, *(tcp(STATION, 100 * n) for n in range(N)))
    daemon.associated("ap2", 2)
    daemon.wait("released")
    assert [frame.vlan for frame in scene.came(3)] == [None] * N


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
    scene.send(4, *(tcp(STATION, 100 * n, source=OTHER) for n in range(N)))
    scene.send(1, *(tcp(STATION, 100 * n) for n in range(N)))
    daemon.associated("ap2", 2)
    daemon.wait("released")
    assert {frame.source for frame in scene.came(3)} == {bytes.fromhex("02000a000001")}
    scene.send(4, *(tcp(STATION, 9000 + n, source=OTHER) for n in range(N)))
    assert scene.came(3) == []
    assert len([entry for entry in scene.entries() if "cookie=0x77" in entry]) == 3


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
