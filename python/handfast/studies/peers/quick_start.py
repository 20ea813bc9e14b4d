"""Quick-Start (RFC 4782): what one download delivers by when, here and in ns-2."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from handfast import api, shipped
from handfast.engine import Progress, Task, execute
from handfast.results import Result
from handfast.studies.document import written
from handfast.studies.peers import ns2
from handfast.studies.peers.names import DOCUMENT, TABLES
from handfast.studies.table import Study, Table
from handfast.values import Overrides

SCENARIO = "papers/vho/quick-start.toml"
SCRIPT = "papers/vho/ns2/quick-start.tcl"

CASES: Mapping[str, tuple[str, Overrides]] = {
    "without": ("without", ()),
    "refused": ("refused", ()),
    "approved": ("approved", ()),
    "reduced": ("reduced", ()),
    "lost": ("approved", [("links.middle.forward.loss", "{list = [20]}")]),
}
"""The script's word for what happens to the request; our scheme, and what else is set."""
TIMES_S = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
"""After the first SYN leaves, seconds."""
SEGMENT = 1024
"""Payload, bytes."""


@dataclass(frozen=True, slots=True)
class Row:
    """One case: segments delivered by each of `TIMES_S`."""

    case: str
    ours: tuple[int, ...]
    theirs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Delivered(Study):
    """All cases."""

    rows: tuple[Row, ...]
    version: str
    """ns-2's."""

    def _tables(self) -> Mapping[str, Callable[[], Iterator[Mapping[str, object]]]]:
        """One row a case and time."""
        return {"delivered": lambda: (line for row in self.rows for line in _flat(row))}

    def document(self) -> str:
        """All cases as JSON."""
        rows = [{"case": row.case, "ours": row.ours, "ns2": row.theirs} for row in self.rows]
        head = {"peers": "quick-start", "ns2": self.version, "times_s": TIMES_S}
        return written({**head, "delivered_segments": rows})

    def files(self) -> Mapping[str, str | bytes]:
        """All cases as JSON, and as a table in Markdown."""
        rows = [
            [row.case, *(f"{ours:,} {theirs:,}" for ours, theirs in zip(row.ours, row.theirs, strict=True))]
            for row in self.rows
        ]
        table = Table(["segments delivered by", *(f"{time:g} s" for time in TIMES_S)], rows)
        return {DOCUMENT: self.document(), TABLES: table.markdown()}

    def overview(self) -> Table:
        """A row a case and time."""
        rows = [[str(value) for value in line.values()] for row in self.rows for line in _flat(row)]
        return Table(["request", "time, s", "ours, segments", "ns-2, segments"], rows)


def _flat(row: Row) -> Iterator[Mapping[str, object]]:
    for time, ours, theirs in zip(TIMES_S, row.ours, row.theirs, strict=True):
        yield {"case": row.case, "time_s": time, "ours_segments": ours, "ns2_segments": theirs}


def study(cases: Sequence[str] = tuple(CASES), progress: Progress | None = None, jobs: int | None = None) -> Delivered:
    """Run the cases in both simulators. Nothing is random but Quick-Start's TTLs and nonces: one seed does."""
    version = ns2.require()
    tasks: list[Task | ns2.Task] = []
    for case in cases:
        tasks += [*_ours(case), _theirs(case)]
    results = iter(execute(tasks, jobs=jobs, progress=progress))
    rows = [Row(case, tuple(_segments(next(results)) for _ in TIMES_S), _counted(next(results))) for case in cases]
    return Delivered(tuple(rows), version)


def _ours(case: str) -> list[Task]:
    scheme, settings = CASES[case]
    base = api.load(shipped.file(SCENARIO), settings)
    return [Task(base.with_overrides([("duration", f"{time:g}s")]).core, scheme, 1) for time in TIMES_S]


def _theirs(case: str) -> ns2.Task:
    options = {"at": ",".join(f"{time:g}" for time in TIMES_S)}
    return ns2.Task(shipped.file(SCRIPT), options, case, 1, TIMES_S[-1])


def _segments(run: Result) -> int:
    # The option that reports the approved rate takes eight bytes of the first segment: it is one all the same.
    return -(-(run.aggregate.delivered_bytes or 0) // SEGMENT)


def _counted(run: Result) -> tuple[int, ...]:
    return tuple(ns2.facts(run)["delivered_segments"])
