"""What an operator does to handfastd, and what it says, with Open vSwitch and the kernels' TCP and UDP."""

from __future__ import annotations

import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from pyroute2 import netns

from conftest import commanded, real
from handfast.lab import controller, names
from sdn_scene import Scene, run

pytestmark = [real, commanded, pytest.mark.usefixtures("nothing_is_left")]

OURS = "cookie=0x6866"
PORT = 5060
ETH_P_ALL = 3


@pytest.mark.parametrize("moment", ["station associated", "station away"])
def test_a_hangup_leaves_no_entry_and_no_socket(moment: str) -> None:
    before: list[str] = []
    after: list[str] = []
    codes: list[int] = []

    def script(scene: Scene) -> None:
        scene.wait(moment)
        time.sleep(0.5)
        before.extend(scene.entries())
        scene.controller.process.send_signal(signal.SIGHUP)
        codes.append(scene.controller.process.wait(timeout=5))
        after.extend(scene.entries())
        assert not scene.controller.news.exists()

    ran = run(script, duration_s=12, speaks=True)
    assert codes == [0]
    assert [entry for entry in before if OURS in entry]
    assert [entry for entry in after if OURS in entry] == []
    assert ran.said("told to stop")[0]["signal"] == "SIGHUP"
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


def test_datagrams_of_the_last_second_leave_the_switch_in_order() -> None:
    """As they are read where they leave the switch."""
    left: list[tuple[str, bytes]] = []

    def watch(scene: Scene) -> None:
        netns.setns(str(names.DIRECTORY / scene.space.name))
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL)) as switch:
            switch.settimeout(10)
            while not left or left[-1][1] != b"straight":
                frame, (interface, _, kind, *_) = switch.recvfrom(2000)
                # Ethernet, IPv4 and UDP have 42 bytes; the station's port is in the last but three.
                datagram = kind == socket.PACKET_OUTGOING and frame[23] == socket.IPPROTO_UDP
                if datagram and frame[36:38] == PORT.to_bytes(2, "big"):
                    left.append((interface, frame[42:].rstrip()))

    def send(scene: Scene, *datagrams: bytes) -> None:
        netns.setns(str(names.DIRECTORY / scene.hosts["cn"].space.name))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as correspondent:
            for datagram in datagrams:
                correspondent.sendto(datagram.ljust(100), (scene.hosts["mn"].address, PORT))

    def script(scene: Scene) -> None:
        with ThreadPoolExecutor(1) as switch:
            watching = switch.submit(watch, scene)

            def say(*datagrams: bytes) -> None:
                with ThreadPoolExecutor(1) as apart:
                    apart.submit(send, scene, *datagrams).result()

            scene.wait("station away")
            say(b"too old")
            time.sleep(1.2)
            say(*(b"young %d" % number for number in range(20)))
            scene.wait("released")
            time.sleep(0.1)
            say(b"straight")
            watching.result()

    ran = run(script, gap_s=2)
    young = [b"young %d" % number for number in range(20)]
    assert [datagram for _, datagram in left] == [*young, b"straight"]
    assert len({interface for interface, _ in left}) == 1, "towards the new access point"
    (released,) = ran.said("released")
    assert (released["datagrams"], released["datagrams_expired"], released["datagrams_evicted"]) == (20, 1, 0)
    assert released["segments"] > 1, "and TCP"
    assert (ran.counters["datagrams_held"], ran.counters["datagrams_released"]) == (21, 20)
    assert ran.stall_s < 0.15
