"""A roam with the SDN controller: Open vSwitch, handfastd and the kernel's TCP, beside the simulator."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import handfast as hf
from conftest import ROOT, mine, real
from handfast.lab import controller, names, openvswitch

ROAM = ROOT / "scenarios" / "wifi-roam.toml"
LACKS = [lacks for lacks in (openvswitch.missing(), controller.missing()) if lacks]
commanded = pytest.mark.skipif(bool(LACKS), reason=f"no switch to command: {'; '.join(LACKS)}")

SHORT = {"duration": "9s", "events.0.at": "3s", "events.0.gap": "1500ms"}


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    yield
    assert mine() == []
    left = names.SCRATCH.iterdir() if names.SCRATCH.exists() else iter(())
    assert [folder for folder in left if (space := names.Namespace.parse(folder.name)) and space.is_orphan] == []


def roam(scheme: str, **changes: str) -> tuple[hf.Result, hf.Result]:
    """Both backends."""
    scenario = hf.load(ROAM, list({**SHORT, **changes}.items()))
    return scenario.run(scheme), scenario.run(scheme, backend="lab")


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
