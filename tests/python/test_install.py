"""A wheel in an empty environment: it needs no compiler, and brings the scenarios and the papers."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from conftest import ROOT

MATURIN = Path(sys.executable).with_name("maturin")


def run(words: Sequence[str | Path], cwd: Path, **environment: str) -> str:
    """A command that has to succeed; its output."""
    done = subprocess.run(
        words, cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.mark.skipif(not MATURIN.exists(), reason="maturin is not in this environment: make .venv/.dev")
def test_a_wheel_in_an_empty_environment_runs_the_demo(tmp_path: Path) -> None:
    # Compiled as `make build` has compiled it: what is left to do is to link.
    run(
        [MATURIN, "build", "--profile", "wheel", "--compatibility", "linux", "--out", tmp_path / "dist"],
        ROOT,
        VIRTUAL_ENV=str(MATURIN.parents[1]),
    )
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    assert "-cp311-abi3-" in wheel.name
    run([sys.executable, "-m", "venv", tmp_path / "empty"], tmp_path)
    binaries = tmp_path / "empty" / "bin"
    # Nothing but the environment: no compiler, no cargo.
    path = {"PATH": str(binaries), "VIRTUAL_ENV": str(tmp_path / "empty")}
    pip: list[str | Path] = [
        binaries / "python",
        "-m",
        "pip",
        "--disable-pip-version-check",
        "install",
        "--quiet",
        "--only-binary=:all:",
    ]
    run([*pip, wheel], tmp_path, **path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    printed = run([binaries / "handfast", "compare", "wifi-roam", "--seeds", "1"], elsewhere, **path)
    assert "spurious" in printed
    assert (elsewhere / "out" / "wifi-roam" / "report.html").stat().st_size > 100_000
    assert "wifi-outage" in run([binaries / "handfast", "list"], elsewhere, **path)
    assert "sdn-7a" in run([binaries / "handfast", "reproduce"], elsewhere, **path)
