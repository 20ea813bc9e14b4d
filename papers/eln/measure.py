"""What the claims of [eln] measure."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from handfast.studies.reproduce import NotRun, Run, required

CAPS = ("20", "64")
"""The window at most, segments: ns-2's default, and one that fills the base station's queue."""
LINK_MBPS = 2.0 * 1024 / 1064
"""What the radio carries at most: segments of 1,024 bytes with headers of 40."""
AFTER_S = 0.5
"""How long after a return the window is looked at: the notice has come, and it takes longer to grow back."""


def throughput(run: Run) -> float | None:
    """New data at the application, Mbit/s."""
    return None if run.measures.goodput_bps is None else run.measures.goodput_bps / 1e6


def reductions(run: Run) -> float | None:
    """How often the first flow's sender has reduced its window: fast retransmits and timeouts."""
    return float(required(run.flow.measures.fast_retransmits) + required(run.flow.measures.timeouts))


def share(run: Run) -> float | None:
    """The first flow's part of all that was delivered."""
    sizes = [required(flow.measures.delivered_bytes) for flow in run.flows]
    return float(sizes[0] / sum(sizes))


def ahead(ours: Sequence[Run], theirs: Sequence[Run]) -> list[float]:
    """How many bytes more were delivered, at each second after the first return: medians over seeds."""
    there = {run.result.seed: run for run in theirs}
    rows = []
    for run in ours:
        other = there[run.result.seed]
        first = run.handover.up_s
        if first is None:
            raise NotRun("the mobile never came back")
        seconds = range(1, int(run.result.duration_s - first))
        rows.append(
            [run.at("delivered_bytes", first + s) - other.at("delivered_bytes", first + s) for s in seconds],
        )
    return [statistics.median(column) for column in zip(*rows, strict=False)]


def kept(run: Run) -> float | None:
    """What is left of cwnd after a handover, the least share of a run; nothing counts beyond the window's cap."""
    cap = float(run.choices["cap"])
    shares = [
        min(cap, run.at("cwnd_pkt", handover.up_s + AFTER_S)) / min(cap, run.at("cwnd_pkt", handover.down_s))
        for handover in run.result.handovers
        if handover.up_s is not None and handover.up_s + AFTER_S < run.result.duration_s
    ]
    if not shares:
        raise NotRun("no handover")
    return min(shares)
