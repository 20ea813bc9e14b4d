"""What counts as close: a bound for each metric, and how far a simulated run is from the kernel's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from statistics import median

from handfast.results import Result
from handfast.tables import COLUMNS, Column

SHARE = 0.8
"""The share of cases that has to be within bounds."""


@dataclass(frozen=True, slots=True)
class Bound:
    """How far a metric may be from the kernel's: within either limit is close."""

    column: Column
    relative: float | None = None
    """Of the kernel's figure."""
    absolute: float | None = None
    """In the measure's unit."""

    @property
    def measure(self) -> str:
        """The name in `measures.Measures`."""
        return self.column.measure

    def holds(self, error: Error) -> bool:
        """Whether an error is within it."""
        near = self.absolute is not None and error.absolute <= self.absolute
        share = self.relative is not None and error.relative is not None and error.relative <= self.relative
        return near or share


@dataclass(frozen=True, slots=True)
class Error:
    """How far a figure is from the kernel's."""

    absolute: float
    """In the measure's unit, never negative."""
    relative: float | None
    """Of the kernel's figure; None where that is zero."""


_SHOWN = {column.measure: column for column in COLUMNS}
BOUNDS = (
    Bound(_SHOWN["goodput_bps"], relative=0.10),
    Bound(_SHOWN["stall_s"], relative=0.20, absolute=0.050),
    # A quarter of three segments would be none: two segments are one tail loss probe and one more.
    Bound(_SHOWN["retransmitted_segments"], relative=0.25, absolute=2),
    Bound(_SHOWN["timeouts"], absolute=1),
)
"""Those of the issue; docs/explanation/fidelity.md repeats them."""


@dataclass(frozen=True, slots=True)
class Compared:
    """One metric of one case on both backends, or twice on the kernel."""

    beside: float | None
    lab: float | None
    error: Error | None
    """None where a backend has no figure."""
    within: bool | None
    """None where neither backend has a figure: there is nothing to judge."""


def compare(bound: Bound, beside: Result, lab: Result) -> Compared:
    """One metric of two runs of the same case."""
    ours, theirs = (getattr(run.aggregate, bound.measure) for run in (beside, lab))
    if ours is None or theirs is None:
        return Compared(ours, theirs, None, None if ours is theirs else False)
    apart = abs(ours - theirs)
    error = Error(apart, apart / theirs if theirs else None)
    return Compared(ours, theirs, error, bound.holds(error))


@dataclass(frozen=True, slots=True)
class Spread:
    """Errors over cases: the median and the 90th percentile (nearest rank)."""

    median: float
    p90: float

    @classmethod
    def of(cls, errors: Sequence[float]) -> Spread | None:
        """None where there are none."""
        if not errors:
            return None
        ranked = sorted(errors)
        return cls(median(ranked), ranked[ceil(0.9 * len(ranked)) - 1])


@dataclass(frozen=True, slots=True)
class Summary:
    """One metric over all cases that count."""

    relative: Spread | None
    absolute: Spread | None
    within: int
    judged: int


def summarise(compared: Sequence[Compared]) -> Summary:
    """Sum up one metric over cases."""
    errors = [one.error for one in compared if one.error is not None]
    return Summary(
        Spread.of([error.relative for error in errors if error.relative is not None]),
        Spread.of([error.absolute for error in errors]),
        within=sum(one.within is True for one in compared),
        judged=sum(one.within is not None for one in compared),
    )
