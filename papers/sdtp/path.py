"""What the nodes of the path do: the claims `sel`, `cache`, `ep` and `ri`."""

from __future__ import annotations

from collections.abc import Sequence

from handfast.studies.reproduce import (
    Check,
    Control,
    Figure,
    Finding,
    Measured,
    Runs,
    above,
    at_least,
    at_most,
    medians,
    middle,
    within,
)

from .measure import beside, cache_bytes, counted, counter, delay, imbalance, needless, signalling

DELIVERY: Figure = delay("send", "delivery", "mean")
TOLD_APART = ("first", "second", "fourth", "first-and-third")
"""Where some link loses nothing, so that a cache may be left out."""
SAME_DELAY = 0.05


def selection(runs: Runs) -> Finding:
    """Bytes and packets by paired differences, mean delays by medians."""

    def less(what: str, unit: str, figure: Figure, scheme: str, where: str) -> Check:
        found = beside(runs, "every-switch", scheme, figure, where=where)
        return above(f"{what}, every-switch above {scheme}, {where}", found, unit)

    def judged(scheme: str) -> tuple[Check, ...]:
        return tuple(
            check
            for where in TOLD_APART
            for check in (
                less("cache bytes", "B", cache_bytes, scheme, where),
                less("RR and CN", "pkt", signalling, scheme, where),
                within(
                    f"mean delay of {scheme} and every-switch, ms, {where}",
                    middle(runs, DELIVERY, scheme, where=where),
                    middle(runs, DELIVERY, "every-switch", where=where),
                    SAME_DELAY,
                ),
            )
        )

    schemes = ("sdtp", "every-switch")
    return Finding(
        tuple(
            one
            for where in (*TOLD_APART, "all")
            for one in (
                *medians(runs, "cache bytes", "B", cache_bytes, schemes, where=where),
                *medians(runs, "RR and CN", "pkt", signalling, schemes, where=where),
                *medians(runs, "mean delay", "ms", DELIVERY, schemes, where=where),
            )
        ),
        judged("sdtp"),
        Control("a cache at every switch on both sides", judged("every-switch")),
        remark="Where all four links lose as much, the paper's setting, every switch but the last is chosen, and "
        "the last keeps no copies: both are the same. So the claim is judged where one or two links lose 2 %",
    )


BOUNDS = {"4MB": 4e6, "20kB": 20e3, "6kB": 6e3}
"""What a node keeps of a connection at most, by the choice's name; 256 B for each packet included."""
TIGHT = ("20kB", "6kB")
HELD_B = 100e6 / 8 * 0.070
"""A cache that is released holds at most what arrives at the links' rate while a packet is kept: 10 ms until it is at
the next node, at most 50 until that sends a CN, 10 until the CN is here."""
SIZE_B = 1_000_000


def caches(runs: Runs) -> Finding:
    """Peaks of the largest node, of any seed; bytes that the application got."""

    def peak(scheme: str, cache: str) -> float:
        return float(max(counted(run, "cache_bytes_of_one") for run in runs.of(scheme, cache=cache)))

    def delivered(cache: str, scheme: str) -> float:
        return float(min(run.measures.delivered_bytes or 0 for run in runs.of(scheme, cache=cache)))

    def overflows(cache: str, scheme: str) -> float:
        return float(min(counted(run, "cache_overflows") for run in runs.of(scheme, cache=cache)))

    def judged(scheme: str) -> tuple[Check, ...]:
        return (
            at_most(f"largest cache of {scheme}, and what arrives until a CN", peak(scheme, "4MB"), HELD_B, "B"),
            *(at_most(f"largest cache, {cache}", peak(scheme, cache), bound, "B") for cache, bound in BOUNDS.items()),
            *(within(f"bytes delivered, {cache}", delivered(cache, scheme), SIZE_B, 0) for cache in BOUNDS),
            at_least("packets that a full cache let go, 6kB, fewest of any seed", overflows("6kB", scheme), 1, "pkt"),
        )

    return Finding(
        (
            *(
                Measured(f"largest cache, {cache}, {scheme}", "B", peak(scheme, cache))
                for cache in BOUNDS
                for scheme in ("sdtp", "never-released")
            ),
            *(
                one
                for cache in BOUNDS
                for one in (
                    *medians(
                        runs, "let go", "pkt", counter("cache_overflows"), ("sdtp", "never-released"), cache=cache
                    ),
                    *medians(runs, "mean delay", "ms", DELIVERY, ("sdtp", "never-released"), cache=cache),
                )
            ),
        ),
        judged("sdtp"),
        Control("no CN is sent", judged("never-released")),
        remark="A packet that a full cache has let go is repaired by the end hosts. So the mean delay grows from "
        f"{middle(runs, DELIVERY, 'sdtp', cache='4MB'):.4g} to {middle(runs, DELIVERY, 'sdtp', cache='6kB'):.4g} ms",
    )


LOST = ("1-1-1-1", "4-1-1-1", "1-4-1-1", "1-1-1-4", "1-2-3-4")
ELSEWHERE = ("at-s2", "at-s3", "at-s4")
"""All placements of two segments."""
CHOSEN = ("sdtp", "told-of-both")
"""The policy's placement; the second sends RIs for both triggers, so that the second node asks for less in vain."""
BALANCED = 1.2


def segments(runs: Runs) -> Finding:
    """Requests of the segment that has most over the mean of both, against the best of all placements."""

    def unequal(scheme: str, lost: str) -> float:
        return middle(runs, imbalance, scheme, lost=lost)

    def judged(pick: str | None) -> tuple[Check, ...]:
        checks = []
        for lost in LOST:
            known = {scheme: unequal(scheme, lost) for scheme in ELSEWHERE}
            chosen = unequal("sdtp", lost) if pick is None else max(known.values())
            checks.append(at_most(f"largest over mean, {lost}", chosen, BALANCED * min(known.values())))
        return tuple(checks)

    return Finding(
        tuple(
            one
            for lost in LOST
            for one in medians(runs, "largest over mean", "", imbalance, (*CHOSEN, *ELSEWHERE), lost=lost)
        ),
        judged(None),
        Control("the worst placement in the policy's place", judged("worst")),
        cause=_elsewhere(runs),
        remark="The node downstream also asks for what the first is about to repair. With RIs for both triggers it "
        f"asks less, and where all links lose 1 % the larger part is {unequal('told-of-both', LOST[0]):.3g} of the "
        f"mean instead of {unequal('sdtp', LOST[0]):.3g}",
    )


def _elsewhere(runs: Runs) -> str:
    def shown(lost: str) -> str:
        return ", ".join(f"{one} {middle(runs, imbalance, one, lost=lost):.3g}" for one in ("sdtp", *ELSEWHERE))

    return "; ".join(f"{lost}: {shown(lost)}" for lost in LOST)


APART = ("15ms", "3ms")
POINTS = ("1", "3", "5")


def information(runs: Runs) -> Finding:
    """Needless RR: those whose RD brought what had come before."""

    def spared(scheme: str, loss: str, apart: str) -> Check:
        found = beside(runs, "untold", scheme, needless, loss=loss, apart=apart)
        return above(f"needless, untold above {scheme}, {loss} %, {apart}", found, "RR")

    def judged(scheme: str) -> tuple[Check, ...]:
        return tuple(spared(scheme, loss, apart) for apart in APART for loss in POINTS)

    def shown(apart: str, schemes: Sequence[str]) -> str:
        return ", ".join(f"{one} {middle(runs, needless, one, loss='3', apart=apart):.3g}" for one in schemes)

    def by(trigger: str, apart: str) -> float:
        of: Figure = counter(f"requests_{trigger}")
        return middle(runs, of, "untold", loss="3", apart=apart)

    schemes = ("untold", "sdtp", "told-of-both", "by-segment")
    return Finding(
        tuple(
            one
            for apart in APART
            for loss in POINTS
            for one in medians(runs, "needless", "RR", needless, schemes, loss=loss, apart=apart)
        ),
        judged("sdtp"),
        Control("nobody is told", judged("untold")),
        cause=(
            f"With packets 15 ms apart {by('time', '15ms'):.3g} RR are triggered by time and "
            f"{by('count', '15ms'):.3g} by count, and an RI goes with the latter only: the next packet, which would "
            "show the loss, comes later than the threshold of equation (1). Medians at 3 %: "
            f"{shown('15ms', schemes)}; with packets 3 ms apart ({by('time', '3ms'):.3g} by time, "
            f"{by('count', '3ms'):.3g} by count) {shown('3ms', schemes)}. Told of both triggers, as equation (2) with "
            f"its a_k of 0 for T would have it, the second node asks less at {_told(runs)} of "
            f"{len(APART) * len(POINTS)} points"
        ),
    )


def _told(runs: Runs) -> int:
    """At how many points RIs for both triggers spare something."""
    return sum(
        above("", beside(runs, "untold", "told-of-both", needless, loss=loss, apart=apart)).holds
        for apart in APART
        for loss in POINTS
    )
