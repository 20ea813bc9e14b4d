"""Delays of packets: the claims `7` and `8`."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Mapping

from handfast.studies.reproduce import (
    Check,
    Control,
    Figure,
    Finding,
    Runs,
    above,
    at_least,
    medians,
    middle,
    required,
)

from .measure import ENDS, LOSSES, PACKETS, STARTS, TCPS, WITHOUT_REPAIR, beside, delay, growth, jitter

SCHEMES = ("linux", "sdtp", "reno", "sdtp-reno")


def lower(runs: Runs, what: str, figure: Figure, tcp: str, ours: str, loss: str) -> Check:
    """SDTP's figure is below that of the same TCP without it, run by run."""
    return above(f"{what}, {tcp} above {ours}, {loss} %", beside(runs, tcp, ours, figure, loss=loss), "ms")


def mean_delay(runs: Runs) -> Finding:
    """Both beginnings and both ends are judged, for both TCPs."""

    def gap(tcp: str, ours: str, loss: str, figure: Figure) -> float:
        return middle(runs, figure, tcp, loss=loss) - middle(runs, figure, ours, loss=loss)

    def judged(of: Mapping[str, str]) -> tuple[Check, ...]:
        checks = []
        for start, end in itertools.product(STARTS, ENDS):
            figure, what = delay(start, end, "mean"), f"{start} to {end}"
            for tcp, ours in of.items():
                checks += [lower(runs, what, figure, tcp, ours, loss) for loss in LOSSES]
                checks += [
                    at_least(
                        f"gap {what}, {tcp}, {more} % less {less} %",
                        gap(tcp, ours, more, figure) - gap(tcp, ours, less, figure),
                        0,
                        "ms",
                    )
                    for less, more in itertools.pairwise(("0.1", *LOSSES))
                ]
        return tuple(checks)

    return Finding(
        tuple(
            one
            for start, end in itertools.product(STARTS, ENDS)
            for loss in ("1", "3", "5")
            for one in medians(runs, f"{start} to {end}", "ms", delay(start, end, "mean"), SCHEMES, loss=loss)
        ),
        judged(TCPS),
        Control("headers converted, nothing repaired, in SDTP's place", judged(WITHOUT_REPAIR)),
        remark=_windows(runs),
    )


def _windows(runs: Runs) -> str:
    def window(scheme: str, loss: str) -> str:
        return f"{middle(runs, lambda run: run.measures.cwnd_mean_pkt, scheme, loss=loss):.1f}"

    shown = "; ".join(f"{tcp} {', '.join(window(tcp, loss) for loss in ('1', '3', '5'))}" for tcp in TCPS)
    return (
        "A packet every 15 ms needs a window of 8 segments on a round trip of 120 ms. The mean window at 1, 3 and 5 "
        f"% is ({shown}): where it is below 8, packets wait at the sender, and the delay from the write grows with "
        "the run's length"
    )


def _edge_of_a_percentile(runs: Runs) -> str:
    """Why the 99th percentile cannot tell at 1 %: by how many packets a run of plain TCP has lost."""
    figure = jitter("send", "arrival")
    ours = {run.result.seed: figure(run) for run in runs.of("sdtp", loss="1")}
    few: list[float] = []
    many: list[float] = []
    for run in runs.of("linux", loss="1"):
        more = required(figure(run)) - required(ours[run.result.seed])
        (many if required(run.measures.lost_segments) > PACKETS // 100 else few).append(more)

    def shown(some: list[float]) -> str:
        return f"by {statistics.median(some):.3g} ms in {len(some)} runs" if some else "in no run"

    return (
        "From the first transmission to the arrival TCP delays none but the lost packets, and 1 % of 1,000 are ten: "
        "the 99th percentile is that of a lost packet or not by chance. Where plain linux has lost more than ten, "
        f"its p99 - p50 is above SDTP's {shown(many)}; else {shown(few)}"
    )


JITTERS = ("p99 - p50", "p99.9", "deviation")


def spread(what: str, start: str, end: str) -> Figure:
    """One of the three figures for jitter."""
    if what == "p99 - p50":
        return jitter(start, end)
    return delay(start, end, "p999" if what == "p99.9" else "deviation")


def variation(runs: Runs) -> Finding:
    """Three figures for jitter, over the 1,000 packets of a run; growth from the least loss to 5 %."""

    def judged(of: Mapping[str, str]) -> tuple[Check, ...]:
        checks = []
        for start, end in itertools.product(STARTS, ENDS):
            for tcp, ours in of.items():
                for what in JITTERS:
                    figure, name = spread(what, start, end), f"{what}, {start} to {end}"
                    checks += [lower(runs, name, figure, tcp, ours, loss) for loss in LOSSES]
                    checks.append(_grows_more(runs, name, figure, tcp, ours))
                mean = delay(start, end, "mean")
                checks.append(_grows_more(runs, f"mean, {start} to {end}", mean, tcp, ours))
        return tuple(checks)

    return Finding(
        tuple(
            one
            for what in JITTERS
            for start in STARTS
            for loss in ("1", "3", "5")
            for one in medians(
                runs, f"{what}, {start} to delivery", "ms", spread(what, start, "delivery"), SCHEMES, loss=loss
            )
        ),
        judged(TCPS),
        Control("headers converted, nothing repaired, in SDTP's place", judged(WITHOUT_REPAIR)),
        cause=_edge_of_a_percentile(runs),
    )


def _grows_more(runs: Runs, what: str, figure: Figure, tcp: str, ours: str) -> Check:
    points = ("0.1", *LOSSES)
    more = growth(runs, figure, tcp, points) - growth(runs, figure, ours, points)
    return Check(f"{what}: {tcp} grows by {more:.3g} ms more than {ours}", more > 0)
