"""The files that a scenario's links follow, kept in a result directory: a result can be run again from there."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

from handfast.api import Scenario
from handfast.errors import InputError
from handfast.store import write_whole

DIRECTORY = "scenario-traces"
"""Not `traces`: a folder of that name beside a result may be somebody's own."""


def keep(scenario: Scenario, directory: Path) -> dict[str, str]:
    """Copy what its links follow into `directory`; the new path of each file, by the one that the scenario has."""
    folder = Path(scenario.origin).parent
    paths: dict[str, str] = {}
    for said in sorted(set(_files(scenario))):
        name = Path(said).name
        # Two files of one name stay two.
        new = (
            f"{DIRECTORY}/{name}" if f"{DIRECTORY}/{name}" not in paths.values() else f"{DIRECTORY}/{len(paths)}-{name}"
        )
        try:
            write_whole(directory / new, (folder / said).read_bytes())
        except OSError as error:
            raise InputError(f"the trace {folder / said}, which has just been followed: {error.strerror}") from error
        paths[said] = new
    return paths


def renamed(text: str, paths: dict[str, str]) -> str:
    """A scenario's text with the new paths: each is a whole string of it."""
    for said, new in paths.items():
        text = text.replace(f'"{said}"', f'"{new}"').replace(f"'{said}'", f'"{new}"')
    return text


def _files(scenario: Scenario) -> Iterator[str]:
    yield from _of(tomllib.loads(scenario.text))
    for path, value in scenario.overrides:
        if path.endswith(".trace.file"):
            yield value.strip("\"'")
        else:
            yield from _of_value(path, value)


def _of_value(path: str, value: str) -> Iterator[str]:
    try:
        yield from _of({path.rpartition(".")[2]: tomllib.loads(f"value = {value}")["value"]})
    except tomllib.TOMLDecodeError:
        # A plain word.
        return


def _of(part: object) -> Iterator[str]:
    """The value of `file` in each table `trace`, at any depth."""
    if isinstance(part, list):
        for one in part:
            yield from _of(one)
    if isinstance(part, dict):
        trace = part.get("trace")
        if isinstance(trace, dict) and isinstance(trace.get("file"), str):
            yield trace["file"]
        for one in part.values():
            yield from _of(one)
