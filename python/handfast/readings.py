"""What a figure says of one run: its value, or why there is none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from handfast.results import Flow, Passage, Result

NEVER, NOTHING, UNKNOWN = "never", "–", "?"
"""Why a figure is missing, as cells show it."""

MEANINGS = {
    NEVER: "not reached before the run's end or the next outage",
    NOTHING: "nothing to measure: no link was gone while the flow was open, or the flow carried nothing",
    UNKNOWN: "not known",
}

OUTAGE_MEASURES = ("stall_s", "time_to_full_rate_s")
"""Figures of a flow in an outage: without an outage there is none."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One figure of one run."""

    value: float | None
    """The mean of what is known."""
    missing: tuple[str, ...] = ()
    """Why, for each part that is missing: a NEVER, NOTHING or UNKNOWN each."""
    parts: int = 1
    """How many parts there are: for a figure of outages, flows in outages."""


def of_run(run: Result, measure: str) -> Reading:
    """A figure of all flows together. One flow that never recovered does not take it from the others."""
    if measure in OUTAGE_MEASURES:
        return _of_passages(run, run.flows, measure)
    return _plain(getattr(run.aggregate, measure), run.aggregate.delivered_bytes)


def of_flow(run: Result, name: str, measure: str) -> Reading:
    """A figure of one flow."""
    flow = next((flow for flow in run.flows if flow.flow == name), None)
    if flow is None:
        return Reading(None, (NOTHING,))
    if measure in OUTAGE_MEASURES:
        return _of_passages(run, [flow], measure)
    return _plain(getattr(flow.measures, measure), flow.measures.delivered_bytes)


def _plain(value: float | None, delivered: int | None) -> Reading:
    if value is not None:
        return Reading(value)
    return Reading(None, (NOTHING if delivered == 0 else UNKNOWN,))


def _of_passages(run: Result, flows: Sequence[Flow], measure: str) -> Reading:
    by_name = {flow.flow: flow for flow in flows}
    passages = [
        (one.down_s, by_name[passage.flow], passage)
        for one in run.handovers
        for passage in one.flows
        if passage.flow in by_name
    ]
    if not passages:
        return Reading(None, (NOTHING,))
    values = [getattr(passage, measure) for _, _, passage in passages]
    known = [value for value in values if value is not None]
    why = tuple(_why(*each, measure) for each, value in zip(passages, values, strict=True) if value is None)
    return Reading(fmean(known) if known else None, why, len(passages))


def _why(down_s: float, flow: Flow, passage: Passage, measure: str) -> str:
    """Why the figure of an outage is missing."""
    if measure == "time_to_full_rate_s" and passage.stall_s is not None:
        # A flow that had delivered nothing has no rate to come back to.
        first_byte_s = flow.measures.first_byte_s
        fresh = first_byte_s is None or first_byte_s >= down_s
        return NOTHING if fresh else NEVER
    return NEVER


def had_outage(runs: Sequence[Result]) -> bool:
    """Whether a link was gone, and came back, while a flow was open."""
    return any(one.flows for run in runs for one in run.handovers)


def reasons(readings: Sequence[Reading]) -> Counter[str]:
    """How many parts are missing, by the reason."""
    return Counter(why for reading in readings for why in reading.missing)
