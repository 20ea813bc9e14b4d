"""The figures of a result: what they are called and what they mean. No other file names them all.

Names carry their unit; what a backend cannot know is None. Made by `make metrics` from the table in crates/results.
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

    goodput_bps: float | None = None
    """New bytes delivered to the receiving application, from the first to the last delivery; None with fewer than two.
    Unit: bit/s. Of all flows: all bytes, from the first to the last delivery of any."""
    limit_bps: float | None = None
    """What a sender that knew everything could have delivered: links shared max-min fairly, less headers, from the
    first byte to the last. Outages between these count as time; losses and propagation delay are left out. Unit: bit/s.
    Of all flows: from the first byte of any to the last."""
    delivered_bytes: int | None = None
    """New bytes delivered to the receiving application. Unit: byte. Of all flows: sum."""
    stall_s: float | None = None
    """From the link's return to the first new data at the receiving application: the mean over the outages that the
    flow was in. None where there is none, or it never moved again after one. Unit: s. Of all flows: mean over outages
    and flows."""
    time_to_full_rate_s: float | None = None
    """From the link's return to the first second at 90 % or more of the mean rate of the five seconds before the
    outage: the mean over outages. None where there is none, or it never got there after one. Unit: s. Of all flows:
    mean over outages and flows."""
    idle_s: float | None = None
    """The longest time without a delivery, from the first one to the end of the flow or the run. Unit: s. Of all flows:
    the largest."""
    retransmitted_segments: int | None = None
    """Segments with payload that the sender repeated. Of all flows: sum."""
    timeouts: int | None = None
    """Expiries of the sender's retransmission timer. Of all flows: sum."""
    spurious_timeouts: int | None = None
    """Timeouts that the sender found spurious. Of all flows: sum."""
    lost_segments: int | None = None
    """The sender's segments with payload that the network lost or corrupted: full queues, queue disciplines, loss
    processes, outages, agents. Of all flows: sum."""
    aqm_dropped_segments: int | None = None
    """Those of `lost_segments` that a queue discipline dropped although the queue had room: active queue management.
    Only in runs with such a discipline. Of all flows: sum."""
    ce_marked_segments: int | None = None
    """The sender's segments with payload that a queue discipline marked "congestion experienced" (RFC 3168), once a
    queue. Only in runs with such a discipline. Of all flows: sum."""
    cwnd_mean_pkt: float | None = None
    """The sender's congestion window in full segments, weighted by time from the handshake to the end of the flow.
    Unit: pkt. Of all flows: mean."""
    cwnd_min_pkt: float | None = None
    """The smallest congestion window in full segments. Unit: pkt. Of all flows: the smallest."""
    delay_p50_s: float | None = None
    """Of datagrams: the same, half of them at most, by nearest rank. Unit: s. Of all flows: mean."""
    delay_p95_s: float | None = None
    """Of a call: the same, 95 % of them at most. Unit: s. Of all flows: mean."""
    delay_p99_s: float | None = None
    """Of datagrams: the same, 99 % of them at most, by nearest rank. Unit: s. Of all flows: mean."""
    jitter_s: float | None = None
    """Of datagrams: the interarrival jitter of RFC 3550 §6.4.1 at the end; None with fewer than two. Unit: s. Of all
    flows: mean."""
    late_datagrams: int | None = None
    """Of a call: datagrams that arrived, but later than its `late` after they were sent. Of all flows: sum."""
    lost_datagrams: int | None = None
    """Numbers of datagrams missing below the highest one that arrived, at the end of the run. Of all flows: sum."""
    keystrokes: int | None = None
    """Of a terminal: keystrokes that were typed. Of all flows: sum."""
    unechoed_keystrokes: int | None = None
    """Those of `keystrokes` that had not come back at the end. Of all flows: sum."""
    echo_p50_s: float | None = None
    """Of a terminal: from a keystroke to its echo, half of them at most, by nearest rank. A keystroke without an echo
    counts with the time up to the end where that is longer than every echo took. Unit: s. Of all flows: mean."""
    echo_p95_s: float | None = None
    """The same, 95 % of them at most. Unit: s. Of all flows: mean."""
    echo_p99_s: float | None = None
    """The same, 99 % of them at most. Unit: s. Of all flows: mean."""
    echo_max_s: float | None = None
    """The same, the longest. Unit: s. Of all flows: the largest."""
    pages_loaded: int | None = None
    """Of a person who reads web pages: pages that were there whole. Of all flows: sum."""
    page_load_p50_s: float | None = None
    """From the question for a page to the last byte of its last object, half of the pages at most, by nearest rank; the
    first page with its handshake. A page that was on its way at the end counts with its time so far where that is
    longer than all others took. Unit: s. Of all flows: mean."""
    page_load_p95_s: float | None = None
    """The same, 95 % of them at most. Unit: s. Of all flows: mean."""
    video_start_s: float | None = None
    """Of a person who watches a video: from the flow's start to the first picture; None where none came. Unit: s. Of
    all flows: mean."""
    video_stalls: int | None = None
    """How often the video stood still after it had begun. Of all flows: sum."""
    video_stalled_s: float | None = None
    """How long it stood still, all stalls together, one at the end too. Unit: s. Of all flows: sum."""
    video_played_s: float | None = None
    """How much of the video was played. Unit: s. Of all flows: sum."""
    video_mean_bps: float | None = None
    """The mean bitrate of the segments that came; None where none did. Unit: bit/s. Of all flows: mean."""
    video_switches: int | None = None
    """How often a segment had another bitrate than the one before. Of all flows: sum."""
    connect_s: float | None = None
    """With `measure = ["connect"]`: from the first SYN until both ends hold their packet, the client the SYN-ACK and
    the server an ACK of its SYN. None where one never did; of several connections at once the mean of those that did.
    Unit: s. Of all flows: mean."""
    write_to_arrival_mean_s: float | None = None
    """With `measure = ["delay"]`, the time of a packet from its write to its arrival at the receiving host, the mean;
    None where the application writes as there is room. Unit: s. Of all flows: mean."""
    write_to_arrival_p50_s: float | None = None
    """The same, half of the packets at most, by nearest rank. Unit: s. Of all flows: mean."""
    write_to_arrival_p99_s: float | None = None
    """The same, 99 % of them at most. Unit: s. Of all flows: mean."""
    write_to_arrival_p999_s: float | None = None
    """The same, 99.9 % of them at most. Unit: s. Of all flows: mean."""
    write_to_arrival_deviation_s: float | None = None
    """The same, the standard deviation. Unit: s. Of all flows: mean."""
    write_to_delivery_mean_s: float | None = None
    """With `measure = ["delay"]`, the time of a packet from its write to its delivery to the receiving application, in
    order, the mean; None as above. Unit: s. Of all flows: mean."""
    write_to_delivery_p50_s: float | None = None
    """The same, half of the packets at most, by nearest rank. Unit: s. Of all flows: mean."""
    write_to_delivery_p99_s: float | None = None
    """The same, 99 % of them at most. Unit: s. Of all flows: mean."""
    write_to_delivery_p999_s: float | None = None
    """The same, 99.9 % of them at most. Unit: s. Of all flows: mean."""
    write_to_delivery_deviation_s: float | None = None
    """The same, the standard deviation. Unit: s. Of all flows: mean."""
    send_to_arrival_mean_s: float | None = None
    """With `measure = ["delay"]`, the time of a packet from the first transmission of its first byte to its arrival at
    the receiving host, the mean. Unit: s. Of all flows: mean."""
    send_to_arrival_p50_s: float | None = None
    """The same, half of the packets at most, by nearest rank. Unit: s. Of all flows: mean."""
    send_to_arrival_p99_s: float | None = None
    """The same, 99 % of them at most. Unit: s. Of all flows: mean."""
    send_to_arrival_p999_s: float | None = None
    """The same, 99.9 % of them at most. Unit: s. Of all flows: mean."""
    send_to_arrival_deviation_s: float | None = None
    """The same, the standard deviation. Unit: s. Of all flows: mean."""
    send_to_delivery_mean_s: float | None = None
    """With `measure = ["delay"]`, the time of a packet from the first transmission of its first byte to its delivery to
    the receiving application, in order, the mean. Unit: s. Of all flows: mean."""
    send_to_delivery_p50_s: float | None = None
    """The same, half of the packets at most, by nearest rank. Unit: s. Of all flows: mean."""
    send_to_delivery_p99_s: float | None = None
    """The same, 99 % of them at most. Unit: s. Of all flows: mean."""
    send_to_delivery_p999_s: float | None = None
    """The same, 99.9 % of them at most. Unit: s. Of all flows: mean."""
    send_to_delivery_deviation_s: float | None = None
    """The same, the standard deviation. Unit: s. Of all flows: mean."""
    measured_packets: int | None = None
    """With `measure = ["delay"]`, packets that were sent, up to 1,000,000 a flow: writes of a paced flow, segments of
    any other. Of all flows: sum."""
    arrived_packets: int | None = None
    """Those of `measured_packets` that have arrived. Of all flows: sum."""
    delivered_packets: int | None = None
    """Those of `measured_packets` that were delivered. Of all flows: sum."""
    unmeasured_packets: int | None = None
    """Packets that were sent after the first 1,000,000 of a flow: no other figure contains them. Of all flows: sum."""

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
    """When the first byte was delivered. Unit: s."""
    last_byte_s: float | None = None
    """When the last byte was delivered. Unit: s."""
    fast_retransmits: int | None = None
    """Entries into fast retransmit."""
    data_segments_sent: int | None = None
    """Segments with payload that the sender sent, retransmissions included."""
    srtt_s: float | None = None
    """The sender's smoothed round-trip time at the end; None before the first sample. Unit: s."""
    connections: int | None = None
    """Connections that the flow has opened: of one that may reconnect, or has several at once."""
    delay_min_s: float | None = None
    """Of datagrams: the shortest time from the sending to the receiving application; None where nothing arrived. Unit:
    s."""
    received_datagrams: int | None = None
    """Datagrams that arrived, duplicates not counted."""
    reordered_datagrams: int | None = None
    """Datagrams that arrived after one with a higher number (RFC 4737 §3.3)."""
    sent_datagrams: int | None = None
    """Datagrams that were sent."""


MEASURES: tuple[str, ...] = tuple(entry.name for entry in fields(Measures))
"""The names of the figures that a flow has, and all flows together."""
