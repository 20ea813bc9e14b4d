"""Cases drawn from a seed: a pure function, each quantity of each case by itself.

Quantity `q` of case `k` of seed `s` comes from u = the first 53 bits of SHA-256 of "handfast fidelity s k q", over
2^53; so no case depends on how many there are, and a new quantity changes no old one.
docs/explanation/fidelity.md has the ranges.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from math import ceil

MTU_BITS = 1500 * 8
SETTLED_S = 3.0
"""Before any outage: slow start is over on most paths, and ten round trips come on top."""
PHASE_S = 2.0
"""Over which the moment of the outage is spread."""
RECOVERY_S = 4.0
"""After the latest stall that one doubling of the retransmission timer explains."""
LIST_S = 6.0
"""How long a case with a list lasts, without its twenty round trips."""
FIRST_IN_LIST = 5
"""The first segment that a list may name: those before it are another subject, the handshake's and the first RTO's."""


@dataclass(frozen=True, slots=True)
class Outage:
    """The link is gone once; what is sent to it is lost."""

    at_ms: int
    gap_ms: int


@dataclass(frozen=True, slots=True)
class Drops:
    """These segments are lost, counted from 1 among those with payload."""

    segments: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """One bulk download over one link, and what happens to it."""

    seed: int
    number: int
    """Which case of the seed, from 1."""
    rate_kbps: int
    rtt_us: int
    """Of the propagation alone."""
    queue_pkt: int
    trouble: Outage | Drops
    scheme: str
    """`linux` (CUBIC) or `linux-reno`."""
    timestamps: bool
    duration_ms: int

    @property
    def name(self) -> str:
        """What its scenario is called."""
        return f"fidelity-{self.seed}-{self.number}"


def draw(seed: int, number: int) -> Case:
    """Case `number` of `seed`."""
    dice = _Dice(seed, number)
    rate_kbps = round(dice.spread("rate", 2_000, 50_000))
    rtt_us = 1000 * round(dice.spread("rtt", 10, 200))
    bdp_pkt = rate_kbps * 1e3 * rtt_us * 1e-6 / MTU_BITS
    # A queue of one packet has no place to wait in: the packet in serialisation counts.
    queue_pkt = max(2, ceil(dice.spread("queue", 0.5, 4) * bdp_pkt))
    outage = dice.fraction("trouble") < 0.5
    trouble, duration_ms = _outage(dice, rtt_us) if outage else _drops(dice, rate_kbps, rtt_us)
    return Case(
        seed=seed,
        number=number,
        rate_kbps=rate_kbps,
        rtt_us=rtt_us,
        queue_pkt=queue_pkt,
        trouble=trouble,
        scheme="linux" if dice.fraction("growth") < 0.5 else "linux-reno",
        timestamps=dice.fraction("timestamps") < 0.5,
        duration_ms=duration_ms,
    )


def _outage(dice: _Dice, rtt_us: int) -> tuple[Outage, int]:
    at_ms = round(1000 * (SETTLED_S + PHASE_S * dice.fraction("phase")) + 10 * rtt_us / 1000)
    gap_ms = round(dice.spread("gap", 200, 5000))
    # A timer that doubles stalls for at most as long as the link was gone, and an RTO more.
    return Outage(at_ms, gap_ms), round(at_ms + 2 * gap_ms + 1000 * RECOVERY_S + 10 * rtt_us / 1000)


def _drops(dice: _Dice, rate_kbps: int, rtt_us: int) -> tuple[Drops, int]:
    duration_ms = round(1000 * LIST_S + 20 * rtt_us / 1000)
    half = rate_kbps * duration_ms / MTU_BITS / 2
    lost: set[int] = set()
    for burst in range(1 + int(4 * dice.fraction("bursts"))):
        first = int(dice.spread(f"first {burst}", FIRST_IN_LIST, half))
        lost.update(range(first, first + int(dice.spread(f"length {burst}", 1, 9))))
    return Drops(tuple(sorted(lost))), duration_ms


@dataclass(frozen=True, slots=True)
class _Dice:
    seed: int
    number: int

    def fraction(self, quantity: str) -> float:
        """Uniform in [0, 1)."""
        digest = sha256(f"handfast fidelity {self.seed} {self.number} {quantity}".encode()).digest()
        return (int.from_bytes(digest[:8], "big") >> 11) / 2**53

    def spread(self, quantity: str, low: float, high: float) -> float:
        """Log-uniform in [low, high)."""
        return float(low * (high / low) ** self.fraction(quantity))


def scenario(case: Case) -> str:
    """The case as a scenario file."""
    losses = (
        f"forward = {{loss = {{list = {list(case.trouble.segments)}}}}}\n" if isinstance(case.trouble, Drops) else ""
    )
    return f"""\
# Case {case.number} of seed {case.seed}. Again, alone:
#   handfast fidelity --seed {case.seed} --case {case.number}
#   handfast compare scenario.toml --backend sim,lab

name = "{case.name}"
duration = "{case.duration_ms}ms"

[nodes]
sender = {{kind = "host"}}
receiver = {{kind = "host"}}

[[links]]
name = "path"
between = ["sender", "receiver"]
rate = "{case.rate_kbps}kbit/s"
delay = "{case.rtt_us // 2}us"
queue = "{case.queue_pkt}pkt"
{losses}
[[flows]]
from = "sender"
to = "receiver"
{_events(case.trouble)}
[schemes.{case.scheme}]
sender = {{profile = "{case.scheme}", timestamps = {str(case.timestamps).lower()}}}
"""


def _events(trouble: Outage | Drops) -> str:
    if isinstance(trouble, Drops):
        return ""
    return f"""
[[events]]
at = "{trouble.at_ms}ms"
do = "outage"
link = "path"
gap = "{trouble.gap_ms}ms"
"""
