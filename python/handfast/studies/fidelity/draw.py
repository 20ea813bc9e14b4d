"""Cases drawn from a seed: a pure function, each quantity of each case by itself.

Quantity `q` of case `k` of seed `s` comes from u = the first 53 bits of SHA-256 of "handfast fidelity s k q", over
2^53; so no case depends on how many there are, and a new quantity changes no old one.
docs/explanation/fidelity.md has the ranges.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from math import ceil

from handfast.errors import refuse_unknown

MTU_BITS = 1500 * 8
SETTLED_S = 3.0
"""Before any outage: slow start is over on most paths, and ten round trips come on top."""
PHASE_S = 2.0
"""Over which the moment of the outage is spread."""
RECOVERY_S = 4.0
"""After the latest stall that one doubling of the retransmission timer explains."""
LIST_S = 6.0
"""How long a case without an outage lasts, without its twenty round trips."""
REORDERED_S = 10.0
"""How long a case that reorders lasts, without its twenty round trips: most of it passes after the first lesson."""
FIRST_IN_LIST = 5
"""The first segment that a list may name: those before it are another subject, the handshake's and the first RTO's."""
SCHEMES = ("linux", "linux-reno", "linux-bbr")
"""What the simulator imitates of the kernel; the first two are drawn."""
KINDS = ("download", "reordering", "upload", "two flows", "two outages")
"""What is drawn: a download in half of the cases, the others in an eighth each."""


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
class Reorder:
    """Some packets come late, in both directions."""

    probability: float
    by_us: int


Trouble = tuple[Outage, ...] | Drops | Reorder
"""What happens to the link."""


@dataclass(frozen=True, slots=True)
class Case:
    """Bulk data over one link, and what happens to it."""

    seed: int
    number: int
    """Which case of the seed, from 1."""
    kind: str
    """One of `KINDS`."""
    rate_kbps: int
    """Of the direction that carries the data."""
    back_kbps: int
    """Of the other one."""
    rtt_us: int
    """Of the propagation alone."""
    queue_pkt: int
    """Of either direction."""
    trouble: Trouble
    second_ms: int | None
    """When the second flow begins; None: there is one flow."""
    scheme: str
    """`linux` (CUBIC) or `linux-reno`, unless it was asked for."""
    timestamps: bool
    duration_ms: int

    @property
    def name(self) -> str:
        """What its scenario is called."""
        return f"fidelity-{self.seed}-{self.number}"


def draw(seed: int, number: int, scheme: str | None = None) -> Case:
    """Case `number` of `seed`; with a scheme, one of `SCHEMES`, all is as drawn but that."""
    refuse_unknown([scheme] if scheme is not None else [], SCHEMES, "scheme", more=" that is a kernel's")
    dice = _Dice(seed, number)
    kind = _kind(dice)
    rate_kbps = round(dice.spread("rate", 2_000, 50_000))
    rtt_us = 1000 * round(dice.spread("rtt", 10, 200))
    bdp_pkt = rate_kbps * 1e3 * rtt_us * 1e-6 / MTU_BITS
    # A queue of one packet has no place to wait in: the packet in serialisation counts.
    queue_pkt = max(2, ceil(dice.spread("queue", 0.5, 4) * bdp_pkt))
    trouble, duration_ms = _trouble(dice, kind, rate_kbps, rtt_us)
    return Case(
        seed=seed,
        number=number,
        kind=kind,
        rate_kbps=rate_kbps,
        back_kbps=round(rate_kbps * dice.spread("asymmetry", 2, 10)) if kind == "upload" else rate_kbps,
        rtt_us=rtt_us,
        queue_pkt=queue_pkt,
        trouble=trouble,
        second_ms=round(2000 * dice.fraction("second")) if kind == "two flows" else None,
        scheme=scheme or _scheme(dice),
        timestamps=dice.fraction("timestamps") < 0.5,
        duration_ms=duration_ms,
    )


def _scheme(dice: _Dice) -> str:
    return "linux" if dice.fraction("growth") < 0.5 else "linux-reno"


def _kind(dice: _Dice) -> str:
    u = dice.fraction("kind")
    return KINDS[0] if u < 0.5 else KINDS[1 + int((u - 0.5) * 8)]


def _trouble(dice: _Dice, kind: str, rate_kbps: int, rtt_us: int) -> tuple[Trouble, int]:
    if kind == "reordering":
        return _reordered(dice, rtt_us)
    if kind == "two outages":
        return _outages(dice, rtt_us, 2)
    return _outages(dice, rtt_us, 1) if dice.fraction("trouble") < 0.5 else _drops(dice, rate_kbps, rtt_us)


def _outages(dice: _Dice, rtt_us: int, count: int) -> tuple[tuple[Outage, ...], int]:
    at_ms = round(1000 * (SETTLED_S + PHASE_S * dice.fraction("phase")) + 10 * rtt_us / 1000)
    gone = [Outage(at_ms, round(dice.spread("gap", 200, 5000)))]
    if count > 1:
        between_ms, gap_ms = (round(dice.spread(quantity, 200, 5000)) for quantity in ("between", "gap 2"))
        gone.append(Outage(at_ms + gone[0].gap_ms + between_ms, gap_ms))
    # A timer that doubles stalls for at most as long as the link was gone, and an RTO more.
    away_ms = gone[-1].at_ms + gone[-1].gap_ms - at_ms
    return tuple(gone), round(at_ms + 2 * away_ms + 1000 * RECOVERY_S + 10 * rtt_us / 1000)


def _reordered(dice: _Dice, rtt_us: int) -> tuple[Reorder, int]:
    trouble = Reorder(round(dice.spread("probability", 0.002, 0.05), 4), 1000 * round(dice.spread("by", 1, 40)))
    return trouble, round(1000 * REORDERED_S + 20 * rtt_us / 1000)


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
    source, sink = ("client", "server") if case.kind == "upload" else ("server", "client")
    data, acks = ("backward", "forward") if case.kind == "upload" else ("forward", "backward")
    asked = "" if case.scheme == _scheme(_Dice(case.seed, case.number)) else f" --scheme {case.scheme}"
    flows = "".join(_flow(source, sink, start_ms) for start_ms in (0, case.second_ms) if start_ms is not None)
    return f"""\
# Case {case.number} of seed {case.seed}: {case.kind}. Again, alone:
#   handfast fidelity --seed {case.seed} --case {case.number}{asked}
#   handfast compare scenario.toml --backend sim,lab

name = "{case.name}"
duration = "{case.duration_ms}ms"

[nodes]
server = {{kind = "host"}}
client = {{kind = "host"}}

[[links]]
name = "path"
between = ["server", "client"]
delay = "{case.rtt_us // 2}us"
{data} = {{rate = "{case.rate_kbps}kbit/s", queue = "{case.queue_pkt}pkt"{_impairment(case.trouble, lists=True)}}}
{acks} = {{rate = "{case.back_kbps}kbit/s", queue = "{case.queue_pkt}pkt"{_impairment(case.trouble)}}}
{flows}{_events(case.trouble)}
[schemes.{case.scheme}]
sender = {{profile = "{case.scheme}", timestamps = {str(case.timestamps).lower()}}}
"""


def _flow(source: str, sink: str, start_ms: int) -> str:
    return f"""
[[flows]]
from = "{source}"
to = "{sink}"
start = "{start_ms}ms"
"""


def _impairment(trouble: Trouble, *, lists: bool = False) -> str:
    """What one direction of the link does to packets; a list is for the data alone."""
    if isinstance(trouble, Reorder):
        return f', reorder = {{probability = {trouble.probability}, by = "{trouble.by_us}us"}}'
    return f", loss = {{list = {list(trouble.segments)}}}" if lists and isinstance(trouble, Drops) else ""


def _events(trouble: Trouble) -> str:
    outages = trouble if isinstance(trouble, tuple) else ()
    return "".join(
        f"""
[[events]]
at = "{one.at_ms}ms"
do = "outage"
link = "path"
gap = "{one.gap_ms}ms"
"""
        for one in outages
    )
