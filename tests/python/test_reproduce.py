"""`handfast reproduce`: verdicts that can change, controls, what is not run, exit codes, JSON, resumption."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import Command
from handfast import engine, shipped
from handfast.lab import controller
from handfast.studies import grid, reproduce
from handfast.studies.reproduce import Check, Control, Finding, Measured, page, paper, runs, verdict

NETWORK = """
duration = "6s"
[nodes]
a = {kind = "host"}
b = {kind = "host"}
[[links]]
name = "wire"
between = ["a", "b"]
rate = "2Mbit/s"
delay = "20ms"
queue = "20pkt"
[[flows]]
from = "a"
to = "b"
[[events]]
at = "2s"
do = "outage"
link = "wire"
gap = "1s"
phase = "random"
[schemes.slow]
sender = "sack"
[schemes.quick]
sender = {profile = "sack", rto_min = "200ms", rto_initial = "300ms", rto_max = "300ms"}
"""

SWEEP = """
scenario = "network.toml"
schemes = ["slow", "quick", "unborn"]
seeds = 12
quick_seeds = 10
[axes.rate.low]
"links.wire.rate" = "1Mbit/s"
[axes.rate.high]
"links.wire.rate" = "4Mbit/s"
"""

CLAIMS = """
from handfast.studies.reproduce import Claims, Control, Finding, above, at_most, median, need, pairs, values

CLAIMS = Claims("fake", "A paper <script>alert(1)</script>")

def stall(run):
    return run.handover.stall_s

def finding(runs, better, limit, control):
    def judged(scheme):
        return (
            at_most(f"{scheme}", median("", "s", values(runs.of(scheme), stall)).value, limit, "s"),
            above("slow above it", pairs(runs.of("slow"), runs.of(scheme), stall), "s"),
        )
    measured = median("stall", "s", values(runs.of(better), stall))
    return Finding((measured,), judged(better), Control("the other", judged(control)), cause="the cause & <b>")

@CLAIMS.claim("good", "quick is quicker", paper="much", needs=[need("one", rate="low")])
def good(runs):
    return finding(runs, "quick", 10.0, "slow")

@CLAIMS.claim("bad", "slow is <i>quicker</i>", paper="much", needs=[need("one", rate="low")])
def bad(runs):
    return finding(runs, "slow", 10.0, "slow")

@CLAIMS.claim("blind", "a check that cannot fail", paper="much", needs=[need("one", rate="low")])
def blind(runs):
    return finding(runs, "quick", 10.0, "quick")

@CLAIMS.claim("unborn", "a scheme that is to come", paper="much", needs=[need("one", rate="high")])
def unborn(runs):
    return finding(runs, "unborn", 10.0, "slow")

@CLAIMS.claim("still", "seeds that vary nothing", paper="much", needs=[need("still")])
def still(runs):
    return finding(runs, "quick", 10.0, "slow")
"""

STILL = """
scenario = "network.toml"
schemes = ["slow", "quick"]
seeds = 12
[set]
"events.0.phase" = "0s"
"""


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A paper of its own in the place of the shipped ones."""
    folder = tmp_path / "shipped" / "papers" / "fake"
    (folder / "sweeps").mkdir(parents=True)
    for name, text in {
        "__init__.py": "",
        "claims.py": CLAIMS,
        "network.toml": NETWORK,
        "sweeps/one.toml": SWEEP,
        "sweeps/still.toml": STILL,
    }.items():
        (folder / name).write_text(text)
    monkeypatch.setattr(shipped, "_PLACES", (tmp_path / "shipped",))
    return folder


def claims(handfast: Command, *arguments: str) -> dict[str, dict[str, Any]]:
    return {one["id"]: one for one in json.loads(handfast("reproduce", *arguments, "--json").stdout)["claims"]}


@pytest.mark.usefixtures("fake")
def test_a_claim_that_holds_shows_its_figures_and_its_control(handfast: Command) -> None:
    result = handfast("reproduce", "fake/good", "--json")
    assert result.exit_code == 0, result.stderr
    (one,) = json.loads(result.stdout)["claims"]
    assert list(one) == ["id", "verdict", "measured", "paper", "control", "reason"]
    assert (one["id"], one["verdict"], one["paper"]) == ("fake-good", "holds", "much")
    stall = one["measured"]["stall_s"]
    assert stall["low"] < stall["median"] < stall["high"] < 10
    assert stall["runs"] == 12
    assert "fails, as it must (slow above it: by 0 s [0, 0])" in one["control"]


@pytest.mark.usefixtures("fake")
def test_what_fails_says_which_check_and_why(handfast: Command) -> None:
    result = handfast("reproduce", "fake/bad", "--json")
    assert result.exit_code == 1
    (one,) = json.loads(result.stdout)["claims"]
    assert one["verdict"] == "fails"
    assert one["reason"] == "slow above it: by 0 s [0, 0] (no). the cause & <b>"


@pytest.mark.usefixtures("fake")
def test_a_check_that_cannot_fail_shows_nothing(handfast: Command) -> None:
    (one,) = claims(handfast, "fake/blind").values()
    assert one["verdict"] == "fails"
    assert "the control holds too" in one["reason"]
    assert "the checks tell nothing" in one["control"]


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("fake/still",), "every seed gave the same"),
        (("fake/good", "--seeds", "1..9"), "9 seeds; at least 10"),
        (("fake/unborn",), "there are no runs of the scheme unborn"),
    ],
)
def test_what_cannot_be_judged_is_not_run(handfast: Command, arguments: tuple[str, ...], why: str) -> None:
    result = handfast("reproduce", *arguments, "--json")
    (one,) = json.loads(result.stdout)["claims"]
    assert one["verdict"] == "not-run"
    assert why in one["reason"]
    assert one["measured"] == {}
    assert result.exit_code == 2


@pytest.mark.usefixtures("fake")
def test_one_that_is_not_run_beside_others_that_hold_is_no_failure(handfast: Command) -> None:
    assert handfast("reproduce", "fake/good", "fake/still").exit_code == 0
    assert handfast("reproduce", "fake/good", "fake/bad").exit_code == 1


@pytest.mark.usefixtures("fake")
def test_a_whole_paper_leaves_a_page_figures_and_a_document(handfast: Command, tmp_path: Path) -> None:
    result = handfast("reproduce", "fake", "--quick", "--out", "made")
    assert result.exit_code == 1
    assert all(word in result.stdout for word in ("fake-good", "holds", "fails", "not-run"))
    page = (tmp_path / "made" / "fake" / "report.html").read_text()
    assert "default-src 'none'" in page
    assert "<script>alert(1)" not in page
    assert "slow is &lt;i&gt;quicker&lt;/i&gt;" in page
    assert "the cause &amp; &lt;b&gt;" in page
    document = json.loads((tmp_path / "made" / "fake" / "claims.json").read_text())
    assert [one["verdict"] for one in document["claims"]] == ["holds", "fails", "fails", "not-run", "not-run"]


@pytest.mark.usefixtures("fake")
def test_finished_runs_are_kept(handfast: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[object] = []
    run = engine.Task.run

    def cut_short(task: engine.Task) -> object:
        if len(ended) == 5:
            raise KeyboardInterrupt
        ended.append(task)
        return run(task)

    monkeypatch.setattr(engine.Task, "run", cut_short)
    result = handfast("reproduce", "fake/good", "--jobs", "1")
    assert result.exit_code == 130
    assert "the same command does the rest" in result.stderr
    monkeypatch.setattr(engine.Task, "run", run)
    result = handfast("reproduce", "fake/good")
    assert result.exit_code == 0
    assert "24 runs, 5 of them found on disk" in result.stderr
    # The same runs under other claims are not done again.
    assert "24 runs, 24 of them" in handfast("reproduce", "fake/good", "fake/bad").stderr


@pytest.mark.usefixtures("fake")
def test_what_there_is(handfast: Command) -> None:
    listed = handfast("reproduce")
    assert listed.exit_code == 0
    assert "fake-unborn" in listed.stdout
    (found,) = json.loads(handfast("reproduce", "--json").stdout)["papers"]
    assert (found["key"], len(found["claims"])) == ("fake", 5)


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("fak", "there is no paper 'fak' (did you mean 'fake'?)"),
        ("fake/goof", "fake has no claim 'fake-goof' (did you mean 'fake-good'?)"),
    ],
)
def test_wrong_names_have_a_nearest(handfast: Command, target: str, message: str) -> None:
    result = handfast("reproduce", target)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('scenario = "network.toml"\n', "", "the key 'scenario' is missing"),
        ("seeds = 12", "seeds = 0", "whole one above 0"),
        ("seeds = 12", "seedz = 12", "unknown key 'seedz'"),
        ("network.toml", "networks.toml", "No such file"),
        ("[axes.rate.low]", "[axes.rate.slow]", "axis 'rate' has no choice 'low'"),
        ('"links.wire.rate" = "1Mbit/s"', '"links.wire.rat" = "1Mbit/s"', "rat"),
    ],
)
def test_a_wrong_sweep_is_reported(handfast: Command, fake: Path, old: str, new: str, message: str) -> None:
    assert old in SWEEP
    (fake / "sweeps" / "one.toml").write_text(SWEEP.replace(old, new, 1))
    result = handfast("reproduce", "fake/good")
    assert result.exit_code == 2
    assert message in result.stderr


def test_figures_are_named_with_their_unit() -> None:
    assert Measured("idle, light, rto-max", "s", 1.0).key == "idle_light_rto_max_s"
    assert Measured("restored", "%", 100.0).key == "restored_percent"
    assert str(Measured("idle", "s", 1.23456, 1.0, 2.5, 10)) == "idle: 1.23 s [1, 2.5]"


def test_within_and_above() -> None:
    assert verdict.within("x", 1.1, 1.0, 0.15).holds
    assert not verdict.within("x", 1.2, 1.0, 0.15).holds
    assert not verdict.above("x", [(1.0, 1.0)] * 10).holds
    assert verdict.above("x", [(1.1 + n / 100, 1.0) for n in range(10)]).holds
    # Six of ten above is no difference.
    assert not verdict.above("x", [(1.1, 1.0)] * 6 + [(0.9, 1.0)] * 4).holds


def test_of_many_checks_few_are_told_and_the_page_folds_the_rest() -> None:
    many = tuple(Check(f"check <{number}>", number > 5) for number in range(10))
    control = Control("off", many)
    one = verdict.judge("x", "x", "", Finding((), many, control, remark="mind this"))
    assert one.brief == "6 of 10 checks fail: check <0>; check <1>; check <2>; 3 more in the report. mind this"
    assert control.brief == "off: fails, as it must (check <0>; check <1>; check <2>; 3 more in the report)"
    html = page.build("x", [one], {}, {})
    assert "<summary>6 of 10 checks fail</summary>check &lt;0&gt; (no)<br>" in html
    assert "<p>mind this</p>" in html
    assert "<summary>off: fails, as it must (6 checks)</summary>" in html
    holding = verdict.judge("x", "x", "", Finding((), many[6:], control))
    assert holding.brief == "all 4 checks hold"
    assert verdict.judge("x", "x", "", Finding((), many[8:], control)).brief == "check <8>; check <9>"


def test_a_verdict_needs_checks_that_hold_and_a_control_that_does_not() -> None:
    def word(holds: bool, control: bool) -> str:
        finding = Finding((), (Check("a", holds),), Control("off", (Check("a", control),)))
        return verdict.judge("x-1", "", "", finding).verdict

    assert [word(True, False), word(True, True), word(False, False)] == ["holds", "fails", "fails"]


def test_a_figure_that_a_run_lacks_makes_the_claim_one_that_is_not_run() -> None:
    assert reproduce.required(0) == 0
    with pytest.raises(reproduce.NotRun, match="lacks a figure"):
        reproduce.required(None)


def test_the_shipped_papers_can_be_read() -> None:
    for key in reproduce.known():
        loaded = paper.load(key)
        for claim in loaded.choose([]):
            for need in claim.needs:
                assert loaded.plan(need.sweep).cells(need.only, [1])


def test_a_look_at_a_claim_of_the_first_paper(handfast: Command, tmp_path: Path) -> None:
    result = handfast("reproduce", "sdn/7a", "--quick", "--json")
    (one,) = json.loads(result.stdout)["claims"]
    # It fails, and says why: half of bare's idle time is less than the disconnection itself.
    assert (one["id"], one["verdict"], result.exit_code) == ("sdn-7a", "fails", 1)
    assert "the disconnection alone, all that a sender that knew everything would wait, is 0.6" in one["reason"]
    assert "fails, as it must" in one["control"]
    idle = {scheme: one["measured"][f"idle_light_{scheme}_s"] for scheme in ("bare", "zwa", "spurious", "rto_max")}
    assert idle["spurious"]["median"] <= idle["zwa"]["median"] < idle["rto_max"]["median"] < idle["bare"]["median"]
    assert idle["bare"]["runs"] == 20
    folder = tmp_path / "out" / "reproduce" / "sdn"
    assert (folder / "report-7a.html").is_file()
    assert (folder / "figures" / "sdn-7a.png").is_file()


@pytest.mark.parametrize(
    ("load", "round_trip_s", "window"), [("light", 0.482, 30_000), ("medium", 0.302, 60_000), ("heavy", 0.122, 90_000)]
)
def test_the_receivers_window_caps_the_sender(tmp_path: Path, load: str, round_trip_s: float, window: int) -> None:
    (cell,) = [
        one
        for one in paper.load("sdn").plan("schedule").cells({"load": [load], "timers": ["kernel"]}, [1])
        if one.scheme == "bare"
    ]
    done = grid.fill({"schedule": [cell]}, grid.Order(tmp_path))
    (run,) = runs.of_cells("schedule", [cell], done.all, tmp_path)
    measure = sys.modules["handfast_paper_sdn.measure"]
    in_flight = measure.delivered(run, 10.0, 15.0) / 5 * round_trip_s
    # Full segments of 1448 bytes; the five seconds may hold a window more than round trips.
    assert 0.9 * window < in_flight <= 1.03 * window


def test_what_finds_timeouts_spurious(handfast: Command) -> None:
    (one,) = claims(handfast, "sdn/det", "--quick").values()
    assert one["verdict"] == "holds"
    assert one["measured"]["restored_several_timeouts_no_timestamps_percent"] == 100
    assert one["measured"]["restored_several_timeouts_textbook_percent"] == 0


def live(monkeypatch: pytest.MonkeyPatch, late_us: float) -> None:
    """The claim on the live controller gets these numbers in the place of a bench that takes a minute."""
    paper.load("sdn")
    module = sys.modules["handfast_paper_sdn.live"]

    def sample(n: int, p99_us: float) -> dict[str, float]:
        return {"p50_us": 60.0 + n, "p99_us": p99_us + n, "late_p99_us": late_us}

    found = {name: [sample(n, p99) for n in range(10)] for name, p99 in (("215 hosts", 140.0), ("resting", 9000.0))}
    monkeypatch.setattr(module, "_bench", lambda _quick: found)
    monkeypatch.setattr(module, "_measured", {})


def test_the_live_controller_is_judged(handfast: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    live(monkeypatch, late_us=100.0)
    (one,) = claims(handfast, "sdn/11").values()
    assert one["verdict"] == "holds"
    assert one["measured"]["packet_in_to_packet_out_p99_215_hosts_ms"]["median"] == pytest.approx(0.1445)
    assert "p99, resting: 9 <= 1 ms" in one["control"]


def test_a_busy_machine_says_nothing_of_the_live_controller(handfast: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    live(monkeypatch, late_us=2000.0)
    (one,) = claims(handfast, "sdn/11").values()
    assert one["verdict"] == "not-run"
    assert "too busy" in one["reason"]


def test_without_the_daemon_its_claim_is_not_run(handfast: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    paper.load("sdn")
    monkeypatch.setattr(sys.modules["handfast_paper_sdn.live"], "_measured", {})
    monkeypatch.setenv(controller.BINARY, "/nowhere/handfastd")
    (one,) = claims(handfast, "sdn/11").values()
    assert one["verdict"] == "not-run"
    assert "make build" in one["reason"]
