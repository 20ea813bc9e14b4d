"""What `make bench` demands: that both simulators did the same work, and its gates."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

import bench
from gate import Gate
from measure import Failed, Sample


def samples(*retransmitted: int) -> list[Sample]:
    """Runs that differ in their retransmissions."""
    facts = {"segments_sent": 1_000_000, "goodput_bps": 9e8, "packets": 1, "packet_hops": 3}
    return [Sample(1.0, 5.0, {**facts, "retransmitted_segments": n}) for n in retransmitted]


@pytest.mark.parametrize(
    ("ours", "void"),
    [
        ((1000, 1000, 1000), False),
        ((1049, 1049, 1049), False),
        ((1051, 1051, 1051), True),
        ((949, 949, 949), True),
        # Most pairs are 8 % below; the mean is not.
        ((920, 920, 1150), True),
        # Most pairs agree; the mean does not.
        ((1000, 1000, 1200), True),
    ],
)
def test_a_comparison_is_void_where_the_work_differs(ours: tuple[int, ...], void: bool) -> None:
    row = bench.Row("case", samples(*ours))
    bench.compare(row, samples(1000, 1000, 1000))
    assert [why.partition(":")[0] for why in row.void] == ["retransmitted_segments"] * void


def test_nothing_beside_something_is_void() -> None:
    row = bench.Row("case", samples(1))
    bench.compare(row, samples(0))
    assert row.void


@pytest.mark.parametrize(
    ("least", "most", "holds"), [(2, None, True), (2.1, None, False), (None, 2, True), (None, 1.9, False)]
)
def test_a_gate_holds_at_its_bound(least: float | None, most: float | None, holds: bool) -> None:
    assert Gate("figure", 2.0, least, most).holds is holds


@pytest.mark.parametrize("quick", [False, True])
def test_a_void_row_or_a_gate_fails_all_but_a_quick_look(quick: bool, tmp_path: Path) -> None:
    for rows, gates in (([bench.Row("case", [], void=["why"])], []), ([], [Gate("figure", 1.0, least=2.0)])):
        measured = bench.Bench(quick=quick, pairs=1, folder=tmp_path)
        assert not measured.failed
        measured.rows += rows
        measured.gates += gates
        assert measured.failed is not quick


def test_without_ns2_nothing_passes_for_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def build() -> None:
        raise Failed("built")

    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(bench, "build_runner", build)
    assert bench.main(["--out", str(tmp_path / "bench.json")]) == 2
    assert "apt-get install ns2" in capsys.readouterr().err
    assert bench.main(["--without-ns2", "--out", str(tmp_path / "bench.json")]) == 2
    assert "built" in capsys.readouterr().err, "it goes on"
    assert not (tmp_path / "bench.json").exists()
