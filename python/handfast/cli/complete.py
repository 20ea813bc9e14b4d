"""What the shell offers when Tab is pressed. It asks often, so this looks up names only, and stays silent on errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import typer

from handfast import _handfast, shipped
from handfast.errors import HandfastError, ScenarioError
from handfast.results import BACKENDS

FOLDERS_END = "/"


def scenarios(incomplete: str) -> list[str]:
    """Shipped names, and scenario files and folders below where the user is."""
    names = [path.stem for path in shipped.scenarios()]
    return _beginning(incomplete, [*names, *_files(incomplete)])


def schemes(ctx: typer.Context, incomplete: str) -> list[str]:
    """One scheme: of the scenario that was named, or a profile."""
    return _beginning(incomplete, _schemes(ctx))


def several_schemes(ctx: typer.Context, incomplete: str) -> list[str]:
    """A,B: the last of a list."""
    return _last(incomplete, _schemes(ctx))


def backends(incomplete: str) -> list[str]:
    """A,B."""
    return _last(incomplete, BACKENDS)


def claims(incomplete: str) -> list[str]:
    """KEY, or KEY/ID once a paper is named."""
    from handfast.studies import reproduce

    key, slash, _ = incomplete.partition("/")
    if not slash:
        return _beginning(incomplete, reproduce.known())
    with suppress(HandfastError):
        known = reproduce.load(key).claims.all
        return _beginning(incomplete, [f"{key}/{claim.id.removeprefix(f'{key}-')}" for claim in known])
    return []


def _schemes(ctx: typer.Context) -> list[str]:
    from handfast import api

    profiles = [name for name, _ in _handfast.profiles()]
    # While an option lacks its value, what stands before it is not assigned yet.
    named = next((word for word in (ctx.params.get("scenario"), *ctx.args) if isinstance(word, str)), None)
    if named is not None:
        with suppress(HandfastError, ScenarioError):
            return list(dict.fromkeys([*api.load(shipped.resolve(named)).schemes, *profiles]))
    return profiles


def _files(incomplete: str) -> Iterator[str]:
    folder, _, _ = incomplete.rpartition(FOLDERS_END)
    before = folder + FOLDERS_END if FOLDERS_END in incomplete else ""
    with suppress(OSError):
        for path in sorted(Path(before or ".").iterdir()):
            if path.is_dir() and not path.name.startswith("."):
                yield f"{before}{path.name}{FOLDERS_END}"
            elif path.suffix == ".toml":
                yield f"{before}{path.name}"


def _last(incomplete: str, names: Iterable[str]) -> list[str]:
    before, comma, last = incomplete.rpartition(",")
    taken = before.split(",")
    return [f"{before}{comma}{name}" for name in names if name.startswith(last) and name not in taken]


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
