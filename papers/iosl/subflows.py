"""What [iosl] claims of the layer over Multipath TCP, Figure 11(c): sub-flows over 5G and Wi-Fi are up, and 5G goes."""

from __future__ import annotations

from handfast.studies.reproduce import Check, Measured, Runs, at_most, medians, middle

from .association import RTTS, WAYS, recovery

SWEEP = "subflows"
RIVALS = ("mptcp", "mptcp-moved", "mptcp-iosl")


def shown(runs: Runs) -> tuple[Measured, ...]:
    """The medians, by direction and round trip."""
    return tuple(
        one
        for way in WAYS
        for rtt in RTTS
        for one in medians(runs, "MPTCP to the peak", "s", recovery, RIVALS, sweep=SWEEP, direction=way, rtt=rtt)
    )


def checks(runs: Runs, scheme: str) -> tuple[Check, ...]:
    """A share of the time of Multipath TCP without a layer, and of one that suspends as fast and restores nothing."""
    return tuple(
        at_most(
            f"{scheme} / {other}, {way}, {rtt}",
            middle(runs, recovery, scheme, sweep=SWEEP, direction=way, rtt=rtt)
            / middle(runs, recovery, other, sweep=SWEEP, direction=way, rtt=rtt),
            0.95,
        )
        for other in ("mptcp", "mptcp-moved")
        for way in WAYS
        for rtt in RTTS
    )
