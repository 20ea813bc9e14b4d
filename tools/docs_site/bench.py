"""A page for each command of `handfast`, from what typer knows of it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

import typer
from rich.text import Text

from handfast.cli import app

_KEPT = "\ue000"
"""Stands for the backspace before paragraphs that click does not rewrap: commands."""


def pages() -> dict[str, str]:
    """The page of each command by its name: `handfast compare`."""
    return {name: _page(name, command) for name, command in _commands("handfast", typer.main.get_command(app))}


# The classes of commands are click's, of which typer carries an untyped copy.
def _commands(name: str, command: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401
    if not command.hidden:
        yield name, command
        for word, part in getattr(command, "commands", {}).items():
            yield from _commands(f"{name} {word}", part)


def _page(name: str, command: Any) -> str:  # noqa: ANN401
    summary, _, rest = _text(command.help).partition("\n\n")
    pieces = command.collect_usage_pieces(command.make_context(name, [], resilient_parsing=True))
    parts = [f"# {name}", summary.replace("\n", " "), f"```text\n{' '.join([name, *pieces])}\n```", *_body(rest)]
    parts += _listing("Commands", [f"`{name} {word}`: {_first(part)}" for word, part in _parts(command)])
    for heading, kind in (("Arguments", "argument"), ("Options", "option")):
        known = [found for found in command.params if found.param_type_name == kind and not found.hidden]
        parts += _listing(heading, [_parameter(found) for found in known])
    return "\n\n".join(parts) + "\n"


def _parts(command: Any) -> list[tuple[str, Any]]:  # noqa: ANN401
    return [(word, part) for word, part in getattr(command, "commands", {}).items() if not part.hidden]


def _first(command: Any) -> str:  # noqa: ANN401
    return _text(command.help).partition("\n\n")[0].replace("\n", " ")


def _listing(heading: str, lines: list[str]) -> list[str]:
    return [f"## {heading}", "\n".join(f"- {line}" for line in lines)] if lines else []


def _body(text: str) -> Iterator[str]:
    """Paragraphs; those that click is told not to rewrap are commands."""
    for paragraph in filter(None, text.split("\n\n")):
        kept = paragraph.lstrip("\n").startswith(_KEPT)
        yield f"```text\n{paragraph.strip().removeprefix(_KEPT).strip()}\n```" if kept else paragraph


def _parameter(known: Any) -> str:  # noqa: ANN401
    if known.param_type_name == "argument":
        names = f"`{known.metavar or known.name.upper()}`"
    else:
        value = "" if known.is_flag else f" {known.metavar or known.name.upper()}"
        opts: list[str] = [*known.opts, *known.secondary_opts]
        names = ", ".join([f"`{opts[0]}{value}`", *(f"`{other}`" for other in opts[1:])])
    told = " ".join(_text(known.help).split())
    default = f" Default: `{known.default}`." if getattr(known, "show_default", False) and _says(known.default) else ""
    return f"{names}: {told}{default}"


def _says(default: object) -> bool:
    return default is not None and not callable(default) and not isinstance(default, bool) and default != ()


def _text(told: str | None) -> str:
    """Help without the marks of its colours; rich would drop the mark of kept lines, too."""
    return Text.from_markup(textwrap.dedent(told or "").replace("\b", _KEPT)).plain
