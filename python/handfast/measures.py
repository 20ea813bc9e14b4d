"""The figures of a result: what they are called and what they mean. No other file names them all.

Names carry their unit; what a backend cannot know is None.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self


def number(data: Mapping[str, Any], name: str, *, optional: bool = False) -> Any:  # noqa: ANN401 (int or float, as it came)
    """The number called `name`; None where that may be."""
    value = data.get(name) if optional else data[name]
    if (value is None and optional) or (isinstance(value, int | float) and not isinstance(value, bool)):
        return value
    raise ValueError(f"{name}: {value!r} is no number")


@dataclass(frozen=True, slots=True)
class Measures:
    """The figures that a flow has, and all flows of a run together."""

    stall_s: float | None = None
    """From a link's return to the first new data at the receiving application, seconds; the mean over outages."""
    goodput_bps: float | None = None
    """New bytes delivered, from the first to the last one (of any flow), bits per second."""
    limit_bps: float | None = None
    """What senders that knew everything could have delivered, bits per second."""
    time_to_full_rate_s: float | None = None
    """From a link's return to 90 % of the rate before, seconds; the mean over outages."""
    retransmitted_segments: int | None = None
    """Segments with payload that were repeated; the sum over flows."""
    timeouts: int | None = None
    """Expiries of the retransmission timer; the sum over flows."""
    spurious_timeouts: int | None = None
    """Timeouts that the sender found spurious; the sum over flows."""
    lost_segments: int | None = None
    """Segments with payload that the network lost; the sum over flows."""
    delivered_bytes: int | None = None
    """New bytes delivered to the receiving application; the sum over flows."""
    idle_s: float | None = None
    """The longest time without a delivery, seconds; the longest of all flows."""
    cwnd_mean_pkt: float | None = None
    """The congestion window in full segments, weighted by time; the mean over flows."""
    cwnd_min_pkt: float | None = None
    """The smallest congestion window in full segments; the smallest of all flows."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Take the known names from a JSON object; all others are in `Result.raw`."""
        return cls(**{entry.name: number(data, entry.name, optional=True) for entry in fields(cls)})


@dataclass(frozen=True, slots=True)
class FlowMeasures(Measures):
    """The figures of one flow: those that all flows have together, and these."""

    start_s: float | None = None
    """When it was opened, seconds from the run's start."""
    end_s: float | None = None
    """When its connection ended, seconds from the run's start."""
    first_byte_s: float | None = None
    """When the first byte was delivered, seconds from the run's start."""
    last_byte_s: float | None = None
    """When the last byte was delivered, seconds from the run's start."""
    fast_retransmits: int | None = None
    """Recoveries from losses that began without a timeout."""
    data_segments_sent: int | None = None
    """Segments with payload that the sender sent, repeats included."""
    srtt_s: float | None = None
    """The smoothed round-trip time at the end, seconds."""


MEASURES: tuple[str, ...] = tuple(entry.name for entry in fields(Measures))
"""The names of the figures that a flow has, and all flows together."""
