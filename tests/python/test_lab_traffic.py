"""What applications do in the lab besides one TCP connection: datagrams, reconnecting, several connections at once."""

from __future__ import annotations

import json
from statistics import median
from typing import Any

import pytest

import handfast as hf
from conftest import mine, real

CALL = """
duration = "3s"
[nodes]
a = {kind = "host"}
r = {kind = "ap"}
b = {kind = "station", ap = "r"}
[[links]]
between = ["a", "r"]
rate = "8Mbit/s"
delay = "10ms"
queue = "100pkt"
[[links]]
name = "radio"
between = ["r", "b"]
rate = "8Mbit/s"
delay = "5ms"
queue = "100pkt"
[[flows]]
name = "call"
from = "a"
to = "b"
app = {datagrams = {size = "160B", interval = "20ms"}}
stop = "2500ms"
[schemes.plain]
sender = "linux"
[schemes.ours]
sender = "sack"
"""

DOWNLOAD = """
duration = "8s"
[tcp]
user_timeout = "1s"
[nodes]
server = {kind = "host"}
phone = {kind = "host"}
[[links]]
name = "radio"
between = ["server", "phone"]
rate = "8Mbit/s"
delay = "10ms"
queue = "50pkt"
[[events]]
at = "500ms"
do = "outage"
link = "radio"
gap = "3s"
[[flows]]
from = "server"
to = "phone"
app = {transfer = "1MB"}
reconnect = "300ms"
[schemes.plain]
sender = "linux"
[schemes.ours]
sender = "sack"
"""


@pytest.fixture(autouse=True)
def nothing_is_left() -> None:
    assert mine() == []


def figures(run: hf.Result) -> dict[str, Any]:
    """The first flow's entry of the result."""
    entry = json.loads(run.raw)["flows"][0]
    assert isinstance(entry, dict)
    return entry


def medians(runs: list[dict[str, Any]], *keys: str) -> list[float]:
    return [median(run[key] for run in runs) for key in keys]


@real
@pytest.mark.parametrize("scheme", ["plain", "ours"])
def test_a_call_takes_as_long_as_in_the_simulator(scheme: str) -> None:
    scenario = hf.parse(CALL, "call.toml")
    sim = figures(scenario.run(scheme))
    lab = [figures(scenario.run(scheme, seed=seed, backend="lab")) for seed in (1, 2, 3)]
    assert all(run.keys() == sim.keys() for run in lab)
    for run in lab:
        assert (run["outcome"], run["lost_datagrams"], run["lost_segments"]) == ("closed", 0, 0)
        assert run["sent_datagrams"] == run["received_datagrams"] == sim["sent_datagrams"] == 125
        assert run["delivered_bytes"] == 125 * 160
    least, half, jitter = medians(lab, "delay_min_s", "delay_p50_s", "jitter_s")
    # No datagram is faster than the links; half of them wait no longer than a busy machine makes them.
    assert sim["delay_min_s"] <= least < sim["delay_min_s"] + 0.005
    assert half < sim["delay_p50_s"] + 0.01
    assert 0 < jitter < 0.01


@real
def test_losses_of_datagrams_are_counted_by_the_receiver_and_by_the_links_alike() -> None:
    scenario = hf.parse(CALL, "call.toml", [("links.radio.loss", "0.2")])
    lab = [figures(scenario.run("plain", seed=seed, backend="lab")) for seed in (1, 2, 3)]
    for run in lab:
        # The last ones may be lost without the receiver knowing.
        assert 0 <= run["lost_segments"] - run["lost_datagrams"] <= 5
        assert run["received_datagrams"] + run["lost_segments"] == 125
    assert 10 <= medians(lab, "lost_datagrams")[0] <= 45


@real
def test_a_call_follows_a_station_through_an_outage() -> None:
    events = '[[events]]\nat = "1s"\ndo = "outage"\nlink = "radio"\ngap = "500ms"'
    run = hf.parse(CALL + events, "call.toml").run("plain", backend="lab")
    assert 20 <= figures(run)["lost_datagrams"] <= 30
    (outage,) = run.handovers
    assert outage.stall_s is not None
    assert outage.stall_s < 0.1


@real
@pytest.mark.parametrize("scheme", ["plain", "ours"])
def test_an_application_reconnects_after_an_error(scheme: str) -> None:
    scenario = hf.parse(DOWNLOAD, "download.toml")
    sim = figures(scenario.run(scheme))
    assert (sim["outcome"], sim["delivered_bytes"]) == ("closed", 1_000_000)
    lab = [figures(scenario.run(scheme, seed=seed, backend="lab")) for seed in (1, 2, 3)]
    for run in lab:
        # Each byte is checked on its way: one that came twice, or not at all, would be an error of the run.
        assert (run["outcome"], run["delivered_bytes"]) == ("closed", 1_000_000)
        assert run["connections"] >= 2
        assert run["timeouts"] >= 1
    assert sim["connections"] - 1 <= medians(lab, "connections")[0] <= sim["connections"] + 2
    alone = figures(hf.parse(DOWNLOAD.replace('reconnect = "300ms"\n', ""), "download.toml").run(scheme, backend="lab"))
    assert alone["outcome"] == "user-timeout"
    assert alone["delivered_bytes"] < 1_000_000


@real
@pytest.mark.parametrize("scheme", ["plain", "ours"])
def test_several_connections_carry_one_transfer(scheme: str) -> None:
    changes = [("flows.0.connections", "4"), ("duration", "5s"), ("events.0.gap", "500ms"), ("tcp.user_timeout", "20s")]
    scenario = hf.parse(DOWNLOAD, "download.toml", changes)
    sim, run = figures(scenario.run(scheme)), figures(scenario.run(scheme, backend="lab"))
    for one in (sim, run):
        assert (one["outcome"], one["delivered_bytes"], one["connections"]) == ("closed", 1_000_000, 4)
    assert run["goodput_bps"] == pytest.approx(sim["goodput_bps"], rel=0.5)
    assert run["cwnd_mean_pkt"] == pytest.approx(sim["cwnd_mean_pkt"], rel=0.7)
