"""What [iosl] claims of the layer over SCTP and MPTCP, Figure 11(b) and (c): a phone with two radios; 5G goes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from handfast.studies.reproduce import Check, Measured, Run, Runs, at_most, medians, middle

from .measure import SEGMENT_B, until, window_of

RTTS, WAYS = ("20ms", "50ms", "100ms", "200ms"), ("down", "up")
PEAK = 0.9
RADIO_BPS = 50e6
SHORTER = 0.95
"""A time that is so much of another one, or less, is shorter."""


@cache
def recovery(run: Run) -> float | None:
    """From the cut until the application gets nine tenths of the second radio's rate, over one round trip, seconds.

    One that does not until the end of the run counts as that long.
    """
    rate = PEAK * RADIO_BPS / 8 * SEGMENT_B / 1500
    return until(run, run.handover.down_s, run.result.duration_s, rate, window_of(run))


def left(run: Run) -> float:
    """From the cut until the end of the run, seconds."""
    return run.result.duration_s - run.handover.down_s


@dataclass(frozen=True, slots=True)
class Transport:
    """Runs of a transport with an address on each radio."""

    name: str
    sweep: str
    rivals: tuple[str, ...]
    others: tuple[str, str]
    """The transport without a layer, and with one that acts as fast and restores nothing."""

    def shown(self, runs: Runs) -> tuple[Measured, ...]:
        """The medians, by direction and round trip."""
        name = f"{self.name} to the peak"
        return tuple(
            one
            for way in WAYS
            for rtt in RTTS
            for one in medians(runs, name, "s", recovery, self.rivals, sweep=self.sweep, direction=way, rtt=rtt)
        )

    def checks(self, runs: Runs, scheme: str) -> tuple[Check, ...]:
        """A share of the times of the others."""
        return tuple(
            self._beside(runs, scheme, other, way, rtt) for other in self.others for way in WAYS for rtt in RTTS
        )

    def _beside(self, runs: Runs, scheme: str, other: str, way: str, rtt: str) -> Check:
        """A share of the other's time; of no digits where the other is not back when the run ends."""
        cell = {"sweep": self.sweep, "direction": way, "rtt": rtt}
        ours, theirs, end = (
            middle(runs, figure, of, **cell) for of, figure in ((scheme, recovery), (other, recovery), (other, left))
        )
        if theirs < end:
            return at_most(f"{scheme} / {other}, {way}, {rtt}", ours / theirs, SHORTER)
        return Check(f"{other}, {way}, {rtt}: not back in {end:.1f} s, {scheme} in {ours:.2f}", ours <= SHORTER * end)


SCTP = Transport(
    "SCTP",
    "association",
    ("sctp", "sctp-quick", "sctp-moved", "sctp-iosl", "sctp-loose"),
    ("sctp", "sctp-moved"),
)
MPTCP = Transport("MPTCP", "subflows", ("mptcp", "mptcp-moved", "mptcp-iosl"), ("mptcp", "mptcp-moved"))


def ablations(runs: Runs) -> tuple[Measured, ...]:
    """Two downloads that are not back: with another least timeout, and with another buffer."""
    return (
        *medians(runs, "SCTP in 50 s", "s", recovery, ("sctp-quick", "sctp-once"), sweep="quick", rtt="100ms"),
        *medians(runs, "MPTCP, 4 MB", "s", recovery, ("mptcp", "mptcp-iosl"), sweep="buffer", rtt="200ms"),
    )
