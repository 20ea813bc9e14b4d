"""What [iosl] leaves out: the numbers that it leaves open, and what applications do without a layer."""

from __future__ import annotations

from handfast.studies.reproduce import (
    Check,
    Control,
    Finding,
    Measured,
    Runs,
    above,
    at_least,
    medians,
    middle,
    pairs,
)

from .measure import ahead, delay, detected, false_alarms, goodput, reached, timeouts

CASES, GAPS, APPLICATIONS = ("goes", "stays"), ("50ms", "150ms", "1s"), ("told", "finds-out")
SENDERS = ("tcp", "fresh", "iosl", "linux", "linux-fresh", "linux-iosl")
CHOSEN, STARVED = "as-chosen", "alpha-0.3"
WAYS, RTTS, CUTS = ("up", "down"), ("20ms", "50ms", "100ms", "200ms"), ("100ms", "1s")
HORIZONTAL = ("tcp", "alone", "iosl", "linux", "linux-alone", "linux-alone-loose", "rto-max")
QUARTER = reached(0.25)
NEAR = 0.98
"""A goodput above this share of another one is as good."""


def _numbers(runs: Runs) -> list[str]:
    return [*dict.fromkeys(run.choices["number"] for run in runs.all if run.sweep == "numbers")]


def _alarms(runs: Runs) -> tuple[Measured, ...]:
    """By how long each predicts ahead, and how often where the link stays."""
    known = [*dict.fromkeys(run.choices["number"] for run in runs.all if run.sweep == "alarms")]
    return tuple(
        one
        for number in known
        for figure, name, unit, signal in (
            (ahead, "ahead", "s", "goes"),
            (false_alarms, "false alarms", "", "stays-at-0dB"),
        )
        for one in medians(runs, name, unit, figure, ["iosl"], signal=signal, number=number)
    )


def numbers(runs: Runs) -> Finding:
    """Whether what we have chosen does as well as any other of the numbers, and none of them harm."""

    def of(number: str, case: str) -> float:
        return middle(runs, goodput, "iosl", number=number, case=case)

    def judged(number: str) -> tuple[Check, ...]:
        best = {case: max((of(other, case), other) for other in _numbers(runs)) for case in CASES}
        return tuple(
            check
            for case in CASES
            for check in (
                at_least(
                    f"{number} / {best[case][1]}, the best, {case}",
                    of(number, case) / best[case][0],
                    NEAR,
                ),
                at_least(
                    f"{number} / unwarned, {case}",
                    of(number, case) / middle(runs, goodput, "unwarned", number=number, case=case),
                    NEAR,
                ),
            )
        )

    shown = (
        (goodput, "goodput", "Mbit/s"),
        (detected, "predicted", "%"),
        (false_alarms, "false alarms", ""),
        (delay, "delay", "ms"),
    )
    return Finding(
        tuple(
            one
            for case in CASES
            for number in _numbers(runs)
            for figure, name, unit in shown
            if figure is not detected or case == "goes"
            for one in medians(runs, name, unit, figure, ["iosl"], number=number, case=case)
        )
        + _alarms(runs),
        judged(CHOSEN),
        Control("alpha 0.3: three tenths of what the radio carries", judged(STARVED)),
    )


def applications(runs: Runs) -> Finding:
    """The layer against an application that is told of its address, and one that finds out; over today's sender too.

    Each is judged against the same sessions without restored windows as well: what the layer is worth beyond sessions.
    """
    cells = [{"gap": gap, "application": way} for gap in GAPS for way in APPLICATIONS]

    def judged(ours: str, theirs: str) -> tuple[Check, ...]:
        return tuple(
            above(
                f"{ours} delivers more than {theirs}, {', '.join(cell.values())}",
                pairs(runs.of(ours, **cell), runs.of(theirs, **cell), goodput),
                "Mbit/s",
            )
            for cell in cells
        )

    return Finding(
        tuple(one for cell in cells for one in medians(runs, "goodput", "Mbit/s", goodput, SENDERS, **cell)),
        judged("iosl", "tcp")
        + judged("linux-iosl", "linux")
        + judged("iosl", "fresh")
        + judged("linux-iosl", "linux-fresh"),
        Control(
            "the same sessions on connections that begin with nothing, beside the applications",
            judged("fresh", "tcp") + judged("linux-fresh", "linux"),
        ),
    )


def horizontal(runs: Runs) -> Finding:
    """The layer at one end, where a handover keeps the address; both ends, and a capped timeout, beside it."""
    cells = [{"direction": way, "rtt": rtt, "gap": gap} for way in WAYS for rtt in RTTS for gap in CUTS]

    def judged(scheme: str, theirs: str) -> tuple[Check, ...]:
        return tuple(
            check
            for cell in cells
            for label in [", ".join(cell.values())]
            for other, ours in [(runs.of(theirs, **cell), runs.of(scheme, **cell))]
            for check in (
                above(f"a quarter with {scheme} before {theirs}, {label}", pairs(other, ours, QUARTER), "s"),
                above(f"{scheme} delivers more than {theirs}, {label}", pairs(ours, other, goodput), "Mbit/s"),
            )
        )

    shown = ((QUARTER, "to a quarter", "s"), (goodput, "goodput", "Mbit/s"), (timeouts, "timeouts", ""))
    return Finding(
        tuple(
            one
            for cell in cells
            for figure, name, unit in shown
            for one in medians(runs, name, unit, figure, HORIZONTAL, **cell)
        ),
        judged("alone", "tcp") + judged("linux-alone", "linux"),
        Control("a capped timeout in place of the layer", judged("rto-max", "linux")),
        cause="upwards Algorithm 1's bound costs what is saved, at 50 ms and gaps of 100 ms: "
        + ", ".join(
            f"{one} {middle(runs, goodput, one, direction='up', rtt='50ms', gap='100ms'):.1f}"
            for one in ("linux", "linux-alone", "linux-alone-loose")
        )
        + " Mbit/s, the last with a bound of twice the bandwidth-delay product; and at 200 ms a gap of 100 ms is over "
        "before any timer has run out",
    )
