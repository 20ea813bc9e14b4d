"""`compare` and `run` into a directory that holds results: they stay, or the command stops before they are lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import OUTAGE, Command, edited, files, real
from handfast import keeping

SHORT = ("compare", OUTAGE, "--set", "duration=12s", "--schemes", "reno,sack", "--out", "made")
CAPTURE = ("--set", 'capture=["phone"]')


def runs(directory: Path) -> list[tuple[str, int]]:
    """What `result.json` holds."""
    return [(run["scheme"], run["seed"]) for run in json.loads((directory / "result.json").read_text())["runs"]]


def stopped(handfast: Command, directory: Path, *arguments: str | Path) -> str:
    """Runs a command that must stop and change nothing, and returns its message in one line."""
    before = files(directory)
    result = handfast(*arguments)
    assert result.exit_code == 2, result.output
    assert files(directory) == before
    assert "--out DIR" in result.stderr
    return " ".join(result.stderr.split())


def test_fewer_seeds_leave_the_others_where_they_are(handfast: Command, tmp_path: Path) -> None:
    assert handfast(*SHORT, "--seeds", "1..3").exit_code == 0
    before = files(tmp_path / "made")
    again = handfast(*SHORT)
    assert again.exit_code == 0, again.stderr
    assert files(tmp_path / "made") == before
    assert "also shows what was there: 4 runs of reno, sack, seeds 2..3" in again.stderr
    assert "seed 1" in again.stdout


def test_schemes_come_together_in_the_order_of_the_file(handfast: Command, tmp_path: Path) -> None:
    for schemes in ("sack", "reno", "sack,linux"):
        assert handfast(*SHORT, "--schemes", schemes, "--seeds", "2,1").exit_code == 0
    assert runs(tmp_path / "made") == [(scheme, seed) for scheme in ("reno", "sack", "linux") for seed in (1, 2)]
    assert len(list((tmp_path / "made" / "series").glob("*.flows.parquet"))) == 6
    assert handfast(*SHORT, "--schemes", "reno,sack,linux", "--seeds", "1,2", "--out", "at once").exit_code == 0
    assert files(tmp_path / "made") == files(tmp_path / "at once")


def test_one_scheme_does_not_stand_with_one_seed_beside_others_with_three(handfast: Command, tmp_path: Path) -> None:
    handfast(*SHORT, "--seeds", "1..3")
    message = stopped(handfast, tmp_path / "made", *SHORT, "--schemes", "linux")
    assert "6 runs of reno, sack, seeds 1..3" in message
    assert "seed 1: linux" in message
    assert "seeds 1..3: reno, sack" in message
    assert handfast(*SHORT, "--schemes", "linux", "--seeds", "1..3").exit_code == 0


def test_results_of_other_values_stop_the_command(handfast: Command, tmp_path: Path) -> None:
    handfast(*SHORT, "--seeds", "1..3")
    message = stopped(handfast, tmp_path / "made", *SHORT, "--set", "events.0.gap=1s")
    assert "6 runs of reno, sack, seeds 1..3" in message
    assert "other values" in message
    assert "--force" in message
    run = ("run", OUTAGE, "--scheme", "reno", "--out", "made")
    assert "other values" in stopped(handfast, tmp_path / "made", *run)
    assert handfast(*run, "--force").exit_code == 0
    assert runs(tmp_path / "made") == [("reno", 1)]


def test_results_of_another_build_stop_the_command(
    handfast: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    handfast(*SHORT)
    with monkeypatch.context() as changed:
        changed.setattr(keeping, "build_id", lambda: "0" * 16)
        assert "Another build" in stopped(handfast, tmp_path / "made", *SHORT)
    assert handfast(*SHORT).exit_code == 0


def test_force_replaces_all_that_is_there(handfast: Command, tmp_path: Path) -> None:
    handfast(*SHORT, *CAPTURE, "--seeds", "1..3", "--pcap")
    assert handfast(*SHORT, "--schemes", "reno", "--force").exit_code == 0
    assert runs(tmp_path / "made") == [("reno", 1)]
    assert {p.name.split(".")[0] for p in (tmp_path / "made" / "series").iterdir()} == {"reno-1"}
    assert not (tmp_path / "made" / "captures").exists()


def test_captures_of_a_simulation_stay(handfast: Command, tmp_path: Path) -> None:
    handfast(*SHORT, *CAPTURE, "--seeds", "1,2", "--pcap")
    before = files(tmp_path / "made")
    assert len([name for name in before if name.endswith(".pcapng")]) == 4
    assert handfast(*SHORT, *CAPTURE).exit_code == 0
    assert files(tmp_path / "made") == before


@real
def test_captures_of_a_kernel_are_not_lost(handfast: Command, tmp_path: Path) -> None:
    handfast(*SHORT, "--schemes", "linux")
    # As a run in the lab leaves it.
    result = tmp_path / "made" / "result.json"
    result.write_text(edited(result.read_text(), '"backend":"sim"', '"backend":"lab"'))
    (tmp_path / "made" / "captures" / "linux-1.lab").mkdir(parents=True)
    (tmp_path / "made" / "captures" / "linux-1.lab" / "phone.pcapng").write_bytes(b"\x0a\x0d\x0d\x0a")
    lab = (*SHORT, "--schemes", "linux", "--backend", "lab")
    assert "without --pcap" in stopped(handfast, tmp_path / "made", *lab)
    # A simulation beside it does not touch them.
    assert handfast(*SHORT, "--schemes", "linux").exit_code == 0
    assert (tmp_path / "made" / "captures" / "linux-1.lab" / "phone.pcapng").is_file()


@pytest.mark.parametrize("name", ["scenario.toml", "series", "captures", "report.html"])
def test_files_of_somebody_else_are_not_replaced(handfast: Command, tmp_path: Path, name: str) -> None:
    (tmp_path / "made").mkdir()
    if "." in name:
        (tmp_path / "made" / name).write_text("mine")
    else:
        (tmp_path / "made" / name).mkdir()
        (tmp_path / "made" / name / "mine").write_text("mine")
    assert f"no result directory, and {name} there" in stopped(handfast, tmp_path / "made", *SHORT)


def test_a_scenario_is_not_replaced_by_its_own_results(
    handfast: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = OUTAGE.read_text() + "# my notes\n"
    (tmp_path / "scenario.toml").write_text(text)
    monkeypatch.chdir(tmp_path)
    stopped(handfast, tmp_path, "run", "scenario.toml", "--set", "duration=12s", "--out", ".")
    assert (tmp_path / "scenario.toml").read_text() == text


def test_what_cannot_be_read_is_not_replaced(handfast: Command, tmp_path: Path) -> None:
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "result.json").write_text('{"mine": 1}')
    assert "not a handfast result" in stopped(handfast, tmp_path / "made", *SHORT)


def test_a_hostile_result_brings_no_file_from_elsewhere(handfast: Command, tmp_path: Path) -> None:
    handfast(*SHORT, "--schemes", "reno")
    (tmp_path / "secret-1").mkdir()
    (tmp_path / "secret-1" / "key").write_text("secret")
    result = tmp_path / "made" / "result.json"
    result.write_text(edited(result.read_text(), '"scheme":"reno"', '"scheme":"../../secret"'))
    (tmp_path / "made" / "captures").mkdir()
    assert handfast(*SHORT, "--schemes", "sack").exit_code == 0
    assert b"secret" not in b"".join(files(tmp_path / "made").values()).replace(b"../../secret", b"")
    assert files(tmp_path / "secret-1") == {"key": b"secret"}


def test_a_sweep_does_not_overwrite_a_comparison(handfast: Command, tmp_path: Path) -> None:
    handfast(*SHORT)
    sweep = ("sweep", OUTAGE, "--schemes", "reno", "--set", "duration=12s,13s", "--out", "made")
    assert "results of `compare` or `run`" in stopped(handfast, tmp_path / "made", *sweep)
    assert handfast(*sweep[:-1], "swept").exit_code == 0
    stopped(handfast, tmp_path / "swept", *SHORT[:-1], "swept")


def test_figures_for_a_paper_show_what_was_asked_for(handfast: Command, tmp_path: Path) -> None:
    handfast(*SHORT)
    assert handfast(*SHORT, "--schemes", "reno", "--figures", "kept").exit_code == 0
    assert handfast(*SHORT[:-1], "alone", "--schemes", "reno", "--figures", "own").exit_code == 0
    assert files(tmp_path / "kept") == files(tmp_path / "own")
