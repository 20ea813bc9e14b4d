"""What [iosl] claims of the layer over SCTP and MPTCP, Figure 11(b) and (c): a phone with two radios; 5G goes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from handfast.studies.reproduce import Check, Measured, Run, Runs, at_most, medians, middle

from .measure import SEGMENT_B, until, window_of

RTTS, WAYS = ("20ms", "50ms", "100ms", "200ms"), ("down", "up")
PEAK = 0.9
RADIO_BPS = 50e6


@cache
def recovery(run: Run) -> float | None:
    """From the cut until the application gets nine tenths of the second radio's rate, over one round trip, seconds.

    One that does not until the end of the run counts as that long.
    """
    rate = PEAK * RADIO_BPS / 8 * SEGMENT_B / 1500
    return until(run, run.handover.down_s, run.result.duration_s, rate, window_of(run))


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

        def time(of: str, way: str, rtt: str) -> float:
            return middle(runs, recovery, of, sweep=self.sweep, direction=way, rtt=rtt)

        return tuple(
            at_most(f"{scheme} / {other}, {way}, {rtt}", time(scheme, way, rtt) / time(other, way, rtt), 0.95)
            for other in self.others
            for way in WAYS
            for rtt in RTTS
        )


SCTP = Transport(
    "SCTP",
    "association",
    ("sctp", "sctp-quick", "sctp-moved", "sctp-iosl", "sctp-loose"),
    ("sctp", "sctp-moved"),
)
MPTCP = Transport("MPTCP", "subflows", ("mptcp", "mptcp-moved", "mptcp-iosl"), ("mptcp", "mptcp-moved"))
