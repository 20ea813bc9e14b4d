"""The small parts: seeds and values on the command line, medians, thinning, whole files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import handfast as hf
from conftest import OUTAGE
from handfast import store
from handfast.cli import options
from handfast.errors import InputError, refuse_unknown
from handfast.stats import coverage, interval_rank, summarise
from handfast.studies import document
from handfast.studies.grid import Order, ScenarioCell, fill
from handfast.studies.table import Table
from handfast.thinning import kept


@pytest.mark.parametrize(
    ("text", "expected"),
    [("7", [7]), ("1..3", [1, 2, 3]), ("5,1,5", [5, 1]), ("1..2,9", [1, 2, 9]), ("0", [0]), (" 1 .. 2 ", [1, 2])],
)
def test_seeds(text: str, expected: list[int]) -> None:
    assert options.seeds(text) == expected


@pytest.mark.parametrize("text", ["", "1..", "..3", "-1", "1.5", "1,,2", "²", str(2**63), "9" * 5000])
def test_not_seeds(text: str) -> None:
    with pytest.raises(InputError):
        options.seeds(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("links.0.loss=0.1,0.2", ("links.0.loss", ["0.1", "0.2"])),
        ('a=[1,2],"x,y"', ("a", ["[1,2]", '"x,y"'])),
        ("a={b=1,c=2}", ("a", ["{b=1,c=2}"])),
        ("a=1,1", ("a", ["1"])),
    ],
)
def test_axes(text: str, expected: tuple[str, list[str]]) -> None:
    assert options.axis(text) == expected


@pytest.mark.parametrize("text", ["a", "a=", "=1", "a=1,", "a=,1"])
def test_not_axes(text: str) -> None:
    with pytest.raises(InputError):
        options.axis(text)


def test_the_interval_covers_what_it_says() -> None:
    # From tables of the binomial distribution (n, 1/2): the sign test's interval for the median.
    assert [interval_rank(n) for n in (1, 5, 6, 9, 10, 20, 50)] == [0, 0, 0, 1, 1, 5, 17]
    assert coverage(6, 0) == pytest.approx(0.96875)
    assert coverage(20, 5) == pytest.approx(0.95861, abs=1e-5)
    assert coverage(5, 0) == pytest.approx(0.9375)


def test_a_summary_leaves_out_what_is_unknown() -> None:
    summary = summarise([3.0, None, 1.0, 2.0])
    assert summary is not None
    assert (summary.median, summary.low, summary.high, summary.count, summary.missing) == (2.0, 1.0, 3.0, 3, 1)
    assert summarise([None]) is None


def test_thinning_keeps_peaks_gaps_and_ends() -> None:
    x, y = np.arange(10_000.0), np.ones(10_000)
    y[4321], y[8765] = 99.0, -99.0
    y[100:400] = np.nan
    keep = kept(x, y, (0.0, 9999.0), 100)
    assert len(keep) <= 402
    assert {99.0, -99.0} <= set(y[keep])
    assert np.isnan(y[keep]).any()
    assert (keep[0], keep[-1]) == (0, 9999)
    assert keep.tolist() == sorted(set(keep.tolist()))


def test_a_file_is_whole_or_absent(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "file"
    store.write_whole(target, "one")
    store.write_whole(target, "two")
    assert target.read_text() == "two"
    assert [p.name for p in target.parent.iterdir()] == ["file"]


def test_a_stage_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def fill() -> None:
        with store.staged(tmp_path / "new") as stage:
            (stage / "half").write_text("x")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fill()
    assert list(tmp_path.iterdir()) == []


def test_a_stage_that_fails_keeps_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("x")

    def fill() -> None:
        with store.staged(tmp_path) as stage:
            (stage / "kept").write_text("y")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fill()
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("kept", "x")]


def test_an_unknown_name_is_said_with_the_nearest_and_all() -> None:
    refuse_unknown(["sim", "lab"], ["sim", "lab"], "backend called")
    with pytest.raises(InputError) as caught:
        refuse_unknown(["sim", "labb"], ["sim", "lab"], "backend called", has="x: there is", more=" here")
    assert str(caught.value) == ("x: there is no backend called 'labb' here (did you mean 'lab'?); there are: sim, lab")


def test_cells_alike_are_one_run_under_each_label(tmp_path: Path) -> None:
    scenario = hf.load(OUTAGE, {"duration": "11s"})
    same = hf.load(OUTAGE, {"duration": "11000ms"})
    cells = {
        "a": [ScenarioCell((), scenario, "reno", seed) for seed in (1, 2)],
        "b": [ScenarioCell((), same, "reno", 2)],
    }
    done = fill(cells, Order(tmp_path))
    assert (done.runs, done.reused) == (2, 0)
    assert [(label, [run.seed for run in some]) for label, some in done.results.items()] == [("a", [1, 2]), ("b", [2])]
    assert done.results["b"][0] == done.results["a"][1]
    again = fill({"c": [ScenarioCell((), scenario, "reno", seed) for seed in (2, 3)]}, Order(tmp_path))
    assert (again.runs, again.reused, again.all[0].aggregate) == (2, 1, done.all[1].aggregate)


def test_an_order_has_its_own_seeds_or_those_of_the_study(tmp_path: Path) -> None:
    found = [
        Order(tmp_path, seeds=seeds, quick=quick).seeds_of((1, 2, 3), (1,))
        for seeds in (None, (7,))
        for quick in (False, True)
    ]
    assert found == [(1, 2, 3), (1,), (7,), (7,)]


def test_a_table_is_written_for_pages_and_for_markdown() -> None:
    table = Table(["loss", "<sack>"], [["1e-3", "1.8"], ["1e-2", "**0.9**"]])
    assert table.markdown() == "| loss | <sack> |\n| --- | --: |\n| 1e-3 | 1.8 |\n| 1e-2 | **0.9** |\n"
    assert "&lt;sack&gt;" in table.html()
    assert Table(["a", "b"], [], left=(1,)).markdown() == "| a | b |\n| --: | --- |\n"


def test_a_median_in_json_has_its_interval_or_is_null() -> None:
    assert document.summary(summarise([1.0, 2.0, 3.0])) == {"median": 2.0, "low": 1.0, "high": 3.0, "runs": 3}
    assert document.summary(summarise([None])) is None
    assert document.written({"a": None}) == '{\n  "a": null\n}\n'
