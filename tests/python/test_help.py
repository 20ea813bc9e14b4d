"""`--help` of every command: what its author wrote is what the reader sees."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import typer.main
from rich.table import Table

from conftest import Command
from handfast.cli import app, console


def commands(command: Any, *words: str) -> Iterator[tuple[tuple[str, ...], Any]]:  # noqa: ANN401 (typer's own)
    """Every command and group, by the words that lead to it."""
    yield words, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, *words, name)


EVERY = dict(commands(typer.main.get_command(app)))


def test_every_command_is_looked_at() -> None:
    assert {(), ("compare",), ("peers", "eln"), ("lab", "relay")} <= set(EVERY)


@pytest.mark.parametrize("words", EVERY, ids=" ".join)
def test_nothing_in_brackets_vanishes(handfast: Command, words: tuple[str, ...]) -> None:
    command = EVERY[words]
    written = " ".join([command.help or "", *(getattr(param, "help", None) or "" for param in command.params)])
    shown = re.sub(r"[\s│]+", " ", handfast(*words, "--help").stdout)
    assert len(written) > 20
    assert [text for text in re.findall(r"\[[^\]]*\]", written) if text not in shown] == []


@pytest.mark.parametrize("words", EVERY, ids=" ".join)
def test_help_fits_80_columns(handfast: Command, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = handfast(*words, "--help").stdout
    assert max(map(len, shown.splitlines())) <= 80
    assert "…" not in shown


def test_brackets_in_results_are_text(capsys: pytest.CaptureFixture[str]) -> None:
    console.out().print(Table("[eln]", title="[bold]"))
    assert {"[eln]", "[bold]"} <= set(re.findall(r"\[\w+\]", capsys.readouterr().out))
