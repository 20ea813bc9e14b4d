"""Certificates, made as the documentation says."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

from conftest import ROOT

_PAGE = ROOT / "docs" / "reference" / "handfastd.md"
AUTHORITY = "authority.pem"


def authority(folder: Path) -> None:
    """An authority of this folder's own."""
    first, _ = _commands()
    _run(first, folder)


def certificate(folder: Path, name: str) -> None:
    """A certificate for one end, by the authority that is there: NAME.pem and NAME.key."""
    _, second = _commands()
    _run([word.replace("NAME", name) for word in second], folder)


def table(folder: Path, name: str) -> str:
    """The table of a configuration, inline."""
    return f'{{certificate = "{folder / name}.pem", key = "{folder / name}.key", authorities = "{folder / AUTHORITY}"}}'


def _commands() -> list[list[str]]:
    found = re.search(r"<!-- authority -->\n(.*?)<!-- end -->", _PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    # shlex knows no lines that go on.
    return [["openssl", *shlex.split(command)] for command in found[1].replace("\\\n", "").split("openssl ")[1:]]


def _run(command: list[str], folder: Path) -> None:
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
