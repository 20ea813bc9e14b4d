"""The claims of [sdn], one function each. Everywhere: one connection, one handover a run, paired by seed."""

from __future__ import annotations

from collections.abc import Sequence

from handfast.reproduce import (
    Check,
    Claims,
    Control,
    Finding,
    Measured,
    NotRun,
    Run,
    Runs,
    above,
    at_least,
    at_most,
    median,
    need,
    pairs,
    values,
    within,
)

from . import draw, live
from .measure import (
    CONTROL_S,
    NOTICE_S,
    added,
    after_return,
    backed_off,
    cwnd,
    disconnection,
    expected_after_return,
    first_second,
    idle,
    nothing_lost,
    repeated,
    restored,
    round_trip,
    to_full_rate,
)

CLAIMS = Claims("sdn", "An SDN-based true end-to-end TCP for wireless LAN (Singh and Pandey, 2021)")

LOADS = ("light", "medium", "heavy")
SAME = 0.15
"""Figures that differ by less are the same."""
MUCH_SHORTER = 0.5
"""Much shorter is at most this share."""
SAMPLE_S = 0.03
"""Three samples of the series: as exact as they are."""
WHEEL = 1 / 8
"""How late the kernel's timer wheel is at most, as a share of the wait."""
FOLLOWS = 0.95
"""Handovers that have to follow the schedule."""


def follows(runs: Sequence[Run], late: float) -> float:
    """The share of handovers whose idle time after the return is that of the schedule, or `late` of the wait longer."""
    known = [(run, expected) for run in runs if (expected := expected_after_return(run)) is not None]
    if not known:
        raise NotRun("no timer expired in any gap")
    off = [((after_return(run) or 0.0) - expected, backed_off(run)) for run, expected in known]
    return sum(-SAMPLE_S <= apart <= SAMPLE_S + late * wait for apart, wait in off) / len(known)


@CLAIMS.claim(
    "3",
    "after re-association a bare sender stays idle for what is left of a doubled timeout",
    paper="Figure 3: both ends are idle for a significant time after the re-association (2 x RTO)",
    needs=[need("schedule")],
    figure=draw.timeline,
)
def doubled_timeout(runs: Runs) -> Finding:
    """The idle time after the return is predicted from the first expiry in the gap and compared."""

    def judged(scheme: str) -> tuple[Check, ...]:
        exact = follows(runs.of(scheme, timers="exact"), 0.0)
        kernel = follows(runs.of(scheme, timers="kernel"), WHEEL)
        return (
            at_least("share of handovers on the schedule within 30 ms, exact timers", exact, FOLLOWS),
            at_least("share on it or up to 1/8 of the wait later, the kernel's timer wheel", kernel, FOLLOWS),
        )

    bare, spurious = runs.of("bare", timers="kernel"), runs.of("spurious", timers="kernel")
    return Finding(
        (
            median("idle after return, bare", "s", values(bare, after_return)),
            median("by the schedule, bare", "s", values(bare, expected_after_return)),
            median("idle after return, spurious", "s", values(spurious, after_return)),
        ),
        judged("bare"),
        Control("spurious in bare's place", judged("spurious")),
    )


def no_scheme_can(runs: Runs, load: str) -> str:
    """Why no scheme halves bare's idle time: the ablation is a sender that knows everything."""
    bare, spurious = runs.of("bare", load=load), runs.of("spurious", load=load)
    least = median("", "s", values(bare, disconnection)).value / median("", "s", values(bare, idle)).value
    ratio = median("", "", values(spurious, after_return)).value / median("", "", values(bare, after_return)).value
    return (
        f"{load}: the disconnection alone, all that a sender that knew everything would wait, is {least:.2f} of bare's "
        f"idle time; of the idle time after the return spurious has {ratio:.2f} x bare's"
    )


def idle_figures(runs: Runs, load: str, schemes: Sequence[str]) -> tuple[Measured, ...]:
    """The idle time of a connection, and what of it is after the return."""
    return tuple(
        median(f"{name}, {load}, {scheme}", "s", values(runs.of(scheme, load=load), figure))
        for name, figure in (("idle", idle), ("after return", after_return))
        for scheme in schemes
    )


def ratio(runs: Runs, scheme: str, load: str) -> float:
    """The median idle time of a scheme, as a multiple of bare's."""
    ours, bare = (median("", "s", values(runs.of(name, load=load), idle)).value for name in (scheme, "bare"))
    return ours / bare


@CLAIMS.claim(
    "7a",
    "light load: the idle time of zwa and spurious is the same, and much shorter than that of bare",
    paper="Figure 7a: zwa and spurious the same, much shorter than bare",
    needs=[need("loads", load="light")],
    figure=draw.idle_time,
)
def idle_light(runs: Runs) -> Finding:
    """Medians of the longest gap in delivery: both at most half of bare's."""

    def judged(scheme: str) -> tuple[Check, ...]:
        return (at_most(f"idle, {scheme} / bare", ratio(runs, scheme, "light"), MUCH_SHORTER),)

    zwa, spurious = (median("", "s", values(runs.of(name, load="light"), idle)).value for name in ("zwa", "spurious"))
    return Finding(
        idle_figures(runs, "light", ("bare", "zwa", "spurious", "unpaced", "rto-max")),
        (*judged("spurious"), *judged("zwa"), within("idle of zwa and spurious, s", zwa, spurious, SAME)),
        Control("bare in spurious's place", judged("bare")),
        cause=no_scheme_can(runs, "light"),
    )


@CLAIMS.claim(
    "7bc",
    "medium and heavy load: zwa degrades, and further; spurious stays short",
    paper="Figures 7b, 7c: zwa degraded, further degraded; spurious consistently well",
    needs=[need("loads")],
    figure=draw.idle_time,
)
def idle_loads(runs: Runs) -> Finding:
    """Spurious at most half of bare; zwa / bare rises with the load, until zwa is bare."""

    def judged(helped: str, given_up: str) -> tuple[Check, ...]:
        light, medium, heavy = (ratio(runs, given_up, load) for load in LOADS)
        return (
            *(at_most(f"idle, {helped} / bare, {load}", ratio(runs, helped, load), MUCH_SHORTER) for load in LOADS[1:]),
            Check(f"zwa / bare rises: {light:.3f}, {medium:.3f}, {heavy:.3f}", light < medium < heavy),
            within("zwa / bare, heavy", heavy, 1.0, SAME),
        )

    return Finding(
        tuple(
            figure for load in LOADS for figure in idle_figures(runs, load, ("bare", "zwa", "spurious", "unpaced"))
        ),
        judged("spurious", "zwa"),
        Control("bare in place of both", judged("bare", "bare")),
        cause="; ".join(no_scheme_can(runs, load) for load in LOADS[1:]),
    )


@CLAIMS.claim(
    "7d",
    "spurious: data stops only while the mobile is disconnected",
    paper="interrupted only while the mobile is disconnected",
    needs=[need("loads")],
    figure=draw.idle_time,
)
def interruption(runs: Runs) -> Finding:
    """Idle time less disconnection: at most one round trip and both notifications, in every handover."""

    def judged(scheme: str) -> tuple[Check, ...]:
        return tuple(
            at_most(f"most that is added, {load}, {scheme}", max(map(extra, some)), bound(some), "s")
            for load in LOADS
            for some in [runs.of(scheme, load=load)]
        )

    def extra(run: Run) -> float:
        more = added(run)
        if more is None:
            raise NotRun("a connection delivered nothing")
        return more

    def bound(some: Sequence[Run]) -> float:
        return min(map(round_trip, some)) + 2 * (NOTICE_S + CONTROL_S)

    return Finding(
        tuple(
            median(f"idle less disconnection, {load}, {scheme}", "s", values(runs.of(scheme, load=load), added))
            for load in LOADS
            for scheme in ("spurious", "unpaced", "bare")
        ),
        judged("spurious"),
        Control("bare in spurious's place", judged("bare")),
    )


def by_load(runs: Runs, name: str, unit: str, figure: draw.Of) -> tuple[Measured, ...]:
    """A figure of each scheme under each load."""
    return tuple(
        median(f"{name}, {load}, {scheme}", unit, values(runs.of(scheme, load=load), figure))
        for load in LOADS
        for scheme in ("bare", "zwa", "spurious", "unpaced")
    )


@CLAIMS.claim(
    "8",
    "average congestion window: spurious >= zwa >= bare; under heavy load zwa is bare",
    paper="Figure 8: zwa and spurious similar and above bare (light); spurious above the others; zwa = bare (heavy)",
    needs=[need("loads")],
    figure=draw.average_window,
)
def average_window(runs: Runs) -> Finding:
    """Medians in order, the outer two apart by the paired difference."""

    def mean(scheme: str, load: str) -> float:
        return median("", "pkt", values(runs.of(scheme, load=load), cwnd)).value

    def judged(best: str, middle: str) -> tuple[Check, ...]:
        checks: list[Check] = []
        for load in LOADS:
            ours, bare = runs.of(best, load=load), runs.of("bare", load=load)
            checks += [
                above(f"spurious above bare, {load}", pairs(ours, bare, cwnd), "pkt"),
                at_least(f"spurious / zwa, {load}", mean(best, load) / mean(middle, load), 1 - SAME),
                at_least(f"zwa / bare, {load}", mean(middle, load) / mean("bare", load), 1 - SAME),
            ]
        return (*checks, within("zwa and bare, heavy, pkt", mean(middle, "heavy"), mean("bare", "heavy"), SAME))

    return Finding(
        by_load(runs, "average cwnd", "pkt", cwnd),
        judged("spurious", "zwa"),
        Control("bare in spurious's place", judged("bare", "zwa")),
    )


@CLAIMS.claim(
    "9",
    "retransmissions: zwa least under light load, bare most; under heavy load zwa is bare",
    paper="Figure 9: zwa least, bare most; zwa degrades with the load",
    needs=[need("loads")],
    figure=draw.retransmissions,
)
def retransmissions(runs: Runs) -> Finding:
    """Order by the paired differences, for each load."""

    def judged(spurious: str, zwa: str) -> tuple[Check, ...]:
        light = {name: runs.of(name, load="light") for name in ("bare", spurious, zwa)}
        heavy = [median("", "seg", values(runs.of(name, load="heavy"), repeated)).value for name in (zwa, "bare")]
        least = median("", "seg", values(light[zwa], repeated)).value
        other = median("", "seg", values(light[spurious], repeated)).value
        return (
            at_most("zwa, light", least, other, "seg"),
            *(
                above(f"bare above spurious, {load}", pairs(runs.of("bare", load=load), runs.of(spurious, load=load), repeated))
                for load in LOADS
            ),
            above("bare above zwa, light", pairs(light["bare"], light[zwa], repeated)),
            within("zwa and bare, heavy, seg", heavy[0], heavy[1], SAME),
        )

    return Finding(
        by_load(runs, "retransmitted", "seg", repeated),
        judged("spurious", "zwa"),
        Control("bare in place of both", judged("bare", "bare")),
    )


@CLAIMS.claim(
    "10",
    "heavy load, 3 s out: spurious halts for less time than bare, and is at full rate at once",
    paper="Figure 10: halts of 4 s (spurious) and 5 s (bare); full rate immediately (spurious), later (bare)",
    needs=[need("rate")],
    figure=draw.data_rate,
)
def halts(runs: Runs) -> Finding:
    """Halts; time to full rate; the first second, where the news are fast or nothing took the stale way."""
    late = {name: runs.of(name, notification="70ms") for name in ("bare", "spurious", "unpaced")}

    def whole(scheme: str) -> list[Run]:
        fast = [run for notice in ("2ms", "10ms") for run in runs.of(scheme, notification=notice)]
        slow = [run for notice in ("30ms", "60ms", "70ms") for run in runs.of(scheme, notification=notice)]
        return fast + [run for run in slow if nothing_lost(run)]

    def judged(scheme: str) -> tuple[Check, ...]:
        return (
            above("bare halts longer", pairs(late["bare"], late[scheme], idle), "s"),
            above("bare takes longer to full rate", pairs(late["bare"], late[scheme], to_full_rate), "s"),
            at_least(
                "least share of the rate before, first second, T0-T1 <= 10 ms or nothing on the stale way",
                min(share for share in values(whole(scheme), first_second) if share is not None),
                0.9,
            ),
        )

    lost = [run for run in late["spurious"] if not nothing_lost(run)]
    return Finding(
        (
            *(median(f"halt, {name}", "s", values(some, idle)) for name, some in late.items()),
            *(median(f"time to full rate, {name}", "s", values(some, to_full_rate)) for name, some in late.items()),
            *(
                median(f"first second / before, spurious, {notice}", "", values(runs.of("spurious", notification=notice), first_second))
                for notice in ("2ms", "10ms", "30ms", "60ms", "70ms")
            ),
            Measured("spurious at 70 ms, handovers with losses on the stale way", "%", 100 * len(lost) / len(late["spurious"])),
        ),
        judged("spurious"),
        Control("bare in spurious's place", judged("bare")),
    )


@CLAIMS.claim(
    "low",
    "link delay under 10 ms with 70 ms notification: spurious is like bare",
    paper="link delays below 10 ms: similar to traditional TCP, without any improvement",
    needs=[need("low")],
    figure=draw.low_delay,
)
def low_delay(runs: Runs) -> Finding:
    """Window and retransmissions are bare's; with 2 ms of notification they are not."""

    def judged(notice: str) -> tuple[Check, ...]:
        checks: list[Check] = []
        for delay in ("5ms", "9ms"):
            for name, figure in (("average cwnd", cwnd), ("retransmitted", repeated)):
                ours, bare = (
                    median("", "", values(runs.of(scheme, delay=delay, notification=notice), figure)).value
                    for scheme in ("spurious", "bare")
                )
                checks.append(within(f"{name}, {delay}, spurious and bare", ours, bare, SAME))
        return tuple(checks)

    return Finding(
        tuple(
            median(f"{name}, {delay}, {notice}, {scheme}", unit, values(runs.of(scheme, delay=delay, notification=notice), figure))
            for delay in ("5ms", "9ms")
            for notice in ("70ms", "2ms")
            for name, unit, figure in (("average cwnd", "pkt", cwnd), ("retransmitted", "seg", repeated), ("after return", "s", after_return))
            for scheme in ("bare", "spurious")
        ),
        judged("70ms"),
        Control("2 ms notification", judged("2ms")),
        remark="The captured retransmission still restarts the flow: idle after the return is not bare's",
    )


@CLAIMS.claim(
    "det",
    "the sender finds its timeouts spurious, with timestamps (Eifel) and without (F-RTO), however many there were",
    paper="RFC 3522 with timestamps, RFC 5682 without; cwnd and ssthresh as before the timeout",
    needs=[need("detection")],
    figure=draw.detection,
)
def detection(runs: Runs) -> Finding:
    """Where nothing is lost: window and threshold of before the first timeout; textbook F-RTO knows one timeout only."""

    def share(scheme: str, timeouts: str) -> float:
        some = [run for run in runs.of(scheme, timeouts=timeouts) if nothing_lost(run) and run.measures.timeouts]
        if not some:
            raise NotRun(f"no run of {scheme} without loss has a timeout")
        return sum(map(restored, some)) / len(some)

    def judged(scheme: str) -> Check:
        return at_least(f"share restored after several timeouts, {scheme}", share(scheme, "several"), 1.0)

    shares = [(scheme, "several") for scheme in ("spurious", "no-timestamps", "eifel", "textbook")] + [("textbook", "one")]
    return Finding(
        tuple(
            Measured(f"restored, {scheme}, {count} timeout{'s' * (count != 'one')}", "%", 100 * share(scheme, count))
            for scheme, count in shares
        ),
        (
            judged("spurious"),
            judged("no-timestamps"),
            at_least("share restored after one timeout, textbook F-RTO", share("textbook", "one"), 1.0),
        ),
        Control("textbook F-RTO (RFC 5682) after several timeouts", (judged("textbook"),)),
    )
