"""`handfast trace`: shown, drawn, imported."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from conftest import ROOT, Command
from handfast.errors import WRONG_INPUT

RECORDING = ROOT / "scenarios/traces/starlink-on-the-road.csv"


def test_what_is_drawn_is_shown(handfast: Command, tmp_path: Path) -> None:
    file = tmp_path / "home.csv"
    drawn = handfast("trace", "generate", "starlink", "--seed", "1", "--duration", "1min")
    file.write_text(drawn.stdout)
    assert drawn.stdout.startswith("time_s,rate_bps,delay_ms,loss\n0,")
    shown = handfast("trace", "show", file.name).stdout
    assert "length   60 s" in shown
    assert max(len(line) for line in shown.splitlines()) <= 80
    facts = json.loads(handfast("trace", "show", str(file), "--json").stdout)
    assert facts["length_s"] == 60
    assert facts["outages"] == 0


def test_a_known_recording_needs_no_columns(handfast: Command) -> None:
    done = handfast("trace", "import", str(RECORDING))
    lines = done.stdout.splitlines()
    assert lines[:2] == ["time_s,rate_bps", "0,101856000"]
    assert lines[-1].startswith("15,")
    assert "the longest of 4 parts" in done.stderr
    up = handfast("trace", "import", str(RECORDING), "--way", "up", "--part", "1").stdout.splitlines()
    assert up[0] == "time_s,rate_bps"
    assert up[1] != lines[1]


def test_columns_are_declared(handfast: Command, tmp_path: Path) -> None:
    file = tmp_path / "drive.csv"
    file.write_text("when,mbps,ping\n10,1,40\n11,2.5,50\n")
    done = handfast("trace", "import", str(file), "--time", "when:s", "--rate", "mbps:Mbit/s", "--rtt", "ping:ms")
    assert done.stdout == "time_s,rate_bps,delay_ms\n0,1000000,20\n1,2500000,25\n2,2500000,25\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["show", str(RECORDING)], "`handfast trace import` reads it"),
        (["import", str(ROOT / "README.md")], "declare its columns"),
        (["import", str(RECORDING), "--rate", "x"], "--time"),
        (["import", str(RECORDING), "--time", "x:h", "--rate", "y:bit/s"], "COLUMN:UNIT"),
        (["generate", "starlnk"], "did you mean 'starlink'"),
        (["generate", "train", "--duration", "5"], "a time such as"),
        (["show", "no-such-file"], "No such file"),
    ],
)
def test_errors_teach(handfast: Command, arguments: list[str], said: str) -> None:
    done = handfast("trace", *arguments)
    assert done.exit_code == WRONG_INPUT
    assert said in done.stderr


def test_a_trace_has_no_parts(handfast: Command, tmp_path: Path) -> None:
    (tmp_path / "cell.down").write_text("1\n3\n3\n")
    whole = handfast("trace", "import", "cell.down")
    assert whole.exit_code == 0
    refused = handfast("trace", "import", "cell.down", "--part", "1")
    assert refused.exit_code == WRONG_INPUT
    assert "`--part 1`" in refused.stderr
    assert "no parts" in refused.stderr
    assert not refused.stdout


LINK = """
duration = "2s"
flows = [{from = "cn", to = "mn"}]
[nodes]
cn = {kind = "host"}
mn = {kind = "host"}
[[links]]
between = ["cn", "mn"]
delay = "1ms"
trace = {file = "mine/cell.down"}
backward = {trace = {file = "../cell.down"}}
[schemes.linux]
sender = "linux"
"""


def test_a_result_can_be_run_again_from_its_folder(handfast: Command, tmp_path: Path) -> None:
    (tmp_path / "here" / "mine").mkdir(parents=True)
    (tmp_path / "here" / "mine" / "cell.down").write_text("1\n2\n3\n")
    (tmp_path / "cell.down").write_text("2\n4\n")
    (tmp_path / "here" / "base.toml").write_text(LINK)
    assert handfast("run", "here/base.toml", "--out", "made").exit_code == 0
    shutil.move(tmp_path / "made", tmp_path / "elsewhere")
    shutil.rmtree(tmp_path / "here")
    (tmp_path / "cell.down").unlink()
    again = handfast("run", "elsewhere/scenario.toml", "--json")
    assert again.exit_code == 0, again.stderr
    first = json.loads((tmp_path / "elsewhere" / "result.json").read_text())["runs"][0]
    assert json.loads(again.stdout)["runs"][0]["scenario_hash"] == first["scenario_hash"]


def test_a_trace_that_was_set_is_kept_too(handfast: Command, tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text(LINK.replace('"../cell.down"', '"mine/cell.down"'))
    (tmp_path / "mine").mkdir()
    for name in ("cell.down", "set.down"):
        (tmp_path / "mine" / name).write_text("1\n2\n")
    change = 'links.0.trace={file = "mine/set.down"}'
    done = handfast("run", "base.toml", "--set", change, "--out", "made")
    assert done.exit_code == 0, done.stderr
    kept = sorted(file.name for file in (tmp_path / "made" / "scenario-traces").iterdir())
    assert kept == ["cell.down", "set.down"]
    written = (tmp_path / "made" / "scenario.toml").read_text()
    assert '# --set links.0.trace={file = "scenario-traces/set.down"}' in written
