"""A page for each subcommand of `handfastd`, from its `--help`."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path


def pages(binary: Path) -> dict[str, str]:
    """The page of each command by its name: `handfastd controller`."""
    return _pages(binary, ())


def _pages(binary: Path, words: tuple[str, ...]) -> dict[str, str]:
    told = _help(binary, words)
    name = " ".join(("handfastd", *words))
    made = {name: _page(name, told)}
    for word in _subcommands(told):
        made |= _pages(binary, (*words, word))
    return made


def _help(binary: Path, words: tuple[str, ...]) -> str:
    return subprocess.run([binary, *words, "--help"], capture_output=True, text=True, check=True).stdout


def _page(name: str, told: str) -> str:
    summary, _, rest = told.partition("\n\n")
    return f"# {name}\n\n{summary.strip()}.\n\n```text\n{rest.rstrip()}\n```\n"


def _subcommands(told: str) -> list[str]:
    """The words of clap's list of commands, without its own `help`."""
    block = re.search(r"^Commands:\n((?:  .*\n)+)", told, re.MULTILINE)
    words = re.findall(r"^  (\S+)", block[1], re.MULTILINE) if block else []
    return [word for word in words if word != "help"]
