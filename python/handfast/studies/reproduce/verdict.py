"""What judging a claim gives: figures, checks that can fail, and the same checks where they must."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from handfast import stats
from handfast.studies.document import interval

HOLDS: Literal["holds"] = "holds"
FAILS: Literal["fails"] = "fails"
NOT_RUN: Literal["not-run"] = "not-run"
Word = Literal["holds", "fails", "not-run"]

MIN_SEEDS = 10
"""Fewer runs of one kind judge nothing."""


class NotRun(Exception):
    """The claim cannot be judged here; the text says why."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One figure of a claim."""

    name: str
    """What it is, in words; no unit."""
    unit: str
    """`s`, `pkt`, `%`, …; empty for a pure number."""
    value: float
    low: float | None = None
    """The lower end of the median's 95 % interval; None where the figure is no median over runs."""
    high: float | None = None
    count: int = 1
    """How many runs it sums up."""

    def __str__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        if self.low is None or self.high is None:
            return f"{self.name}: {number(self.value)}{unit}"
        return f"{self.name}: {number(self.value)}{unit} [{number(self.low)}, {number(self.high)}]"

    @property
    def key(self) -> str:
        """Its name in JSON, unit included."""
        unit = "percent" if self.unit == "%" else self.unit
        words = f"{self.name} {unit}".replace("/", " per ").lower()
        return "_".join(re.findall(r"[a-z0-9]+", words))

    def as_json(self) -> object:
        """The number, or the median with its interval."""
        if self.low is None or self.high is None:
            return self.value
        return interval(self.value, self.low, self.high, self.count)


def number(value: float) -> str:
    """Three significant digits, but no digit of a whole number lost."""
    return f"{value:.0f}" if value == int(value) or abs(value) >= 1000 else f"{value:.3g}"


def median(name: str, unit: str, values: Sequence[float | None]) -> Measured:
    """The median of some runs' figure with its interval; runs without the figure make the claim one that is not run."""
    summary = stats.summarise(values)
    if summary is None:
        raise NotRun(f"no run has the figure: {name}")
    return Measured(name, unit, summary.median, summary.low, summary.high, summary.count)


@dataclass(frozen=True, slots=True)
class Check:
    """A sentence that is true or not."""

    says: str
    """The rule with the numbers in it."""
    holds: bool

    def __str__(self) -> str:
        return f"{self.says}{'' if self.holds else ' (no)'}"


def at_most(name: str, value: float, limit: float, unit: str = "") -> Check:
    """`value` is at most `limit`."""
    return _compared(name, value, "<=", limit, unit, value <= limit)


def at_least(name: str, value: float, limit: float, unit: str = "") -> Check:
    """`value` is at least `limit`."""
    return _compared(name, value, ">=", limit, unit, value >= limit)


def within(name: str, value: float, other: float, share: float) -> Check:
    """`value` differs from `other` by at most `share` of the other."""
    apart = abs(value - other)
    says = f"{name}: {number(value)} within {share:.0%} of {number(other)}"
    return Check(says, apart <= share * abs(other))


def above(name: str, pairs: Sequence[tuple[float | None, float | None]], unit: str = "") -> Check:
    """The first of each pair is above the second: the interval of the median difference lies above zero."""
    summary, says = _difference(name, pairs, unit)
    return Check(says, summary.low > 0)


def no_less(name: str, pairs: Sequence[tuple[float | None, float | None]], unit: str = "") -> Check:
    """The first of each pair is not below the second: the interval of the median difference reaches zero or more."""
    summary, says = _difference(name, pairs, unit)
    return Check(says, summary.high >= 0)


def _difference(name: str, pairs: Sequence[tuple[float | None, float | None]], unit: str) -> tuple[stats.Summary, str]:
    summary = stats.summarise([first - second for first, second in pairs if first is not None and second is not None])
    if summary is None:
        raise NotRun(f"no pair of runs has the figure: {name}")
    tail = f" {unit}" if unit else ""
    return summary, f"{name}: by {number(summary.median)}{tail} [{number(summary.low)}, {number(summary.high)}]"


def _compared(name: str, value: float, sign: str, limit: float, unit: str, holds: bool) -> Check:
    tail = f" {unit}" if unit else ""
    return Check(f"{name}: {number(value)} {sign} {number(limit)}{tail}", holds)


FEW_CHECKS = 3
"""Checks of a claim, or of its control, that are shown at once."""


def _failing(checks: Sequence[Check]) -> tuple[Check, ...]:
    return tuple(check for check in checks if not check.holds)


def _few(checks: Sequence[Check]) -> str:
    """The first of these, and how many there are besides."""
    more = len(checks) - FEW_CHECKS
    return "; ".join(check.says for check in checks[:FEW_CHECKS]) + (f"; {more} more in the report" if more > 0 else "")


@dataclass(frozen=True, slots=True)
class Control:
    """The same checks where the mechanism is off: one of them has to fail."""

    says: str
    """What was put in the mechanism's place."""
    checks: tuple[Check, ...]

    @property
    def tells(self) -> bool:
        """Whether the checks can tell the mechanism from its absence."""
        return not all(check.holds for check in self.checks)

    @property
    def failed(self) -> tuple[Check, ...]:
        """The checks that fail, as one has to."""
        return _failing(self.checks)

    @property
    def word(self) -> str:
        """What became of it."""
        return f"{self.says}: {'fails, as it must' if self.tells else 'holds as well, so the checks tell nothing'}"

    @property
    def brief(self) -> str:
        """The same as its text, with few checks."""
        return f"{self.word} ({_few(self.failed)})" if self.failed else self.word

    def __str__(self) -> str:
        if not self.failed:
            return self.word
        return f"{self.word} ({'; '.join(check.says for check in self.failed)})"


@dataclass(frozen=True, slots=True)
class Finding:
    """What a claim's function found in the runs."""

    measured: tuple[Measured, ...]
    checks: tuple[Check, ...]
    control: Control
    cause: str = ""
    """Why a check fails, as an ablation shows it; printed where one does."""
    remark: str = ""
    """What a reader must know of the figures; printed always."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A claim, judged."""

    id: str
    title: str
    verdict: Word
    paper: str
    """What the paper says."""
    measured: tuple[Measured, ...] = ()
    control: str = ""
    reason: str = ""
    checks: tuple[Check, ...] = field(default=(), compare=False)
    explained: str = field(default="", compare=False)
    """Of `reason` what is no check: the cause, and what a reader must know."""
    controlled: Control | None = field(default=None, compare=False)

    @property
    def failed(self) -> tuple[Check, ...]:
        """The checks that fail."""
        return _failing(self.checks)

    @property
    def tally(self) -> str:
        """How many checks hold; empty where nothing was checked."""
        if not self.checks:
            return ""
        if self.failed:
            return f"{len(self.failed)} of {len(self.checks)} checks fail"
        return "the check holds" if len(self.checks) == 1 else f"all {len(self.checks)} checks hold"

    @property
    def brief(self) -> str:
        """The same as `reason`, with few checks."""
        if len(self.checks) <= FEW_CHECKS:
            return self.reason
        told = f"{self.tally}: {_few(self.failed)}" if self.failed else self.tally
        return f"{told}. {self.explained}" if self.explained else told

    def as_json(self) -> Mapping[str, Any]:
        """An entry of `claims`: the keys of DESIGN."""
        return {
            "id": self.id,
            "verdict": self.verdict,
            "measured": {one.key: one.as_json() for one in self.measured},
            "paper": self.paper,
            "control": self.control,
            "reason": self.reason,
        }


def judge(claim: str, title: str, paper: str, finding: Finding) -> Verdict:
    """The verdict that a finding comes to."""
    failed = _failing(finding.checks)
    tells = finding.control.tells
    word = HOLDS if not failed and tells else FAILS
    parts = []
    if not tells:
        parts.append("the control holds too")
    if word == FAILS and finding.cause:
        parts.append(finding.cause)
    if finding.remark:
        parts.append(finding.remark)
    reason = ". ".join(["; ".join(map(str, failed or finding.checks)), *parts])
    control, checks = finding.control, finding.checks
    return Verdict(claim, title, word, paper, finding.measured, str(control), reason, checks, ". ".join(parts), control)


def not_run(claim: str, title: str, paper: str, why: str) -> Verdict:
    """The verdict where nothing was judged."""
    return Verdict(claim, title, NOT_RUN, paper, reason=why)
