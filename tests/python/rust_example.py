"""Runs an example of handfast-wire: how tests in Python reach the parsers and emitters."""

import shutil
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]


def run(example: str, lines: list[str] | None = None) -> bytes:
    """What the example writes to standard output when it reads these lines."""
    cargo = shutil.which("cargo")
    if cargo is None:
        pytest.skip("cargo is not installed")
    done = subprocess.run(
        # Without `-p`: of all packages together, so that what `cargo test` has compiled is used.
        [cargo, "run", "-q", "--example", example],
        input="".join(f"{line}\n" for line in lines or []).encode(),
        cwd=REPOSITORY,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout
