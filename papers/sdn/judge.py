"""What several claims of [sdn] are judged by: thresholds, and figures of several schemes at once."""

from __future__ import annotations

from collections.abc import Sequence

from handfast.studies.reproduce import Check, Figure, Measured, NotRun, Run, Runs, median, middle, pairs, values, within

from .measure import after_return, disconnection, expected_spans, given_up, idle, round_trip

LOADS = ("light", "medium", "heavy")
SAME = 0.15
"""Figures that differ by less are the same."""
MUCH_SHORTER = 0.5
"""Much shorter is at most this share."""
FOLLOWS = 0.95
"""The share of handovers that have to follow the schedule."""
SAMPLE_S = 0.03
"""Three samples of the series: as exact as they are."""
WHEEL = 1 / 8
"""How late the kernel's timer wheel is at most, as a share of the wait."""


def ratio(runs: Runs, figure: Figure, scheme: str, load: str) -> float:
    """The median of a scheme's figure, as a multiple of bare's."""
    return middle(runs, figure, scheme, load=load) / middle(runs, figure, "bare", load=load)


def given_up_share(runs: Runs, load: str) -> Measured:
    """How many of zwa's handovers its controller gave up: a segment could not be accounted for."""
    some = runs.of("zwa", load=load)
    return Measured(f"given up, {load}, zwa", "%", 100 * sum(map(given_up, some)) / len(some))


def like_spurious(runs: Runs, figure: Figure, load: str) -> Check:
    """Where zwa was not given up its idle time is spurious's."""
    kept = [run for run in runs.of("zwa", load=load) if not given_up(run)]
    if not kept:
        raise NotRun(f"zwa was given up in every handover, load {load}")
    beside = pairs(kept, runs.of("spurious", load=load), figure)
    zwa, spurious = (median("", "s", side).value for side in zip(*beside, strict=True))
    return within(f"idle of zwa where not given up, and spurious, {load}, s", zwa, spurious, SAME)


def like_bare(runs: Runs, scheme: str, load: str, figure: Figure) -> Check:
    """A scheme's figure is bare's; or those of its handovers that were given up are, so that these explain it."""
    some = runs.of(scheme, load=load)
    ours, bare = median("", "", values(some, figure)).value, middle(runs, figure, "bare", load=load)
    left = [run for run in some if given_up(run)]
    if abs(ours - bare) <= SAME * bare or not left:
        return within(f"{scheme} and bare, {load}", ours, bare, SAME)
    beside = pairs(left, runs.of("bare", load=load), figure)
    mine, theirs = (median("", "", side).value for side in zip(*beside, strict=True))
    share = f"{100 * len(left) / len(some):.0f} %"
    return within(f"{scheme} and bare, {load}, in the {share} of handovers that were given up", mine, theirs, SAME)


def no_scheme_can(runs: Runs, loads: Sequence[str]) -> str:
    """Why no scheme halves bare's idle time: the ablation is a sender that knows everything."""
    waits = [middle(runs, disconnection, "bare", load=load) / middle(runs, idle, "bare", load=load) for load in loads]
    least = ", ".join(f"{share:.2f} ({load})" for share, load in zip(waits, loads, strict=True))
    return (
        "No scheme can: the disconnection alone, all that a sender that knew everything would wait, is "
        f"{least} of bare's idle time"
    )


def after_the_return(checks: Sequence[Check]) -> str:
    """What the same checks say of the idle time after the return alone."""
    failed = [check.says for check in checks if not check.holds]
    word = "do not hold either" if failed else "hold"
    return f"Of the idle time after the return alone the same checks {word}: {'; '.join(failed or map(str, checks))}"


def follows(runs: Sequence[Run], late: float) -> float:
    """The share of handovers after which data comes when the schedule has it, or up to `late` of the wait later."""
    known = [(run, spans) for run in runs if (spans := expected_spans(run, late))]
    if not known:
        raise NotRun("no timer expired in any gap")
    return sum(_follows(run, spans) for run, spans in known) / len(known)


def _follows(run: Run, spans: Sequence[tuple[float, float]]) -> bool:
    took = after_return(run)
    if took is None:
        return False
    # Where the acknowledgment of what arrived last was lost, the timer repeats what is there: two round trips more.
    return any(
        low - SAMPLE_S <= took - more <= high + SAMPLE_S for low, high in spans for more in (0.0, 2 * round_trip(run))
    )
