"""What the claims of [vho] measure in a run of one mobile and one handover, outage or start."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from functools import cache

from handfast.results import Flow
from handfast.studies.reproduce import Run, Runs, required

SCHEMES = ("tcp", "qs", "iw10", "vho", "abest-vho")
"""Those of the paper, in its order. One that `network.toml` lacks is left out."""
SEGMENT_B = 1448
"""Payload of a packet of 1500 B: 40 B are headers, 12 B timestamps."""
WIRE_S = 0.01
"""One way over the wired part, but in the sweep `wire`."""
WIRES = ("1ms", "10ms", "40ms")
"""Of that sweep."""
FLOWS = ("1", "2", "4")


def there(runs: Runs) -> tuple[str, ...]:
    """The paper's schemes that are built."""
    return tuple(scheme for scheme in SCHEMES if runs.has(scheme))


def passed(run: Run, flow: str) -> float:
    """How many of a flow's bytes went by the old link, or had arrived as it broke."""
    event = run.handover
    if event.up_s == event.down_s:
        # Make-before-break: where the ways part, a sender's last word is as old as the wire is long.
        wire = run.choices.get("wire")
        one_way = WIRE_S if wire is None else 1e-3 * int(wire.removesuffix("ms"))
        return run.at("sent_bytes", event.down_s - one_way, flow)
    return run.at("delivered_bytes", event.down_s, flow)


def downloads(run: Run) -> Sequence[Flow]:
    """The mobile's flows, and not those beside them."""
    return [flow for flow in run.flows if flow.flow.startswith("download")]


def took(run: Run, packets: int, pick: Callable[[Iterable[float]], float] = max) -> float | None:
    """From the new link's beginning until so many packets of the slowest flow are acknowledged through it, seconds.

    `pick`: of the fastest (`min`) instead.
    """
    times = _times(run, packets)
    known = [time for time in times if time is not None]
    return pick(known) if len(known) == len(times) else None


@cache
def _times(run: Run, packets: int) -> list[float | None]:
    """Of each flow; kept, since a claim asks in its medians, its checks and its figure."""
    return [_took(run, flow.flow, packets) for flow in downloads(run)]


def _took(run: Run, flow: str, packets: int) -> float | None:
    import numpy as np

    reached = np.flatnonzero(run.column("acknowledged_bytes", flow) >= passed(run, flow) + packets * SEGMENT_B)
    if run.handover.up_s is None or reached.size == 0:
        return None
    return float(run.column("time_s", flow)[reached[0]]) - run.handover.up_s


def goodput(run: Run) -> float | None:
    """Payload over the time from the opening to the last byte: mean of the flows, Mbit/s."""
    flows = [flow.measures for flow in downloads(run)]
    spans = [flow.last_byte_s - required(flow.start_s) for flow in flows if flow.last_byte_s is not None]
    if len(spans) < len(flows):
        return None
    rates = (8e-6 * required(flow.delivered_bytes) / span for flow, span in zip(flows, spans, strict=True))
    return statistics.fmean(rates)


def lost(run: Run) -> float | None:
    """Segments of the downloads that the network lost."""
    return float(sum(required(flow.measures.lost_segments) for flow in downloads(run)))


def repeated(run: Run) -> float | None:
    """Segments sent again."""
    return run.measures.retransmitted_segments


def timeouts(run: Run) -> float | None:
    """How often the timer expired."""
    return run.measures.timeouts


def stalled(run: Run) -> float | None:
    """How long its flow stands still once the link is back, seconds."""
    return run.handover.stall_s


def expired_late(run: Run) -> bool:
    """Whether the timer fires at most 100 ms after the link is back, on the sender's own."""
    stall = run.handover.stall_s
    return stall is not None and stall <= 0.1
