"""The claims of [vho], one function each.

One handover or outage a run, at 36 instants from slow start to avoidance; schemes are paired by seed and instant.
"""

from __future__ import annotations

from collections.abc import Sequence

from handfast.studies import reproduce
from handfast.studies.reproduce import (
    Check,
    Claims,
    Control,
    Finding,
    Measured,
    Runs,
    above,
    at_least,
    at_most,
    median,
    middle,
    need,
    pairs,
    values,
    within,
)
from handfast.studies.reproduce.runs import Figure

from . import causes, draw
from .beyond import beyond
from .causes import of
from .measure import FLOWS, WIRES, expired_late, goodput, lost, repeated, there, timeouts

SAME = 0.15
"""Figures that differ by less are the same."""

CLAIMS = Claims(
    "vho",
    "Enhancing TCP with cross-layer notifications and capacity estimation in heterogeneous access networks "
    "(Daniel and Kojo, 2012)",
)


def medians(
    runs: Runs, name: str, unit: str, figure: Figure, schemes: Sequence[str], **choices: str
) -> tuple[Measured, ...]:
    """A figure of each scheme that is there, with its interval."""
    known = [scheme for scheme in schemes if runs.has(scheme)]
    return reproduce.medians(runs, name, unit, figure, known, **choices)


def missing(runs: Runs, *wanted: str) -> tuple[Check, ...]:
    """What the claim speaks of and nobody has built."""
    return tuple(Check(f"{scheme} is there", holds=False) for scheme in wanted if not runs.has(scheme))


def faster(runs: Runs, figure: Figure, one: str, other: str, **choices: str) -> Check:
    """A scheme takes less time than another, run by run."""
    label = ", ".join([f"{one} before {other}", *choices.values()])
    return above(label, pairs(runs.of(other, **choices), runs.of(one, **choices), figure), "s")


def ratio(runs: Runs, figure: Figure, one: str, other: str, **choices: str) -> float:
    """The median of a scheme's figure, as a multiple of another's."""
    return middle(runs, figure, one, **choices) / middle(runs, figure, other, **choices)


def flow_groups(packets: int, **choices: str) -> list[tuple[Figure, dict[str, str]]]:
    """A figure for each number of flows."""
    return [(of(packets), {**choices, "flows": flows}) for flows in FLOWS]


@CLAIMS.claim(
    "2-5",
    "start-up goodput of 10, 100 to 400 packets: qs best, abest-vho as iw10 and above tcp, vho below tcp; "
    "abest-vho loses nothing",
    paper="Figures 2 to 5: LTE: qs highest, abest-vho and iw10 comparable, above tcp, iw10 loses; "
    "WLAN: abest-vho as qs (1 flow), qs impaired (4); vho below tcp",
    needs=[need("start"), need("wlan")],
    figure=draw.start,
)
def start(runs: Runs) -> Finding:
    """Goodput by the number of packets; iw10 from 100 packets on, vho at 400, where slow start has come to the BDP."""
    links, flows = ("lte", "wlan"), ("1", "4")

    def more(one: str, other: str, **choices: str) -> Check:
        label = ", ".join([f"{one} above {other}", *choices.values()])
        return above(label, pairs(runs.of(one, **choices), runs.of(other, **choices), goodput), "Mbit/s")

    def loses(scheme: str, link: str, count: str) -> Measured:
        return median(
            f"lost, {link}, {count}, 400, {scheme}",
            "seg",
            values(runs.of(scheme, link=link, flows=count, packets="400"), lost),
        )

    def judged(iw10: str, vho: str) -> tuple[Check, ...]:
        checks = [
            *(more(iw10, "tcp", link="lte", flows=count, packets=n) for count in flows for n in ("100", "400")),
            *(more("tcp", vho, link=link, flows=count, packets="400") for link in links for count in flows),
            *(at_least(f"iw10 loses, {link}, 4 flows", loses("iw10", link, "4").value, 1, "seg") for link in links),
        ]
        if runs.has("abest-vho"):
            checks += [
                *(more("abest-vho", "tcp", link="lte", flows=count, packets="400") for count in flows),
                *(
                    at_most(f"abest-vho loses, {link}, {count} flows", loses("abest-vho", link, count).value, 0, "seg")
                    for link in links
                    for count in flows
                ),
            ]
        if runs.has("abest-vho") and runs.has("qs"):
            best = [ratio(runs, goodput, "abest-vho", "qs", link="wlan", flows="1", packets="400")]
            checks += [
                *(more("qs", "abest-vho", link="lte", flows=count, packets="400") for count in flows),
                within("abest-vho / qs, wlan, 1 flow", best[0], 1.0, SAME),
                more("iw10", "qs", link="wlan", flows="4", packets="400"),
            ]
        return (*checks, *missing(runs, "qs", "abest-vho"))

    return Finding(
        tuple(
            one
            for link in links
            for count in flows
            for packets in ("10", "100", "400")
            for one in medians(runs, "goodput", "Mbit/s", goodput, there(runs), link=link, flows=count, packets=packets)
        )
        + tuple(loses(scheme, link, count) for scheme in there(runs) for link in links for count in flows),
        judged("iw10", "vho"),
        Control("tcp in place of iw10 and vho", judged("tcp", "tcp")),
        cause=causes.bounds(runs),
    )


@CLAIMS.claim(
    "6-7",
    "make-before-break between WLAN and HSDPA: to the slower link vho and abest-vho alike and before tcp, "
    "qs behind tcp with several flows",
    paper="Figures 6 and 7: to the slower link vho and abest-vho perform in a similar way; "
    "qs above tcp in the multiple-flow cases",
    needs=[need("handovers", way=("wlan-hsdpa", "hsdpa-wlan")), need("wire")],
    figure=draw.handovers_hsdpa,
)
def between_wlan_and_hsdpa(runs: Runs) -> Finding:
    """100 packets to the slower link; 500 to the faster are shown."""
    groups = [*flow_groups(100, way="wlan-hsdpa"), *flow_groups(500, way="hsdpa-wlan")]

    def against_tcp(scheme: str, wire: str, count: str) -> float:
        return ratio(runs, of(100), scheme, "tcp", wire=wire, flows=count)

    def row(scheme: str, wire: str) -> str:
        return ", ".join(f"{against_tcp(scheme, wire, count):.2f}" for count in FLOWS)

    def judged(vho: str) -> tuple[Check, ...]:
        slower = groups[: len(FLOWS)]
        checks = [faster(runs, figure, vho, "tcp", **choices) for figure, choices in slower]
        if runs.has("abest-vho"):
            checks += [faster(runs, figure, "abest-vho", "tcp", **choices) for figure, choices in slower]
            checks += [
                within(
                    f"abest-vho / vho, {choices['way']}, {choices['flows']}",
                    ratio(runs, figure, "abest-vho", vho, **choices),
                    1.0,
                    SAME,
                )
                for figure, choices in slower
            ]
        if runs.has("qs"):
            checks += [faster(runs, groups[0][0], "tcp", "qs", way="wlan-hsdpa", flows=count) for count in FLOWS[1:]]
        return (*checks, *missing(runs, "qs", "abest-vho"))

    return Finding(
        tuple(one for figure, choices in groups for one in medians(runs, "time", "s", figure, there(runs), **choices))
        + tuple(
            Measured(f"{scheme} / tcp, wire {wire}, {count}", "", against_tcp(scheme, wire, count))
            for wire in WIRES
            for count in FLOWS
            for scheme in ("vho", "no-bdp-window")
        ),
        judged("vho"),
        Control("tcp in vho's place", judged("tcp")),
        cause="cwnd becomes the BDP of the access link, which is less than the path's by the wired part, while what is "
        "lost before the notification comes (60 ms after the handoff) still counts as in flight. Time as a multiple of "
        f"tcp's with 1, 2 and 4 flows: {row('vho', '10ms')}; without that rule {row('no-bdp-window', '10ms')}; "
        f"with it, where the wired part is 1 ms and no more: {row('vho', '1ms')}. "
        + causes.chirps(runs, 100, {"way": "wlan-hsdpa"}),
    )


@CLAIMS.claim(
    "8-9",
    "make-before-break between WLAN and LTE: abest-vho takes at least 20 % less time than every other",
    paper="Figures 8 and 9: at least 20 % reduction in transfer time compared to other TCP versions",
    needs=[need("handovers", way=("wlan-lte", "lte-wlan"))],
    figure=draw.handovers_lte,
)
def between_wlan_and_lte(runs: Runs) -> Finding:
    """1000 packets, both ways, against each other scheme."""
    groups = [*flow_groups(1000, way="wlan-lte"), *flow_groups(1000, way="lte-wlan")]

    def judged(best: str) -> tuple[Check, ...]:
        others = [scheme for scheme in there(runs) if scheme != "abest-vho"]
        if not runs.has(best):
            return missing(runs, "qs", "abest-vho")
        return (
            *(
                at_most(
                    f"{best} / {other}, {choices['way']}, {choices['flows']}",
                    ratio(runs, figure, best, other, **choices),
                    0.8,
                )
                for figure, choices in groups
                for other in others
            ),
            *missing(runs, "qs", "abest-vho"),
        )

    return Finding(
        tuple(one for figure, choices in groups for one in medians(runs, "time", "s", figure, there(runs), **choices)),
        judged("abest-vho"),
        Control("vho in abest-vho's place", judged("vho")),
        cause=causes.chirps(runs, 1000, {"way": "wlan-lte"}, {"way": "lte-wlan"}),
    )


@CLAIMS.claim(
    "10",
    "break-before-make from EGPRS to LTE, 2 s: vho and abest-vho take less than half of tcp's time; qs helps",
    paper="Figure 10: vho and abest-vho reduce the transfer time by more than 50 %; Quick-Start helps to reduce it",
    needs=[need("break-egprs"), need("shares", scene="egprs-lte")],
    figure=draw.break_egprs,
)
def from_egprs(runs: Runs) -> Finding:
    """500 packets."""

    def judged(vho: str, abest: str) -> tuple[Check, ...]:
        checks = [
            at_most(f"{scheme} / tcp, {choices['flows']}", ratio(runs, figure, scheme, "tcp", **choices), 0.5)
            for scheme in (vho, abest)
            if runs.has(scheme)
            for figure, choices in flow_groups(500)
        ]
        if runs.has("qs"):
            checks += [faster(runs, figure, "qs", "tcp", **choices) for figure, choices in flow_groups(500)]
        return (*checks, *missing(runs, "qs", "abest-vho"))

    return Finding(
        tuple(
            one
            for figure, choices in flow_groups(500)
            for one in medians(runs, "time", "s", figure, there(runs), **choices)
        ),
        judged("vho", "abest-vho"),
        Control("tcp in place of both", judged("tcp", "tcp")),
        cause=causes.shares(runs, "egprs-lte"),
    )


@CLAIMS.claim(
    "11",
    "break-before-make from HSDPA to LTE, 500 ms: abest-vho is more than twice as fast as tcp",
    paper="Figure 11: smallest transfer time, an improvement of more than a factor of 2",
    needs=[need("break-hsdpa")],
    figure=draw.break_hsdpa,
)
def from_hsdpa(runs: Runs) -> Finding:
    """500 packets."""

    def judged(best: str) -> tuple[Check, ...]:
        if not runs.has(best):
            return missing(runs, "abest-vho")
        return tuple(
            at_most(f"{best} / tcp, {choices['flows']}", ratio(runs, figure, best, "tcp", **choices), 0.5)
            for figure, choices in flow_groups(500)
        )

    return Finding(
        tuple(
            one
            for figure, choices in flow_groups(500)
            for one in medians(runs, "time", "s", figure, there(runs), **choices)
        ),
        judged("abest-vho"),
        Control("tcp in abest-vho's place", judged("tcp")),
        cause=causes.chirps(runs, 500, {}),
    )


@CLAIMS.claim(
    "12",
    "HSDPA gone for 1 s: vho and abest-vho are fastest",
    paper="Figure 12: vho and abest-vho have the minimum transfer time",
    needs=[need("outages", link="hsdpa"), need("gaps")],
    figure=draw.outage_hsdpa,
)
def outage_hsdpa(runs: Runs) -> Finding:
    """100 packets, against each other scheme."""

    def judged(vho: str) -> tuple[Check, ...]:
        best = [scheme for scheme in (vho, "abest-vho") if runs.has(scheme)]
        others = [scheme for scheme in there(runs) if scheme not in ("vho", "abest-vho")]
        return (
            *(
                faster(runs, figure, scheme, other, link="hsdpa", **choices)
                for scheme in best
                for other in others
                for figure, choices in flow_groups(100)
            ),
            *missing(runs, "qs", "abest-vho"),
        )

    return Finding(
        tuple(
            one
            for figure, choices in flow_groups(100, link="hsdpa")
            for one in medians(runs, "time", "s", figure, there(runs), **choices)
        ),
        judged("vho"),
        Control("tcp in vho's place", judged("tcp")),
        cause=causes.timers(runs),
    )


@CLAIMS.claim(
    "13",
    "LTE gone for 500 ms, at 15 and at 50 ms: abest-vho is fastest; qs as fast where its timer expires at once",
    paper="Figure 13: abest-vho has the minimum transfer time; qs similar, as the timer expires immediately after the "
    "connection comes up",
    needs=[
        need("outages", link=("lte-15ms", "lte-50ms")),
        need("shares", scene=("lte-15ms", "lte-50ms")),
    ],
    figure=draw.outage_lte,
)
def outage_lte(runs: Runs) -> Finding:
    """1000 packets, against each other scheme."""
    groups = [*flow_groups(1000, link="lte-15ms"), *flow_groups(1000, link="lte-50ms")]

    def judged(best: str) -> tuple[Check, ...]:
        if not runs.has(best):
            return missing(runs, "qs", "abest-vho")
        others = [scheme for scheme in there(runs) if scheme != "abest-vho"]
        checks = [faster(runs, figure, best, other, **choices) for figure, choices in groups for other in others]
        late = [run for run in runs.of("qs", "outages") if expired_late(run)] if runs.has("qs") else []
        if late:
            both = pairs(late, runs.of(best), of(1000))
            mine, theirs = (median("", "", [pair[side] for pair in both]).value for side in (1, 0))
            checks.append(
                within(f"qs and {best} where the timer expires within 100 ms of the return, s", theirs, mine, SAME)
            )
        return (*checks, *missing(runs, "qs", "abest-vho"))

    return Finding(
        tuple(one for figure, choices in groups for one in medians(runs, "time", "s", figure, there(runs), **choices)),
        judged("abest-vho"),
        Control("vho in abest-vho's place", judged("vho")),
        cause=". ".join(
            [
                causes.chirps(runs, 1000, {"link": "lte-15ms"}, {"link": "lte-50ms"}),
                "With one flow Quick-Start is told the whole rate at once, with the repetition that is sent soon after "
                "the return",
                causes.shares(runs, "lte-15ms", "lte-50ms"),
            ]
        ),
    )


@CLAIMS.claim(
    "mech",
    "each rule of section 3.1 helps where its condition holds",
    paper="section 3.1 names a problem for each rule; section 4.2: they mitigate it",
    needs=[need("rules")],
    figure=draw.rules,
)
def mechanisms(runs: Runs) -> Finding:
    """Each rule's own scene: without the rule it is worse than with all of them."""

    def judged(without: str) -> tuple[Check, ...]:
        return tuple(
            above(
                f"{name}, without {rule}",
                pairs(runs.of(without.format(rule), scene=rule), runs.of("vho", scene=rule), figure),
                unit,
            )
            for rule, (name, unit, figure) in SCENES.items()
        )

    return Finding(
        tuple(
            one
            for rule, (name, unit, figure) in SCENES.items()
            for one in medians(runs, name, unit, figure, ("tcp", "vho", f"no-{rule}"), scene=rule)
        ),
        judged("no-{}"),
        Control("with the rule on both sides", judged("vho")),
        remark="One timeout is left with min-rto: a notification over a link of 300 ms comes later than "
        "a timer of 224 ms",
    )


SCENES: dict[str, tuple[str, str, Figure]] = {
    "min-rto": ("timeouts", "", timeouts),
    "bdp-window": ("lost", "seg", lost),
    "reordering": ("sent again", "seg", repeated),
    "retransmit": ("time for 100 packets", "s", of(100)),
    "initial-ssthresh": ("lost", "seg", lost),
    "handoff-ssthresh": ("time for 500 packets", "s", of(500)),
}
"""By rule, what is worse without it."""


CLAIMS.claim(
    "beyond",
    "what the paper leaves out: lost acknowledgments, losses, bursts, fades, cross traffic, eight flows, short ones: "
    "vho and abest-vho before tcp; abest-vho loses less where the access link is not the bottleneck",
    paper="none",
    needs=[need("beyond")],
    figure=draw.beyond,
    beyond=True,
)(beyond)
