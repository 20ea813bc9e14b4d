"""Names of namespaces. They say which process made them, so that nothing needs to be written down anywhere else."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

PREFIX = "handfast"
"""How the name of every namespace of ours begins."""
DIRECTORY = Path("/run/netns")
"""Where names are mounted, as `ip netns` has it."""
SCRATCH = Path("/run/handfast")
"""Files of the programs in a namespace: sockets, a switch's database, logs. In a folder named as the namespace is."""
_PATTERN = re.compile(rf"{PREFIX}\.(\d{{1,10}})\.(\d{{1,20}})\.(\d{{1,9}})\.(.+)")
_START_TIME_FIELD = 22
"""`starttime` in proc_pid_stat(5): with the number it names a process for as long as the machine is up."""


@dataclass(frozen=True, slots=True)
class Namespace:
    """One namespace of ours."""

    pid: int
    """The process that made it."""
    started: int
    """When that process started, clock ticks since the machine did."""
    run: int
    """Which run of that process it belongs to."""
    label: str
    """What it is there."""

    @classmethod
    def parse(cls, name: str) -> Self | None:
        """Read a name; None: it is not one of ours."""
        found = _PATTERN.fullmatch(name)
        return cls(int(found[1]), int(found[2]), int(found[3]), found[4]) if found else None

    @property
    def name(self) -> str:
        """Its name."""
        return f"{PREFIX}.{self.pid}.{self.started}.{self.run}.{self.label}"

    @property
    def is_orphan(self) -> bool:
        """Whether the process that made it is gone."""
        return _started(self.pid) != self.started


def mine(run: int, index: int, node: str) -> Namespace:
    """The namespace of this process for a node: its number keeps it apart, its name is for people."""
    pid = os.getpid()
    readable = re.sub(r"[^\w-]", "_", node, flags=re.ASCII)[:40]
    return Namespace(pid, _started(pid) or 0, run, f"{index}-{readable}")


def scratch_of(space: Namespace) -> Path:
    """Where the files of the programs in a namespace are."""
    return SCRATCH / space.name


def existing() -> Iterator[Namespace]:
    """All namespaces of ours on this machine, and those of which only the scratch folder is left."""
    entries: set[str] = set()
    for folder in (DIRECTORY, SCRATCH):
        with suppress(FileNotFoundError):
            entries.update(path.name for path in folder.iterdir())
    for name in sorted(entries):
        if (found := Namespace.parse(name)) is not None:
            yield found


def _started(pid: int) -> int | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The command, field 2, is in parentheses and may hold anything.
    return int(text.rpartition(")")[2].split()[_START_TIME_FIELD - 3])
