"""The files that a scenario's links follow, kept in a result directory: a result can be run again from there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from handfast import _handfast
from handfast.api import Scenario, parse
from handfast.errors import InputError
from handfast.store import write_whole

DIRECTORY = "scenario-traces"
"""Not `traces`: a folder of that name beside a result may be somebody's own."""

_PLAIN_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,10}")


def write(scenario: Scenario, path: Path) -> str | None:
    """Write a scenario to `path`, overrides as comments at its end, and what its links follow beside it.

    The warning that it cannot be run again from there, if it cannot: the text is then as it was.
    """
    as_it_was = _with_notes(scenario.text, scenario.overrides)
    if not scenario.core.trace_files:
        write_whole(path, as_it_was)
        return None
    paths = _keep(scenario, path.parent)
    overrides = tuple((key, _override(key, value, paths)) for key, value in scenario.overrides)
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
    paths: dict[str, str] = {}
    left = _handfast.LONGEST_TRACES
    for said in scenario.core.trace_files:
        # What cannot be kept has gone or changed since; the scenario's hash shows that.
        with suppress(OSError, ValueError, InputError):
            data = _read(Path(scenario.origin).parent / said, min(left, _handfast.LONGEST_TRACE))
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


def _renamed(text: str, paths: Mapping[str, str]) -> str:
    """A scenario's text with the new paths, and all else as it was."""
    try:
        document = tomlkit.parse(text)
    except TOMLKitError:
        # The core has read it; the scenario's hash shows that nothing was renamed.
        return text
    return tomlkit.dumps(document) if _rename(document, paths) else text


def _override(key: str, text: str, paths: Mapping[str, str]) -> str:
    """The text of `--set key=text` with the new paths."""
    value: Any = text
    # What is not TOML is a plain word.
    with suppress(TOMLKitError):
        value = tomlkit.parse(f"value ={text}")["value"]
    # `links.0.trace={file = …}` and `links.0.trace.file=…` are one.
    *_, outer, last = ["", *key.split(".")]
    around = {outer: {last: value}}
    return tomlkit.item(around[outer][last]).as_string() if _rename(around, paths) else text


def _rename(part: object, paths: Mapping[str, str]) -> bool:
    """Give each `file` of a table `trace` its new path; whether there was one."""
    named = [trace for trace in _traces(part) if isinstance(trace.get("file"), str) and trace["file"] in paths]
    for trace in named:
        trace["file"] = paths[trace["file"]]
    return bool(named)


def _traces(part: object) -> Iterator[dict[str, Any]]:
    """Each table `trace`, at any depth."""
    if isinstance(part, list):
        for one in part:
            yield from _traces(one)
    if isinstance(part, dict):
        trace = part.get("trace")
        if isinstance(trace, dict):
            yield trace
        for one in part.values():
            yield from _traces(one)
