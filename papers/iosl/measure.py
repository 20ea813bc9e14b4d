"""What the claims of [iosl] measure in a run with several outages of one link."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from functools import cache

from handfast.results import Handover
from handfast.studies.reproduce import NotRun, Run, required

WINDOW_S = 0.2
"""The rate is looked at over this long: what fills a hole delivers what has waited behind it all at once."""
BEFORE_S = 2.0
"""The rate before a fade is the mean over this long."""
SETTLED = 0.9
"""A connection has recovered once it has this share of its rate before."""
FADE_S = 0.2
"""How long the signal of `blockage.toml` falls."""
SEGMENT_B = 1448
"""Payload of a packet of 1500 B: 40 B are headers, 12 B timestamps."""
RTT_S = 0.05
"""The round trip of `blockage.toml` without queues."""


def outages(run: Run) -> Sequence[Handover]:
    """Those that ended early enough to see what follows."""
    return [one for one in run.result.handovers if one.up_s is not None and one.up_s + 2 < run.result.duration_s]


@cache
def recovery(run: Run) -> float | None:
    """From a link's return until the application has 90 % of the rate before the first fade, seconds; mean of outages.

    One that takes longer than until the next outage counts as that long.
    """
    first = run.result.handovers[0].down_s - fade(run)
    rate = _delivered(run, first - BEFORE_S, first) / BEFORE_S
    times = [_until(run, one, SETTLED * rate, WINDOW_S) for one in outages(run)]
    return statistics.fmean(times) if times else None


def _until(run: Run, outage: Handover, rate: float, window: float) -> float:
    """From a link's return until the application has had a rate for so long; at most until the next outage."""
    up = required(outage.up_s)
    later = [one.down_s for one in run.result.handovers if one.down_s > up]
    return until(run, up, min([*later, run.result.duration_s]), rate, window)


def until(run: Run, start: float, end: float, rate: float, window: float) -> float:
    """From `start` until the application has had a rate, octets a second, for so many seconds; at most until `end`."""
    for step in range(int((end - start) / 0.01)):
        at = start + step * 0.01
        if _delivered(run, at, at + window) >= rate * window:
            return at + window - start
    return end - start


def _delivered(run: Run, start: float, end: float) -> float:
    return run.at("delivered_bytes", end) - run.at("delivered_bytes", start)


def fade(run: Run) -> float:
    """How long the signal falls before the link goes, seconds."""
    chosen = run.choices.get("fade")
    return FADE_S if chosen is None else 1e-3 * int(chosen.removesuffix("ms"))


@cache
def in_flight(run: Run) -> float | None:
    """What the sender had sent and not acknowledged when the link went, segments; mean of the outages."""
    cuts = [one.down_s for one in run.result.handovers]
    flights = [run.at("sent_bytes", cut) - run.at("acknowledged_bytes", cut) for cut in cuts]
    return statistics.fmean(flights) / SEGMENT_B if flights else None


def round_trip(run: Run) -> float:
    """Of the sweep `equation`, seconds."""
    return 1e-3 * int(run.choices["rtt"].removesuffix("ms"))


def window(run: Run) -> float:
    """W of that sweep, segments."""
    return float(run.choices["window"])


def excess(run: Run) -> float | None:
    """What W segments a round trip come to while a sender recovers, less what it sends itself, segments.

    From when its timer lets it go on until cwnd is W again: the wait for the timer is left out.
    """
    import numpy as np

    rtt, full, up = round_trip(run), window(run), required(run.handover.up_s)
    time, cwnd, acked = run.column("time_s"), run.column("cwnd_pkt"), run.column("acknowledged_bytes")
    first = np.flatnonzero((time > up) & (acked > run.at("acknowledged_bytes", up)))
    answered = float(time[first[0]])
    begins = answered - rtt
    back = np.flatnonzero((time > begins + rtt) & (cwnd >= full))
    if back.size == 0:
        return None
    rounds = (float(time[back[0]]) - begins) / rtt
    # What had arrived before the cut is acknowledged with the first segment that goes again.
    later = run.at("acknowledged_bytes", float(time[back[0]])) - run.at("acknowledged_bytes", answered)
    return full * rounds - 1 - later / SEGMENT_B


def predicted_excess(rtt: float, full: float) -> float:
    """Equation (5) of [iosl], segments."""
    start = full * math.log2(0.7 * full)
    growth: float = 0.2044 / rtt * full ** (4 / 3) - 0.08 * rtt * full ** (2 / 3)
    return start + growth - 1.55 * full + 1


def goodput(run: Run) -> float | None:
    """New data at the application, Mbit/s."""
    return None if run.measures.goodput_bps is None else run.measures.goodput_bps / 1e6


def timeouts(run: Run) -> float | None:
    """Of the sender."""
    return float(required(run.flow.measures.timeouts))


def lost(run: Run) -> float | None:
    """Segments that the network lost."""
    return float(required(run.flow.measures.lost_segments))


def delay(run: Run) -> float | None:
    """From a packet's transmission to its arrival, the mean, ms."""
    return 1e3 * required(run.flow.measures.send_to_arrival_mean_s)


def counted(run: Run, name: str) -> int:
    """What the layer has counted."""
    if run.result.controller is None:
        raise NotRun(f"the scheme {run.scheme} has no layer")
    return run.result.controller[name]


def ahead(run: Run) -> float | None:
    """By how long a prediction was ahead of its outage, mean, seconds; 0 where none was."""
    came_true = counted(run, "predictions_true")
    return 1e-6 * counted(run, "predicted_ahead_us") / came_true if came_true else 0.0


def detected(run: Run) -> float | None:
    """Which share of the links that went was predicted, percent."""
    went = counted(run, "predictions_true") + counted(run, "links_missed")
    return 100 * counted(run, "predictions_true") / went if went else None


def false_alarms(run: Run) -> float | None:
    """Predictions of links that did not go."""
    return float(counted(run, "false_alarms"))


def window_of(run: Run) -> float:
    """Over how long a rate is looked at in the street: a round trip, and 0.05 s at least."""
    return max(0.05, 1e-3 * int(run.choices.get("rtt", "50ms").removesuffix("ms")))


def capacity(run: Run) -> float:
    """Payload that a radio of the street carries, bytes a second."""
    return float(run.choices.get("rate", "50")) * 1e6 / 8 * SEGMENT_B / 1500


def reached(share: float) -> Callable[[Run], float | None]:
    """From a handover's end until the application gets so much of the capacity, seconds; mean of the handovers.

    One that takes longer than until the next handover counts as that long.
    """
    return lambda run: _mean_until(run, share)


@cache
def _mean_until(run: Run, share: float) -> float | None:
    rate, window = share * capacity(run), window_of(run)
    times = [_until(run, one, rate, window) for one in outages(run)]
    return statistics.fmean(times) if times else None


def reconnections(run: Run) -> Sequence[float]:
    """From each new link's beginning until the application gets something new, ms."""
    return [1e3 * one.stall_s for one in run.result.handovers if one.stall_s is not None]


def reconnection(run: Run) -> float | None:
    """Their mean."""
    return statistics.fmean(reconnections(run)) if reconnections(run) else None
