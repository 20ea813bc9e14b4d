"""What can go wrong, told to people. Each class carries the exit code the command line ends with."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from handfast._handfast import ScenarioError

DONE = 0
"""Exit code: done."""
FAILED = 1
"""Exit code: a claim or a comparison failed."""
WRONG_INPUT = 2
"""Exit code: wrong input, or a requirement is missing."""
INTERRUPTED = 130
"""Exit code: interrupted, as a shell reports SIGINT."""


class HandfastError(Exception):
    """Base of what this package raises itself; the text is for the user, one line or a few."""

    exit_code = WRONG_INPUT


class HandfastWarning(UserWarning):
    """Something that the user should know, and that takes nothing from the result."""


class InputError(HandfastError):
    """A file, an option or a result that cannot be used as given."""


class MissingRequirementError(HandfastError):
    """Something this machine lacks; the text says how to get it."""


def unknown(said: str, name: str, known: Iterable[str]) -> InputError:
    """What is `said` of a name that is not among the `known` ones, with the nearest of these, and all of them."""
    names = list(known)
    near = get_close_matches(name, names, n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    return InputError(f"{said}{hint}; there are: {', '.join(names) or 'none'}")


def refuse_unknown(
    names: Iterable[str], known: Iterable[str], what: str, *, has: str = "there is", more: str = ""
) -> None:
    """Raise for the first of `names` that is not `known`: "there is no WHAT 'x'MORE; there are: …"."""
    every = list(known)
    for name in names:
        if name not in every:
            raise unknown(f"{has} no {what} {name!r}{more}", name, every)


__all__ = [
    "DONE",
    "FAILED",
    "INTERRUPTED",
    "WRONG_INPUT",
    "HandfastError",
    "InputError",
    "MissingRequirementError",
    "ScenarioError",
    "refuse_unknown",
    "unknown",
]
