"""`handfast trace`: shown, drawn, imported."""

from __future__ import annotations

import json
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
