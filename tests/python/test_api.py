"""The Python API: as wide as the command line, and what a notebook shows of it."""

from __future__ import annotations

import builtins
import importlib
import inspect
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import NoReturn

import polars as pl
import pytest

import handfast as hf
from conftest import SCHEMES
from handfast.cli import app

GONE = {"events.0.gap": ["1s", "2s"]}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> hf.Comparison:
    return hf.compare("wifi-outage", ["reno", "sack"], [1, 2], out=tmp_path_factory.mktemp("api") / "made")


def test_every_command_is_a_function() -> None:
    commands = {command.name or getattr(command.callback, "__name__", "") for command in app.registered_commands}
    groups = {group.name for group in app.registered_groups}
    assert {name for name in commands | groups if not hasattr(hf, str(name))} == set()
    assert all(callable(getattr(hf, str(name))) for name in commands)


def test_dir_names_what_is_public_and_nothing_else() -> None:
    assert set(dir(hf)) == set(hf.__all__)
    assert all(inspect.getdoc(getattr(hf, name)) for name in hf.__all__ if name != "__version__")


def test_a_shipped_scenario_is_loaded_by_its_name() -> None:
    assert hf.load("wifi-outage").schemes == SCHEMES
    with pytest.raises(hf.InputError, match="did you mean 'wifi-outage'"):
        hf.load("wifi-outge")


def test_values_are_replaced_as_a_program_has_them() -> None:
    scenario = hf.load("wifi-outage", {"links.radio.loss": 0.01, "duration": "20s", "capture": ["phone"]})
    assert scenario.overrides == (("links.radio.loss", "0.01"), ("duration", "20s"), ("capture", '["phone"]'))
    assert scenario.duration_s == 20
    assert scenario.hash == hf.load("wifi-outage").with_overrides(scenario.overrides).hash


def test_names_stand_for_the_text_in_a_repr() -> None:
    assert repr(hf.load("wifi-outage")) == f"<Scenario wifi-outage: 30 s, schemes {', '.join(SCHEMES)}>"


def test_a_comparison_is_its_results(made: hf.Comparison) -> None:
    assert [(run.scheme, run.seed) for run in made] == [("reno", 1), ("reno", 2), ("sack", 1), ("sack", 2)]
    assert made[-1].scheme == "sack"
    assert [run.seed for run in made[:2]] == [1, 2]
    assert repr(made) == "<Comparison: 4 runs of reno, sack, seeds 1..2>"
    assert made.headline


def test_frames_have_a_row_a_run_a_flow_and_an_outage(made: hf.Comparison) -> None:
    runs = made.to_frame()
    assert runs["goodput_bps"].to_list() == [run.aggregate.goodput_bps for run in made]
    assert runs["scheme"].to_list() == ["reno", "reno", "sack", "sack"]
    flows = made.to_frame(of="flows")
    assert flows["stall_s"].to_list() == [flow.measures.stall_s for run in made for flow in run.flows]
    outages = made.to_frame(of="handovers")
    assert outages["down_s"].to_list() == [one.down_s for run in made for one in run.handovers]
    with pytest.raises(hf.InputError, match="did you mean 'flows'"):
        made.to_frame(of="flow")


def test_pandas_is_used_where_it_is_and_named_where_it_is_not(
    made: hf.Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(name: str) -> NoReturn:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", absent)
    with pytest.raises(hf.MissingRequirementError, match="pip install pandas"):
        made.to_frame("pandas")
    # What it is given, if it is there: plain columns, for which pandas needs no Arrow.
    monkeypatch.setattr(importlib, "import_module", lambda _: SimpleNamespace(DataFrame=dict))
    assert made.to_frame("pandas")["seed"] == [1, 2, 1, 2]
    with pytest.raises(hf.InputError, match="'polars'"):
        made.to_frame("polar")  # type: ignore[call-overload]


@pytest.mark.skipif(importlib.util.find_spec("pandas") is None, reason="pandas is not installed")
def test_pandas_itself(made: hf.Comparison) -> None:
    frame = made.to_frame("pandas")
    assert builtins.list(frame["scheme"]) == ["reno", "reno", "sack", "sack"]


def test_series_are_of_all_runs_and_end_where_the_results_do(made: hf.Comparison) -> None:
    series = made.series()
    last = series.group_by("scheme", "seed", maintain_order=True).agg(pl.col("delivered_bytes").max())
    assert last["delivered_bytes"].to_list() == [run.aggregate.delivered_bytes for run in made]
    assert "queue_pkt" in made.series("queues").columns
    with pytest.raises(hf.InputError, match="flows, queues"):
        made.series("flow")


def test_figures_are_drawn_shown_and_saved(made: hf.Comparison, tmp_path: Path) -> None:
    picture = made.figure("cwnd")
    shown, size = picture._repr_png_()
    assert shown.startswith(b"\x89PNG")
    assert size == {"width": 336}
    assert picture.save(tmp_path / "cwnd.svg").read_bytes().startswith(b"<?xml")
    assert picture.save(tmp_path / "cwnd.pdf").read_bytes().startswith(b"%PDF")
    assert picture.figure.axes[0].get_ylabel() == "cwnd, pkt"
    with pytest.raises(hf.InputError, match=r"\.pdf, \.png, \.svg"):
        picture.save(tmp_path / "cwnd.jpg")
    with pytest.raises(hf.InputError, match="did you mean 'cwnd'"):
        made.figure("cwdn")
    made.figures(tmp_path / "all")
    assert {"overview.png", "queue.svg"} <= {file.name for file in (tmp_path / "all").iterdir()}


def test_without_a_directory_there_are_no_series_and_the_error_says_how_to_have_them() -> None:
    compared = hf.compare("wifi-outage", ["reno"])
    assert compared.directory is None
    for ask in (compared.series, compared.figure, compared.report):
        with pytest.raises(hf.InputError, match=r'compare\(\.\.\., out="DIR"\)'):
            ask()


def test_the_directory_is_what_the_command_line_leaves_and_is_read_again(made: hf.Comparison, tmp_path: Path) -> None:
    assert made.directory is not None
    assert {file.name for file in made.directory.iterdir()} >= {"result.json", "scenario.toml", "series", "report.html"}
    again = hf.read(made.directory)
    assert [run.raw for run in again] == [run.raw for run in made]
    assert again.report(tmp_path / "r.html").read_text().count("<table") >= 1


def test_results_are_kept_until_force_as_on_the_command_line(tmp_path: Path) -> None:
    hf.run("wifi-outage", "reno", out=tmp_path / "x")
    with pytest.raises(hf.InputError, match="would be lost"):
        hf.run("wifi-outage", "sack", 2, out=tmp_path / "x")
    assert hf.run("wifi-outage", "sack", 2, out=tmp_path / "x", force=True).scheme == "sack"
    assert [run.scheme for run in hf.read(tmp_path / "x")] == ["sack"]


def test_captures_at_the_nodes_named(tmp_path: Path) -> None:
    node = "phone"
    hf.run("wifi-outage", "reno", out=tmp_path / "x", captures=[node], overrides={"duration": "11s"})
    assert [file.suffix for file in (tmp_path / "x" / "captures" / "reno-1").iterdir()] == [".pcapng"]
    with pytest.raises(hf.InputError, match="where the captures go"):
        hf.run("wifi-outage", "reno", captures=[node])


def test_no_seed_is_an_error() -> None:
    with pytest.raises(hf.InputError, match="no seeds"):
        hf.compare("wifi-outage", ["reno"], seeds=[])


def test_a_notebook_shows_tables_with_every_text_escaped(made: hf.Comparison) -> None:
    shown = made._repr_html_()
    assert "goodput, Mbit/s" in shown
    assert "median of 2 seeds" in shown
    hostile = hf.Comparison([replace(run, scheme="<b>x") for run in made])._repr_html_()
    assert "&lt;b&gt;x" in hostile
    assert "<b>x" not in hostile


def test_a_sweep_has_frame_figure_and_table(tmp_path: Path) -> None:
    swept = hf.sweep("wifi-outage", {**GONE, "links.radio.loss": [0, 0.01]}, out=tmp_path, schemes=["sack"])
    frame = swept.to_frame()
    assert frame.select("events.0.gap", "links.radio.loss").rows() == [
        ("1s", "0"),
        ("1s", "0.01"),
        ("2s", "0"),
        ("2s", "0.01"),
    ]
    assert swept._repr_html_().count("<tr>") >= 4
    assert swept.figure()._repr_png_()[0].startswith(b"\x89PNG")
    assert {"runs.csv", "runs.parquet", "sweep.svg"} <= {file.name for file in tmp_path.iterdir()}
    again = hf.sweep(
        "wifi-outage", {"events.0.gap": ["2s", "3s"], "links.radio.loss": [0]}, out=tmp_path, schemes=["sack"]
    )
    assert again.reused == 1


def test_a_claim_is_judged_with_its_figure(tmp_path: Path) -> None:
    outcome = hf.reproduce("sdn/7a", quick=True, out=tmp_path)
    assert outcome.to_frame()["id"].to_list() == ["sdn-7a"]
    assert outcome.to_frame(of="measured")["value"].dtype == pl.Float64
    assert outcome.page.is_file()
    assert "sdn-7a" in outcome._repr_html_()
    assert repr(outcome) == f"<Outcome: sdn-7a {outcome.verdicts[0].verdict}>"
    assert outcome.pictures["sdn-7a"].save(tmp_path / "7a.svg").stat().st_size > 1000


def test_the_common_table_has_frame_figure_and_table(tmp_path: Path) -> None:
    study = hf.common(["announced"], ["linux", "rto-max"], [1, 2], out=tmp_path)
    frame = study.to_frame()
    assert set(frame["scheme"]) == {"linux", "rto-max"}
    assert frame["share"].is_between(0, 1).all()
    assert "today: Linux with CUBIC" in study._repr_html_()
    assert study.figure()._repr_png_()[0]
    assert (tmp_path / "whole.md").is_file()


def test_a_peer_that_is_not_there_is_named() -> None:
    with pytest.raises(hf.InputError, match="'quick-start'"):
        hf.peers("quickstart")
