"""`compare` and `run`: what they print, and what they leave behind."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from conftest import OUTAGE, SCHEMES, Command, files

TWO = ("--schemes", "sack,reno")


def test_the_table_has_a_row_a_scheme_and_the_limit_last(handfast: Command) -> None:
    result = handfast("compare", OUTAGE)
    assert result.exit_code == 0, result.stderr
    rows = [line.split() for line in result.stdout.splitlines()]
    names = [row[0] for row in rows if row and row[0] in {*SCHEMES, "capacity"}]
    assert names == [*SCHEMES, "capacity"]
    assert all(len(row) == 7 for row in rows if row and row[0] in SCHEMES)


def test_json_is_one_document_and_nothing_else(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "handfast", "compare", str(OUTAGE), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path, timeout=120)
    document = json.loads(done.stdout)
    assert (document["schema"], [run["scheme"] for run in document["runs"]]) == (1, SCHEMES)
    assert done.stderr == ""
    assert list(tmp_path.iterdir()) == []


def test_what_a_run_says_of_itself(handfast: Command) -> None:
    result = handfast("run", OUTAGE, "--scheme", "reno", "--seed", "7", "--json")
    (run,) = json.loads(result.stdout)["runs"]
    assert (run["scenario"], run["scheme"], run["backend"], run["seed"]) == ("wifi-outage", "reno", "sim", 7)
    assert run["valid"] is True
    (handover,) = run["handovers"]
    assert handover["down_s"] == pytest.approx(10, abs=0.2)  # its phase is drawn from the seed
    assert handover["up_s"] - handover["down_s"] == pytest.approx(3)
    assert handover["stall_s"] == run["aggregate"]["stall_s"] > 0
    assert 0 < run["aggregate"]["goodput_bps"] < run["aggregate"]["limit_bps"] < 20e6


def test_a_result_directory_is_complete(handfast: Command, tmp_path: Path) -> None:
    assert handfast("compare", OUTAGE, *TWO, "--out", "made").exit_code == 0
    assert sorted(p.name for p in (tmp_path / "made").iterdir()) == [
        ".build",
        "report.html",
        "result.json",
        "scenario.toml",
        "series",
    ]
    assert (tmp_path / "made" / "scenario.toml").read_text().rstrip() == OUTAGE.read_text().rstrip()


def test_series_are_sampled_over_the_whole_run(handfast: Command, tmp_path: Path) -> None:
    handfast("run", OUTAGE, "--scheme", "sack", "--out", "made")
    flows = pl.read_parquet(tmp_path / "made" / "series" / "sack-1.flows.parquet")
    assert flows["time_s"].is_sorted()
    assert flows["time_s"].max() == pytest.approx(30, abs=0.2)
    delivered = flows["delivered_bytes"].drop_nulls()
    assert delivered.is_sorted()
    queues = pl.read_parquet(tmp_path / "made" / "series" / "sack-1.queues.parquet")
    assert 0 < queues.select(pl.col("queue_pkt").max()).item() <= 100


def test_captures_open_in_wireshark(handfast: Command, tmp_path: Path) -> None:
    capture = ("--pcap", "--set", 'capture=["phone"]')
    for command in (
        ("run", "--scheme", "sack", "--out", "made"),
        ("compare", "--schemes", "reno,sack", "--out", "made"),
    ):
        result = handfast(command[0], OUTAGE, *command[1:], *capture)
        assert result.exit_code == 0, result.stderr
    for scheme in ("reno", "sack"):
        (file,) = (tmp_path / "made" / "captures" / f"{scheme}-1").iterdir()
        assert file.suffix == ".pcapng"
        assert file.read_bytes()[:4] == b"\x0a\x0d\x0d\x0a"


@pytest.mark.parametrize("command", ["run", "compare"])
def test_captures_need_a_place_and_a_node(handfast: Command, command: str) -> None:
    nowhere = handfast(command, OUTAGE, "--pcap", "--json", "--set", 'capture=["phone"]')
    assert (nowhere.exit_code, nowhere.stdout) == (2, "")
    assert "needs --out DIR" in nowhere.stderr
    nobody = handfast(command, OUTAGE, "--pcap", "--out", "made")
    assert "names no node to capture at" in nobody.stderr


def test_several_seeds_give_medians(handfast: Command) -> None:
    result = handfast("compare", OUTAGE, "--schemes", "reno", "--seeds", "1..6")
    assert "median of 6 seeds" in result.stdout
    assert "96.9% sure" in result.stdout


def test_the_result_does_not_depend_on_the_number_of_jobs(handfast: Command, tmp_path: Path) -> None:
    for jobs in ("1", "7"):
        assert handfast("compare", OUTAGE, *TWO, "--seeds", "1..2", "--jobs", jobs, "--out", jobs).exit_code == 0
    assert files(tmp_path / "1") == files(tmp_path / "7")


def test_emitting_and_parsing_every_packet_changes_nothing(handfast: Command) -> None:
    plain = handfast("run", OUTAGE, "--scheme", "cubic", "--json")
    checked = handfast("run", OUTAGE, "--scheme", "cubic", "--json", "--verify-wire")
    assert (plain.exit_code, checked.exit_code) == (0, 0)
    assert plain.stdout == checked.stdout


def test_values_can_be_replaced(handfast: Command, tmp_path: Path) -> None:
    result = handfast("compare", OUTAGE, "--schemes", "reno", "--set", "events.0.gap=1s", "--out", "made", "--json")
    (handover,) = json.loads(result.stdout)["runs"][0]["handovers"]
    assert handover["up_s"] - handover["down_s"] == pytest.approx(1)
    assert "# --set events.0.gap=1s" in (tmp_path / "made" / "scenario.toml").read_text()


def test_a_shipped_scenario_is_found_by_name(handfast: Command) -> None:
    assert handfast("run", "wifi-outage", "--json").exit_code == 0


def test_a_profile_stands_in_for_a_scheme(handfast: Command) -> None:
    runs = json.loads(handfast("compare", OUTAGE, "--schemes", "sack,linux", "--json").stdout)["runs"]
    assert [run["scheme"] for run in runs] == ["sack", "linux"]
