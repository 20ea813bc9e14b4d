"""The claims of [iosl], one function each.

`ends.py` has those of both ends, `beyond.py` and `rivals.py` ours of what it leaves out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
    medians,
    middle,
    need,
    pairs,
    within,
)

from . import beyond, draw, ends, rivals
from .measure import (
    FADE_S,
    RTT_S,
    WINDOW_S,
    ahead,
    delay,
    detected,
    excess,
    false_alarms,
    goodput,
    in_flight,
    lost,
    predicted_excess,
    recovery,
    timeouts,
)

RATES, GAPS = ("10", "50", "100"), ("200ms", "1s", "3s")
FADES, LOOKS = ("200ms", "800ms", "1600ms"), ("iosl", "tau-4", "tau-16")
NOISES = ("0dB", "1dB", "3dB")
PREDICTED, ALARMED = ("iosl", "deaf", "jumpy"), ("iosl", "jumpy")
STAYS = ("stays-at-0dB", "stays-at-4dB")
HARMLESS = 0.99
"""False alarms that cost less than this share of the goodput do no harm."""
AT_ONCE_S = FADE_S + 2 * RTT_S + WINDOW_S
"""The link carries all again when the signal has risen, and the connection two round trips later."""

CLAIMS = Claims(
    "iosl",
    "A session-based cross-layer approach for seamless connectivity in next-generation mobile networks "
    "(Arunachalam et al., 2020)",
)


@CLAIMS.claim(
    "9a",
    "blockage, upload, the layer at the sender: the connection recovers at once",
    paper='Figure 9(a) and section VI.B: "IoSL recovers instantaneously"; TCP "takes a long time"',
    needs=[need("upload")],
    figure=draw.windows,
)
def upload(runs: Runs) -> Finding:
    """From the link's return to 90 % of the rate before; the signal takes 0.2 s to rise."""
    cells = [{"rate": rate, "gap": gap} for rate in RATES for gap in GAPS]

    def beside(scheme: str, cell: Mapping[str, str]) -> Sequence[tuple[float | None, float | None]]:
        return pairs(runs.of("tcp", **cell), runs.of(scheme, **cell), recovery)

    def judged(scheme: str) -> tuple[Check, ...]:
        return tuple(
            check
            for cell in cells
            for label in [", ".join([*cell.values()])]
            for check in (
                at_most(f"{scheme} recovers, {label}", middle(runs, recovery, scheme, **cell), AT_ONCE_S, "s"),
                above(f"{scheme} before tcp, {label}", beside(scheme, cell), "s"),
            )
        )

    return Finding(
        tuple(
            one
            for cell in cells
            for one in medians(
                runs, "recovery", "s", recovery, ("tcp", "iosl", "unwarned", "linux", "rto-max", "linux-iosl"), **cell
            )
        ),
        judged("iosl"),
        Control("rto-max, a capped timeout, in place of the layer", judged("rto-max")),
        remark="unwarned suspends when the link has gone, and not before: the sender's own link tells it in time",
    )


@CLAIMS.claim(
    "9b",
    "blockage, download, the layer at the receiver: a zero window well before the cut saves the sender's window",
    paper='Figure 9(b): "by predicting the link disconnection sufficiently in advance", IoSL "quickly recovers"',
    needs=[need("download")],
    figure=draw.by_lead,
)
def download(runs: Runs) -> Finding:
    """Judged where the prediction is a round trip ahead; where it is less, data in flight is lost, which is shown."""
    cells = [(fade, scheme) for fade in FADES for scheme in LOOKS]
    leads = {cell: middle(runs, ahead, cell[1], fade=cell[0]) for cell in cells}
    early = [cell for cell in cells if leads[cell] >= RTT_S]
    emptied = [cell for cell in early if middle(runs, in_flight, cell[1], fade=cell[0]) < 1]

    def saved(fade: str, scheme: str) -> tuple[Check, ...]:
        tcp, ours = runs.of("tcp", fade=fade), runs.of(scheme, fade=fade)
        # Slow start overshoots once, with and without a blockage.
        without = middle(runs, timeouts, scheme, fade="never")
        return (
            above(f"{scheme} before tcp, falls for {fade}", pairs(tcp, ours, recovery), "s"),
            at_most(f"timeouts, {scheme}, falls for {fade}", middle(runs, timeouts, scheme, fade=fade), without),
        )

    def judged(put: str | None) -> tuple[Check, ...]:
        return (
            at_least("cells that are predicted a round trip ahead", len(early), 1),
            *(check for fade, scheme in early for check in saved(fade, put or scheme)),
            *(
                above(
                    f"goodput, tcp over {put or scheme}, falls for {fade}: data is in flight",
                    pairs(runs.of("tcp", fade=fade), runs.of(put or scheme, fade=fade), goodput),
                    "Mbit/s",
                )
                for fade, scheme in cells
                if 0 < leads[fade, scheme] < RTT_S
            ),
        )

    def shown(name: str, unit: str, figure: Figure, schemes: Sequence[str]) -> tuple[Measured, ...]:
        return tuple(one for fade in FADES for one in medians(runs, name, unit, figure, schemes, fade=fade))

    def beside(figure: Figure, scheme: str) -> str:
        ours, tcp = (middle(runs, figure, one, fade="1600ms") for one in (scheme, "tcp"))
        return f"{ours:.1f} and {tcp:.1f}"

    return Finding(
        shown("ahead", "s", ahead, LOOKS)
        + shown("in flight at the cut", "seg", in_flight, ("tcp", *LOOKS))
        + shown("recovery", "s", recovery, ("tcp", "unwarned", *LOOKS))
        + shown("timeouts", "", timeouts, ("tcp", "unwarned", *LOOKS))
        + shown("goodput", "Mbit/s", goodput, ("tcp", "unwarned", *LOOKS)),
        judged(None),
        Control("a layer that does not predict", judged("unwarned")),
        cause="a round trip is too short where the link's rate falls with its signal: the radio's queue drains at that "
        "rate, and what is left of it is lost with the link. Nothing is left in "
        + (", ".join(f"{scheme}, {fade}" for fade, scheme in emptied) or "no cell")
        + f"; there tau-16 and tcp deliver {beside(goodput, 'tau-16')} Mbit/s with {beside(timeouts, 'tau-16')} "
        "timeouts",
    )


@CLAIMS.claim(
    "alg1",
    "equations (2) and (3) predict that a link goes; false alarms resume, and do no harm",
    paper="section VI.A: beta 0.7 gives a good de-noising effect with enough sensitivity; a false alarm resumes",
    needs=[need("detect")],
    figure=draw.detection,
)
def predictor(runs: Runs) -> Finding:
    """Detection where the link goes; where it stays and gets weak, what false alarms cost."""

    def found(scheme: str) -> tuple[Check, ...]:
        return tuple(
            at_least(
                f"{scheme} predicts, noise {noise}",
                middle(runs, detected, scheme, case="goes", noise=noise),
                90,
                "%",
            )
            for noise in NOISES
        )

    def harmless(scheme: str) -> tuple[Check, ...]:
        alarms = middle(runs, false_alarms, scheme, case=STAYS[0], noise="1dB")
        harm = (
            at_least(
                f"{scheme} / unwarned, {case}, noise {noise}",
                middle(runs, goodput, scheme, case=case, noise=noise)
                / middle(runs, goodput, "unwarned", case=case, noise=noise),
                HARMLESS,
            )
            for case in STAYS
            for noise in NOISES
        )
        return (at_least(f"false alarms, {scheme}, {STAYS[0]}", alarms, 1), *harm)

    # Each half has a control of its own, and each of these has to fail.
    deaf, jumpy = found("deaf"), harmless("jumpy")
    either = Check(
        "one of: " + ", ".join(f"{check}" for check in (*deaf, *jumpy)),
        all(check.holds for check in deaf) or all(check.holds for check in jumpy),
    )
    return Finding(
        tuple(
            one
            for noise in NOISES
            for one in medians(runs, "predicted", "%", detected, PREDICTED, case="goes", noise=noise)
        )
        + tuple(
            one
            for case in STAYS
            for noise in NOISES
            for figure, name, unit, schemes in (
                (false_alarms, "false alarms", "", ALARMED),
                (goodput, "goodput", "Mbit/s", ("tcp", "iosl", "unwarned", "jumpy")),
            )
            for one in medians(runs, name, unit, figure, schemes, case=case, noise=noise)
        ),
        (*found("iosl"), *harmless("iosl")),
        Control("a fall of 12 dB is wanted (deaf), and for the harm 1 dB below 15 dB will do (jumpy)", (either,)),
    )


@CLAIMS.claim(
    "alg1q",
    "Algorithm 1 avoids excessive buffering and loss while the signal fluctuates",
    paper='section VI.A: "to avoid excessive buffering and packet loss, cwnd is not allowed to increase significantly '
    'above the estimated BDP value"',
    needs=[need("fluctuation")],
    figure=draw.fluctuation,
)
def queues(runs: Runs) -> Finding:
    """Delays and losses below CUBIC's with a right estimate; half and twice the rate beside it."""

    def judged(scheme: str) -> tuple[Check, ...]:
        ours, theirs = runs.of(scheme, estimate="100"), runs.of("tcp", estimate="100")
        return (
            above(f"delay, tcp over {scheme}", pairs(theirs, ours, delay), "ms"),
            above(f"lost, tcp over {scheme}", pairs(theirs, ours, lost), "seg"),
        )

    return Finding(
        tuple(
            one
            for estimate in ("50", "100", "200")
            for figure, name, unit in ((delay, "delay", "ms"), (lost, "lost", "seg"), (goodput, "goodput", "Mbit/s"))
            for one in medians(runs, name, unit, figure, ("tcp", "unwarned", "unbounded", "linux"), estimate=estimate)
        ),
        judged("unwarned"),
        Control("the same layer with Algorithm 1 off", judged("unbounded")),
    )


@CLAIMS.claim(
    "eq",
    "equation (5): the data that a disconnection costs TCP, and the layer saves",
    paper="section VI.B: W log2(0.7 W) + 0.2044/RTT W^(4/3) - 1.55 W - 0.08 RTT W^(2/3) + 1 segments",
    needs=[need("equation")],
    figure=draw.equation,
)
def equation(runs: Runs) -> Finding:
    """(5) + W against CUBIC without its Reno-friendly region; (5) as printed, and CUBIC with that region, beside it."""
    cells = [{"rtt": rtt, "window": size} for rtt in ("20ms", "100ms", "200ms") for size in ("100", "400", "1600")]

    def of(cell: Mapping[str, str]) -> float:
        return predicted_excess(1e-3 * int(cell["rtt"].removesuffix("ms")), float(cell["window"]))

    def whole(rtt: str) -> str:
        cell = {"rtt": rtt, "window": "92"}
        return f"{middle(runs, excess, 'pure', **cell):.0f} and {of(cell) + 92:.0f}"

    def judged(scheme: str, more: float) -> tuple[Check, ...]:
        return tuple(
            within(
                f"{scheme}, {cell['rtt']}, W {cell['window']}",
                middle(runs, excess, scheme, **cell),
                of(cell) + more * float(cell["window"]),
                0.02,
            )
            for cell in cells
        )

    def printed(cell: Mapping[str, str]) -> Measured:
        found = middle(runs, excess, "pure", **cell)
        return Measured(f"(5) of what is lost, {cell['rtt']}, {cell['window']}", "%", 100 * of(cell) / found)

    return Finding(
        tuple(one for cell in cells for one in medians(runs, "excess", "seg", excess, ("pure", "friendly"), **cell))
        + tuple(printed(cell) for cell in cells),
        judged("pure", 1),
        Control("(5) as it is printed", judged("pure", 0)),
        cause="(5) counts 6.13 rounds of slow start for a W of 100, which takes 7; with a W of 92 it is 6 of 6, and "
        f"the segments lost and (5) + W are {whole('100ms')} at 100 ms, {whole('200ms')} at 200 ms",
        remark="(5) subtracts one round's data more than the rounds it counts. (7) is octets a second, and no share. "
        "CUBIC as it is has a Reno-friendly region, and loses less",
    )


CLAIMS.claim(
    "10a",
    "both ends, vertical handovers: the time to a quarter of the throughput gets shorter the longer the round trip",
    paper='Figure 10(a): "time taken for the connection to reach 25% of the available throughput", "upto 39.35%"',
    needs=[need("street")],
    figure=draw.by_rtt,
)(ends.recovery_by_rtt)

CLAIMS.claim(
    "10b",
    "both ends: the gain grows with the capacity, and the peak is reached sooner at each",
    paper="Figure 10(b) and equation (7): 10 to 100 Mbit/s, the peak throughput faster than standard TCP",
    needs=[need("capacity")],
    figure=draw.by_capacity,
)(ends.gain_by_capacity)

CLAIMS.claim(
    "11",
    "both ends: TCP, SCTP and MPTCP get their state back after a vertical handover",
    paper='Figure 11: "each transport layer with IoSL, recovers the transport state much faster"',
    needs=[need("street"), need("association"), need("subflows"), need("quick"), need("buffer")],
    figure=draw.around_handover,
)(ends.restored)

CLAIMS.claim(
    "12a",
    "both ends: throughput as the user gets faster and handovers frequent",
    paper='Figure 12(a): "a 12.79% improvement in throughput as compared to standard TCP"',
    needs=[need("speed")],
    figure=draw.by_speed,
)(ends.gain_by_speed)

CLAIMS.claim(
    "12b",
    "both ends: reconnection takes less than 30 ms in 80 % of the cases, TCP's in 50 %; up to 33 % shorter",
    paper='Figure 12(b): "80% of the IoSL connections take less than 30 milliseconds", TCP 50 %; 33 % on average in '
    "the abstract, at most in the caption",
    needs=[need("reconnect")],
    figure=draw.reconnections,
)(ends.reconnects)

CLAIMS.claim(
    "13",
    "both ends, LTE and Wi-Fi switched every 10 s: more throughput with more handovers, upwards more than downwards",
    paper="Figure 13: up to 12.67 % down and 16.67 % up, 2 GB, at most 20 Mbit/s down, 5 to 12 up",
    needs=[need("switch")],
    figure=draw.switched,
)(ends.switched)

CLAIMS.claim(
    "numbers",
    "beyond the paper: of the numbers that it leaves open, ours do as well as any others that were tried",
    paper="names beta 0.7 and neither the thresholds nor alpha, kappa and mu",
    needs=[need("numbers"), need("alarms")],
    figure=draw.by_number,
    beyond=True,
)(beyond.numbers)

CLAIMS.claim(
    "horizontal",
    "beyond the paper: handovers that keep the address, by themselves: the layer at the phone alone is sooner and "
    "delivers more, over today's sender too",
    paper="section VII.B takes horizontal handovers and blockages together; section IV has one end suffice for them",
    needs=[need("horizontal")],
    figure=draw.by_horizontal,
    beyond=True,
)(beyond.horizontal)

CLAIMS.claim(
    "application",
    "beyond the paper: the layer delivers more than applications that go on by themselves, over today's sender too",
    paper="compares with TCP, and does not say how its application goes on",
    needs=[need("application")],
    figure=draw.by_application,
    beyond=True,
)(beyond.applications)

CLAIMS.claim(
    "rivals",
    "beyond the paper, on real kernels: beside what people use today sessions lose nothing, wait for no timeout, are "
    "as fast again, and take no longer",
    paper="compares with TCP, SCTP and MPTCP, and with nothing that keeps connections today",
    figure=rivals.by_way,
    beyond=True,
    files=rivals.read,
)(rivals.rivals)
