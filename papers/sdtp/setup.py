"""The set-up of connections: the claims `6` and `hs`."""

from __future__ import annotations

import itertools

from handfast.studies.reproduce import (
    Check,
    Control,
    Finding,
    Measured,
    NotRun,
    Run,
    Runs,
    above,
    at_least,
    at_most,
    medians,
    middle,
    required,
    within,
)

from .measure import TCPS, beside, connect, connections, counted, crossing, crossings

POINTS = ("0", "0.5", "1", "2", "3", "4", "5")
"""Per cent lost end to end."""
BY_DELAY = {"10": "sdtp-10", "25": "sdtp-25", "40": "sdtp-40", "65": "sdtp-65"}
"""Control delay in ms, and the scheme."""
LOST_OR_NOT = ("", "-lossy")
"""Whether messages with a SYN or a SYN-ACK in them are lost as data is."""
MUCH_LESS = 0.65
"""What counts as "much less"."""
TRANSFER_B = 100_000
"""Of the connection that has a detour."""
LEAST = 10_000
"""Connections a point."""
ACCESS_MS, TCP_MS = 80.0, 180.0
"""Without loss: four times an access link; three times the path."""


def set_up(runs: Runs) -> Finding:
    """Means over 1,024 connections a run; the schemes are paired by seed."""
    for point in POINTS:
        opened = sum(map(connections, runs.of("sdtp-10", loss=point)))
        if opened < LEAST:
            raise NotRun(f"{opened} connections at a loss of {point} %; at least {LEAST} are needed")
    if any(flow.outcome != "open" for run in runs.all for flow in run.flows if flow.flow != "beside"):
        raise NotRun("a connection has failed, and no mean contains it")

    def longer(one: str, other: str, point: str) -> Check:
        return above(f"{one} longer than {other}, {point} %", beside(runs, one, other, connect, loss=point), "ms")

    def judged(short: str, long: str) -> tuple[Check, ...]:
        return (
            *(
                at_most(f"{short}{lost} / {tcp}, {point} %", _share(runs, f"{short}{lost}", tcp, point), MUCH_LESS)
                for lost in LOST_OR_NOT
                for tcp in TCPS
                for point in POINTS
            ),
            *(longer(f"{long}{lost}", tcp, "0") for lost in LOST_OR_NOT for tcp in TCPS),
            *(longer(tcp, f"{long}{lost}", "5") for lost in LOST_OR_NOT for tcp in TCPS),
        )

    grows = tuple(
        longer(slow, quick, point) for quick, slow in itertools.pairwise(BY_DELAY.values()) for point in POINTS
    )
    return Finding(
        tuple(
            one for point in ("0", "1", "5") for one in medians(runs, "set-up", "ms", connect, _schemes(), loss=point)
        ),
        (*_without_loss(runs), *grows, *judged("sdtp-10", "sdtp-65")),
        Control("linux in SDTP's place", _control(runs)),
        remark=_crossings(runs),
    )


def _schemes() -> tuple[str, ...]:
    return (*TCPS, *BY_DELAY.values(), "sdtp-10-lossy", "sdtp-65-lossy")


def _share(runs: Runs, scheme: str, tcp: str, point: str) -> float:
    ours, theirs = (middle(runs, connect, one, loss=point) for one in (scheme, tcp))
    return ours / theirs


def _without_loss(runs: Runs) -> tuple[Check, ...]:
    """The arithmetic of the topology: within 1 %."""
    expected = {**dict.fromkeys(TCPS, TCP_MS), **{s: ACCESS_MS + 2 * float(c) for c, s in BY_DELAY.items()}}
    return tuple(
        within(f"{scheme} without loss, ms", middle(runs, connect, scheme, loss="0"), time, 0.01)
        for scheme, time in expected.items()
    )


def _control(runs: Runs) -> tuple[Check, ...]:
    """TCP is not much below itself."""
    return tuple(
        at_most(f"linux / {tcp}, {p} %", _share(runs, "linux", tcp, p), MUCH_LESS) for tcp in TCPS for p in POINTS
    )


def _crossings(runs: Runs) -> str:
    """Where SDTP with a control delay of 65 ms falls below TCP."""

    def at(tcp: str, lost: str) -> str:
        found = crossing(
            POINTS,
            lambda point: middle(runs, connect, f"sdtp-65{lost}", loss=point) - middle(runs, connect, tcp, loss=point),
        )
        how = "lost as data" if lost else "never lost"
        return f"{tcp}, SYN and SYN-ACK {how}: {'nowhere' if found is None else f'{found:.2f} %'}"

    found = "; ".join(at(tcp, lost) for lost in LOST_OR_NOT for tcp in TCPS)
    return f"With 65 ms SDTP falls below TCP at a loss of ({found})"


def handshake(runs: Runs) -> Finding:
    """Links crossed, messages and ACKs, without loss, for each connection."""

    def some(scheme: str) -> list[Run]:
        return runs.of(scheme, "connect", loss="0")

    def per(scheme: str, name: str) -> float:
        return sum(counted(run, name) for run in some(scheme)) / sum(map(connections, some(scheme)))

    def crossed(scheme: str) -> float:
        return max(map(crossings, some(scheme)))

    def arrived(link: str) -> int:
        return min(required(run.measures.delivered_bytes) for run in runs.of("sdtp-10", "detour", link=link))

    def set_up_there(link: str) -> float:
        return max(counted(run, "controller_paths") for run in runs.of("sdtp-10", "detour", link=link))

    def judged(scheme: str) -> tuple[Check, ...]:
        messages = sum(per(scheme, f"controller_{name}") for name in ("packet_ins", "packet_outs", "orders"))
        return (
            at_most(f"links crossed, {scheme}", crossed(scheme), 6),
            at_most(f"links crossed and control messages, {scheme}", crossed(scheme) + messages, crossed("linux") - 1),
            *(
                within(f"{what}, {scheme}", per(scheme, name), expected, 0)
                for what, name, expected in (
                    ("SYN and SYN-ACK to the controller", "controller_packet_ins", 2),
                    ("sent on by it", "controller_packet_outs", 2),
                    ("closing ACKs by the receiving edge", "closing_acks", 1),
                    ("ACKs of clients dropped by the sending edge", "dropped_acks", 1),
                )
            ),
        )

    def control() -> tuple[Check, ...]:
        return (at_most("links crossed, linux", crossed("linux"), 6),)

    paths = {counted(run, "controller_paths") for run in some("sdtp-10")}
    orders = sum(counted(run, "controller_orders") for run in some("sdtp-10")) / len(some("sdtp-10"))
    return Finding(
        (
            Measured("links crossed, linux", "", crossed("linux")),
            Measured("links crossed, sdtp-10", "", crossed("sdtp-10")),
            Measured("orders a run besides, sdtp-10", "", orders),
        ),
        (
            within("links crossed, linux", crossed("linux"), 18, 0),
            within("paths set up for all connections, least", min(paths), 1, 0),
            within("paths set up for all connections, most", max(paths), 1, 0),
            *judged("sdtp-10"),
            at_least("bytes that arrive where a link is gone and there is a detour", arrived("gone"), TRANSFER_B, "B"),
            within("paths set up where a link is gone and then comes back", set_up_there("gone"), 2, 0),
        ),
        Control("linux in SDTP's place", control()),
        remark="The closing ACK waits for the controller's word, which is a message of its own: with it SDTP has "
        "five control messages a connection, the paper's figure four. The functions of a path are ordered once for "
        "all connections",
    )
