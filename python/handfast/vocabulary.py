"""What there is to start from: shipped scenarios, TCP profiles, agents, queue disciplines, papers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from handfast import _handfast, shipped
from handfast.api import load


@dataclass(frozen=True, slots=True)
class Word:
    """Something that has a name in scenario files or on the command line."""

    name: str
    description: str
    """One line about it."""


@dataclass(frozen=True, slots=True)
class Shipped:
    """A scenario that comes with handfast."""

    name: str
    path: Path
    description: str
    schemes: list[str]
    """The names of its schemes, in file order."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """All of it."""

    scenarios: list[Shipped]
    profiles: list[Word]
    """The TCPs that a scheme's `sender` and `receiver` name."""
    agents: list[Word]
    """The kinds of help in the path."""
    disciplines: list[Word]
    """The disciplines that a link's `queue` names."""
    papers: list[Word]
    """What `handfast reproduce` takes."""


def vocabulary() -> Vocabulary:
    """Look it all up."""
    from handfast.studies import reproduce

    loaded = [(path, load(path)) for path in shipped.scenarios()]
    return Vocabulary(
        [Shipped(path.stem, path, one.description, one.schemes) for path, one in loaded],
        [Word(*profile) for profile in _handfast.profiles()],
        [Word(*agent) for agent in _handfast.agents()],
        [Word(*discipline) for discipline in _handfast.disciplines()],
        [Word(key, reproduce.load(key).claims.title) for key in reproduce.known()],
    )
