"""What several claims of [sdn] are judged by: thresholds, and figures of several schemes at once."""

from __future__ import annotations

from collections.abc import Sequence

from handfast.reproduce import Measured, NotRun, Run, Runs, median, values

from .measure import Of, after_return, disconnection, expected_spans, idle, round_trip

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


def middle(runs: Runs, figure: Of, scheme: str, **choices: str) -> float:
    """The median of a scheme's figure."""
    return median("", "", values(runs.of(scheme, **choices), figure)).value


def medians(
    runs: Runs, name: str, unit: str, figure: Of, schemes: Sequence[str], **choices: str
) -> tuple[Measured, ...]:
    """A figure of each scheme, with its interval."""
    label = ", ".join([name, *choices.values()])
    return tuple(median(f"{label}, {scheme}", unit, values(runs.of(scheme, **choices), figure)) for scheme in schemes)


def ratio(runs: Runs, scheme: str, load: str) -> float:
    """The median idle time of a scheme, as a multiple of bare's."""
    return middle(runs, idle, scheme, load=load) / middle(runs, idle, "bare", load=load)


def no_scheme_can(runs: Runs, load: str) -> str:
    """Why no scheme halves bare's idle time: the ablation is a sender that knows everything."""
    least = middle(runs, disconnection, "bare", load=load) / middle(runs, idle, "bare", load=load)
    after = middle(runs, after_return, "spurious", load=load) / middle(runs, after_return, "bare", load=load)
    return (
        f"{load}: the disconnection alone, all that a sender that knew everything would wait, is {least:.2f} of bare's "
        f"idle time; of the idle time after the return spurious has {after:.2f} of bare's"
    )


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
