"""The claims of [eln], one function each."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from handfast.studies.reproduce import (
    Check,
    Claims,
    Control,
    Figure,
    Finding,
    Measured,
    Runs,
    above,
    at_least,
    at_most,
    mean_time,
    medians,
    middle,
    need,
    no_less,
    pairs,
    within,
)

from . import draw
from .measure import CAPS, LINK_MBPS, ahead, kept, reductions, share, throughput

STAYS_HIGH, NEAR_SNOOP = 0.9, 0.95
"""Shares of the link and of Snoop's throughput that count as high, and as the same."""
STAYS = 0.99
"""A window that keeps this share was not reduced; nobody's is reduced by less than a tenth."""
SAME_SHARE = 0.1
TELLING = "1e-2"
"""The loss at which the order is judged."""
CASES = (
    "acks-lost-1e-2",
    "acks-lost-1e-1",
    "bit-errors",
    "bursts-of-5",
    "bursts-of-20",
    "fades-of-200ms",
    "four-flows",
)

CLAIMS = Claims(
    "eln",
    "An explicit loss and handoff notification scheme in TCP for cellular mobile system (Islam and Uddin, 2016)",
)


@CLAIMS.claim(
    "2",
    "eln's throughput stays high over the range of losses, above unmodified TCP once loss hurts",
    paper="Figure 2: high throughput for a range of error rates; standard TCP's low",
    needs=[need("loss"), need("segments"), need("clamp", clamped="1e-2")],
    figure=draw.by_loss,
)
def loss(runs: Runs) -> Finding:
    """The order at a loss of 1e-2 by paired differences; shares of what the radio carries and of Snoop's by medians."""

    def beside(first: str, second: str, cap: str) -> Sequence[tuple[float | None, float | None]]:
        ours, theirs = (runs.of(scheme, loss=TELLING, cap=cap) for scheme in (first, second))
        return pairs(ours, theirs, throughput)

    def judged(scheme: str, cap: str) -> tuple[Check, ...]:
        ours, snoop = (middle(runs, throughput, one, loss=TELLING, cap=cap) for one in (scheme, "snoop"))
        order = ("sack", "newreno", "reno", "tahoe")
        return (
            above(f"{scheme} over sack, cap {cap}", beside(scheme, "sack", cap), "Mbit/s"),
            above(f"snoop over sack, cap {cap}", beside("snoop", "sack", cap), "Mbit/s"),
            *(
                no_less(f"{first} over {second}, cap {cap}", beside(first, second, cap), "Mbit/s")
                for first, second in itertools.pairwise(order)
            ),
            at_least(f"{scheme} / link, cap {cap}", ours / LINK_MBPS, STAYS_HIGH),
            at_least(f"{scheme} / snoop, cap {cap}", ours / snoop, NEAR_SNOOP),
        )

    def ahead_by(**choices: str) -> str:
        newreno, sack = (runs.of(scheme, **choices) for scheme in ("newreno", "sack"))
        return no_less("newreno over sack", pairs(newreno, sack, throughput), "Mbit/s").says

    small, large = (middle(runs, throughput, "eln", loss=TELLING, cap=cap) for cap in CAPS)
    free, snoop = (middle(runs, throughput, scheme, clamped=TELLING) for scheme in ("eln", "snoop"))
    return Finding(
        tuple(
            one
            for cap in CAPS
            for at in ("1e-3", TELLING, "1e-1")
            for one in medians(
                runs,
                "throughput",
                "Mbit/s",
                throughput,
                ("tahoe", "reno", "newreno", "sack", "snoop", "eln"),
                loss=at,
                cap=cap,
            )
        ),
        tuple(check for cap in CAPS for check in judged("eln", cap)),
        Control("newreno in eln's place", tuple(check for cap in CAPS for check in judged("newreno", cap))),
        cause=(
            "The receiver's buffer is the window of 20 segments: nothing more may be sent while a repair from the far "
            "end is on its way, a round trip, and a repair that is lost has nothing behind it that would tell; Snoop's "
            f"takes 4 ms. With a buffer of 200 segments, and cwnd bounded to 20, eln has {free:.3g} Mbit/s instead of "
            f"{small:.3g}, Snoop {snoop:.3g}; with 64 eln has {large:.3g}. With 64 segments "
            f"{ahead_by(loss=TELLING, cap='64')}, because ssthresh is half of FlightSize in bytes: of an odd one half "
            "a segment stays in SACK's cwnd after a recovery, which is never sent and has to be grown through; RFC "
            "6582's option (1) takes it from NewReno. With windows that count whole segments "
            f'(congestion_control = "linux-reno") {ahead_by(windows="segments")}'
        ),
    )


@CLAIMS.claim(
    "3",
    "at a loss of 0.002 eln's window is never reduced, Snoop's less often than SACK's",
    paper="Figure 3: the congestion window of TCP ELN never really shrinks; Snoop's decreases less often",
    needs=[need("window"), need("clamp", clamped="2e-3")],
    figure=draw.windows,
)
def windows(runs: Runs) -> Finding:
    """Reductions in 200 s. With 64 segments the queue overflows without any loss: those reductions are congestion's."""

    def timeouts(**choices: str) -> int:
        return sum(1 for run in runs.of("eln", **choices) if run.measures.timeouts)

    def most(scheme: str) -> float:
        return max(reductions(run) or 0.0 for run in runs.of(scheme, loss="2e-3", cap="20"))

    def judged(scheme: str) -> tuple[Check, ...]:
        congestion = middle(runs, reductions, scheme, loss="1e-5", cap="64")
        return (
            at_most(f"reductions of {scheme}, cap 20, most of any seed", most(scheme), 0),
            at_most(
                f"reductions of {scheme}, cap 64, and without loss",
                middle(runs, reductions, scheme, loss="2e-3", cap="64"),
                1.1 * congestion,
            ),
            *(
                above(
                    f"sack's over snoop's, cap {cap}",
                    pairs(runs.of("sack", loss="2e-3", cap=cap), runs.of("snoop", loss="2e-3", cap=cap), reductions),
                )
                for cap in CAPS
            ),
        )

    return Finding(
        tuple(
            one
            for cap in CAPS
            for at in ("2e-3", "1e-5")
            for one in medians(runs, "reductions", "", reductions, ("sack", "snoop", "eln"), loss=at, cap=cap)
        ),
        judged("eln"),
        Control("sack in eln's place", judged("sack")),
        cause=(
            f"{timeouts(cap='20', loss='2e-3')} of {len(runs.of('eln', loss='2e-3', cap='20'))} runs have a timeout, "
            "none a fast retransmit: a repair was lost too while the receiver's buffer of 20 segments let nothing "
            "follow it that would tell. With a buffer of 200 segments, and cwnd bounded to 20, "
            f"{timeouts(clamped='2e-3')} of {len(runs.of('eln', clamped='2e-3'))} have one"
        ),
    )


@CLAIMS.claim(
    "4",
    "at a handoff SACK reduces its window, eln does not",
    paper="Figure 4: unmodified TCP reduces its congestion window, that of modified TCP continues to increase",
    needs=[need("ride")],
    figure=draw.ride_windows,
)
def handoff_windows(runs: Runs) -> Finding:
    """Cwnd half a second after each return, as a share of before; of each run the least."""

    def least(scheme: str, cap: str) -> float:
        return min(kept(run) or 0.0 for run in runs.of(scheme, cap=cap))

    def judged(scheme: str) -> tuple[Check, ...]:
        return (
            *(at_least(f"kept by {scheme}, cap {cap}, least of any seed", least(scheme, cap), STAYS) for cap in CAPS),
            *(at_most(f"kept by sack, cap {cap}", middle(runs, kept, "sack", cap=cap), 0.9) for cap in CAPS),
        )

    return Finding(
        tuple(one for cap in CAPS for one in medians(runs, "cwnd kept", "", kept, ("sack", "eln"), cap=cap)),
        judged("eln"),
        Control("a mobile that says nothing", judged("mute")),
    )


@CLAIMS.claim(
    "5",
    "at 40 km/h eln is ahead of SACK after the first handoff",
    paper="Figure 5: ELN is able to receive more packets for a given time",
    needs=[need("ride")],
    figure=draw.sequence,
)
def ahead_of_sack(runs: Runs) -> Finding:
    """Bytes delivered at each second after the first return, medians of paired differences over the seeds."""

    def judged(scheme: str, cap: str) -> Check:
        found = ahead(runs.of(scheme, cap=cap), runs.of("sack", cap=cap))
        behind = sum(1 for difference in found if difference < 0)
        return at_most(f"samples at which {scheme} is behind, of {len(found)}, cap {cap}", behind, 0)

    def strictly(scheme: str, cap: str) -> Check:
        last = ahead(runs.of(scheme, cap=cap), runs.of("sack", cap=cap))[-1]
        return Check(f"{scheme} ahead at the end, cap {cap}: {last / 1e3:.3g} kB > 0", last > 0)

    def all_of(scheme: str) -> tuple[Check, ...]:
        return tuple(check for cap in CAPS for check in (judged(scheme, cap), strictly(scheme, cap)))

    return Finding(
        tuple(
            Measured(
                f"ahead of sack, {when}, cap {cap}",
                "kB",
                ahead(runs.of("eln", cap=cap), runs.of("sack", cap=cap))[at] / 1e3,
            )
            for cap in CAPS
            for when, at in (("a second after the first return", 0), ("at the end", -1))
        ),
        all_of("eln"),
        Control("a mobile that says nothing", all_of("mute")),
    )


SPEEDS = ("20", "40", "60", "80", "100", "120")


@CLAIMS.claim(
    "6",
    "eln's throughput is above SACK's at every speed, and falls with speed",
    paper="Figure 6: comparatively high throughput under handoff; it decreases at higher speed",
    needs=[need("speed"), need("swept")],
    figure=draw.by_speed,
)
def speed(runs: Runs) -> Finding:
    """Paired differences at each speed; medians from speed to speed."""

    def of(scheme: str, speed: str, cap: str) -> list[tuple[float | None, float | None]]:
        ours, theirs = (runs.of(one, "speed", speed=speed, cap=cap) for one in (scheme, "sack"))
        return pairs(ours, theirs, throughput)

    def judged(scheme: str) -> tuple[Check, ...]:
        return tuple(
            check
            for cap in CAPS
            for check in (
                *(above(f"{scheme} over sack, {at} km/h, cap {cap}", of(scheme, at, cap), "Mbit/s") for at in SPEEDS),
                *(
                    at_least(
                        f"{scheme}, {slow} over {fast} km/h, cap {cap}",
                        middle(runs, throughput, scheme, speed=slow, cap=cap)
                        / middle(runs, throughput, scheme, speed=fast, cap=cap),
                        1.0,
                    )
                    for slow, fast in itertools.pairwise(SPEEDS)
                ),
            )
        )

    open_choices = sorted({run.choices["open"] for run in runs.all if run.sweep == "swept"})
    return Finding(
        (
            *(
                one
                for cap in CAPS
                for at in ("20", "40", "120")
                for one in medians(runs, "throughput", "Mbit/s", throughput, ("sack", "eln"), speed=at, cap=cap)
            ),
            *(
                one
                for choice in open_choices
                for one in medians(runs, "throughput", "Mbit/s", throughput, ("sack", "eln"), open=choice, cap="64")
            ),
        ),
        judged("eln"),
        Control("a mobile that says nothing", judged("mute")),
        remark=_swept(runs, open_choices),
    )


def _swept(runs: Runs, choices: Sequence[str]) -> str:
    def gain(choice: str, cap: str) -> float:
        ours, theirs = (middle(runs, throughput, one, open=choice, cap=cap) for one in ("eln", "sack"))
        return 100 * (ours / theirs - 1)

    gains = "; ".join(f"{choice}: {gain(choice, '20'):+.2f} and {gain(choice, '64'):+.2f} %" for choice in choices)
    return f"What the paper leaves open, swept at 100 km/h, eln over sack with 20 and 64 segments: {gains}"


@CLAIMS.claim(
    "cong",
    "what the base station discards is not masked: with cross traffic eln reduces its window as SACK does",
    paper="section 6: does not interfere with TCP's congestion control behaviour",
    needs=[need("congestion")],
    figure=draw.shares,
)
def congestion(runs: Runs) -> Finding:
    """Two downloads fill the queue; one is judged, the other has plain SACK."""

    def judged(scheme: str) -> tuple[Check, ...]:
        return (
            at_least(f"reductions of {scheme}", middle(runs, reductions, scheme), 1),
            within(
                f"share of {scheme} and of sack", middle(runs, share, scheme), middle(runs, share, "sack"), SAME_SHARE
            ),
        )

    schemes = ("sack", "eln", "unseen")
    return Finding(
        (*medians(runs, "share", "", share, schemes), *medians(runs, "reductions", "", reductions, schemes)),
        judged("eln"),
        Control("a base station that cannot see its discards (encrypted traffic)", judged("unseen")),
    )


@CLAIMS.claim(
    "beyond",
    "its future work: lost acknowledgments, bursts, fades, short flows, several flows: eln is not below SACK",
    paper="section 6 names these; no figures",
    needs=[need("beyond")],
    figure=draw.beyond,
    beyond=True,
)
def beyond(runs: Runs) -> Finding:
    """Throughput by paired differences; of short flows the time that they take."""

    def better(scheme: str, case: str, figure: Figure, cap: str) -> Check:
        ours, theirs = (runs.of(one, case=case, cap=cap) for one in (scheme, "sack"))
        if figure is mean_time:
            return above(
                f"sack's flows take longer than {scheme}'s, {case}, cap {cap}", pairs(theirs, ours, figure), "s"
            )
        return above(f"{scheme} over sack, {case}, cap {cap}", pairs(ours, theirs, figure), "Mbit/s")

    def judged(scheme: str) -> tuple[Check, ...]:
        return tuple(
            check
            for cap in CAPS
            for check in (
                *(better(scheme, case, throughput, cap) for case in CASES),
                better(scheme, "short-flows", mean_time, cap),
            )
        )

    schemes = ("sack", "snoop", "eln")
    return Finding(
        tuple(
            one
            for cap in CAPS
            for one in (
                *(
                    one
                    for case in ("as-in-the-paper", *CASES)
                    for one in medians(runs, "throughput", "Mbit/s", throughput, schemes, case=case, cap=cap)
                ),
                *medians(runs, "time of a flow of 20 kB", "s", mean_time, schemes, case="short-flows", cap=cap),
            )
        ),
        judged("eln"),
        Control("sack in eln's place", judged("sack")),
        cause=(
            "Four windows of 20 segments are more than path and queue hold: what is lost is mostly discarded, and eln "
            "gives way as SACK does, with a repair or two more. Bursts of 20 take whole windows, and timers decide"
        ),
        remark=(
            "Encrypted traffic is the control of eln-cong: a base station that sees nothing lets every mark stand, and "
            "congestion is masked"
        ),
    )
