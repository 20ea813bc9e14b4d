"""Several seeds as one figure: the median, and an interval that makes no assumption about the distribution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from statistics import median

CONFIDENCE = 0.95
SEEDS = 6
"""Fewer cannot reach it."""


@dataclass(frozen=True, slots=True)
class Summary:
    """The median of some runs and the interval that covers the true median with at least `CONFIDENCE`.

    Runs without the figure (None) are left out and counted in `missing`.
    """

    median: float
    low: float
    high: float
    count: int
    missing: int


def interval_rank(count: int) -> int:
    """How many values to leave out at each end: the most that keeps the coverage at `CONFIDENCE`.

    The interval between order statistics k+1 and n-k covers the median with P(k < B <= n-k-1), B binomial(n, 1/2)
    (Conover, Practical Nonparametric Statistics, section 3.2). Fewer than six values cannot reach 95 %: the range is
    all there is then, and `coverage` says what it is worth.
    """
    rank = 0
    while coverage(count, rank + 1) >= CONFIDENCE:
        rank += 1
    return rank


def coverage(count: int, rank: int) -> float:
    """The probability that the interval without `rank` values at each end holds the true median."""
    tail = sum(comb(count, k) for k in range(rank + 1))
    return max(0.0, 1 - tail / 2.0 ** (count - 1))


def summarise(values: Sequence[float | None]) -> Summary | None:
    """Sum up one figure over seeds; None where no run has it."""
    known = sorted(value for value in values if value is not None)
    if not known:
        return None
    rank = interval_rank(len(known))
    return Summary(median(known), known[rank], known[-1 - rank], len(known), len(values) - len(known))
