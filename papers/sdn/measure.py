"""What the claims of [sdn] measure in a run of one flow and one handover."""

from __future__ import annotations

import math
import statistics

from handfast.studies.reproduce import NotRun, Run, required

NOTICE_S = 0.07
"""From an association's end or beginning until the controller knows (T0 to T1, T2 to T3), as in `network.toml`."""
CONTROL_S = 0.0005
"""One way between controller and switch."""
AIR_S = 0.001
"""Delay of the radio link."""
LINKS = 3
"""Wired links between correspondent and mobile."""
BEFORE_S = 5.0
"""The rate before a handover is that of so many seconds."""


def idle(run: Run) -> float | None:
    """The longest gap in delivery, seconds: the disconnection and what the sender adds to it."""
    return run.measures.idle_s


def after_return(run: Run) -> float | None:
    """From the new association to the first new data at the application, seconds."""
    return run.handover.stall_s


def after_returns(run: Run) -> float | None:
    """The median of that over the handovers of a run, seconds, but for those without new data before the next."""
    found = [handover.stall_s for handover in run.result.handovers if handover.stall_s is not None]
    return statistics.median(found) if found else None


def received(run: Run) -> float | None:
    """What came to all applications, MB."""
    return None if run.measures.delivered_bytes is None else run.measures.delivered_bytes / 1e6


def disconnection(run: Run) -> float:
    """From the end of the old association to the new one, seconds."""
    back = run.handover.up_s
    if back is None:
        raise NotRun("a station never came back")
    return back - run.handover.down_s


def added(run: Run) -> float | None:
    """What the idle time has besides the disconnection, seconds."""
    return None if run.measures.idle_s is None else run.measures.idle_s - disconnection(run)


def to_full_rate(run: Run) -> float | None:
    """From the new association to 90 % of the rate before, seconds."""
    return run.handover.time_to_full_rate_s


def cwnd(run: Run) -> float | None:
    """The congestion window, mean over the connection, segments."""
    return run.measures.cwnd_mean_pkt


def repeated(run: Run) -> float | None:
    """Segments sent again."""
    return run.measures.retransmitted_segments


def round_trip(run: Run) -> float:
    """The smoothed round-trip time at the end, seconds."""
    return required(run.flow.measures.srtt_s)


def expected_after_return(run: Run) -> float | None:
    """The idle time after the return by the back-off schedule, seconds; None where no timer expired in the gap."""
    spans = expected_spans(run, late=0.0)
    return spans[-1][0] if spans else None


def expected_spans(run: Run, late: float) -> list[tuple[float, float]]:
    """When data may come by the schedule, seconds after the return: from, to.

    All is taken from before the return: the first expiry in the gap, at E with the timeout R, is followed by others at
    E + 2 R, E + 6 R, E + 14 R, … (RFC 6298 §5.5), each up to `late` of the wait later. It counts which is the first to
    find the new way at the first switch; timers that may be late leave a choice of two.
    """
    import numpy as np

    down, back = run.handover.down_s, run.handover.up_s
    times, timeouts = run.column("time_s"), run.column("rto_s")
    doubled = np.flatnonzero((times[1:] > down) & (timeouts[1:] > 1.5 * timeouts[:-1])) + 1
    if back is None or doubled.size == 0 or times[doubled[0]] > back:
        return []
    one_way = run.at("srtt_s", down) / 2
    opens = back + NOTICE_S + CONTROL_S - (one_way - AIR_S) / LINKS
    expiry, wait = float(times[doubled[0]]), 2 * float(timeouts[doubled[0] - 1])
    found: list[tuple[float, float]] = []
    while not found or found[-1][0] + back - one_way < opens:
        latest = expiry + late * (expiry - down)
        if latest >= opens:
            found.append((expiry + one_way - back, latest + one_way - back))
        expiry, wait = expiry + wait, 2 * wait
    return found


def delivered(run: Run, start_s: float, end_s: float) -> float:
    """Bytes that came to the application in a span of time."""
    return run.at("delivered_bytes", end_s) - run.at("delivered_bytes", start_s)


def first_second(run: Run) -> float | None:
    """The rate in the second that begins with the first new data after the return, as a share of the rate before."""
    if run.handover.up_s is None or run.handover.stall_s is None:
        return None
    start = run.handover.up_s + run.handover.stall_s - 0.01  # the sample before
    before = delivered(run, run.handover.down_s - BEFORE_S, run.handover.down_s) / BEFORE_S
    return delivered(run, start, start + 1.0) / before


def behind(run: Run) -> float | None:
    """How far behind a sender that knew everything it is at the end: seconds of the rate before the handover.

    Such a sender delivers at that rate from the return on.
    """
    start, end = run.handover.down_s, run.result.duration_s
    before = delivered(run, start - BEFORE_S, start) / BEFORE_S
    return (end - start) - disconnection(run) - delivered(run, start, end) / before


def lost(run: Run) -> float | None:
    """Segments that the network lost."""
    return run.measures.lost_segments


def given_up(run: Run) -> bool:
    """Of zwa: whether its controller left the connection to TCP, whose timer expired then."""
    return bool(run.measures.timeouts)


def ended(run: Run) -> bool:
    """Whether the connection died."""
    return run.flow.outcome not in ("open", "closed")


def last_byte(run: Run) -> float:
    """From the new association to the last delivery, seconds."""
    return required(run.flow.measures.last_byte_s) - (run.handover.up_s or 0.0)


def death(run: Run) -> float:
    """From the new association to the end of the connection, seconds."""
    return required(run.flow.measures.end_s) - (run.handover.up_s or 0.0)


def nothing_lost(run: Run) -> bool:
    """Whether no segment took the stale path."""
    return run.measures.lost_segments == 0


def restored(run: Run) -> bool:
    """Whether cwnd and ssthresh are again what they were before the first timeout, one second after the return."""
    if run.handover.up_s is None or run.handover.stall_s is None:
        return False
    before, after = run.handover.down_s, run.handover.up_s + run.handover.stall_s + 1.0
    window = run.at("cwnd_pkt", after) >= 0.9 * run.at("cwnd_pkt", before)
    old, new = run.at("ssthresh_pkt", before), run.at("ssthresh_pkt", after)
    return window and (math.isnan(new) if math.isnan(old) else new >= old)
