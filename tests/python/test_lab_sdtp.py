"""`handfastd sdtp` and its controller between real kernels, on links that lose packets."""

from __future__ import annotations

import random
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import real
from handfast.lab import controller
from sdtp_bump import Bump, bump
from sdtp_scene import Ran, Scene, run, write_node
from sdtp_traffic import long_connection, transfer

pytestmark = [
    real,
    pytest.mark.usefixtures("nothing_is_left"),
    pytest.mark.skipif(controller.missing() is not None, reason=f"no daemon to run: {controller.missing()}"),
]

DATA = random.Random(1).randbytes(400_000)
LOSSY = {f"links.s{n}-s{n + 1}.loss": 0.02 for n in range(1, 5)}


def _transferred(mode: str) -> Ran:
    return run(lambda scene: transfer(scene, DATA), mode=mode, changes={"duration": "4s", **LOSSY})


def _sent_again(ran: Ran) -> int:
    (flow,) = ran.result.flows
    assert flow.measures.retransmitted_segments is not None
    _, again = ran.found
    return int(again) + flow.measures.retransmitted_segments


def test_losses_are_repaired_between_the_kernels() -> None:
    """Each of four links loses 1 packet in 50. The control: the same nodes, which only observe."""
    plain, helped = _transferred("observe"), _transferred("act")
    for ran in (plain, helped):
        arrived, _ = ran.found
        assert arrived, "every byte"
    assert _sent_again(plain) >= 15
    assert _sent_again(helped) * 4 <= _sent_again(plain)
    assert plain.total("converted") == plain.controller["controller_admitted"] == 0
    assert plain.total("would_convert") > 300
    assert helped.controller["controller_admitted"] == 2, "the scenario's flow, and the transfer"
    assert helped.total("converted") > 300
    assert helped.total("repeats") > 10
    repaired = sum(segment["repaired"] for segment in helped.segments)
    assert 10 < repaired <= helped.total("repeats")
    assert all(0.005 < segment["repair_seconds"] / segment["repaired"] < 0.2 for segment in helped.segments)
    assert helped.total("unsendable") == helped.total("frames_refused") == helped.total("strangers") == 0


def test_an_observer_counts_what_was_lost() -> None:
    """The sending edge sees each retransmission; the receiving edge those that fill a hole, once."""
    ran = run(mode="observe", changes={"duration": "8s", "flows.0.app.paced.interval": "5ms", **LOSSY})
    lost = ran.result.flows[0].measures.lost_segments
    assert lost is not None
    assert lost >= 15
    sending, receiving = ran.counters[0], ran.counters[4]
    # What is lost in the end, or sent again without need, is the difference.
    assert sending["would_repair_sent"] == pytest.approx(lost, abs=max(3, lost * 0.15))
    assert lost * 0.5 <= receiving["would_repair_received"] <= lost
    for edge in (sending, receiving):
        assert edge["lost_inside"] == 0, "the links of hosts lose nothing"
    assert sending["would_repair_received"] == receiving["would_repair_sent"] == 0


def test_the_controller_and_an_edge_may_end_and_connections_go_on() -> None:
    """Whoever ends, bytes arrive; what begins meanwhile is plain TCP."""

    def script(scene: Scene) -> dict[str, object]:
        found: dict[str, object] = {}
        with long_connection(scene) as say:
            assert say(b"before")
            converted = scene.counted("converted")
            scene.controller.stop()
            scene.nodes[0].until(lambda status: not status["controller"])
            assert say(b"without the controller"), "an established connection goes on"
            found["went on"] = scene.counted("converted")[0] > converted[0]
            found["new"], _ = transfer(scene, b"x" * 5000, port=9001)
            found["offline"] = scene.counted("offline")
            scene.controller.start()
            scene.ready()
            assert say(b"with another controller")
            scene.nodes[0].stop()
            scene.nodes[0].start()
            scene.ready()
            found["survives"] = say(b"after its edge was started again")
            found["converted anew"] = scene.counted("converted")[0]
            found["again"], _ = transfer(scene, b"x" * 5000, port=9002)
            found["of the new one"] = scene.counted("converted")[0]
        return found

    found = run(script, changes={"duration": "7s", **dict.fromkeys(LOSSY, 0)}).found
    assert found["went on"], "converted as before"
    assert found["new"]
    assert found["offline"] == [1, 0, 0, 0, 0], "the SYN; its answer passes"
    assert found["survives"]
    assert found["converted anew"] == 0, "as plain TCP"
    assert found["again"]
    assert found["of the new one"]


@pytest.fixture(params=["auto", "mmsg", "ring"])
def wire(request: pytest.FixtureRequest) -> Iterator[Bump]:
    """A node by each way of moving frames."""
    with bump(request.param) as made:
        used = {"auto": "ring-xdp"}.get(request.param, request.param)
        assert made.daemon.ask()["packet_io"] == [used, used]
        yield made


def test_what_is_no_tcp_leaves_as_it_came(wire: Bump) -> None:
    """Tags, other protocols, fragments, malformed packets, through the kernel's interfaces."""
    _leaves_as_it_came(wire)


def test_by_af_xdp_it_does_too_and_the_program_goes_with_the_process() -> None:
    with bump("xdp") as made:
        assert made.daemon.ask()["packet_io"] == ["xdp-native", "xdp-native"]
        _leaves_as_it_came(made)
        assert "xdp" in _links(made)
        made.daemon.running.close()
        assert "xdp" not in _links(made)


def _links(wire: Bump) -> str:
    command = ["ip", "-n", wire.daemon.space.name, "link", "show"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _leaves_as_it_came(wire: Bump) -> None:
    ethernet = bytes.fromhex("02000a000002 02000a000001")
    ip = bytes.fromhex("4500001c 00002000 4011 0000 0a000001 0a000002")
    frames = [
        ethernet + bytes.fromhex("0806 0001080006040001") + bytes(range(38)),
        ethernet + bytes.fromhex("8100 6005 0800") + ip + b"a fragment",
        ethernet + bytes.fromhex("88a8 0007 8100 0005 86dd") + bytes(60),
        ethernet + bytes.fromhex("86dd") + bytes.fromhex("6000000000083a40") + bytes(range(40)),
        ethernet + bytes.fromhex("88cc") + bytes(1400),
        bytes.fromhex("ffffffffffff 02000a000001 9999") + bytes(46),
    ]
    for mode in ("observe", "act"):
        wire.set_mode(mode)
        for side in (0, 1):
            assert wire.pass_through(side, frames) == frames, (mode, side)
    assert wire.daemon.counters()["frames"] >= 4 * len(frames)


def test_checksums_that_a_kernel_leaves_to_its_card_are_written(wire: Bump) -> None:
    """A host whose veth has checksum offload on sends half a sum: the other host still gets its datagrams."""
    wire.set_mode("act")
    assert wire.datagrams(20) == 20
    assert wire.daemon.counters()["checksums_completed"] >= 20


def test_segments_that_a_kernel_leaves_to_its_card_are_cut(wire: Bump) -> None:
    """As long ones they fit no interface, and TCP crawls: 9 kB/s before they were cut."""
    came, took = wire.transfer(DATA * 5)
    assert came == DATA * 5
    assert took < 2
    counters = wire.daemon.counters()
    assert counters["cut"] > 0
    assert counters["frames"] > len(DATA) * 5 // 1448
    assert counters["too_long"] == counters["frames_refused"] == 0


def test_an_interface_that_comes_again_is_found(wire: Bump) -> None:
    wire.set_mode("act")
    wire.wire_again()
    deadline = time.monotonic() + 5
    while wire.datagrams(5) != 5:
        assert time.monotonic() < deadline, wire.daemon.log.read_text()
    said = wire.daemon.log.read_text()
    assert said.count('"message":"interface"') <= 2
    assert "interface found again" in said


def test_off_and_on_are_obeyed_and_outlive_a_restart(wire: Bump) -> None:
    wire.set_mode("act")
    command = [str(controller.daemon())]

    def switch(to: str) -> str:
        done = subprocess.run(
            [*command, to, "--config", str(wire.daemon.config)], check=True, capture_output=True, text=True, timeout=10
        )
        return done.stdout

    assert "it passes all frames as they come" in switch("off")
    assert wire.daemon.ask()["mode"] == "observe"
    wire.daemon.stop()
    wire.daemon.start()
    wire.daemon.until(lambda status: status["mode"] == "observe")
    assert "act" in switch("on")
    assert wire.daemon.ask()["mode"] == "act"


def test_an_interface_that_is_missing_is_said(tmp_path: Path) -> None:
    config = tmp_path / "handfastd.toml"
    keys: dict[str, Any] = {"inside": "none0", "outside": "none1", "hosts": "[]"}
    write_node(config, number=1, **keys, socket=tmp_path / "s", mode="act")
    command = [str(controller.daemon()), "sdtp", "--config", str(config)]
    for check in (["--check"], []):
        done = subprocess.run([*command, *check], check=False, capture_output=True, text=True, timeout=10)
        assert done.returncode == 2
        assert "inside: interface `none0`" in done.stderr
