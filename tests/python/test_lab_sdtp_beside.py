"""SDTP from one scenario in the simulator and between real kernels: [sdtp] Figure 5, `scenarios/lossy-line.toml`."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from statistics import median

import pytest

import handfast as hf
import wakes
from conftest import ROOT, commanded, real, skip_if_late
from handfast.lab import controller, openvswitch

pytestmark = [
    real,
    pytest.mark.usefixtures("nothing_is_left"),
    pytest.mark.skipif(controller.missing() is not None, reason=f"no daemon to run: {controller.missing()}"),
]

LINE = ROOT / "scenarios" / "lossy-line.toml"
WITHIN = 0.15


NOTHING: Mapping[str, str] = {}
ONE_REPAIRS = {"nodes.s3.role": '"middle"', "schemes.sdtp.agents.0.placement": '"given"'} | {
    "schemes.sdtp.agents.0.retransmission": '"middle"'
}
"""s2 and s4 have no function."""


def _runs(
    backend: str,
    loss: float,
    scheme: str = "sdtp",
    *,
    seeds: Sequence[int] = (1, 2, 3),
    more: Mapping[str, str] = NOTHING,
) -> list[hf.Result]:
    links = {f"links.s{n}-s{n + 1}.loss": str(1 - (1 - loss) ** 0.25) for n in range(1, 5)}
    changes = {"duration": "8s", "flows.0.measure": '["connect", "delay"]', **links, **more}
    scenario = hf.parse(LINE.read_text(encoding="utf-8"), "lossy-line.toml", list(changes.items()))
    with wakes.in_time() if backend == "lab" else contextlib.nullcontext():
        runs = [scenario.run(scheme, seed=seed, backend=backend) for seed in seeds]
    for run in runs:
        skip_if_late(run)
    return runs


def _figure(runs: list[hf.Result], metric: str) -> float:
    """Over runs: one pause of this machine is 15 % of a handshake, and never makes one shorter."""
    found = [getattr(run.flows[0].measures, metric) for run in runs]
    return float(min(found) if metric == "connect_s" else median(found))


@pytest.mark.parametrize("loss", [0.0, 0.05])
def test_delays_are_the_simulators(loss: float) -> None:
    simulated, real_ones = (_runs(backend, loss) for backend in ("sim", "lab"))
    for metric in ("connect_s", "write_to_delivery_mean_s"):
        ours, kernels = _figure(simulated, metric), _figure(real_ones, metric)
        assert kernels == pytest.approx(ours, rel=WITHIN), metric
    counted = [run.controller for run in (*simulated, *real_ones)]
    assert all(found is not None and found["controller_admitted"] == 1 for found in counted)
    assert all(found is not None and (found["repeats"] > 5) == (loss > 0) for found in counted)


@commanded
def test_a_switch_without_a_function_is_an_open_vswitch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every retransmission travels through two of them."""
    made: list[tuple[str, ...]] = []
    add = openvswitch.OpenVSwitch.add

    def note(switch: openvswitch.OpenVSwitch, bridge: openvswitch.Bridge) -> None:
        add(switch, bridge)
        made.append(tuple(bridge.ports))

    monkeypatch.setattr(openvswitch.OpenVSwitch, "add", note)
    simulated, real_ones = (_runs(backend, 0.05, seeds=[1], more=ONE_REPAIRS) for backend in ("sim", "lab"))
    assert made == [("link1", "link2"), ("link3", "link4")]
    ours, kernels = (_figure(runs, "write_to_delivery_mean_s") for runs in (simulated, real_ones))
    assert kernels == pytest.approx(ours, rel=WITHIN)
    for run in (*simulated, *real_ones):
        assert run.controller is not None
        assert run.controller["repeats"] > 5
    assert all(run.flows[0].measures.retransmitted_segments == 0 for run in simulated)
    # A machine that has other work may be late by a timeout.
    assert all(run.flows[0].measures.retransmitted_segments in (0, 1, 2) for run in real_ones)


def test_what_the_lab_cannot_do_is_said() -> None:
    text = LINE.read_text(encoding="utf-8")
    scenario = hf.parse(text, "lossy-line.toml", [("schemes.nowhere.agents.0.control_loss", "0.1")])
    with pytest.raises(hf.ScenarioError, match="`control_loss` is in the simulator only"):
        scenario.run("nowhere", backend="lab")
