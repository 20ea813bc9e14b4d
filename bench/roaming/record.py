"""The file that a bench leaves: what it was told, on what machine, with which programs."""

from __future__ import annotations

import argparse
import platform
import subprocess
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from handfast import store
from handfast.lab import controller
from handfast.studies import roaming
from measure import ROOT, say

FOLDER = ROOT / roaming.FOLDER


def settings_of(options: argparse.Namespace, **more: float) -> Mapping[str, Any]:
    """What the file says of them."""
    return {**roaming.WIRE, "every_s": options.every, "congestion": options.congestion, **more}


def write(measured: roaming.Record[Any], folder: Path) -> None:
    """Leave a file, and say where."""
    store.write_whole(folder / measured.file, measured.document())
    say(f"written: {folder / measured.file}")


def kernel() -> str:
    """Of this machine."""
    return f"{platform.system()} {platform.release()}"


VERSION = {"ssh": "-V", "autossh": "-V", "ip": "-V"}
"""Where it is not `--version`."""


def versions(programs: Iterable[str]) -> Mapping[str, str]:
    """What each says of itself."""
    ours = {"handfastd": str(controller.daemon())}
    every = sorted({*programs, *ours})
    return {name: _version([ours.get(name, name), VERSION.get(name, "--version")]) for name in every}


def _version(command: Sequence[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    lines = [line.strip() for line in f"{done.stdout}\n{done.stderr}".splitlines() if line.strip()]
    said = "".join(filter(str.isprintable, lines[0])) if lines else ""
    return said[: roaming.LONGEST_WORD] or "unknown"


def quinn(lock: Path) -> str:
    """The version that the bench's QUIC is compiled with."""
    packages = tomllib.loads(lock.read_text())["package"]
    return next(str(one["version"]) for one in packages if one["name"] == "quinn")
