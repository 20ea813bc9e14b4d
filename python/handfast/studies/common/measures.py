"""What rows are judged by: shares of the capacity limit, and what a person feels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from handfast.results import Flow, Result

ALIKE = 0.002
"""Shares of the limit that are no further apart than this are the same: 50 ms of a run."""
ALIKE_S = 0.05
"""The same of times, seconds."""
ALIKE_BPS = 50_000.0
"""The same of a video's bitrate, bits per second: of a minute one segment or two, one step of the ladder apart."""


@dataclass(frozen=True, slots=True)
class Measure:
    """One figure of a run."""

    key: str
    """Its name in documents and frames, with its unit; where docs/reference/results.md has it, that name."""
    title: str
    """Its name in tables, with its unit."""
    of: Callable[[Result], float]
    alike: float
    """Figures that are no further apart than this are the same."""
    sign: int = 1
    """1: more is better; -1: less is better; 0: neither is, and nobody is best."""
    limit: bool = False
    """Whether it is a share of what the links would have carried, so that 1 is all there is."""
    sure: bool = False
    """Whether nearly all seeds that tell two schemes apart have to agree, and not their median alone: seeds differ more
    than schemes where two flows fight for a share, or a person opens a few pages."""
    scale: float = 1.0
    """Tables show it times this."""
    digits: int = 1
    """Behind the point, in tables."""

    def text(self, value: float) -> str:
        """A figure as tables have it, without its unit."""
        return f"{self.scale * value:.{self.digits}f}"


def share(run: Result) -> float:
    """What a run delivered, as a share of what its links would have carried."""
    return _of_limit(run.aggregate.delivered_bytes, run.aggregate.limit_bps, run.duration_s)


def own(run: Result) -> float:
    """What its first flow got, as a share of what is fair: of a half, while there are two."""
    return _fair(run.flows[0], run)


def least(run: Result) -> float:
    """The same of the flow that has least of what is fair for it."""
    return min(_fair(flow, run) for flow in run.flows)


def _fair(flow: Flow, run: Result) -> float:
    # A flow's limit counts from its first byte on, and they begin apart.
    measures, time_s = flow.measures, run.duration_s - (flow.measures.first_byte_s or 0.0)
    return _of_limit(measures.delivered_bytes, measures.limit_bps, time_s)


def _of_limit(delivered: int | None, limit_bps: float | None, time_s: float) -> float:
    limit = (limit_bps or 0.0) * time_s / 8
    return (delivered or 0) / limit if limit else 0.0


def missed(run: Result) -> float:
    """The part of a call's datagrams that came too late or never."""
    calls = [flow.measures for flow in run.flows if flow.measures.late_datagrams is not None]
    sent = sum(call.sent_datagrams or 0 for call in calls)
    bad = sum((call.late_datagrams or 0) + (call.lost_datagrams or 0) for call in calls)
    return bad / sent if sent else 0.0


def _aggregate(name: str) -> Callable[[Result], float]:
    def of(run: Result) -> float:
        value = getattr(run.aggregate, name)
        if value is None:
            raise ValueError(f"{run.scenario}, scheme {run.scheme}, seed {run.seed}: no {name}")
        return float(value)

    return of


SHARE = Measure("share", "share of the capacity limit, %", share, ALIKE, limit=True, scale=100)
LEAST = Measure("least_fair_share", "share of its fair part, %", least, ALIKE, limit=True, sure=True, scale=100)
OWN = Measure("own_fair_share", "own share of its fair part, %", own, ALIKE, sign=0, scale=100)


def _felt(key: str, title: str, alike: float = ALIKE_S, of: Callable[[Result], float] | None = None) -> Measure:
    return Measure(key, title, of or _aggregate(key), alike, sign=-1, sure=True, digits=2)


FELT = (
    _felt("page_load_p50_s", "page, median, s"),
    _felt("page_load_p95_s", "page, 95 %, s"),
    _felt("video_stalled_s", "video stands still, s"),
    replace(_felt("video_mean_bps", "video, Mbit/s", ALIKE_BPS), sign=1, scale=1e-6),
    replace(_felt("call_missed_share", "call, late or lost, %", ALIKE, missed), scale=100, digits=1),
    _felt("echo_p95_s", "terminal echo, 95 %, s"),
)
"""What a person feels (docs/explanation/feels.md)."""
