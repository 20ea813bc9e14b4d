"""Claims of our own, beside those of [sdn]: what the paper leaves out."""

from __future__ import annotations

from collections.abc import Callable

from handfast.studies.reproduce import Check, Control, Finding, Runs, above, at_most, medians, middle, pairs

from . import draw
from .judge import LOADS, MUCH_SHORTER, ratio
from .measure import after_returns, behind, lost, received, repeated, to_full_rate


def release(runs: Runs) -> Finding:
    """Losses by the paired difference where the window is larger than the queue; nowhere more, nor later."""

    def at_points(check: Callable[[str, str], Check]) -> tuple[Check, ...]:
        return tuple(check(rate, window) for rate in draw.RATES for window in draw.WINDOWS)

    def judged(scheme: str) -> tuple[Check, ...]:
        def no_more(rate: str, window: str) -> Check:
            ours, theirs = (middle(runs, lost, one, rate=rate, window=window) for one in (scheme, "unpaced"))
            return at_most(f"lost, {rate}/s, {window}", ours, theirs, "seg")

        full = {"rate": "54Mbit", "window": "500kB"}
        beside = pairs(runs.of("unpaced", **full), runs.of(scheme, **full), lost)
        return (above("unpaced loses more, 54Mbit/s, 500kB", beside, "seg"), *at_points(no_more))

    schemes = ("spurious", "unpaced", "zwa", "rto-max", "bare")
    return Finding(
        tuple(
            one
            for rate in draw.RATES
            for window in draw.WINDOWS
            for name, unit, figure, some in (
                ("lost", "seg", lost, schemes[:2]),
                ("time to full rate", "s", to_full_rate, schemes[:2]),
                ("behind a sender that knew everything", "s", behind, schemes),
            )
            for one in medians(runs, name, unit, figure, some, rate=rate, window=window)
        ),
        judged("spurious"),
        Control("unpaced in spurious's place", judged("unpaced")),
    )


def together(runs: Runs) -> Finding:
    """Medians over runs of their 60 handovers' median: at most half of bare's; and more is delivered, paired."""

    def judged(scheme: str) -> tuple[Check, ...]:
        return tuple(
            check
            for load in LOADS
            for check in (
                at_most(f"{scheme} / bare, {load}", ratio(runs, after_returns, scheme, load), MUCH_SHORTER),
                above(
                    f"{scheme} delivers more than bare, {load}",
                    pairs(runs.of(scheme, load=load), runs.of("bare", load=load), received),
                    "MB",
                ),
            )
        )

    schemes = ("bare", "zwa", "spurious", "unpaced")
    return Finding(
        tuple(
            one
            for load in LOADS
            for name, unit, figure in (
                ("after return", "s", after_returns),
                ("delivered", "MB", received),
                ("retransmitted", "seg", repeated),
                ("lost", "seg", lost),
            )
            for one in medians(runs, name, unit, figure, schemes, load=load)
        ),
        judged("spurious"),
        Control("bare in spurious's place", judged("bare")),
    )
