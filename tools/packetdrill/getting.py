"""Where packetdrill comes from: its source, cloned and built. It is no part of this project (GPL-2.0)."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

SOURCE = "https://github.com/google/packetdrill"
COMMIT = "2c4001c4"
BELOW = Path("gtests/net/packetdrill")
"""Where the tool is in its source."""

HOW = f"""packetdrill is not here, and is no part of this project (GPL-2.0). Build it once, in about 20 s:
    apt-get install git make gcc bison flex
    python3 tools/packetdrill --get target/packetdrill
which is git clone {SOURCE}, git checkout {COMMIT}, ./configure and make packetdrill. Then say where it is:
    make packetdrill SCRIPTS=folder PACKETDRILL=target/packetdrill/{BELOW}/packetdrill"""


class Failed(Exception):
    """It cannot be had; the message is for people."""


def get(folder: Path, source: str = SOURCE, commit: str = COMMIT) -> Path:
    """Where the tool is, cloned and built in `folder` unless it is there. Raises [`Failed`]."""
    work = folder / BELOW
    tool = work / "packetdrill"
    if tool.exists():
        return tool
    absent = [name for name in ("git", "make", "gcc", "bison", "flex") if shutil.which(name) is None]
    if absent:
        raise Failed(f"{', '.join(absent)}: not found; apt-get install {' '.join(absent)}")
    if not folder.exists():
        _run(["git", "clone", "--quiet", source, str(folder)], Path.cwd())
    _run(["git", "checkout", "--quiet", commit], folder)
    _run(["./configure"], work)
    _run(["make", "packetdrill"], work)
    return tool


def _run(command: list[str], where: Path) -> None:
    # Nobody is there to say a password.
    environment = os.environ | {"GIT_TERMINAL_PROMPT": "0"}
    run = subprocess.run(command, cwd=where, env=environment, capture_output=True, text=True, check=False)
    if run.returncode:
        said = (run.stderr or run.stdout).strip().splitlines()[-3:]
        raise Failed("\n".join([f"`{' '.join(command)}` failed:", *said]))
