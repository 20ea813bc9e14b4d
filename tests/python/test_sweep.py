"""Sweeps: the grid, resuming, interruption."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from matplotlib.collections import LineCollection

import handfast as hf
from conftest import OUTAGE, Command, files
from handfast import engine
from handfast.crew import Crew, Runnable
from handfast.results import Result
from handfast.studies.sweep import pivot

SAME = ("--set", "duration=30s")
"""The scenario as it is."""
SHORT = ("sweep", OUTAGE, "--set", "duration=15s", "--schemes", "reno,sack")


def test_a_row_a_run_in_the_order_of_the_grid(handfast: Command, tmp_path: Path) -> None:
    result = handfast(*SHORT, "--set", "links.0.loss=0.0,0.01", "--seeds", "1..2", "--out", "made")
    assert result.exit_code == 0, result.stderr
    table = pl.read_parquet(tmp_path / "made" / "runs.parquet")
    expected = [(loss, scheme, seed) for loss in ("0.0", "0.01") for scheme in ("reno", "sack") for seed in (1, 2)]
    assert table.select("links.0.loss", "scheme", "seed").rows() == expected
    clean, lossy = (table.filter(pl.col("links.0.loss") == loss)["goodput_bps"].mean() for loss in ("0.0", "0.01"))
    assert isinstance(clean, float)
    assert isinstance(lossy, float)
    assert clean > 2 * lossy
    assert pl.read_csv(tmp_path / "made" / "runs.csv").height == 8


def test_a_second_run_does_only_what_is_missing(handfast: Command, tmp_path: Path) -> None:
    first = handfast(*SHORT, "--seeds", "1..2", "--out", "made")
    assert "4 runs, 0 of them" in first.stderr
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "made" / "runs").iterdir()}
    second = handfast(*SHORT, "--seeds", "1..3", "--out", "made")
    assert "6 runs, 4 of them" in second.stderr
    assert {path: path.stat().st_mtime_ns for path in kept} == kept


def test_a_damaged_run_is_done_again(handfast: Command, tmp_path: Path) -> None:
    handfast(*SHORT, "--out", "made")
    whole = files(tmp_path / "made")
    victim = next((tmp_path / "made" / "runs").iterdir())
    victim.write_bytes(victim.read_bytes()[:40])
    assert "2 runs, 1 of them" in handfast(*SHORT, "--out", "made").stderr
    assert files(tmp_path / "made") == whole


def test_another_scenario_is_not_taken_for_this_one(handfast: Command) -> None:
    handfast(*SHORT, "--out", "made")
    other = handfast(*SHORT, "--set", "events.0.gap=1s", "--out", "made")
    assert "2 runs, 0 of them" in other.stderr


def test_all_cores_work_unless_told_otherwise(handfast: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    used = []

    class Counted(Crew):
        def __init__(self, tasks: Sequence[Runnable], jobs: int, finished: Callable[[Result], None] | None) -> None:
            used.append(jobs)
            super().__init__(tasks, jobs, finished)

    assert engine.default_jobs() == len(os.sched_getaffinity(0))
    monkeypatch.setattr(engine, "Crew", Counted)
    monkeypatch.setattr(engine, "default_jobs", lambda: 3)
    for out, jobs in (("a", ()), ("b", ("--jobs", "2"))):
        assert handfast(*SHORT, "--seeds", "1..2", "--out", out, *jobs).exit_code == 0
    assert used == [3, 2]


def test_a_terminal_shows_progress_and_the_time_left(tmp_path: Path) -> None:
    terminal, end = pty.openpty()
    words = [sys.executable, "-m", "handfast", *map(str, SHORT), "--out", str(tmp_path / "made")]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=end, env=environment) as process:
        os.close(end)
        shown = b""
        # Reading fails when the last writer has gone.
        with suppress(OSError):
            while part := os.read(terminal, 65536):
                shown += part
        assert process.wait() == 0
    os.close(terminal)
    assert re.search(rb"\d+%", shown)
    assert re.search(rb"left\W+(\x1b\S*)?(-:--:--|\d:\d\d:\d\d)", shown), shown


def test_the_result_does_not_depend_on_the_number_of_jobs(handfast: Command, tmp_path: Path) -> None:
    for jobs in ("1", "5"):
        assert handfast(*SHORT, "--seeds", "1..3", "--jobs", jobs, "--out", jobs).exit_code == 0
    assert files(tmp_path / "1") == files(tmp_path / "5")


def test_json_is_one_document(handfast: Command) -> None:
    assert len(json.loads(handfast(*SHORT, "--json").stdout)["runs"]) == 2


def test_a_sweep_is_not_one_comparison(handfast: Command) -> None:
    handfast(*SHORT, "--set", "events.0.gap=1s,2s", "--out", "made")
    result = handfast("report", "made")
    assert result.exit_code == 2
    assert "runs.parquet" in result.stderr


def test_a_table_shows_a_row_a_combination_and_a_column_a_scheme(handfast: Command, tmp_path: Path) -> None:
    grid = ("--set", "links.0.loss=0.0,0.01", "--seeds", "1..6", "--out", "made")
    shown = handfast(*SHORT, *grid).stdout
    assert max(map(len, shown.splitlines())) <= 80
    runs = pl.read_parquet(tmp_path / "made" / "runs.parquet")
    stalls, goodputs = shown.split("goodput, Mbit/s")
    for text, column, scale, digits in ((stalls, "stall_s", 1, 3), (goodputs, "goodput_bps", 1e-6, 2)):
        for loss in ("0.0", "0.01"):
            picked = [
                runs.filter((pl.col("links.0.loss") == loss) & (pl.col("scheme") == scheme))[column].drop_nulls()
                * scale
                for scheme in ("reno", "sack")
            ]
            row = [line.split() for line in text.splitlines()]
            (place,) = [index for index, cells in enumerate(row) if cells[:1] == [loss]]
            assert row[place][1:] == [f"{statistics.median(values):.{digits}f}" for values in picked]
            assert row[place + 1][:2] == [f"{min(values):.{digits}f}–{max(values):.{digits}f}" for values in picked]
    assert "duration" not in shown  # it does not vary
    assert "96.9% sure" in shown


def test_tables_of_many_schemes_and_axes_fit_80_columns(handfast: Command) -> None:
    many = "tahoe,reno,newreno,sack,cubic,linux,linux-reno,rack"
    axes = ("--set", "links.0.loss=0.001,0.01", "--set", "events.0.gap=1s,2s", "--set", "duration=15s")
    result = handfast("sweep", OUTAGE, *axes, "--schemes", many, "--seeds", "1,2")
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    heads = [line.split() for line in lines if "gap" in line]
    assert [name for head in heads for name in head if name in many.split(",")] == many.split(",") * 2
    broken = [line for line in lines if "events" in line]
    assert broken
    assert all("events." in line.split() for line in broken)


def test_the_figure_has_a_panel_a_value_and_every_interval_whole(handfast: Command, tmp_path: Path) -> None:
    grid = ("--set", "links.0.loss=0.0,0.01", "--set", "events.0.gap=1s,2s", "--seeds", "1..3", "--out", "made")
    assert handfast(*SHORT, *grid).exit_code == 0
    assert {"sweep.svg", "sweep.png"} <= {path.name for path in (tmp_path / "made").iterdir()}
    swept = hf.load(OUTAGE, [("duration", "15s")]).sweep(
        {"links.0.loss": ["0.0", "0.01"], "events.0.gap": ["1s", "2s"]},
        out=tmp_path / "api",
        schemes=["reno", "sack"],
        seeds=[1, 2, 3],
    )
    made, figure = pivot.of(swept), swept.figure().figure
    assert [axes.get_title() for axes in figure.axes] == ["events.0.gap = 1s", "events.0.gap = 2s", "", ""]
    highest = max(result.aggregate.goodput_bps or 0 for result in swept.results) / 1e6
    low, high = figure.axes[2].get_ylim()
    assert low == 0
    # All of each interval, and little room above: a limit in bit/s would hide everything.
    assert highest <= high <= 1.1 * highest
    drawn = dict(zip(made.schemes, figure.axes[2].get_lines(), strict=True))
    intervals = dict(zip(made.schemes, figure.axes[2].collections, strict=True))
    for scheme in made.schemes:
        values = [(run.aggregate.goodput_bps or 0) / 1e6 for run in made.runs[("0.0", "1s"), scheme]]
        assert np.asarray(drawn[scheme].get_ydata())[0] == pytest.approx(statistics.median(values))
        bars = intervals[scheme]
        assert isinstance(bars, LineCollection)
        assert np.asarray(bars.get_segments()[0])[:, 1].tolist() == pytest.approx([min(values), max(values)])


def test_without_values_the_command_says_what_to_do(handfast: Command, tmp_path: Path) -> None:
    result = handfast("sweep", OUTAGE)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--set PATH=VALUE,VALUE" in result.stderr
    assert "handfast compare" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_value_given_twice_is_refused(handfast: Command) -> None:
    result = handfast(*SHORT, "--set", "duration=20s")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "given twice" in result.stderr


def interrupted(tmp_path: Path, *arguments: str) -> tuple[int, str]:
    """Starts a long sweep, sends SIGINT once runs are stored, and returns exit code and stderr."""
    command = [sys.executable, "-m", "handfast", "sweep", str(OUTAGE), *SAME, "--out", "made", *arguments]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    runs = tmp_path / "made" / "runs"
    deadline = time.monotonic() + 60
    while not (runs.is_dir() and any(runs.glob("*.json"))) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=30)
    assert stdout == ""
    return process.returncode, stderr


def test_ctrl_c_leaves_a_state_to_go_on_from(handfast: Command, tmp_path: Path) -> None:
    seeds = ("--schemes", "reno", "--seeds", "1..400")
    code, message = interrupted(tmp_path, *seeds)
    assert code == 130
    assert "interrupted" in message
    assert "the same command does the rest" in message
    assert "Traceback" not in message
    kept = sorted((tmp_path / "made" / "runs").iterdir())
    assert 0 < len(kept) < 400
    assert [path.suffix for path in kept] == [".json"] * len(kept)
    assert sorted(p.name for p in (tmp_path / "made").iterdir()) == ["runs"]

    done = handfast("sweep", OUTAGE, *SAME, "--schemes", "reno", "--seeds", f"1..{len(kept)}", "--out", "made")
    found = int(done.stderr.split(" of them")[0].split()[-1])
    assert found == pytest.approx(len(kept), abs=2)  # two threads may finish out of order


def test_ctrl_c_stops_a_run_that_would_take_minutes(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "handfast", "run", str(OUTAGE), "--set", "duration=100000s", "--out", "made"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    while not list(tmp_path.glob("made/.staging-*")):
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=10)
    assert (process.returncode, stderr) == (130, "interrupted\n")
    assert list(tmp_path.iterdir()) == []
