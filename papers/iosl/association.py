"""What [iosl] claims of the layer over SCTP, Figure 11(b): 5G is the primary path, Wi-Fi the second one; 5G goes."""

from __future__ import annotations

from functools import cache

from handfast.studies.reproduce import Check, Measured, Run, Runs, at_most, medians, middle

from .measure import SEGMENT_B, window_of

SWEEP, RTTS, WAYS = "association", ("20ms", "50ms", "100ms", "200ms"), ("down", "up")
RIVALS = ("sctp", "sctp-quick", "sctp-moved", "sctp-iosl", "sctp-loose")
PEAK = 0.9
RADIO_BPS = 50e6


@cache
def recovery(run: Run) -> float | None:
    """From the cut until the application gets nine tenths of the second radio's rate, over one round trip, seconds.

    One that does not until the end of the run counts as that long.
    """
    cut, end, window = run.handover.down_s, run.result.duration_s, window_of(run)
    rate = PEAK * RADIO_BPS / 8 * SEGMENT_B / 1500
    for step in range(int((end - window - cut) / 0.01)):
        at = cut + step * 0.01
        if run.at("delivered_bytes", at + window) - run.at("delivered_bytes", at) >= rate * window:
            return at + window - cut
    return end - cut


def shown(runs: Runs) -> tuple[Measured, ...]:
    """The medians, by direction and round trip."""
    return tuple(
        one
        for way in WAYS
        for rtt in RTTS
        for one in medians(runs, "SCTP to the peak", "s", recovery, RIVALS, sweep=SWEEP, direction=way, rtt=rtt)
    )


def checks(runs: Runs, scheme: str) -> tuple[Check, ...]:
    """A share of the time of SCTP without a layer, and of SCTP that is moved and begins with nothing."""
    return tuple(
        at_most(
            f"{scheme} / {other}, {way}, {rtt}",
            middle(runs, recovery, scheme, sweep=SWEEP, direction=way, rtt=rtt)
            / middle(runs, recovery, other, sweep=SWEEP, direction=way, rtt=rtt),
            0.95,
        )
        for other in ("sctp", "sctp-moved")
        for way in WAYS
        for rtt in RTTS
    )
