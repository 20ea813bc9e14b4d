"""The scenarios and papers that come with handfast: beside the installed package, or in the source tree."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from handfast.errors import InputError, unknown

_PACKAGE = Path(__file__).resolve().parent
# An editable install runs from python/handfast; a wheel puts what is shipped where it puts the package.
_PLACES = (_PACKAGE.parents[1], _PACKAGE.parent)


def scenarios() -> Iterator[Path]:
    """Every shipped scenario file, by name."""
    yield from _shipped("scenarios", "*.toml")


def papers() -> Iterator[Path]:
    """The folder of every paper that can be reproduced, by key."""
    yield from (claims.parent for claims in _shipped("papers", "*/claims.py"))


def file(name: str) -> Path:
    """A file that comes with handfast, by its path in the source tree: `papers/eln/radio.toml`."""
    found = next((place / name for place in _PLACES if (place / name).is_file()), None)
    if found is None:
        raise InputError(f"{name}: it should have come with handfast, and is not there")
    return found


def _shipped(folder: str, pattern: str) -> list[Path]:
    directory = next((place / folder for place in _PLACES if (place / folder).is_dir()), None)
    return sorted(directory.glob(pattern)) if directory is not None else []


def resolve(name: str) -> Path:
    """The file that `name` means: a path, or the name of a shipped scenario."""
    path = Path(name)
    if path.exists() or path.suffix or len(path.parts) != 1:
        return path
    shipped = {file.stem: file for file in scenarios()}
    if name not in shipped:
        raise unknown(f"{name}: no such file, and no shipped scenario", name, shipped)
    return shipped[name]
