"""What [iosl] claims of the layer at both ends of TCP: figures 10 to 13, one function each.

Handovers between two networks: the address changes. TCP without the layer is an application that its system tells of
the new address at once, and that goes on where it was; the sweep `reconnect` has others.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from itertools import pairwise

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
    pairs,
    within,
)

from .measure import goodput, reached, reconnection, reconnections, timeouts
from .radios import MPTCP, SCTP, ablations

RTTS, RATES, SPEEDS = ("20ms", "50ms", "100ms", "200ms"), ("10", "25", "50", "100"), ("5", "10", "20", "40")
CLOSE = ("8ms", "10ms", "12ms", "14ms", "16ms", "20ms", "26ms", "40ms")
"""Round trips for which half of TCP's reconnections take less than 30 ms."""
HANDOVERS, SOON_MS = ("2", "4", "6"), 30
RIVALS = ("tcp", "fresh", "handshake", "iosl", "loose", "linux", "linux-iosl", "estimate")
QUARTER, PEAK = reached(0.25), reached(0.9)


def shorter(runs: Runs, figure: Figure, ours: str, theirs: str, **cell: str) -> float:
    """By how much a time is shorter, percent of the other's."""
    return 100 * (1 - middle(runs, figure, ours, **cell) / middle(runs, figure, theirs, **cell))


def gain(runs: Runs, ours: str, theirs: str, **cell: str) -> float:
    """By how much the goodput is higher, percent of the other's: the median of pairs with the same handovers."""
    both = pairs(runs.of(theirs, **cell), runs.of(ours, **cell), goodput)
    return statistics.median(100 * (b / a - 1) for a, b in both if a and b is not None)


def placebo(runs: Runs, scheme: str, **cell: str) -> float:
    """By how much the goodput of the next seed's run is higher, percent, the median: what handovers' instants make."""
    found = [goodput(run) for run in sorted(runs.of(scheme, **cell), key=lambda run: run.result.seed)]
    return statistics.median(
        100 * (b / a - 1) for a, b in zip(found, found[1:] + found[:1], strict=True) if a and b is not None
    )


def rises(name: str, values: Sequence[float], unit: str = "%") -> Check:
    """Each is above the one before."""
    text = ", ".join(f"{value:.1f}" for value in values)
    return Check(f"{name}: {text} {unit} rise", all(a < b for a, b in pairwise(values)))


def over(runs: Runs, name: str, unit: str, figure: Figure, axis: str, places: Sequence[str]) -> tuple[Measured, ...]:
    """The medians of all schemes that ran, by an axis."""
    known = [scheme for scheme in RIVALS if runs.has(scheme)]
    return tuple(one for place in places for one in medians(runs, name, unit, figure, known, **{axis: place}))


def recovery_by_rtt(runs: Runs) -> Finding:
    """Until a quarter of the capacity arrives over a round trip."""

    def judged(scheme: str) -> tuple[Check, ...]:
        saved = [shorter(runs, QUARTER, scheme, "tcp", rtt=rtt) for rtt in RTTS]
        return (rises(f"{scheme} is shorter by", saved), at_least(f"{scheme}, the most", max(saved), 30, "%"))

    return Finding(
        over(runs, "to a quarter", "s", QUARTER, "rtt", RTTS)
        + over(runs, "reconnection", "ms", reconnection, "rtt", RTTS),
        judged("iosl"),
        Control("the same sessions on connections that begin with nothing", judged("fresh")),
        remark="a session's path takes one round trip to the first octet, since its first message goes with the SYN; "
        "where that waits for TCP's handshake (handshake) it takes two, as an application that asks for a range",
    )


def gain_by_capacity(runs: Runs) -> Finding:
    """How much more is delivered, and when nine tenths of the capacity are reached."""

    def judged(scheme: str) -> tuple[Check, ...]:
        gains = [gain(runs, scheme, "tcp", rate=rate) for rate in RATES]
        sooner = tuple(
            above(f"{scheme} at its peak before tcp, {rate} Mbit/s", both, "s")
            for rate in RATES
            for both in [pairs(runs.of("tcp", rate=rate), runs.of(scheme, rate=rate), PEAK)]
        )
        return (rises(f"{scheme} delivers more by", gains), *sooner)

    return Finding(
        over(runs, "to the peak", "s", PEAK, "rate", RATES) + over(runs, "goodput", "Mbit/s", goodput, "rate", RATES),
        judged("iosl"),
        Control("the same sessions on connections that begin with nothing", judged("fresh")),
        cause="at 10 Mbit/s Algorithm 1's bound makes the loss: "
        + ", ".join(f"{one} {middle(runs, goodput, one, rate='10'):.2f}" for one in ("tcp", "iosl", "loose"))
        + " Mbit/s, loose with a bound of twice the bandwidth-delay product; "
        "25 and 50 Mbit/s gain alike, since TCP's slow start overshoots at each rate by another amount: where it stops "
        "before (hystart = true), the gain rises at these rates",
    )


def restored(runs: Runs) -> Finding:
    """TCP is recreated: the time to nine tenths of the capacity, as a share of TCP's."""

    def judged(scheme: str) -> tuple[Check, ...]:
        return tuple(
            at_most(
                f"{scheme} / tcp, {rtt}",
                middle(runs, PEAK, scheme, rtt=rtt) / middle(runs, PEAK, "tcp", rtt=rtt),
                0.95,
            )
            for rtt in RTTS
        )

    return Finding(
        over(runs, "to the peak", "s", PEAK, "rtt", RTTS)
        + over(runs, "timeouts", "", timeouts, "rtt", RTTS)
        + SCTP.shown(runs)
        + MPTCP.shown(runs)
        + ablations(runs),
        (*judged("iosl"), *SCTP.checks(runs, "sctp-iosl"), *MPTCP.checks(runs, "mptcp-iosl")),
        Control(
            "sessions on connections that begin with nothing, associations and sub-flows that move with nothing",
            (*judged("fresh"), *SCTP.checks(runs, "sctp-moved"), *MPTCP.checks(runs, "mptcp-moved")),
        ),
        remark="Algorithm 1 keeps cwnd at rate times the least round trip, so that a short path carries little more "
        "than nine tenths, the peak of this claim",
    )


def gain_by_speed(runs: Runs) -> Finding:
    """Throughput as handovers get frequent, against TCP and against sessions that restore nothing."""

    def judged(scheme: str, over_fresh: Sequence[float]) -> tuple[Check, ...]:
        over_tcp = [gain(runs, scheme, "tcp", speed=speed) for speed in SPEEDS]
        return tuple(
            check
            for theirs, gains in (("tcp", over_tcp), ("fresh", over_fresh))
            for check in (
                rises(f"{scheme} delivers more than {theirs} by", gains),
                at_least(f"{scheme} over {theirs}, the most", max(gains), 10, "%"),
            )
        )

    return Finding(
        over(runs, "goodput", "Mbit/s", goodput, "speed", SPEEDS),
        judged("iosl", [gain(runs, "iosl", "fresh", speed=speed) for speed in SPEEDS]),
        Control(
            "the same sessions on connections that begin with nothing; against themselves with other handovers",
            judged("fresh", [placebo(runs, "fresh", speed=speed) for speed in SPEEDS]),
        ),
    )


def soon(runs: Runs, scheme: str, notice: str) -> float:
    """Which share of all reconnections takes less than 30 ms, percent."""
    times = [time for rtt in CLOSE for run in runs.of(scheme, notice=notice, rtt=rtt) for time in reconnections(run)]
    return 100 * sum(time < SOON_MS for time in times) / len(times)


def reconnects(runs: Runs) -> Finding:
    """All reconnections over eight round trips; an application that is told at once, and two that notice later."""

    def saved(scheme: str, notice: str) -> list[float]:
        return [shorter(runs, reconnection, scheme, "tcp", notice=notice, rtt=rtt) for rtt in CLOSE]

    def judged(scheme: str, notice: str) -> tuple[Check, ...]:
        found = saved(scheme, notice)
        return (
            within("tcp under 30 ms: the calibration", soon(runs, "tcp", "address"), 50, 0.1),
            at_least(f"{scheme} under 30 ms, tcp notices: {notice}", soon(runs, scheme, notice), 80, "%"),
            at_least(f"{scheme} is shorter by, the most, tcp notices: {notice}", max(found), 30, "%"),
        )

    shown = tuple(
        measured
        for notice in ("address", "10ms", "1s")
        for scheme in ("tcp", "handshake", "iosl")
        for measured in (
            Measured(f"under 30 ms {scheme} notice {notice}", "%", soon(runs, scheme, notice)),
            *medians(runs, "reconnection", "ms", reconnection, [scheme], notice=notice, rtt="14ms"),
        )
    )
    by_notice = {notice: saved("iosl", notice) for notice in ("address", "10ms", "1s")}
    shorter_by = tuple(
        Measured(f"shorter by, {which}, notice {notice}", "%", value)
        for notice, found in by_notice.items()
        for which, value in (("average", statistics.fmean(found)), ("most", max(found)))
    )
    return Finding(
        shown + shorter_by,
        judged("iosl", "address"),
        Control("sessions whose first message waits for TCP's handshake", judged("handshake", "address")),
        remark="a session's new path takes one round trip to the first octet of a download, since its first message "
        "goes with the SYN; with TCP's handshake first (handshake) two, as an application that asks for a range",
    )


def switched(runs: Runs) -> Finding:
    """LTE and Wi-Fi every 10 s, in both directions, by the number of handovers in 65 s."""

    def judged(scheme: str) -> tuple[Check, ...]:
        gains = {
            way: [gain(runs, scheme, "tcp", direction=way, handovers=count) for count in HANDOVERS]
            for way in ("down", "up")
        }
        return (
            *(at_least(f"{scheme} delivers more, {way}", min(found), 0.1, "%") for way, found in gains.items()),
            *(rises(f"{scheme} delivers more by, {way}", found) for way, found in gains.items()),
            Check(
                f"up more than down: {max(gains['up']):.2f} and {max(gains['down']):.2f} %",
                max(gains["up"]) > max(gains["down"]),
            ),
        )

    shown = tuple(
        one
        for way in ("down", "up")
        for count in HANDOVERS
        for one in medians(
            runs,
            "goodput",
            "Mbit/s",
            goodput,
            ("tcp", "fresh", "iosl", "loose", "linux"),
            direction=way,
            handovers=count,
        )
    )
    bound, free = (middle(runs, goodput, one, direction="up", handovers="2") for one in ("iosl", "loose"))
    return Finding(
        shown,
        judged("iosl"),
        Control("the same sessions on connections that begin with nothing", judged("fresh")),
        cause="upwards Algorithm 1's bound costs what restoring gains: with two handovers iosl delivers "
        f"{bound:.2f} Mbit/s, and {free:.2f} where the bound is twice the bandwidth-delay product (loose)",
    )
