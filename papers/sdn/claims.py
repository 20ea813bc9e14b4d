"""The claims of [sdn], one function each. In every run one connection and one handover; schemes are paired by seed."""

from __future__ import annotations

from collections.abc import Sequence

from handfast.studies.reproduce import (
    Check,
    Claims,
    Control,
    Figure,
    Finding,
    Measured,
    NotRun,
    Run,
    Runs,
    above,
    at_least,
    at_most,
    median,
    medians,
    middle,
    need,
    pairs,
    values,
    within,
)

from . import beyond, draw, live
from .judge import (
    FOLLOWS,
    LOADS,
    MUCH_SHORTER,
    SAME,
    WHEEL,
    after_the_return,
    follows,
    given_up_share,
    like_bare,
    like_spurious,
    no_scheme_can,
    ratio,
)
from .measure import (
    CONTROL_S,
    NOTICE_S,
    added,
    after_return,
    cwnd,
    death,
    ended,
    expected_after_return,
    first_second,
    idle,
    last_byte,
    nothing_lost,
    repeated,
    restored,
    round_trip,
    to_full_rate,
)

USER_TIMEOUT_S, ROUND_TRIP_S = 30.0, 0.482
"""Of the sweep `ber`."""
LEAST_ENDED = 0.1
"""With 2 packets of 100 lost, at least so many releases of twenty segments lose one."""

CLAIMS = Claims("sdn", "An SDN-based true end-to-end TCP for wireless LAN (Singh and Pandey, 2021)")


@CLAIMS.claim(
    "3",
    "after re-association a bare sender stays idle for what is left of a doubled timeout",
    paper="Figure 3: both ends idle for a significant time after the re-association (2 x RTO)",
    needs=[need("schedule")],
    figure=draw.timeline,
)
def doubled_timeout(runs: Runs) -> Finding:
    """The idle time after the return is predicted from the first expiry in the gap, and compared."""

    def judged(scheme: str) -> tuple[Check, ...]:
        exact = follows(runs.of(scheme, timers="exact"), 0.0)
        kernel = follows(runs.of(scheme, timers="kernel"), WHEEL)
        return (
            at_least("share of handovers on the schedule within 30 ms, exact timers", exact, FOLLOWS),
            at_least("share on it or up to 1/8 of the wait later, timers of the kernel", kernel, FOLLOWS),
        )

    return Finding(
        (
            *medians(runs, "idle after return", "s", after_return, ("bare", "spurious"), timers="kernel"),
            *medians(runs, "by the schedule", "s", expected_after_return, ("bare",), timers="kernel"),
        ),
        judged("bare"),
        Control("spurious in bare's place", judged("spurious")),
    )


@CLAIMS.claim(
    "7a",
    "light load: the idle time of zwa and spurious is the same, and much shorter than that of bare",
    paper="Figure 7a: zwa and spurious the same, much shorter than bare",
    needs=[need("loads", load="light")],
    figure=draw.idle_time,
)
def idle_light(runs: Runs) -> Finding:
    """Medians of the longest gap in delivery: both at most half of bare's."""

    def much_shorter(scheme: str, figure: Figure) -> Check:
        return at_most(f"{scheme} / bare", ratio(runs, figure, scheme, "light"), MUCH_SHORTER)

    def judged(spurious: str, zwa: str, figure: Figure) -> tuple[Check, ...]:
        return (much_shorter(spurious, figure), much_shorter(zwa, figure), like_spurious(runs, figure, "light"))

    schemes = ("bare", "zwa", "spurious", "unpaced", "rto-max")
    return Finding(
        (
            *medians(runs, "idle", "s", idle, schemes, load="light"),
            *medians(runs, "after return", "s", after_return, schemes, load="light"),
            given_up_share(runs, "light"),
        ),
        judged("spurious", "zwa", idle),
        Control("bare in place of both", judged("bare", "bare", idle)),
        cause=f"{no_scheme_can(runs, LOADS[:1])}. {after_the_return(judged('spurious', 'zwa', after_return))}",
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

    def judged(spurious: str, zwa: str, figure: Figure) -> tuple[Check, ...]:
        light, medium, heavy = (ratio(runs, figure, zwa, load) for load in LOADS)
        return (
            *(
                at_most(f"spurious / bare, {load}", ratio(runs, figure, spurious, load), MUCH_SHORTER)
                for load in LOADS[1:]
            ),
            Check(f"zwa / bare rises: {light:.3f}, {medium:.3f}, {heavy:.3f}", light < medium < heavy),
            like_bare(runs, zwa, "heavy", figure),
        )

    schemes = ("bare", "zwa", "spurious", "unpaced")
    return Finding(
        tuple(
            one
            for load in LOADS
            for name, figure in (("idle", idle), ("after return", after_return))
            for one in medians(runs, name, "s", figure, schemes, load=load)
        )
        + tuple(given_up_share(runs, load) for load in LOADS),
        judged("spurious", "zwa", idle),
        Control("bare in place of both", judged("bare", "bare", idle)),
        cause=f"{no_scheme_can(runs, LOADS[1:])}; and bare's takes few values, those of the back-off schedule, so that "
        f"its median jumps. {after_the_return(judged('spurious', 'zwa', after_return))}",
    )


@CLAIMS.claim(
    "7d",
    "spurious: data stops only while the mobile is disconnected",
    paper="interrupted only while the mobile is disconnected",
    needs=[need("loads")],
    figure=draw.idle_time,
)
def interruption(runs: Runs) -> Finding:
    """Idle time less disconnection: the median at most one round trip and both notifications."""

    def bound(load: str) -> float:
        return min(map(round_trip, runs.of("bare", load=load))) + 2 * (NOTICE_S + CONTROL_S)

    def judged(scheme: str) -> tuple[Check, ...]:
        return tuple(
            at_most(f"added, {load}, {scheme}", middle(runs, added, scheme, load=load), bound(load), "s")
            for load in LOADS
        )

    def beyond(load: str) -> Measured:
        some = [more for more in values(runs.of("spurious", load=load), added) if more is not None]
        over = sum(more > bound(load) for more in some)
        return Measured(f"handovers in which more is added, {load}, spurious", "%", 100 * over / len(some))

    def most(load: str) -> Measured:
        more = max(one for one in values(runs.of("spurious", load=load), added) if one is not None)
        return Measured(f"most that is added, {load}, spurious", "s", more)

    return Finding(
        tuple(
            one
            for load in LOADS
            for one in (
                *medians(runs, "idle less disconnection", "s", added, ("spurious", "unpaced", "bare"), load=load),
                most(load),
                beyond(load),
            )
        ),
        judged("spurious"),
        Control("bare in spurious's place", judged("bare")),
        remark="Where more is added, the last data before the disconnection was a round trip old, and the way from "
        "where segments are held takes longer than a notification",
    )


@CLAIMS.claim(
    "8",
    "average congestion window: spurious >= zwa >= bare; under heavy load zwa is bare",
    paper="Figure 8: zwa and spurious similar, above bare (light); spurious above the others; zwa = bare (heavy)",
    needs=[need("loads")],
    figure=draw.average_window,
)
def average_window(runs: Runs) -> Finding:
    """Medians in order, the outer two apart by the paired difference."""

    def judged(spurious: str) -> tuple[Check, ...]:
        checks: list[Check] = []
        for load in LOADS:
            ours, bare = runs.of(spurious, load=load), runs.of("bare", load=load)
            best, zwa, worst = (middle(runs, cwnd, scheme, load=load) for scheme in (spurious, "zwa", "bare"))
            checks += [
                above(f"spurious above bare, {load}", pairs(ours, bare, cwnd), "pkt"),
                at_least(f"spurious / zwa, {load}", best / zwa, 1 - SAME),
                at_least(f"zwa / bare, {load}", zwa / worst, 1 - SAME),
            ]
        return (*checks, like_bare(runs, "zwa", "heavy", cwnd))

    schemes = ("bare", "zwa", "spurious", "unpaced")
    return Finding(
        tuple(one for load in LOADS for one in medians(runs, "average cwnd", "pkt", cwnd, schemes, load=load)),
        judged("spurious"),
        Control("bare in spurious's place", judged("bare")),
    )


@CLAIMS.claim(
    "9",
    "retransmissions: zwa least under light load, bare most; under heavy load zwa is bare",
    paper="Figure 9: zwa least, bare most; zwa degrades with the load",
    needs=[need("loads")],
    figure=draw.retransmissions,
)
def retransmissions(runs: Runs) -> Finding:
    """Order by medians and by the paired differences, for each load."""

    def more(load: str, scheme: str) -> Check:
        bare, ours = runs.of("bare", load=load), runs.of(scheme, load=load)
        return above(f"bare above {scheme}, {load}", pairs(bare, ours, repeated), "seg")

    def judged(spurious: str, zwa: str) -> tuple[Check, ...]:
        least, other = (middle(runs, repeated, scheme, load="light") for scheme in (zwa, spurious))
        return (
            at_most("zwa, of spurious, light", least, other, "seg"),
            more("light", zwa),
            *(more(load, spurious) for load in LOADS),
            like_bare(runs, zwa, "heavy", repeated),
        )

    schemes = ("bare", "zwa", "spurious", "unpaced")
    return Finding(
        tuple(one for load in LOADS for one in medians(runs, "retransmitted", "seg", repeated, schemes, load=load)),
        judged("spurious", "zwa"),
        Control("bare in place of both", judged("bare", "bare")),
    )


@CLAIMS.claim(
    "10",
    "heavy load, 3 s out: spurious halts for less time than bare, and is at full rate at once",
    paper="Figure 10: halts of 4 s (spurious) and 5 s (bare); maximum rate immediately (spurious), later (bare)",
    needs=[need("rate")],
    figure=draw.data_rate,
)
def halts(runs: Runs) -> Finding:
    """Halts and time to full rate at 70 ms; the first second with fast notices, or without a stale segment."""
    fast, slow = ("2ms", "10ms"), ("30ms", "60ms", "70ms")

    def late(scheme: str) -> list[Run]:
        return runs.of(scheme, notification="70ms")

    def first(some: Sequence[Run]) -> float:
        return median("share of the rate before, first second", "", values(some, first_second)).value

    def judged(scheme: str) -> tuple[Check, ...]:
        caught = [run for notice in (*fast, *slow) for run in runs.of(scheme, notification=notice) if nothing_lost(run)]
        return (
            above("bare halts longer", pairs(late("bare"), late(scheme), idle), "s"),
            above("bare takes longer to full rate", pairs(late("bare"), late(scheme), to_full_rate), "s"),
            *(
                at_least(f"first second / before, {notice}", first(runs.of(scheme, notification=notice)), 0.9)
                for notice in fast
            ),
            at_least("least first second / before where nothing was lost", lowest(caught), 0.9),
        )

    def lowest(caught: Sequence[Run]) -> float:
        return min((share for share in values(caught, first_second) if share is not None), default=0.0)

    def lossy(notice: str) -> Measured:
        some = runs.of("spurious", notification=notice)
        hit = sum(not nothing_lost(run) for run in some)
        return Measured(f"handovers with losses, {notice}, spurious", "%", 100 * hit / len(some))

    schemes = ("bare", "spurious", "unpaced")
    return Finding(
        (
            *medians(runs, "halt", "s", idle, schemes, notification="70ms"),
            *medians(runs, "time to full rate", "s", to_full_rate, schemes, notification="70ms"),
            *(
                one
                for notice in (*fast, *slow)
                for one in medians(runs, "first second / before", "", first_second, ("spurious",), notification=notice)
            ),
            *map(lossy, (*fast, *slow)),
        ),
        judged("spurious"),
        Control("bare in spurious's place", judged("bare")),
    )


@CLAIMS.claim(
    "11",
    "the controller answers a packet-in in time, with 50 mobiles and up to 215 hosts",
    paper="Figure 11: 9.2 to 11 ms; no difficulties up to 215 nodes",
    figure=draw.response,
)
def response(runs: Runs) -> Finding:
    """The live `handfastd controller`: the 99th percentile below 1 ms, medians over ten controllers started."""
    found = live.response(quick=runs.quick)

    def took(hosts: str, quantile: str) -> Measured:
        samples = [1e-3 * sample[f"{quantile}_us"] for sample in found[hosts]]
        if len(set(samples)) == 1:
            raise NotRun("every controller took exactly the same")
        return median(f"packet-in to packet-out, {quantile}, {hosts}", "ms", samples)

    def judged(hosts: str) -> Check:
        return at_most(f"p99, {hosts}", took(hosts, "p99").value, 1.0, "ms")

    measured = [hosts for hosts in found if hosts != live.RESTING]
    return Finding(
        tuple(took(hosts, quantile) for hosts in measured for quantile in ("p50", "p99")),
        tuple(map(judged, measured)),
        Control("a controller that is stopped for 10 ms in every 20 ms", (judged(live.RESTING),)),
        remark=live.REMARK,
    )


@CLAIMS.claim(
    "ber",
    "a bit error while zwa releases what it has acknowledged ends the connection; spurious survives",
    paper="section 3.2: a fatal flaw, which leads to a reset after some time; spurious protects from it",
    needs=[need("ber"), need("survive")],
    figure=draw.bit_errors,
)
def bit_errors(runs: Runs) -> Finding:
    """No byte past the hole, and the end at the user timeout; of spurious, none in all handovers."""

    def share(scheme: str, errors: str) -> float:
        some = runs.of(scheme, "ber", errors=errors)
        return sum(map(ended, some)) / len(some)

    def judged(errors: str) -> tuple[Check, ...]:
        dead = [run for run in runs.of("zwa", "ber", errors=errors) if ended(run)]
        past = max(map(last_byte, dead), default=0.0)
        return (
            at_least("share of zwa's connections that end", share("zwa", errors), LEAST_ENDED),
            at_most("last byte of those, after the return", past, 2 * ROUND_TRIP_S, "s"),
            *(
                within(f"{name} time to their end, s", end, USER_TIMEOUT_S + ROUND_TRIP_S, SAME)
                for name, end in (
                    ("shortest", min(map(death, dead), default=0.0)),
                    ("longest", max(map(death, dead), default=0.0)),
                )
            ),
        )

    survivors = runs.of("spurious", "survive")
    handovers = sum(len(run.result.handovers) for run in survivors)
    return Finding(
        (
            *(
                Measured(f"connections that end, bit errors: {errors}, {scheme}", "%", 100 * share(scheme, errors))
                for errors in ("some", "none")
                for scheme in ("zwa", "spurious")
            ),
            Measured("handovers with bit errors, spurious", "", handovers),
            Measured("connections that end, several handovers, spurious", "", sum(map(ended, survivors))),
        ),
        (
            *judged("some"),
            at_most("connections of spurious that end", sum(map(ended, survivors)), 0),
            at_least("handovers of spurious", handovers, 100 if runs.quick else 1000),
        ),
        Control("zwa without bit errors", judged("none")),
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
    delays = ("5ms", "9ms")
    figures = (("average cwnd", "pkt", cwnd), ("retransmitted", "seg", repeated))

    def alike(name: str, figure: Figure, delay: str, notice: str) -> Check:
        ours, bare = (middle(runs, figure, one, delay=delay, notification=notice) for one in ("spurious", "bare"))
        return within(f"{name}, {delay}, spurious and bare", ours, bare, SAME)

    def judged(notice: str) -> tuple[Check, ...]:
        return tuple(alike(name, figure, delay, notice) for delay in delays for name, _, figure in figures)

    return Finding(
        tuple(
            one
            for delay in delays
            for notice in ("70ms", "2ms")
            for name, unit, figure in (*figures, ("after return", "s", after_return))
            for one in medians(runs, name, unit, figure, ("bare", "spurious"), delay=delay, notification=notice)
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
    """Where nothing is lost: window and threshold of before the first timeout. Textbook F-RTO knows one timeout."""

    def share(scheme: str, timeouts: str) -> float:
        some = [run for run in runs.of(scheme, timeouts=timeouts) if nothing_lost(run) and run.measures.timeouts]
        if not some:
            raise NotRun(f"no run of {scheme} without loss has a timeout")
        return sum(map(restored, some)) / len(some)

    def judged(scheme: str, timeouts: str = "several") -> Check:
        return at_least(f"share restored after {timeouts}, {scheme}", share(scheme, timeouts), 1.0)

    several = [(scheme, "several") for scheme in ("spurious", "no-timestamps", "eifel", "textbook")]
    return Finding(
        tuple(
            Measured(f"restored, {timeouts} timeouts, {scheme}", "%", 100 * share(scheme, timeouts))
            for scheme, timeouts in (*several, ("textbook", "one"))
        ),
        (judged("spurious"), judged("no-timestamps"), judged("eifel"), judged("textbook", "one")),
        Control("textbook F-RTO (RFC 5682) after several timeouts", (judged("textbook"),)),
    )


CLAIMS.claim(
    "release",
    "beyond the paper: released at once, what is held overflows the new radio's queue; paced, it does not",
    paper="releases at once; says nothing of the queue",
    needs=[need("release")],
    figure=draw.release,
    beyond=True,
)(beyond.release)

CLAIMS.claim(
    "together",
    "beyond the paper: with its 20 mobiles at once on shared airtime spurious is idle for less time after a return",
    paper="20 mobiles (Table 2); its figures are of one connection",
    needs=[need("together")],
    figure=draw.together,
    beyond=True,
)(beyond.together)
