"""What a claim gets: the runs of its sweeps, found by scheme and by what their axes chose."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from handfast import series
from handfast.errors import InputError
from handfast.measures import Measures
from handfast.results import Flow, Handover, Result
from handfast.studies.grid import ScenarioCell
from handfast.studies.reproduce.verdict import MIN_SEEDS, Measured, NotRun, median

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import polars as pl


@dataclass(frozen=True, eq=False)
class Run:
    """One run, and what its axes chose. Each is its own key: what was found of it may be kept (`functools.cache`)."""

    sweep: str
    choices: Mapping[str, str]
    """By axis."""
    result: Result
    series_dir: Path | None

    @property
    def scheme(self) -> str:
        """What ran."""
        return self.result.scheme

    @property
    def measures(self) -> Measures:
        """The figures of all its flows."""
        return self.result.aggregate

    @property
    def handover(self) -> Handover:
        """The first one: figures of handovers come from runs with one each."""
        return self.result.handovers[0]

    @property
    def flows(self) -> Sequence[Flow]:
        """Its flows, in the scenario's order."""
        return self.result.flows

    @property
    def flow(self) -> Flow:
        """Its first flow."""
        return self.result.flows[0]

    def column(self, name: str, flow: str | None = None) -> npt.NDArray[np.float64]:
        """A column of a flow's series (of the first, unless told), with NaN where there is no value."""
        return _column_of(self, name, flow or self.flow.flow)

    def at(self, name: str, time_s: float, flow: str | None = None) -> float:
        """What a column held at a moment; 0 before the flow began.

        Samples like the ones before and after them are not in the table.
        """
        import numpy as np

        place = int(np.searchsorted(self.column("time_s", flow), time_s, side="right")) - 1
        return float(self.column(name, flow)[place]) if place >= 0 else 0.0


@lru_cache(maxsize=16)
def _series_of(run: Run) -> Mapping[str, pl.DataFrame]:
    """Its flows over time (docs/reference/results.md), in order; a sweep has thousands of runs, so few are kept."""
    frame = series.read(run.series_dir, run.result, series.FLOWS) if run.series_dir is not None else None
    if frame is None:
        raise InputError(f"sweep {run.sweep}: keeps no time series; its file lacks `series = true`")
    return {str(flow): part for (flow,), part in frame.sort("time_s").partition_by("flow", as_dict=True).items()}


@lru_cache(maxsize=64)
def _column_of(run: Run, name: str, flow: str) -> npt.NDArray[np.float64]:
    """Claims look at the same column at many moments."""
    column = _series_of(run)[flow][name].cast(float).fill_null(float("nan")).to_numpy()
    column.flags.writeable = False
    return column


@dataclass(frozen=True, slots=True)
class Runs:
    """The runs that a claim asked for."""

    all: tuple[Run, ...]
    quick: bool
    """Whether the user asked for a look, not for a measurement."""
    scratch: Path
    """A folder for what a claim needs to write."""

    def of(self, scheme: str, sweep: str | None = None, **choices: str) -> list[Run]:
        """The valid runs of a scheme with these choices, by seed; none at all makes the claim one that is not run."""
        found = [
            run
            for run in self.all
            if run.scheme == scheme
            and sweep in (None, run.sweep)
            and all(run.choices.get(axis) == choice for axis, choice in choices.items())
            and run.result.valid
        ]
        if not found:
            where = "".join(f", {axis} {choice}" for axis, choice in choices.items())
            raise NotRun(f"there are no runs of the scheme {scheme}{where}")
        return sorted(found, key=lambda run: run.result.seed)

    def has(self, scheme: str) -> bool:
        """Whether there are runs of a scheme."""
        return any(run.scheme == scheme for run in self.all)

    def check(self) -> None:
        """Raise where the runs can judge nothing: too few seeds, or seeds that change nothing."""
        for name, group in self._groups().items():
            seeds = {run.result.seed for run in group}
            if len(seeds) < MIN_SEEDS:
                raise NotRun(f"{name}: {len(seeds)} seeds; at least {MIN_SEEDS} are needed")
            # [DESIGN] rule 6: zero variance over seeds counts as not run.
            if len({run.measures for run in group}) == 1:
                raise NotRun(f"{name}: every seed gave the same, so the seeds vary nothing")

    def _groups(self) -> dict[str, list[Run]]:
        groups: dict[str, list[Run]] = {}
        for run in self.all:
            if run.result.valid:
                name = ", ".join([run.sweep, *run.choices.values(), run.result.row])
                groups.setdefault(name, []).append(run)
        return groups


def of_cells(name: str, cells: Sequence[ScenarioCell], results: Sequence[Result], out: Path) -> list[Run]:
    """The runs of a sweep's cells."""
    return [
        Run(name, dict(cell.point), result, cell.series_dir(out)) for cell, result in zip(cells, results, strict=True)
    ]


T = TypeVar("T")


def required(figure: T | None) -> T:
    """A figure that the claim cannot do without."""
    if figure is None:
        raise NotRun("a run lacks a figure: its backend does not know it, or nothing was there to measure")
    return figure


Figure = Callable[[Run], float | None]


def middle(runs: Runs, figure: Figure, scheme: str, **choices: str) -> float:
    """The median of a scheme's figure."""
    return median("", "", values(runs.of(scheme, **choices), figure)).value


def medians(
    runs: Runs, name: str, unit: str, figure: Figure, schemes: Sequence[str], **choices: str
) -> tuple[Measured, ...]:
    """A figure of each scheme, with its interval."""
    label = ", ".join([name, *choices.values()])
    return tuple(median(f"{label}, {scheme}", unit, values(runs.of(scheme, **choices), figure)) for scheme in schemes)


def mean_time(run: Run) -> float:
    """From start to the last byte, mean over the flows of a run, seconds."""
    if any(flow.outcome != "closed" for flow in run.flows):
        raise NotRun("a flow has not finished")
    return statistics.fmean(required(flow.measures.last_byte_s) - required(flow.measures.start_s) for flow in run.flows)


def values(runs: Iterable[Run], figure: Figure) -> list[float | None]:
    """A figure of each run."""
    return [figure(run) for run in runs]


def pairs(first: Sequence[Run], second: Sequence[Run], figure: Figure) -> list[tuple[float | None, float | None]]:
    """A figure of two schemes' runs with the same seed and the same choices."""
    there = {_place(run): figure(run) for run in second}
    return [(figure(run), there[_place(run)]) for run in first if _place(run) in there]


def _place(run: Run) -> tuple[object, ...]:
    return (run.result.seed, *sorted(run.choices.items()))
