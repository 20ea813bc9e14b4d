"""Values for a scenario, as a program has them, written as they would stand in the file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

Overrides = Mapping[str, object] | Sequence[tuple[str, object]]
"""Values that replace the file's, by path: `{"links.radio.loss": 0.01}`. A text stands as it is: `"20ms"`."""


def pairs(overrides: Overrides) -> tuple[tuple[str, str], ...]:
    """Each path with its value as the file would have it."""
    given = overrides.items() if isinstance(overrides, Mapping) else overrides
    return tuple((path, written(value)) for path, value in given)


def written(value: object) -> str:
    """A value as TOML; a text is one already."""
    return value if isinstance(value, str) else _toml(value)


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {_quoted(one)}" for key, one in value.items()) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(map(_quoted, value)) + "]"
    return str(value)


def _quoted(value: object) -> str:
    # A TOML basic string and a JSON string are the same for what scenarios hold.
    return json.dumps(value) if isinstance(value, str) else _toml(value)
