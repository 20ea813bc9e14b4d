"""What persons feel in the lab, beside the simulator."""

from __future__ import annotations

import json
from statistics import median
from typing import Any

import pytest

import handfast as hf
from conftest import mine, real

PATH = """
duration = "6s"
[nodes]
cn = {kind = "host"}
s1 = {kind = "switch"}
mn = {kind = "host"}
[[links]]
between = ["cn", "s1"]
rate = "100Mbit/s"
delay = "1ms"
[[links]]
name = "slow"
between = ["s1", "mn"]
rate = "20Mbit/s"
delay = "19ms"
queue = "100pkt"
[schemes.plain]
sender = "linux"
"""
OUTAGE = '[[events]]\nat = "2s"\ndo = "outage"\nlink = "slow"\ngap = "1s"\n'


@pytest.fixture(autouse=True)
def nothing_is_left() -> None:
    assert mine() == []


SEEDS = (1, 2, 3)
LEAST = 0.01
"""Of times the difference that is none, seconds."""


def figures(run: hf.Result) -> dict[str, Any]:
    """The first flow's entry of the result."""
    entry = json.loads(run.raw)["flows"][0]
    assert isinstance(entry, dict)
    return entry


def both(app: str, more: str = "") -> tuple[dict[str, float], dict[str, float]]:
    """The medians of what a person feels of a flow with that application, in the simulator and in the lab."""
    scenario = hf.parse(f'{PATH}\n[[flows]]\nfrom = "cn"\nto = "mn"\napp = {app}\n{more}', "feels.toml")
    sim = [figures(scenario.run("plain", seed=seed)) for seed in SEEDS]
    lab = [figures(scenario.run("plain", seed=seed, backend="lab")) for seed in SEEDS]
    assert all(run.keys() == sim[0].keys() for run in [*sim, *lab])
    keys = [key for key, value in sim[0].items() if isinstance(value, int | float)]
    first, second = ({key: median(run[key] for run in runs) for key in keys} for runs in (sim, lab))
    return first, second


def near(one: dict[str, float], other: dict[str, float], key: str, part: float = 0.3) -> bool:
    return abs(one[key] - other[key]) <= max(part * max(one[key], other[key]), LEAST)


@real
def test_a_terminal_feels_as_in_the_simulator() -> None:
    sim, lab = both("{terminal = {}}", OUTAGE)
    assert lab["keystrokes"] == pytest.approx(sim["keystrokes"], abs=1)
    assert lab["unechoed_keystrokes"] <= 1
    assert near(lab, sim, "echo_p50_s")
    # The longest wait is that of a keystroke in the outage.
    assert sim["echo_max_s"] > 0.7
    assert near(lab, sim, "echo_max_s", part=0.5)


@real
@pytest.mark.parametrize("http", ["1.1", "2"])
def test_pages_load_as_in_the_simulator(http: str) -> None:
    sim, lab = both(f'{{page = {{http = "{http}", think = "200ms", objects = 20, weight = "300kB"}}}}')
    assert near(lab, sim, "pages_loaded")
    assert near(lab, sim, "page_load_p50_s")
    assert lab["delivered_bytes"] >= lab["pages_loaded"] * 318_000


@real
def test_a_video_stalls_as_in_the_simulator() -> None:
    video = '{video = {ladder = ["4Mbit/s"], segment = "500ms", buffer = "1s"}}'
    sim, lab = both(video, '[[events]]\nat = "2s"\ndo = "outage"\nlink = "slow"\ngap = "2s"\n')
    assert lab["video_stalls"] == sim["video_stalls"] == 1
    assert near(lab, sim, "video_stalled_s", part=0.5)
    assert near(lab, sim, "video_start_s")


@real
def test_a_video_with_a_full_buffer_has_the_rate_that_it_has_in_the_simulator() -> None:
    """The player asks when there is room for a segment, to the millisecond: no rate may hang on that."""
    sim, lab = both('{video = {segment = "500ms", buffer = "5s"}}')
    assert near(lab, sim, "video_mean_bps", part=0.05)


@real
def test_a_call_knows_what_came_too_late() -> None:
    sim, lab = both("{call = {}}")
    assert lab["late_datagrams"] == sim["late_datagrams"] == 0
    assert near(lab, sim, "delay_p95_s")
    # The path takes longer than that: all are too late.
    sim, lab = both('{call = {late = "1ms"}}')
    assert lab["late_datagrams"] == pytest.approx(sim["late_datagrams"], rel=0.05)
    assert sim["late_datagrams"] > 100


def test_our_endpoint_answers_nobody_in_the_lab() -> None:
    text = f'{PATH}\n[[flows]]\nfrom = "cn"\nto = "mn"\napp = {{terminal = {{}}}}\n'
    scenario = hf.parse(text.replace('"linux"', '"sack"'), "feels.toml")
    with pytest.raises(hf.ScenarioError, match="our endpoint only sends in the lab"):
        scenario.run("plain", backend="lab")
