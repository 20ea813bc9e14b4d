"""Completion: what a shell gets when Tab is pressed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import SCHEMES

COMMAND = Path(sys.executable).parent / "handfast"
BASH = shutil.which("bash")


def completed(folder: Path, line: str) -> list[str]:
    """What bash is offered for the last word of `line`."""
    words = line.split(" ")
    asked = {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1), "_HANDFAST_COMPLETE": "complete_bash"}
    done = subprocess.run(
        [COMMAND], env={**os.environ, **asked}, cwd=folder, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stderr == ""
    return [line for line in done.stdout.splitlines() if line]


def test_commands_and_options(tmp_path: Path) -> None:
    assert completed(tmp_path, "handfast co") == ["compare", "common"]
    assert completed(tmp_path, "handfast peers q") == ["quick-start"]
    assert "--seeds" in completed(tmp_path, "handfast compare wifi-outage --se")


def test_scenarios_and_files(tmp_path: Path) -> None:
    (tmp_path / "wifi-mine.toml").touch()
    (tmp_path / "wifi-folder").mkdir()
    (tmp_path / "wifi-folder" / "deep.toml").touch()
    (tmp_path / "wifi-notes.txt").touch()
    assert completed(tmp_path, "handfast run wifi-o") == ["wifi-outage"]
    assert {"wifi-mine.toml", "wifi-folder/"} <= set(completed(tmp_path, "handfast run wifi-"))
    assert "wifi-notes.txt" not in completed(tmp_path, "handfast run wifi-")
    assert completed(tmp_path, "handfast run wifi-folder/") == ["wifi-folder/deep.toml"]


def test_schemes_of_the_scenario_and_profiles(tmp_path: Path) -> None:
    assert completed(tmp_path, "handfast run wifi-roam --scheme sp") == ["spurious"]
    assert completed(tmp_path, "handfast run wifi-outage --scheme sp") == []
    assert {*SCHEMES, "linux"} <= set(completed(tmp_path, "handfast compare wifi-outage --schemes "))
    assert completed(tmp_path, "handfast compare wifi-roam --schemes bare,sp") == ["bare,spurious"]
    assert completed(tmp_path, "handfast compare no-such --schemes cub") == ["cubic"]
    assert completed(tmp_path, "handfast compare wifi-roam --backend sim,") == ["sim,lab"]


def test_claims(tmp_path: Path) -> None:
    assert completed(tmp_path, "handfast reproduce s") == ["sdn", "sdtp"]
    assert completed(tmp_path, "handfast reproduce sdn/7") == ["sdn/7a", "sdn/7bc", "sdn/7d"]
    assert completed(tmp_path, "handfast reproduce nothing/") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script(shell: str) -> None:
    asked = {**os.environ, "_HANDFAST_COMPLETE": f"source_{shell}"}
    done = subprocess.run([COMMAND], env=asked, capture_output=True, text=True, check=True, timeout=60)
    assert f"complete_{shell}" in done.stdout
    if path := shutil.which(shell):
        subprocess.run([path, "-n"], input=done.stdout, text=True, check=True, timeout=60)


@pytest.mark.skipif(BASH is None, reason="bash is not installed")
def test_bash_completes_with_the_script() -> None:
    assert BASH is not None
    script = """
        source <(handfast --show-completion)
        complete -p handfast
        COMP_WORDS=(handfast run wifi-o) COMP_CWORD=2
        _handfast_completion handfast
        printf '%s\n' "${COMPREPLY[@]}"
    """
    path = f"{COMMAND.parent}:{os.environ['PATH']}"
    done = subprocess.run(
        [BASH, "--norc", "-c", script],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.splitlines()[0].startswith("complete ")
    assert done.stdout.splitlines()[1:] == ["wifi-outage"]
