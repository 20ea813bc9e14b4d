"""A switch that lacks the port, refuses an entry, or has no room: no help, and that is said.

With a real Open vSwitch.
"""

from __future__ import annotations

import time

import pytest

from conftest import commanded, real
from harm_scene import BRIDGE, BURST, DATAPATH, STATION, Scene, acting, tcp, until

pytestmark = [real, commanded, pytest.mark.usefixtures("nothing_is_left")]


def test_06_an_access_point_at_a_port_that_is_not_there_is_not_helped(scene: Scene) -> None:
    daemon = scene.daemon(ap2="", more=f'[access_points.ap9]\ndatapath_id = "{DATAPATH}"\nport = 9')
    scene.connect()
    daemon.ready()
    scene.learn()
    (said,) = daemon.wait("the switch has no such port: its stations are not helped")
    assert (said["ap"], said["port"], said["level"]) == ("ap9", 9, "WARN")
    daemon.associated("ap9", 1)
    daemon.disassociated("ap9", 1)
    daemon.wait("station not helped")
    assert scene.ours() == []
    scene.send(1, *(tcp(STATION, 100 * n) for n in range(80)))
    assert len(scene.came(2)) == 80, "to where the switch has learnt that it is"


def test_15_a_refused_entry_is_no_help_and_said_so(scene: Scene) -> None:
    daemon = acting(scene)
    scene.configure(
        "--",
        "--id=@t",
        "create",
        "flow_table",
        "flow_limit=3",
        "overflow_policy=refuse",
        "--",
        "set",
        "bridge",
        BRIDGE,
        "flow_tables:0=@t",
    )
    daemon.associated("ap1", 1)
    daemon.disassociated("ap1", 1)
    (said,) = daemon.wait("station not helped")
    assert said["why"].startswith("the switch refused an entry: error type 5")
    time.sleep(0.1)
    assert scene.ours() == [], "what was made before the refusal is gone too"
    scene.send(1, *(tcp(STATION, 100 * n) for n in range(BURST)))
    assert len(scene.came(2)) == BURST
    assert daemon.status()["counters"]["unhelped"] == 1


def test_15_a_table_that_is_nearly_full_gets_no_entry(scene: Scene) -> None:
    """Open vSwitch would drop an entry of somebody else's for it."""
    limit = ("--id=@t", "create", "flow_table", "flow_limit=200", "overflow_policy=evict")
    scene.configure("--", *limit, "--", "set", "bridge", BRIDGE, "flow_tables:0=@t")
    daemon = acting(scene)
    for n in range(186):
        scene.enter(f"cookie=0x77,priority=7,hard_timeout=900,ip,nw_src=192.0.2.{n},actions=drop")
    until(lambda: daemon.status()["tables"][DATAPATH] == {"entries": 187, "most": 200})
    daemon.associated("ap1", 1)
    daemon.disassociated("ap1", 1)
    (said,) = daemon.wait("station not helped")
    assert said["why"] == "the switch's table is as good as full"
    assert scene.ours() == []
    assert len([entry for entry in scene.entries() if "cookie=0x77" in entry]) == 186
    scene.send(1, *(tcp(STATION, 100 * n) for n in range(BURST)))
    assert len(scene.came(2)) == BURST
