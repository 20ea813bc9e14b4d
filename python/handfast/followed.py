"""The files that a scenario's links follow, kept in a result directory: a result can be run again from there."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from handfast import _handfast
from handfast.api import Scenario, parse
from handfast.errors import InputError
from handfast.store import write_whole

DIRECTORY = "scenario-traces"
"""Not `traces`: a folder of that name beside a result may be somebody's own."""

LONGEST = 32 << 20
"""The most bytes of a file that a link may follow."""
LONGEST_TOGETHER = 4 * LONGEST
"""The most bytes of all that a scenario follows."""

# TOML v1.0.0, "Comment" and "String": strings of several lines come first, and may end in five quotes.
# A string is a value where its key's `=` is on its line.
_TOKEN = re.compile(
    r"""(?P<equals>=[ \t]*+)?(?P<string>"{3}(?:[^"\\]|\\.|"{1,2}(?!"))*+"{3,5}"""
    r"""|'{3}(?:[^']|'{1,2}(?!'))*+'{3,5}"""
    r"""|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')|\#[^\n]*""",
    re.DOTALL,
)
_PLAIN_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,10}")


def write(scenario: Scenario, path: Path) -> str | None:
    """Write a scenario to `path`, overrides as comments at its end, and what its links follow beside it.

    The warning that it cannot be run again from there, if it cannot: the text is then as it was.
    """
    as_it_was = _with_notes(scenario.text, scenario.overrides)
    if "trace" not in as_it_was:
        write_whole(path, as_it_was)
        return None
    paths = _keep(scenario, path.parent)
    overrides = tuple((key, _renamed(value, paths, key)) for key, value in scenario.overrides)
    text = _with_notes(_renamed(scenario.text, paths), overrides)
    warning = _differs(text, path, overrides, scenario.hash)
    if warning is not None:
        _drop(path.parent, paths)
    write_whole(path, as_it_was if warning is not None else text)
    return warning


def _with_notes(text: str, overrides: tuple[tuple[str, str], ...]) -> str:
    # A value of several lines is as many comments.
    notes = [f"# {line}" for path, value in overrides for line in f"--set {path}={value}".splitlines()]
    return "\n".join([text.rstrip(), *(["", "# Replaced for this run:"] if notes else []), *notes, ""])


def _differs(text: str, path: Path, overrides: tuple[tuple[str, str], ...], expected: str) -> str | None:
    """Whether the text is another scenario than the one that ran, and why."""
    try:
        if parse(text, str(path), overrides).hash == expected:
            return None
        why = "a file that its links follow has changed since, or cannot be named there"
    except _handfast.ScenarioError as error:
        why = str(error).partition("\n")[0].removeprefix("error: ")
    return f"{path.name} names the files that its links follow where they were: {why}"


def _keep(scenario: Scenario, directory: Path) -> dict[str, str]:
    """Copy what can be kept into `directory`; the new path of each file, by the one that the scenario has."""
    parts = [("", scenario.text), *scenario.overrides]
    paths: dict[str, str] = {}
    left = LONGEST_TOGETHER
    for said in sorted({place.said for key, text in parts for place in _places(text, key)}):
        # What cannot be kept is no loss unless a link follows it; the scenario's hash shows that.
        with suppress(OSError, ValueError, InputError):
            data = _read(Path(scenario.origin).parent / said, min(left, LONGEST))
            left -= len(data)
            new = f"{DIRECTORY}/{_name(said, data)}"
            write_whole(directory / new, data)
            paths[said] = new
    return paths


def _drop(directory: Path, paths: Mapping[str, str]) -> None:
    for new in paths.values():
        (directory / new).unlink(missing_ok=True)
    with suppress(OSError):
        (directory / DIRECTORY).rmdir()


def _read(path: Path, most: int) -> bytes:
    """What a file holds: no device, and not more than `most` bytes."""
    if not path.is_file():
        raise InputError(f"{path}: no file")
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise InputError(f"{path}: longer than a trace may be")
    return data


def _name(said: str, data: bytes) -> str:
    """By the content: files of one name stay several, and a result of a result keeps the names."""
    suffix = Path(said).suffix
    return sha256(data).hexdigest()[:32] + (suffix if _PLAIN_SUFFIX.fullmatch(suffix) else "")


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a text names a file that a link follows."""

    start: int
    end: int
    said: str


def _renamed(text: str, paths: Mapping[str, str], key: str = "") -> str:
    """A text with the new paths; `key` is the path of an override whose value the text is."""
    parts, at = [], 0
    for place in _places(text, key):
        if place.said in paths:
            parts += [text[at : place.start], f'"{paths[place.said]}"']
            at = place.end
    return "".join([*parts, text[at:]])


def _places(text: str, key: str = "") -> list[_Place]:
    """Where a TOML text has the value of `file` in a table `trace`, in its order."""
    head = "value =" if key else ""
    try:
        return [_Place(start - len(head), end - len(head), said) for start, end, said in _found(head + text, key)]
    except ValueError:
        # What is not TOML is a plain word where it is a value.
        return [_Place(0, len(text), text)] if key.endswith("trace.file") else []


def _found(text: str, key: str) -> Iterator[tuple[int, int, str]]:
    """A parser says which strings are meant: each value that is one has a number in the text that it is given."""
    strings = [found for found in _TOKEN.finditer(text) if found["equals"] and found["string"]]
    parts, at = [], 0
    for number, found in enumerate(strings):
        parts += [text[at : found.start("string")], f'"{number}"']
        at = found.end()
    table: Any = tomllib.loads("".join([*parts, text[at:]]))
    if key:
        table = table["value"]
        for step in reversed(key.split(".")):
            table = {step: table}
    for number in sorted(map(int, _files(table))):
        found = strings[number]
        yield *found.span("string"), tomllib.loads(f"value = {found['string']}")["value"]


def _files(part: object) -> Iterator[str]:
    """The value of `file` in each table `trace`, at any depth."""
    if isinstance(part, list):
        for one in part:
            yield from _files(one)
    if isinstance(part, dict):
        trace = part.get("trace")
        if isinstance(trace, dict) and isinstance(trace.get("file"), str):
            yield trace["file"]
        for one in part.values():
            yield from _files(one)
