"""A roam with the SDN controller: Open vSwitch, handfastd and the kernel's TCP, beside the simulator."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

import handfast as hf
from conftest import ROAM, commanded, real, skip_if_late
from handfast.lab import controller
from sdn_scene import run

pytestmark = pytest.mark.usefixtures("nothing_is_left")

SHORT = {"duration": "9s", "events.0.at": "3s", "events.0.gap": "1500ms"}


def roam(scheme: str, **changes: str) -> tuple[hf.Result, hf.Result]:
    """Both backends."""
    scenario = hf.load(ROAM, list({**SHORT, **changes}.items()))
    there = scenario.run(scheme, backend="lab")
    skip_if_late(there)
    return scenario.run(scheme), there


@real
@commanded
def test_held_segments_end_the_stall_within_a_round_trip() -> None:
    sim, lab = roam("spurious")
    assert lab.valid
    # 40 ms of round trip, 2 ms of notification; the margin is for a machine that does other things as well.
    assert lab.aggregate.stall_s is not None
    assert lab.aggregate.stall_s < 0.15
    assert sim.aggregate.stall_s == pytest.approx(lab.aggregate.stall_s, abs=0.05)
    assert lab.aggregate.spurious_timeouts is not None
    assert lab.aggregate.spurious_timeouts >= 1, "the kernel undid what it had done (TCPLossUndo)"
    assert sim.controller is not None
    assert lab.controller is not None
    assert sim.controller.keys() == lab.controller.keys()
    for counters in (sim.controller, lab.controller):
        assert counters["held"] > 50
        assert counters["released"] == counters["held"]


@real
@commanded
def test_under_bare_the_way_follows_and_what_comes_meanwhile_is_lost() -> None:
    sim, lab = roam("bare")
    assert lab.valid
    assert lab.aggregate.retransmitted_segments is not None
    assert lab.aggregate.retransmitted_segments > 50
    assert sim.aggregate.timeouts == lab.aggregate.timeouts


def test_the_daemon_that_is_named_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(controller.BINARY, "/nowhere/handfastd")
    assert controller.daemon() == Path("/nowhere/handfastd")


def replay(recording: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([controller.daemon(), "replay", recording], check=False, capture_output=True, text=True)


@real
@commanded
def test_what_the_daemon_heard_in_the_lab_told_to_a_fresh_machine_has_the_same_effect(tmp_path: Path) -> None:
    recording = tmp_path / "recording"
    ran = run(record=recording)
    assert ran.counters["released"] > 10
    again = replay(recording)
    assert again.returncode == 0, again.stderr
    # Everything that was asked for, each packet that was released among it.
    lines = recording.read_text(encoding="utf-8").splitlines(keepends=True)
    sent = [line for line in lines if "sent" in json.loads(line)]
    assert again.stdout.endswith(f" {len(sent)} outputs, all the same\n")
    assert len(sent) > ran.counters["released"]

    # Control: one of its inputs is missing.
    kinds = [next(iter(json.loads(line))) for line in lines]
    notices = [number for number, kind in enumerate(kinds) if kind == "notice"]
    assert len(notices) == 3
    packet_ins = (number for number, line in enumerate(lines) if '"bytes":"040a' in line and number > notices[1])
    # The first one, that it is there, asks for nothing.
    for missing in (*notices[1:], next(packet_ins)):
        changed = tmp_path / f"without-{missing}"
        changed.write_text("".join(line for number, line in enumerate(lines) if number != missing), encoding="utf-8")
        other = replay(changed)
        assert other.returncode == 1, (missing, lines[missing])
        assert other.stdout.startswith("after line ")
