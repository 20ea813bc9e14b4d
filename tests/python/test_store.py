"""What is written is whole or absent, and what others have left goes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import handfast as hf
from conftest import OUTAGE, Command
from handfast.store import STAGING, staged

SHORT = ("--set", "duration=11s")
FULL_DISK = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))"


def command(*arguments: str | Path, first: str = "") -> subprocess.Popen[str]:
    """The command line in a process of its own; `first` is done before."""
    code = f"{first}\nfrom handfast.cli import main\nmain()"
    words = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_full_disk_is_a_message_and_leaves_nothing(tmp_path: Path) -> None:
    out = tmp_path / "d"
    limited = f"import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n{FULL_DISK}"
    process = command("compare", OUTAGE, "--out", out, first=limited)
    said = process.communicate()[1]
    assert process.returncode == 2, said
    assert "Traceback" not in said
    assert "File too large" in said
    assert not out.exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_output_that_cannot_be_written_is_a_message() -> None:
    with Path("/dev/full").open("w") as full:
        words = [sys.executable, "-m", "handfast", "schema"]
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False), done.stderr
    assert "No space left" in done.stderr


def test_sigterm_tidies_up_as_ctrl_c_does(tmp_path: Path) -> None:
    out = tmp_path / "d"
    process = command("run", OUTAGE, "--set", "duration=100000s", "--out", out)
    while not list(out.glob(f"{STAGING}*")):
        assert process.poll() is None, process.communicate()
    process.send_signal(signal.SIGTERM)
    said = process.communicate()[1]
    assert (process.returncode, "Traceback" in said) == (130, False), said
    assert not out.exists()


def test_what_a_killed_process_has_left_goes(tmp_path: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    abandoned = tmp_path / f"{STAGING}{gone.pid}-x"
    busy = tmp_path / f"{STAGING}{os.getpid()}-x"
    strange = tmp_path / f"{STAGING}mine-x"
    for folder in (abandoned, busy, strange):
        folder.mkdir()
    with staged(tmp_path):
        pass
    assert [folder.exists() for folder in (abandoned, busy, strange)] == [False, True, True]


def test_an_older_result_leaves_nothing_beside_a_newer(handfast: Command, tmp_path: Path) -> None:
    out = tmp_path / "d"
    captured = ("--set", 'capture = ["phone"]', "--pcap")
    assert handfast("run", OUTAGE, *SHORT, *captured, "--scheme", "sack", "--out", out).exit_code == 0
    assert (out / "captures" / "sack-1").is_dir()
    (out / "notes.txt").write_text("mine")
    assert handfast("run", OUTAGE, *SHORT, "--scheme", "cubic", "--out", out, "--force").exit_code == 0
    assert not (out / "captures").exists()
    assert all("sack" not in series.name for series in (out / "series").iterdir())
    assert (out / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("aggregate", "goodput_bps"), "fast"),
        (("aggregate", "timeouts"), True),
        (("scheme",), 7),
        (("seed",), "one"),
        (("handovers", 0, "down_s"), None),
        (("flows", 0, "flow"), ["download"]),
    ],
)
def test_a_result_of_wrong_types_is_refused(
    handfast: Command, tmp_path: Path, path: tuple[str | int, ...], value: object
) -> None:
    result = hf.load(OUTAGE, [("duration", "11s")]).run("sack")
    document = json.loads(hf.document([result]))
    place = document["runs"][0]
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    file = tmp_path / "result.json"
    file.write_text(json.dumps(document))
    done = handfast("report", file)
    assert done.exit_code == 2
    assert str(file) in done.stderr
    assert str(path[-1]) in done.stderr
    assert list(tmp_path.iterdir()) == [file]


def test_a_file_without_schemes_is_for_profiles_only(handfast: Command, tmp_path: Path) -> None:
    text = OUTAGE.read_text().partition("[schemes")[0]
    bare = tmp_path / "bare.toml"
    bare.write_text(text)
    for words in (("run", bare), ("compare", bare), ("sweep", bare, "--set", "duration=11s,12s")):
        done = handfast(*words, "--json")
        assert (done.exit_code, done.stdout) == (2, ""), words
        assert "[schemes.sack]" in done.stderr
    with pytest.raises(hf.InputError):
        hf.load(bare).run()
    assert handfast("run", bare, *SHORT, "--scheme", "sack", "--json").exit_code == 0
    assert list(tmp_path.iterdir()) == [bare]
