"""Programs that run inside a namespace and end with whoever started them, however that ends."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from handfast.errors import MissingRequirementError
from handfast.lab import names

PATIENCE_S = 5.0
"""How long a program may take to end when it is told to."""


def find(program: str, package: str) -> str:
    """Where a program is; raises `MissingRequirementError` naming the package that has it."""
    # /usr/sbin is on no ordinary user's path.
    if path := shutil.which(program) or shutil.which(program, path="/usr/sbin:/sbin"):
        return path
    raise MissingRequirementError(f"`{program}` is missing: {package}")


def inside(namespace: str, command: Sequence[str]) -> list[str]:
    """The command that runs `command` in a namespace, and has it killed when the thread that starts it is gone."""
    space = f"--net={names.DIRECTORY / namespace}"
    return [find("nsenter", "apt-get install util-linux"), space, "setpriv", "--pdeathsig", "KILL", "--", *command]


@contextmanager
def running(
    namespace: str, command: Sequence[str], *, log: Path, environment: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """A program in a namespace, there as long as the block lasts; what it prints goes to `log`.

    The thread that enters the block must outlive it.
    """
    with log.open("ab") as output:
        process = subprocess.Popen(  # noqa: S603 (the command is ours)
            inside(namespace, command), stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def last_words(log: Path, lines: int = 5) -> str:
    """The end of what a program printed."""
    text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    return " / ".join(text.splitlines()[-lines:]) or "it printed nothing"
