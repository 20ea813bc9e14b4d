"""`handfast trace`: shown, drawn, imported."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from conftest import ROOT, Command
from handfast import _handfast, api, bundle, followed
from handfast.errors import WRONG_INPUT, HandfastWarning

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
    kept = [file.name for file in (tmp_path / "made" / "scenario-traces").iterdir()]
    assert len(kept) == 1, "both hold the same"
    written = (tmp_path / "made" / "scenario.toml").read_text()
    assert f'# --set links.0.trace={{file = "scenario-traces/{kept[0]}"}}' in written
    first = json.loads((tmp_path / "made" / "result.json").read_text())["runs"][0]["scenario_hash"]
    change = f'links.0.trace={{file = "scenario-traces/{kept[0]}"}}'
    again = json.loads(handfast("run", "made/scenario.toml", "--set", change, "--json").stdout)
    assert again["runs"][0]["scenario_hash"] == first


def kept_as(folder: Path, text: str, overrides: dict[str, str] | None = None) -> tuple[str | None, str]:
    """The warning, and the text that is kept, of a scenario in `folder`."""
    scenario = api.parse(text, str(folder / "base.toml"), overrides or {})
    (folder / "made").mkdir()
    warning = followed.write(scenario, folder / "made" / "scenario.toml")
    return warning, (folder / "made" / "scenario.toml").read_text()


def same_again(folder: Path, text: str) -> None:
    warning, written = kept_as(folder, text)
    assert warning is None
    again = api.parse(written, str(folder / "made" / "scenario.toml"))
    assert again.hash == api.parse(text, str(folder / "base.toml")).hash


def test_files_of_equal_names_stay_several(tmp_path: Path) -> None:
    text = LINK
    for number, name in enumerate(["0/2-x", "a/x", "b/x", "mine/x", "scenario-traces/x", "scenario-traces/2-x"]):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"{number + 1}\n")
        text = text.replace(
            "[schemes",
            f"""[[links]]
between = ["cn", "mn"]
delay = "1ms"
trace.file = '{name}'
[schemes""",
        )
    (tmp_path / "mine" / "cell.down").write_text("7\n")
    same_again(tmp_path, text.replace("../cell.down", "mine/cell.down"))
    assert len(list((tmp_path / "made" / "scenario-traces").iterdir())) == 7


def test_only_what_names_a_file_is_renamed(tmp_path: Path) -> None:
    for name in ("cn", 'a"b', "file", "e-é"):
        (tmp_path / name).write_text(f"{len(name)}\n")
    text = LINK.replace('backward = {trace = {file = "../cell.down"}}', 'backward = {"trace" = {"file" = "c\\u006e"}}')
    text = (
        text.replace('"mine/cell.down"', "'''a\"b'''")
        + """
[[links]]
between = ["cn", "mn"]
delay = "1ms"
name = "file"  # file = "cn"
[links.trace]
file = \"\"\"\\
    e-\\u00e9\"\"\"
"""
    )
    same_again(tmp_path, text)
    written = (tmp_path / "made" / "scenario.toml").read_text()
    assert written.count('file = "scenario-traces/') == 2
    assert 'between = ["cn", "mn"]\ndelay = "1ms"\nname = "file"  # file = "cn"' in written


@pytest.mark.parametrize("what", ["absent", "/dev/zero", "fifo", "long"])
def test_a_file_that_is_not_followed_is_not_needed(tmp_path: Path, what: str) -> None:
    (tmp_path / "used").write_text("5\n")
    os.mkfifo(tmp_path / "fifo")
    with (tmp_path / "long").open("wb") as file:
        file.truncate(_handfast.LONGEST_TRACE + 1)
    text = LINK.replace("mine/cell.down", what).replace("../cell.down", "used")
    warning, written = kept_as(tmp_path, text, {"links.0.trace.file": "used"})
    assert warning is None
    assert f'trace = {{file = "{what}"}}' in written
    assert '# --set links.0.trace.file="scenario-traces/' in written
    assert len(list((tmp_path / "made" / "scenario-traces").iterdir())) == 1


def test_a_file_that_was_replaced_is_not_kept(tmp_path: Path) -> None:
    for name, octets in (("replaced", "5\n"), ("used", "7\n")):
        (tmp_path / name).write_text(octets)
    text = LINK.replace("mine/cell.down", "replaced").replace("../cell.down", "used")
    warning, written = kept_as(tmp_path, text, {"links.0.trace.file": "used"})
    assert warning is None
    assert 'trace = {file = "replaced"}' in written
    kept = [file.read_text() for file in (tmp_path / "made" / "scenario-traces").iterdir()]
    assert kept == ["7\n"]


def test_the_text_around_a_name_stays(tmp_path: Path) -> None:
    (tmp_path / "used").write_text("5\n")
    table = "# one\r\n[ links . trace ] # two\r\n  file\t= 'used'   # three\r\n"
    link = '[[links]]\nbetween = ["cn", "mn"]\ndelay = "1ms"\n' + table
    text = LINK.replace("mine/cell.down", "used").replace("../cell.down", "used").replace("[schemes", f"{link}[schemes")
    same_again(tmp_path, text)
    written = (tmp_path / "made" / "scenario.toml").read_bytes().decode()
    (kept,) = (tmp_path / "made" / "scenario-traces").iterdir()
    new = f'"scenario-traces/{kept.name}"'
    assert written == text.replace("'used'", new).replace('"used"', new)


def test_a_file_that_is_gone_takes_no_result_along(tmp_path: Path) -> None:
    (tmp_path / "used").write_text("5\n")
    text = LINK.replace("mine/cell.down", "used").replace("../cell.down", "used")
    scenario = api.parse(text, str(tmp_path / "base.toml"))
    result = scenario.run()
    for change, why in (("6\n", "changed since"), (None, "cannot be read")):
        if change is None:
            (tmp_path / "used").unlink()
        else:
            (tmp_path / "used").write_text(change)
        made = tmp_path / f"made-{change is None}"
        made.mkdir()
        with pytest.warns(HandfastWarning, match=why):
            bundle.write(made, scenario, [result])
        assert bundle.read(made).document.runs
        assert (made / "scenario.toml").read_text() == text
        assert not (made / "scenario-traces").exists()


def test_a_value_of_several_lines_is_a_comment(tmp_path: Path) -> None:
    (tmp_path / "used").write_text("5\n")
    text = LINK.replace("mine/cell.down", "used").replace("../cell.down", "used")
    warning, written = kept_as(tmp_path, text, {"links.0.trace": '{text = """5\n10\n"""}'})
    assert warning is None
    api.parse(written, str(tmp_path / "made" / "scenario.toml"))
    assert '# --set links.0.trace={text = """5\n# 10\n# """}' in written


def test_a_warning_is_a_line_beside_the_result(
    handfast: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "used").write_text("5\n")
    (tmp_path / "base.toml").write_text(LINK.replace("mine/cell.down", "used").replace("../cell.down", "used"))
    monkeypatch.setattr(_handfast, "LONGEST_TRACE", 1)
    done = handfast("run", "base.toml", "--out", "made")
    assert done.exit_code == 0, done.stderr
    assert "\nwarning: scenario.toml names the files" in "\n" + done.stderr
    assert bundle.read(tmp_path / "made").document.runs
