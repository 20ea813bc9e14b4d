"""What the claims of [sdtp] measure."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from functools import cache

from handfast.measures import Measures
from handfast.studies.reproduce import Figure, NotRun, Run, Runs, middle, pairs, required

LOSSES = ("1", "2", "3", "4", "5")
"""Per cent end to end at which figures 7 and 8 are judged."""
TCPS = {"linux": "sdtp", "reno": "sdtp-reno"}
"""By TCP of the end hosts, the same hosts with SDTP between them."""
WITHOUT_REPAIR = {"linux": "nowhere", "reno": "nowhere-reno"}
"""The same, where edges convert headers and nothing is repaired."""
STARTS, ENDS = ("write", "send"), ("arrival", "delivery")
"""From the application's write or the first transmission, to the arrival at the host or the delivery in order."""
PACKETS = 1000
"""Of a run, at least."""
MS = 1e3


def connect(run: Run) -> float | None:
    """From the first SYN until both ends hold their packet, mean over the connections, ms."""
    return None if run.measures.connect_s is None else MS * run.measures.connect_s


@cache
def delay(start: str, end: str, what: str) -> Figure:
    """A figure of a run's delays, ms: `mean`, `p50`, `p99`, `p999` or `deviation`. The same function each time."""
    name = f"{start}_to_{end}_{what}_s"

    def of(run: Run) -> float | None:
        complete(run.scheme, run.measures)
        found: float | None = getattr(run.measures, name)
        return None if found is None else MS * found

    return of


def complete(scheme: str, measures: Measures) -> None:
    """All packets were delivered: else a run would count those alone that were quick."""
    sent, delivered = required(measures.measured_packets), required(measures.delivered_packets)
    if sent < PACKETS or delivered < sent:
        raise NotRun(f"a run of {scheme} ends before its packets are delivered: {delivered} of {max(sent, PACKETS)}")


@cache
def jitter(start: str, end: str) -> Figure:
    """From the median to the 99th percentile of a run's delays, ms."""
    most, half = delay(start, end, "p99"), delay(start, end, "p50")

    def of(run: Run) -> float | None:
        return required(most(run)) - required(half(run))

    return of


def goodput(run: Run) -> float | None:
    """New data at the application, Mbit/s."""
    return None if run.measures.goodput_bps is None else run.measures.goodput_bps / 1e6


def counted(run: Run, name: str) -> int:
    """What SDTP's controller and nodes have counted."""
    counters = run.result.controller
    if counters is None or name not in counters:
        raise NotRun(f"the scheme {run.scheme} does not count {name}")
    return counters[name]


def counter(*names: str) -> Figure:
    """The sum of some counters."""

    def of(run: Run) -> float | None:
        return float(sum(counted(run, name) for name in names))

    return of


requests: Figure = counter("requests_count", "requests_time", "requests_timeout")
"""RR that nodes have sent."""
signalling: Figure = counter("requests_count", "requests_time", "requests_timeout", "notifications")
"""RR and CN."""
needless: Figure = counter("needless_repeats")
"""RD that brought nothing: their RR were needless."""
cache_bytes: Figure = counter("cache_bytes")
"""What the caches of all nodes have held at most, each by itself."""


def beside(
    runs: Runs, first: str, second: str, figure: Figure, **choices: str
) -> list[tuple[float | None, float | None]]:
    """A figure of two schemes' runs with the same seed."""
    return pairs(runs.of(first, **choices), runs.of(second, **choices), figure)


def imbalance(run: Run) -> float | None:
    """The requests of the segment that has most, over the mean of two segments."""
    return 2 * counted(run, "requests_of_one") / required(requests(run))


def crossings(run: Run) -> float:
    """Links that packets of connections have crossed, for each connection: the datagrams beside are left out."""
    (beside,) = (flow for flow in run.flows if flow.flow == "beside")
    datagrams = json.loads(run.result.raw)["flows"][run.flows.index(beside)]
    if datagrams["received_datagrams"] != datagrams["sent_datagrams"]:
        raise NotRun("datagrams beside were lost, so the links that they crossed are not known")
    hops = json.loads(run.result.raw)["packet_hops"] - LINKS * datagrams["sent_datagrams"]
    return float(hops / connections(run))


LINKS = 6
"""From host to host."""


def connections(run: Run) -> int:
    """How many connections a run has opened."""
    return sum(flow.measures.connections or 1 for flow in run.flows if flow.flow != "beside")


def growth(runs: Runs, figure: Figure, scheme: str, points: Sequence[str]) -> float:
    """How much a figure grows from the least loss to the largest, by medians."""
    first, last = (middle(runs, figure, scheme, loss=points[place]) for place in (0, -1))
    return last - first


def crossing(points: Sequence[str], above: Callable[[str], float]) -> float | None:
    """The loss at which a difference falls to zero, by a line between the two points around it; None: nowhere."""
    known = [(float(point), above(point)) for point in points]
    for (before, high), (after, low) in itertools.pairwise(known):
        if high > 0 >= low:
            return before + (after - before) * high / (high - low)
    return None
