"""`handfast fidelity`: the draw, the bounds, what it prints; and three cases on this machine's kernel."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median

import pytest

import handfast as hf
from conftest import Command, mine, real
from handfast import _handfast, engine, tasks
from handfast.lab import requirements
from handfast.results import LAB, Result
from handfast.studies import fidelity
from handfast.studies.fidelity.bounds import BOUNDS, Bound, Error, Spread, compare
from handfast.studies.fidelity.draw import KINDS, Drops, Outage, Reorder

BRIEF_SEED = 21
"""Its three cases last 27 s together: a download with dropped segments, two flows with an outage, and reordering."""

CASES = [fidelity.draw(seed, number) for seed in range(10) for number in range(1, 31)]


def test_a_case_is_a_function_of_seed_and_number() -> None:
    assert fidelity.draw(7, 2) == fidelity.Case(
        seed=7,
        number=2,
        kind="download",
        rate_kbps=5816,
        back_kbps=5816,
        rtt_us=193_000,
        queue_pkt=131,
        trouble=(Outage(at_ms=5347, gap_ms=203),),
        second_ms=None,
        scheme="linux-reno",
        timestamps=False,
        duration_ms=11_683,
    )
    assert len({fidelity.scenario(case) for case in CASES}) == len(CASES)


def test_a_scheme_that_is_asked_for_changes_nothing_else() -> None:
    drawn, asked = fidelity.draw(7, 2), fidelity.draw(7, 2, "linux-bbr")
    assert asked == replace(drawn, scheme="linux-bbr")
    text = fidelity.scenario(asked)
    assert "#   handfast fidelity --seed 7 --case 2 --scheme linux-bbr\n" in text
    assert 'sender = {profile = "linux-bbr"' in text
    assert fidelity.scenario(fidelity.draw(7, 2, drawn.scheme)) == fidelity.scenario(drawn)
    with pytest.raises(hf.InputError, match="there is no scheme 'sack' that is a kernel's"):
        fidelity.draw(7, 2, "sack")


def test_cases_cover_their_ranges_and_no_more() -> None:
    for case in CASES:
        bdp = case.rate_kbps * case.rtt_us / 1000 / 12_000
        assert 2_000 <= case.rate_kbps <= 50_000
        assert 10_000 <= case.rtt_us <= 200_000
        assert max(2, 0.5 * bdp) <= case.queue_pkt <= max(2, 4 * bdp + 1)
        assert (case.back_kbps > case.rate_kbps) == (case.kind == "upload")
        assert (case.second_ms is not None) == (case.kind == "two flows")
        assert isinstance(case.trouble, Reorder) == (case.kind == "reordering")
        if isinstance(case.trouble, tuple):
            assert len(case.trouble) == (2 if case.kind == "two outages" else 1)
            assert all(200 <= one.gap_ms <= 5000 for one in case.trouble)
            # The longest stall that a doubling timer explains, and time to see the recovery.
            first, last = case.trouble[0], case.trouble[-1]
            away_ms = last.at_ms + last.gap_ms - first.at_ms
            assert first.at_ms + 2 * away_ms + 4000 <= case.duration_ms
            assert first is last or last.at_ms >= first.at_ms + first.gap_ms + 200
        elif isinstance(case.trouble, Reorder):
            assert 0.002 <= case.trouble.probability <= 0.05
            assert 1_000 <= case.trouble.by_us <= 40_000
    rates = sorted(case.rate_kbps for case in CASES)
    assert 8_000 < rates[len(rates) // 2] < 12_500, "log-uniform: half of them below 10 Mbit/s"
    for share in (
        [isinstance(case.trouble, tuple) for case in CASES if case.kind in KINDS[:1]],
        [case.kind == KINDS[0] for case in CASES],
        [case.scheme == "linux" for case in CASES],
        [case.timestamps for case in CASES],
    ):
        assert 0.4 < sum(share) / len(share) < 0.6
    for kind in KINDS[1:]:
        assert 0.08 < sum(case.kind == kind for case in CASES) / len(CASES) < 0.17, kind


def test_every_case_is_a_scenario_that_runs_as_drawn() -> None:
    for case in CASES[:30]:
        parsed = hf.parse(fidelity.scenario(case), "case.toml")
        assert (parsed.name, parsed.schemes) == (case.name, [case.scheme])
        assert parsed.duration_s == case.duration_ms / 1000
        run = parsed.run(case.scheme)
        gone = case.trouble if isinstance(case.trouble, tuple) else ()
        assert len(run.handovers) == len(gone)
        for found, drawn in zip(run.handovers, gone, strict=True):
            assert found.up_s == pytest.approx(found.down_s + drawn.gap_ms / 1000)
        if isinstance(case.trouble, Drops):
            assert (run.aggregate.lost_segments or 0) >= 1
        assert len(run.flows) == (2 if case.kind == "two flows" else 1)


def test_what_a_case_adds_is_in_its_scenario() -> None:
    def first(kind: str) -> fidelity.Case:
        return next(case for case in CASES if case.kind == kind)

    late = first("reordering")
    assert isinstance(late.trouble, Reorder)
    table = f'reorder = {{probability = {late.trouble.probability}, by = "{late.trouble.by_us}us"}}'
    assert fidelity.scenario(late).count(table) == 2, "both directions"
    upload = fidelity.scenario(first("upload"))
    assert 'from = "client"' in upload
    assert f'backward = {{rate = "{first("upload").rate_kbps}kbit/s"' in upload
    two = first("two flows")
    assert f'start = "{two.second_ms}ms"' in fidelity.scenario(two)


def bound(measure: str) -> Bound:
    return next(one for one in BOUNDS if one.measure == measure)


@pytest.mark.parametrize(
    ("measure", "sim", "kernel", "within"),
    [
        ("goodput_bps", 10.9e6, 10e6, True),
        ("goodput_bps", 11.1e6, 10e6, False),
        ("stall_s", 1.19, 1.0, True),
        ("stall_s", 0.81, 1.0, True),
        ("stall_s", 0.79, 1.0, False),
        ("stall_s", 0.149, 0.1, True),
        ("stall_s", None, 0.1, False),
        ("stall_s", None, None, None),
        ("retransmitted_segments", 124, 100, True),
        ("retransmitted_segments", 126, 100, False),
        ("retransmitted_segments", 2, 0, True),
        ("retransmitted_segments", 3, 0, False),
        ("timeouts", 1, 0, True),
        ("timeouts", 3, 5, False),
    ],
)
def test_bounds(measure: str, sim: float | None, kernel: float | None, within: bool | None) -> None:
    assert compare(bound(measure), result(measure, sim), result(measure, kernel)).within is within


def result(measure: str, value: float | None) -> Result:
    names = ["scenario", "scenario_hash", "scheme", "backend"]
    aggregate = {"aggregate": {measure: value}, "flows": [], "handovers": []}
    return Result.from_json(
        json.dumps({**dict.fromkeys(names, ""), "seed": 1, "valid": True, "duration_s": 1, **aggregate})
    )


def test_percentiles_are_errors_that_occurred() -> None:
    assert Spread.of([]) is None
    assert Spread.of([float(value) for value in range(1, 11)]) == Spread(5.5, 9.0)
    assert bound("goodput_bps").holds(Error(1.0, None)) is False, "nothing was delivered, so no share of it is known"


@dataclass(frozen=True, slots=True)
class Pretended:
    """A lab run that is the simulator's, changed."""

    inner: engine.Task
    change: Callable[[dict[str, object]], None]
    alone: bool = True
    control: _handfast.Control = field(default_factory=_handfast.Control)

    def run(self) -> Result:
        data = json.loads(self.inner.run().raw)
        data |= {"backend": LAB, "environment": {"lateness_p99_s": 0.0, "problems": []}}
        self.change(data)
        return Result.from_json(json.dumps(data))


def pretend(monkeypatch: pytest.MonkeyPatch, change: Callable[[dict[str, object]], None]) -> None:
    """Let the lab be the simulator with a change."""

    def task(backend: str, scenario: _handfast.Scenario, scheme: str, seed: int, series: Path | None) -> object:
        inner = engine.Task(scenario, scheme, seed, series if backend != LAB else None)
        return Pretended(inner, change) if backend == LAB else inner

    monkeypatch.setattr(tasks, "check", lambda *_: None)
    monkeypatch.setattr(tasks, "task", task)


def test_a_kernel_like_the_simulator_passes(handfast: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, lambda _: None)
    made = handfast("fidelity", "--seed", "7", "--cases", "3", "--out", "made")
    assert made.exit_code == 0
    assert "3 of 3 cases within bounds (100%" in made.stdout
    document = json.loads((tmp_path / "made" / "fidelity.json").read_text())
    assert (document["verdict"], document["share"], document["within"]) == ("holds", 1.0, 3)
    assert document["metrics"]["goodput_bps"]["median_relative_error"] == 0
    for number in (1, 2, 3):
        folder = tmp_path / "made" / f"case-0{number}"
        assert (folder / "scenario.toml").read_text() == fidelity.scenario(fidelity.draw(7, number))
        assert [run.backend for run in hf.read_document(folder / "result.json").runs] == ["sim", "lab"]
    alone = handfast("fidelity", "--seed", "7", "--case", "2", "--json")
    assert json.loads(alone.stdout)["cases"] == [document["cases"][1]]


def test_all_cases_by_one_scheme(handfast: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, lambda _: None)
    made = handfast("fidelity", "--seed", "7", "--cases", "2", "--scheme", "linux-bbr")
    assert made.exit_code == 0
    document = json.loads((tmp_path / "out" / "fidelity-7-linux-bbr" / "fidelity.json").read_text())
    assert [case["scheme"] for case in document["cases"]] == ["linux-bbr"] * 2
    refused = handfast("fidelity", "--seed", "7", "--scheme", "sack")
    assert refused.exit_code == 2
    assert "there are: linux, linux-reno, linux-bbr" in refused.stderr


def test_a_kernel_unlike_the_simulator_fails(handfast: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def slower(data: dict[str, object]) -> None:
        aggregate = data["aggregate"]
        assert isinstance(aggregate, dict)
        aggregate["goodput_bps"] *= 0.5

    pretend(monkeypatch, slower)
    made = handfast("fidelity", "--seed", "7", "--cases", "2")
    assert made.exit_code == 1
    assert "0 of 2 cases within bounds" in made.stdout


def test_late_runs_are_repeated_once_and_then_left_out(handfast: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[object, int] = {}

    def late(data: dict[str, object]) -> None:
        seen[data["scenario"]] = attempt = seen.get(data["scenario"], 0) + 1
        # The first case is late once, the second always.
        data["valid"] = attempt > (1 if data["scenario"] == "fidelity-7-1" else 9)
        data["environment"] = {"lateness_p99_s": 0.01, "problems": [] if data["valid"] else ["frames left late"]}

    pretend(monkeypatch, late)
    made = handfast("fidelity", "--seed", "7", "--cases", "2", "--json")
    assert seen == {"fidelity-7-1": 2, "fidelity-7-2": 2}
    document = json.loads(made.stdout)
    assert [(case["valid"], case["attempts"], case["within"]) for case in document["cases"]] == [
        (True, 2, True),
        (False, 2, None),
    ]
    assert (document["counted"], document["share"], made.exit_code) == (1, 1.0, 0)
    printed = handfast("fidelity", "--seed", "7", "--case", "2", "--out", "alone")
    assert printed.exit_code == 1, "nothing was shown"
    assert "case 2 does not count: frames left late" in printed.stderr


def test_the_kernel_beside_itself(handfast: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[object] = []

    def slower_each_time(data: dict[str, object]) -> None:
        runs.append(data["scenario"])
        aggregate = data["aggregate"]
        assert isinstance(aggregate, dict)
        aggregate["goodput_bps"] = 1e6 if len(runs) <= 2 else 2e6

    pretend(monkeypatch, slower_each_time)
    made = handfast("fidelity", "--seed", "7", "--cases", "2", "--kernel-twice")
    assert runs == ["fidelity-7-1", "fidelity-7-2"] * 2, "and no simulation"
    assert (made.exit_code, "above: lab, another run" in made.stdout) == (1, True)
    document = json.loads((tmp_path / "out" / "fidelity-7-kernel" / "fidelity.json").read_text())
    goodput = [case["metrics"]["goodput_bps"] for case in document["cases"]]
    assert [(one["again"], one["lab"], one["within"]) for one in goodput] == [(1e6, 2e6, False)] * 2
    assert document["against"] == "again"


def test_without_rights_there_is_a_clear_word(handfast: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    lacking = requirements.Need("lab: rights", False, "no CAP_NET_ADMIN", "run as root (sudo)")
    monkeypatch.setattr(requirements, "needs", lambda: iter([lacking]))
    made = handfast("fidelity", "--seed", "7", "--cases", "2")
    assert (made.exit_code, made.stdout) == (2, "")
    assert "run as root" in made.stderr
    assert not Path("out").exists()


@real
def test_the_simulator_is_like_this_kernel(handfast: Command) -> None:
    made = handfast("fidelity", "--seed", str(BRIEF_SEED), "--cases", "3", "--json", "--out", "made")
    document = json.loads(made.stdout)
    if document["counted"] < 3:
        pytest.skip(f"this machine was too busy: {[case['problems'] for case in document['cases']]}")
    assert document["within"] >= 2, made.stdout
    assert mine() == []


REORDERED = """
duration = "6s"
[nodes]
server = {kind = "host"}
client = {kind = "host"}
[[links]]
between = ["server", "client"]
rate = "12Mbit/s"
delay = "18ms"
queue = "60pkt"
reorder = {probability = 0.03, by = "8ms"}
[[flows]]
from = "server"
to = "client"
[schemes.linux]
sender = "linux"
"""


@real
def test_the_simulator_learns_of_reordering_as_this_kernel_does(handfast: Command) -> None:
    Path("late.toml").write_text(REORDERED)
    made = handfast("compare", "late.toml", "--seeds", "1..3", "--backend", "sim,lab", "--json")
    runs = [Result.from_json(json.dumps(run)) for run in json.loads(made.stdout)["runs"]]
    if not all(run.valid for run in runs):
        pytest.skip("this machine was too busy")

    def middle(backend: str) -> float:
        return median(run.aggregate.retransmitted_segments or 0 for run in runs if run.backend == backend)

    # In 6 s the kernel repeats about ten. A sender that never learns, as ours did not, repeats more than 150.
    assert abs(middle("sim") - middle(LAB)) <= max(20, 0.5 * middle(LAB)), made.stdout
    assert mine() == []
