"""Does cases on both backends, keeps what they gave, and sums up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from handfast import __version__, api, bundle, series, tasks
from handfast.engine import Progress, execute
from handfast.results import LAB, SIM, Environment, Result
from handfast.store import write_whole
from handfast.studies.document import written
from handfast.studies.fidelity.bounds import BOUNDS, SHARE, Bound, Compared, Summary, compare, summarise
from handfast.studies.fidelity.draw import KINDS, Case, Drops, Reorder, Trouble, scenario
from handfast.studies.table import Study, Table

SCHEMA = 2
"""The version of the document."""
DOCUMENT = "fidelity.json"
"""Where a study's directory keeps it."""
AGAIN = "again"
"""What a kernel is compared with where it runs each case twice."""


@dataclass(frozen=True, slots=True)
class Row:
    """One case on both backends, or twice on the kernel."""

    case: Case
    beside: Result
    """The simulator's run, or the kernel's other one."""
    lab: Result
    attempts: int
    """How often the lab ran it: a run that does not count is repeated once."""

    @property
    def counts(self) -> bool:
        """Whether the lab's run does, and the other."""
        return self.lab.valid and self.beside.valid

    @property
    def problems(self) -> list[str]:
        """Why it does not count."""
        ours = [] if self.beside.backend == SIM else self.beside.problems
        return [*ours, *self.lab.problems]

    @property
    def metrics(self) -> dict[str, Compared]:
        """Each metric, by the measure's name."""
        return {bound.measure: compare(bound, self.beside, self.lab) for bound in BOUNDS}

    @property
    def within(self) -> bool:
        """Whether every metric is that there is."""
        return all(one.within is not False for one in self.metrics.values())


@dataclass(frozen=True, slots=True)
class Fidelity(Study):
    """What the cases of a seed gave."""

    seed: int
    rows: tuple[Row, ...]
    against: str = SIM
    """What the kernel is compared with: the simulator, or itself (`AGAIN`)."""

    @property
    def counted(self) -> list[Row]:
        """The rows whose lab run counts."""
        return [row for row in self.rows if row.counts]

    @property
    def within(self) -> int:
        """How many of them are within all bounds."""
        return sum(row.within for row in self.counted)

    @property
    def by_kind(self) -> dict[str, tuple[int, int]]:
        """For each kind that was drawn: how many rows are within bounds, and how many count."""
        kinds = {kind: [row for row in self.counted if row.case.kind == kind] for kind in KINDS}
        return {kind: (sum(row.within for row in rows), len(rows)) for kind, rows in kinds.items() if rows}

    @property
    def holds(self) -> bool:
        """Whether enough are; without a row that counts nothing was shown."""
        return self.within >= SHARE * len(self.counted) > 0

    def _tables(self) -> Mapping[str, Callable[[], Iterator[Mapping[str, object]]]]:
        """One row a case; each metric in the simulator, on the kernel, and whether it is within bounds."""
        return {"cases": lambda: (_flat(row, self.against) for row in self.rows)}

    def document(self) -> str:
        """The cases as JSON; names carry their unit, what is not known is null."""
        counted = len(self.counted)
        data = {
            "schema": SCHEMA,
            "version": __version__,
            "seed": self.seed,
            "against": self.against,
            "environment": _environment(self.rows),
            "cases": [_row(row, self.against) for row in self.rows],
            "metrics": {bound.measure: _summary(bound, self.summary(bound)) for bound in BOUNDS},
            "kinds": {kind: {"within": within, "counted": of} for kind, (within, of) in self.by_kind.items()},
            "counted": counted,
            "within": self.within,
            "share": self.within / counted if counted else None,
            "needed": SHARE,
            "verdict": "holds" if self.holds else "fails" if counted else "not-run",
        }
        return written(data)

    def files(self) -> Mapping[str, str | bytes]:
        """The cases as JSON; their scenarios and results are written as each ends."""
        return {DOCUMENT: self.document()}

    def overview(self) -> Table:
        """How many are within bounds, by kind."""
        rows = [[kind, str(within), str(counted)] for kind, (within, counted) in self.by_kind.items()]
        total = ["all", str(self.within), str(len(self.counted))]
        return Table(["kind of case", "within bounds", "of"], [*rows, total])

    def summary(self, bound: Bound) -> Summary:
        """One metric over the rows that count."""
        return summarise([row.metrics[bound.measure] for row in self.counted])


def study(
    cases: Sequence[Case], *, against: str = SIM, out: Path | None = None, progress: Progress | None = None
) -> Fidelity:
    """Do the cases of one seed: all in the simulator, then one by one in the lab, each kept in `out` as it ends.

    With `AGAIN` the lab runs each case twice, and the simulator none: how far a kernel is from itself.
    """
    places = [_Place(case, api.parse(scenario(case), f"{case.name}.toml"), _folder(out, case)) for case in cases]
    tasks.check([SIM, LAB], [place.scenario for place in places], None)
    for place in places:
        place.begin()
    beside = _run(SIM, places) if against == SIM else _real(places, progress)[0]
    by_name = {place.case.name: (place, other) for place, other in zip(places, beside, strict=True)}

    def keep(lab: Result) -> None:
        place, other = by_name[lab.scenario]
        # Two runs on the kernel have one name: the last one stays.
        place.keep([other, lab] if against == SIM else [lab])

    real, late = _real(places, progress, keep)
    rows = tuple(
        Row(place.case, other, lab, 2 if index in late else 1)
        for index, (place, other, lab) in enumerate(zip(places, beside, real, strict=True))
    )
    return Fidelity(cases[0].seed, rows, against)


def _real(
    places: Sequence[_Place], progress: Progress | None = None, keep: Callable[[Result], None] | None = None
) -> tuple[list[Result], set[int]]:
    """Each case in the lab; those that were late once more, and which these are."""
    runs = _run(LAB, places, progress, keep)
    late = [index for index, run in enumerate(runs) if not run.valid]
    for index, run in zip(late, _run(LAB, [places[index] for index in late], progress, keep), strict=True):
        runs[index] = run
    return runs, set(late)


def _folder(out: Path | None, case: Case) -> Path | None:
    return None if out is None else out / f"case-{case.number:02}"


def _run(
    backend: str,
    places: Sequence[_Place],
    progress: Progress | None = None,
    finished: Callable[[Result], None] | None = None,
) -> list[Result]:
    todo = [
        tasks.task(backend, place.scenario.core, place.case.scheme, place.case.seed, place.series) for place in places
    ]
    return execute(todo, progress=progress, finished=finished)


@dataclass(frozen=True, slots=True)
class _Place:
    case: Case
    scenario: api.Scenario
    folder: Path | None

    @property
    def series(self) -> Path | None:
        return None if self.folder is None else self.folder / series.DIRECTORY

    def begin(self) -> None:
        """The scenario first: whatever happens to the run, it can be done again."""
        if self.folder is not None:
            write_whole(self.folder / bundle.SCENARIO, self.scenario.text)

    def keep(self, runs: list[Result]) -> None:
        if self.folder is not None:
            bundle.write(self.folder, self.scenario, runs)


def _environment(rows: Iterable[Row]) -> Mapping[str, Any]:
    """What the kernel was, from the first run."""
    found = next((row.lab.environment for row in rows), None) or Environment()
    return {name: getattr(found, name) for name in ("kernel", "processor", "cores", "realtime")}


def _row(row: Row, against: str) -> Mapping[str, Any]:
    case, environment = row.case, row.lab.environment
    return {
        "case": case.number,
        "kind": case.kind,
        "scenario_hash": row.lab.scenario_hash,
        "scheme": case.scheme,
        "timestamps": case.timestamps,
        "rate_bps": case.rate_kbps * 1000,
        "back_rate_bps": case.back_kbps * 1000,
        "rtt_s": case.rtt_us / 1e6,
        "queue_pkt": case.queue_pkt,
        **_trouble(case.trouble),
        "second_flow_at_s": None if case.second_ms is None else case.second_ms / 1e3,
        "duration_s": case.duration_ms / 1e3,
        "valid": row.counts,
        "attempts": row.attempts,
        "problems": row.problems,
        "lateness_p99_s": environment.lateness_p99_s if environment is not None else None,
        "metrics": {name: _compared(one, against) for name, one in row.metrics.items()},
        "within": row.within if row.counts else None,
    }


def _flat(row: Row, against: str) -> Mapping[str, object]:
    sides = {against: "beside", "lab": "lab", "within": "within"}
    found = {
        f"{name}_{side}": getattr(one, field) for name, one in row.metrics.items() for side, field in sides.items()
    }
    said = _row(row, against)
    return {name: said[name] for name in ("case", "kind", "scheme", "rate_bps", "rtt_s", "valid", "within")} | found


def _trouble(trouble: Trouble) -> Mapping[str, Any]:
    outages = trouble if isinstance(trouble, tuple) else ()
    late = trouble if isinstance(trouble, Reorder) else None
    return {
        "outages": [{"at_s": one.at_ms / 1e3, "outage_s": one.gap_ms / 1e3} for one in outages],
        "dropped_segments": list(trouble.segments) if isinstance(trouble, Drops) else None,
        "late_probability": late.probability if late else None,
        "late_s": late.by_us / 1e6 if late else None,
    }


def _compared(one: Compared, against: str) -> Mapping[str, Any]:
    return {
        against: one.beside,
        "lab": one.lab,
        "error": one.error.absolute if one.error else None,
        "relative_error": one.error.relative if one.error else None,
        "within": one.within,
    }


def _summary(bound: Bound, summary: Summary) -> Mapping[str, Any]:
    return {
        "relative_bound": bound.relative,
        "bound": bound.absolute,
        "median_relative_error": summary.relative.median if summary.relative else None,
        "p90_relative_error": summary.relative.p90 if summary.relative else None,
        "median_error": summary.absolute.median if summary.absolute else None,
        "p90_error": summary.absolute.p90 if summary.absolute else None,
        "within": summary.within,
        "judged": summary.judged,
    }
