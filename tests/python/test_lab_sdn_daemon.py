"""What an operator does to handfastd, and what it says, with Open vSwitch and the kernels' TCP and UDP."""

from __future__ import annotations

import signal
import time

import pytest

from conftest import commanded, real
from handfast.lab import controller
from sdn_scene import Scene, run

pytestmark = [real, commanded, pytest.mark.usefixtures("nothing_is_left")]

OURS = "cookie=0x6866"


@pytest.mark.parametrize("moment", ["station associated", "station away"])
def test_its_end_leaves_no_entry_and_no_socket(moment: str) -> None:
    before: list[str] = []
    after: list[str] = []
    codes: list[int] = []

    def script(scene: Scene) -> None:
        scene.wait(moment)
        time.sleep(0.5)
        before.extend(scene.entries())
        scene.controller.process.send_signal(signal.SIGTERM)
        codes.append(scene.controller.process.wait(timeout=5))
        after.extend(scene.entries())
        assert not scene.controller.association_socket.exists()

    ran = run(script, duration_s=12, speaks=True)
    assert codes == [0]
    assert [entry for entry in before if OURS in entry] or moment == "station associated"
    assert [entry for entry in after if OURS in entry] == []
    assert ran.said("told to stop")[0]["signal"] == "SIGTERM"
    assert ran.goes_on, "the switch does what it did without the daemon"


def test_a_bridge_that_speaks_openflow_1_0_is_warned_of_once() -> None:
    def script(scene: Scene) -> None:
        scene.controller.switch.configure("set", "bridge", controller.BRIDGE, "protocols=OpenFlow10")
        scene.wait("switch refused: it does not speak OpenFlow 1.3")
        # It tries again every second.
        time.sleep(4)
        scene.controller.switch.configure("set", "bridge", controller.BRIDGE, "protocols=OpenFlow13")
        scene.wait("switch ready", 2)

    ran = run(script)
    (refused,) = ran.said("switch refused: it does not speak OpenFlow 1.3")
    assert (refused["level"], refused["peer"], refused["speaks"]) == ("WARN", "127.0.0.1", "OpenFlow 1.0")
    assert refused["what_to_do"] == "ovs-vsctl set bridge BR protocols=OpenFlow13"
    # When it began, and the first attempt that was refused; what followed is said at the level `debug`.
    assert len(ran.said("connected")) == 2
    assert {line["mode"] for line in ran.log} == {"act"}
