"""What can go wrong, told to people. Each class carries the exit code the command line ends with."""

from __future__ import annotations

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


class InputError(HandfastError):
    """A file, an option or a result that cannot be used as given."""


class MissingRequirementError(HandfastError):
    """Something this machine lacks; the text says how to get it."""


__all__ = [
    "DONE",
    "FAILED",
    "INTERRUPTED",
    "WRONG_INPUT",
    "HandfastError",
    "InputError",
    "MissingRequirementError",
    "ScenarioError",
]
