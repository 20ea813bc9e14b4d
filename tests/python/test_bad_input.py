"""Wrong input: a clear line on stderr, exit 2, no traceback, nothing written."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from conftest import OUTAGE, Command, edited


def refused(handfast: Command, tmp_path: Path, *arguments: str | Path) -> str:
    """Runs the command, expects to be refused, and returns the message."""
    before = sorted(tmp_path.rglob("*"))
    result = handfast(*arguments)
    assert result.exit_code == 2, (result.exit_code, result.output)
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    assert sorted(tmp_path.rglob("*")) == before
    return result.stderr


def scenario(tmp_path: Path, content: str | bytes) -> Path:
    """A scenario file with this content."""
    path = tmp_path / "scenario.toml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_malformed_toml_names_the_line(handfast: Command, tmp_path: Path) -> None:
    message = refused(handfast, tmp_path, "compare", scenario(tmp_path, 'duration = "30s"\n[nodes\n'))
    assert f"{tmp_path / 'scenario.toml'}:2:7" in message


def test_an_unknown_key_names_the_nearest_one(handfast: Command, tmp_path: Path) -> None:
    text = edited(OUTAGE.read_text(), "delay", "dealy")
    message = refused(handfast, tmp_path, "compare", scenario(tmp_path, text))
    assert "unknown key `dealy`" in message
    assert "did you mean `delay`?" in message


@pytest.mark.parametrize("seed", range(20))
def test_random_bytes(handfast: Command, tmp_path: Path, seed: int) -> None:
    noise = random.Random(seed)
    refused(handfast, tmp_path, "compare", scenario(tmp_path, noise.randbytes(noise.randrange(1, 400))))


@pytest.mark.parametrize("seed", range(40))
def test_a_truncated_or_garbled_scenario_never_ends_in_a_traceback(
    handfast: Command, tmp_path: Path, seed: int
) -> None:
    noise, text = random.Random(seed), OUTAGE.read_text()
    cut = noise.randrange(len(text))
    garbled = text[:cut] + noise.choice(["", "\x00", "=", "[[", '"', "9e999", "é"]) + text[cut + noise.randrange(3) :]
    result = handfast("run", scenario(tmp_path, garbled), "--json", "--set", "duration=1s")
    assert result.exit_code in (0, 2), result.output
    assert "Traceback" not in result.stderr


def test_a_missing_file(handfast: Command, tmp_path: Path) -> None:
    assert "No such file" in refused(handfast, tmp_path, "run", tmp_path / "none.toml")


def test_an_unknown_name_lists_the_shipped_ones(handfast: Command, tmp_path: Path) -> None:
    message = refused(handfast, tmp_path, "run", "wifi-outge")
    assert "did you mean 'wifi-outage'?" in message
    assert "wifi-roam" in message


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (("common", "--groups", "anounced"), "announced"),
        (("common", "--schemes", "linx"), "linux"),
        (("reproduce", "sdnn"), "sdn"),
        (("reproduce", "sdn/7aa"), "sdn-7a"),
        (("compare", OUTAGE, "--backend", "labb"), "lab"),
        (("peers", "eln", "--schemes", "snop"), "snoop"),
    ],
)
def test_a_misspelt_name_brings_the_nearest_one(
    handfast: Command, tmp_path: Path, arguments: tuple[str | Path, ...], meant: str
) -> None:
    assert f"did you mean {meant!r}?" in refused(handfast, tmp_path, *arguments)


def test_a_file_without_end(handfast: Command, tmp_path: Path) -> None:
    assert "longer than" in refused(handfast, tmp_path, "run", Path("/dev/zero"))


def test_a_directory(handfast: Command, tmp_path: Path) -> None:
    assert "directory" in refused(handfast, tmp_path, "run", tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file(handfast: Command, tmp_path: Path) -> None:
    path = scenario(tmp_path, OUTAGE.read_text())
    path.chmod(0)
    assert "Permission denied" in refused(handfast, tmp_path, "run", path)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--scheme", "rneo"], "tahoe, reno"),
        (["--scheme", "rneo"], "did you mean 'reno'?"),
        (["--jobs", "0"], "0 jobs: at least 1 run at a time"),
        (["--jobs", "-1"], "-1 jobs"),
        (["--seed", "x"], "whole numbers"),
        (["--seed", "5..1"], "not a range"),
        (["--seed", "1..99999999999"], "not a range"),
        (["--set", "duration"], "PATH=VALUE"),
        (["--set", "no.such.key=1"], "unknown key `no`"),
        (["--set", "duration=-1s"], "not a duration"),
        (["--pcap"], "--out"),
        (["--pcap", "--out", "made"], "capture = "),
        (["--pcap", "--out", "made", "--set", "capture=[]"], "capture = "),
        (["--set", "duration=1s", "--set", "duration = 2s"], "given twice"),
        (["--no-such-option"], "--no-such-option"),
    ],
)
def test_wrong_options(handfast: Command, tmp_path: Path, arguments: list[str], expected: str) -> None:
    assert expected in refused(handfast, tmp_path, "run", OUTAGE, *arguments)


def test_a_backend_that_is_not_there(handfast: Command, tmp_path: Path) -> None:
    assert "sim, lab" in refused(handfast, tmp_path, "compare", OUTAGE, "--backend", "field")


def test_results_go_nowhere_if_the_place_is_a_file(handfast: Command, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("mine")
    refused(handfast, tmp_path, "compare", OUTAGE, "--out", tmp_path / "taken" / "below")
    assert (tmp_path / "taken").read_text() == "mine"


@pytest.mark.parametrize("content", ["", "{", "[]", '{"schema": 2}', '{"schema": 1, "version": "1", "runs": [{}]}'])
def test_a_report_of_something_else(handfast: Command, tmp_path: Path, content: str) -> None:
    path = tmp_path / "result.json"
    path.write_text(content)
    assert "result.json" in refused(handfast, tmp_path, "report", path)


def test_a_mistake_in_the_last_value_of_a_sweep_costs_no_run(handfast: Command, tmp_path: Path) -> None:
    refused(handfast, tmp_path, "sweep", OUTAGE, "--set", "links.0.loss=0.01,wrong")
