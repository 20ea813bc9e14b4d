"""SDTP from one scenario in the simulator and between real kernels: [sdtp] Figure 5, `scenarios/lossy-line.toml`."""

from __future__ import annotations

from statistics import mean

import pytest

import handfast as hf
from conftest import ROOT, real, skip_if_late
from handfast.lab import controller

pytestmark = [
    real,
    pytest.mark.usefixtures("nothing_is_left"),
    pytest.mark.skipif(controller.missing() is not None, reason=f"no daemon to run: {controller.missing()}"),
]

LINE = ROOT / "scenarios" / "lossy-line.toml"
WITHIN = 0.15


def _runs(backend: str, loss: float, scheme: str = "sdtp") -> list[hf.Result]:
    links = {f"links.s{n}-s{n + 1}.loss": str(1 - (1 - loss) ** 0.25) for n in range(1, 5)}
    changes = {"duration": "8s", "flows.0.measure": '["connect", "delay"]', **links}
    scenario = hf.parse(LINE.read_text(encoding="utf-8"), "lossy-line.toml", list(changes.items()))
    runs = [scenario.run(scheme, seed=seed, backend=backend) for seed in (1, 2)]
    for run in runs:
        skip_if_late(run)
    return runs


def _mean(runs: list[hf.Result], metric: str) -> float:
    return float(mean(getattr(run.flows[0].measures, metric) for run in runs))


@pytest.mark.parametrize("loss", [0.0, 0.05])
def test_delays_are_the_simulators(loss: float) -> None:
    simulated, real_ones = (_runs(backend, loss) for backend in ("sim", "lab"))
    for metric in ("connect_s", "write_to_delivery_mean_s"):
        ours, kernels = _mean(simulated, metric), _mean(real_ones, metric)
        assert kernels == pytest.approx(ours, rel=WITHIN), metric
    counted = [run.controller for run in (*simulated, *real_ones)]
    assert all(found is not None and found["controller_admitted"] == 1 for found in counted)
    assert all(found is not None and (found["repeats"] > 5) == (loss > 0) for found in counted)


def test_what_the_lab_cannot_do_is_said() -> None:
    text = LINE.read_text(encoding="utf-8")
    scenario = hf.parse(text, "lossy-line.toml", [("schemes.nowhere.agents.0.control_loss", "0.1")])
    with pytest.raises(hf.ScenarioError, match="`control_loss` is in the simulator only"):
        scenario.run("nowhere", backend="lab")
