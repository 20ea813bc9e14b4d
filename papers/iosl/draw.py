"""The figures of [iosl], in the paper's axes, and what it has no figure of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from handfast import figures
from handfast.curves import COLOURS
from handfast.studies.reproduce import Figure as Of
from handfast.studies.reproduce import Runs, middle, required
from handfast.studies.reproduce.plot import bars, with_legend

from .measure import (
    delay,
    detected,
    excess,
    false_alarms,
    goodput,
    lost,
    predicted_excess,
    reached,
    reconnection,
    recovery,
    timeouts,
)
from .measure import reconnections as all_reconnections

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SCHEMES = (
    *("tcp", "iosl", "unwarned", "unbounded", "tau-4", "tau-16", "linux", "rto-max"),
    *("tcp", "iosl", "fresh", "linux-iosl", "estimate", "handshake", "linux"),
    *("tcp", "linux", "alone", "linux-alone"),
)
"""Of one end, and of both: no two of a figure share a colour."""
ENDS = ("tcp", "linux", "estimate", "fresh", "iosl")


AXES = {
    "fade": "the signal falls for",
    "estimate": "the modem's word on the rate, %",
    "rtt": "round trip without queues",
    "rate": "capacity, Mbit/s",
    "speed": "speed, m/s",
}


def windows(runs: Runs) -> Figure:
    """Figure 9(a): throughput and cwnd around the second blockage of 1 s, one seed."""
    return _around(runs, ("tcp", "linux", "iosl"), rate="50", gap="1s")


def _around(runs: Runs, schemes: Sequence[str], **cell: str) -> Figure:
    """Throughput and cwnd around the second time that the link goes, one seed, at 50 Mbit/s."""
    import numpy as np

    figure = figures.blank(figures.PAGE_IN)
    rate, window = figure.subplots(1, 2)
    for scheme in schemes:
        run = runs.of(scheme, **cell)[0]
        outage = run.result.handovers[1]
        at = np.arange(outage.down_s - 1, outage.down_s + 4, 0.05)
        passed = np.array([run.at("delivered_bytes", float(time)) for time in at])
        rate.plot(at[1:] - outage.down_s, np.diff(passed) * 8e-6 / 0.05, color=_colour(scheme), lw=0.8, label=scheme)
        cwnd = [run.at("cwnd_pkt", float(time)) for time in at]
        window.plot(at - outage.down_s, cwnd, color=_colour(scheme), lw=0.8, drawstyle="steps-post")
        gone = required(outage.up_s) - outage.down_s
    rate.set_ylabel("throughput, Mbit/s")
    # What fills a hole delivers more at once than any link carries.
    rate.set_ylim(0, 60)
    window.set_ylabel("cwnd, segments")
    for axes in (rate, window):
        axes.axvspan(0, gone, color="#dddddd", lw=0)
        axes.set_xlabel("s from the cut")
    return with_legend(figure)


def by_lead(runs: Runs) -> Figure:
    """Figure 9(b), by how long the signal falls before the cut."""
    return _by(runs, "fade", [("recovery, s", recovery), ("timeouts", timeouts)], ("tcp", "iosl", "tau-16"))


def detection(runs: Runs) -> Figure:
    """By the noise of the modem's reports: what is predicted of links that go, and false alarms of those that stay."""
    figure = figures.blank(figures.PAGE_IN)
    found, wrong = figure.subplots(1, 2)
    noises = list(dict.fromkeys(run.choices["noise"] for run in runs.all))
    for index, scheme in enumerate(("iosl", "unwarned")):
        groups = [[detected(run) for run in runs.of(scheme, case="goes", noise=noise)] for noise in noises]
        bars(found, index, scheme, _colour(scheme), groups, 2)
    found.set_ylabel("predicted of the links that go, %")
    cases = [case for case in dict.fromkeys(run.choices["case"] for run in runs.all) if case != "goes"]
    for index, case in enumerate(cases):
        groups = [[false_alarms(run) for run in runs.of("iosl", case=case, noise=noise)] for noise in noises]
        bars(wrong, index, case, COLOURS[-1 - index], groups, len(cases))
    wrong.set_ylabel("false alarms, iosl, of 4 fades")
    for axes in (found, wrong):
        axes.set_xticks([0.2 + place for place in range(len(noises))], noises)
        axes.set_xlabel("noise of the reports, at most")
    return with_legend(figure)


def fluctuation(runs: Runs) -> Figure:
    """Delay, losses and goodput by the modem's word on the rate."""
    of: list[tuple[str, Of]] = [("delay, ms", delay), ("lost, segments", lost), ("goodput, Mbit/s", goodput)]
    return _by(runs, "estimate", of, ("tcp", "linux", "unbounded", "unwarned"))


def equation(runs: Runs) -> Figure:
    """What a disconnection costs, as a share of equation (5) + W."""
    figure = figures.blank(figures.PAGE_IN)
    sizes = ("100", "400", "1600")
    for axes, rtt in zip(figure.subplots(1, 3, sharey=True), ("20ms", "100ms", "200ms"), strict=True):
        said = [predicted_excess(1e-3 * int(rtt.removesuffix("ms")), int(size)) for size in sizes]
        for scheme, label, colour in zip(
            ("pure", "friendly"), ("CUBIC", "CUBIC, Reno-friendly"), COLOURS, strict=False
        ):
            found = [middle(runs, excess, scheme, rtt=rtt, window=size) for size in sizes]
            shares = [one / (of + int(size)) for one, of, size in zip(found, said, sizes, strict=True)]
            axes.plot(sizes, shares, color=colour, marker="o", ms=3, lw=0.8, label=label)
        shares = [of / (of + int(size)) for of, size in zip(said, sizes, strict=True)]
        axes.plot(sizes, shares, color="#888888", ls=":", marker="x", ms=3, lw=0.8, label="(5) as printed")
        axes.axhline(1.0, color="#888888", lw=0.8)
        axes.set_title(f"RTT {rtt}", fontsize=8)
        axes.set_xlabel("W, segments")
    figure.axes[0].set_ylim(0, 1.2)
    figure.axes[0].set_ylabel("share of (5) + W")
    return with_legend(figure)


def by_rtt(runs: Runs) -> Figure:
    """Figure 10(a): how long it takes to a quarter of the capacity, and to the first octet."""
    of: list[tuple[str, Of]] = [("to a quarter, s", reached(0.25)), ("reconnection, ms", reconnection)]
    return _by(runs, "rtt", of, ENDS)


def by_capacity(runs: Runs) -> Figure:
    """Figure 10(b), by the capacity."""
    of: list[tuple[str, Of]] = [("to the peak, s", reached(0.9)), ("goodput, Mbit/s", goodput)]
    return _by(runs, "rate", of, ENDS)


def around_handover(runs: Runs) -> Figure:
    """Figure 11(a): throughput and cwnd around the second handover, one seed."""
    return _around(runs, ("tcp", "linux", "iosl"), rtt="100ms")


def by_speed(runs: Runs) -> Figure:
    """Figure 12(a)."""
    return _by(runs, "speed", [("goodput, Mbit/s", goodput)], ("tcp", "linux", "fresh", "iosl"))


WIDTHS = {"tcp": 3.0, "linux": 2.0, "handshake": 1.0, "iosl": 1.0}
"""Some of these are the same: each shows beneath the next one."""


def reconnections(runs: Runs) -> Figure:
    """Figure 12(b): the distribution of reconnections."""
    import numpy as np

    figure = figures.blank(figures.PAGE_IN)
    notices = list(dict.fromkeys(run.choices["notice"] for run in runs.all))
    for axes, notice in zip(figure.subplots(1, len(notices), sharey=True), notices, strict=True):
        for scheme in ("tcp", "linux", "handshake", "iosl"):
            times = sorted(time for run in runs.of(scheme, notice=notice) for time in all_reconnections(run))
            axes.plot(times, np.linspace(0, 1, len(times)), color=_colour(scheme), lw=WIDTHS[scheme], label=scheme)
        axes.set_title(f"notices: {notice}", fontsize=8)
        axes.set_xlabel("reconnection, ms")
    figure.axes[0].set_ylabel("share")
    return with_legend(figure)


def switched(runs: Runs) -> Figure:
    """Figure 13: both directions, by the number of handovers."""
    figure = figures.blank(figures.PAGE_IN)
    places = ("2", "4", "6")
    schemes = ("tcp", "linux", "fresh", "iosl")
    for axes, way in zip(figure.subplots(1, 2), ("down", "up"), strict=True):
        for index, scheme in enumerate(schemes):
            groups = [[goodput(run) for run in runs.of(scheme, direction=way, handovers=count)] for count in places]
            bars(axes, index, scheme, _colour(scheme), groups, len(schemes))
        axes.set_xticks([0.27 + place for place in range(len(places))], places)
        axes.set_xlabel(f"handovers in 65 s, {way}")
        axes.set_ylabel("goodput, Mbit/s")
    return with_legend(figure)


def by_number(runs: Runs) -> Figure:
    """Goodput by each number, where the link goes and where its signal only gets weak."""
    figure = figures.blank(figures.PAGE_IN)
    numbers = list(dict.fromkeys(run.choices["number"] for run in runs.all))
    for axes, case in zip(figure.subplots(1, 2), ("goes", "stays"), strict=True):
        for index, scheme in enumerate(("unwarned", "iosl")):
            groups = [[goodput(run) for run in runs.of(scheme, case=case, number=number)] for number in numbers]
            bars(axes, index, scheme, _colour(scheme), groups, 2)
        axes.set_xticks([0.27 + place for place in range(len(numbers))], numbers, rotation=60, fontsize=6, ha="right")
        axes.set_title(f"the link {case}", fontsize=8)
        axes.set_ylabel("goodput, Mbit/s")
    return with_legend(figure)


def by_application(runs: Runs) -> Figure:
    """Goodput by the time without a network, for each way in which an application goes on."""
    figure = figures.blank(figures.PAGE_IN)
    gaps = list(dict.fromkeys(run.choices["gap"] for run in runs.all))
    ways = list(dict.fromkeys(run.choices["application"] for run in runs.all))
    schemes = ("tcp", "iosl", "linux", "linux-iosl")
    for axes, way in zip(figure.subplots(1, len(ways), sharey=True), ways, strict=True):
        for index, scheme in enumerate(schemes):
            groups = [[goodput(run) for run in runs.of(scheme, application=way, gap=gap)] for gap in gaps]
            bars(axes, index, scheme, _colour(scheme), groups, len(schemes))
        axes.set_xticks([0.27 + place for place in range(len(gaps))], gaps)
        axes.set_xlabel(f"without a network for; application: {way}")
    figure.axes[0].set_ylabel("goodput, Mbit/s")
    return with_legend(figure)


def by_horizontal(runs: Runs) -> Figure:
    """The time to a quarter of the capacity after a gap of 1 s, by the round trip, upwards and downwards."""
    figure = figures.blank(figures.PAGE_IN)
    quarter, schemes = reached(0.25), ("tcp", "alone", "linux", "linux-alone")
    rtts = list(dict.fromkeys(run.choices["rtt"] for run in runs.all))
    for axes, way in zip(figure.subplots(1, 2, sharey=True), ("up", "down"), strict=True):
        for index, scheme in enumerate(schemes):
            groups = [[quarter(run) for run in runs.of(scheme, direction=way, gap="1s", rtt=rtt)] for rtt in rtts]
            bars(axes, index, scheme, _colour(scheme), groups, len(schemes))
        axes.set_xticks([0.27 + place for place in range(len(rtts))], rtts)
        axes.set_xlabel(f"{AXES['rtt']}; {way}")
    figure.axes[0].set_ylabel("to a quarter, s")
    return with_legend(figure)


def _by(runs: Runs, axis: str, of: Sequence[tuple[str, Of]], schemes: Sequence[str]) -> Figure:
    figure = figures.blank(figures.PAGE_IN)
    places = [place for place in dict.fromkeys(run.choices[axis] for run in runs.all) if place != "never"]
    for axes, (label, what) in zip(figure.subplots(1, len(of), squeeze=False)[0], of, strict=True):
        for index, scheme in enumerate(schemes):
            groups = [[what(run) for run in runs.of(scheme, **{axis: place})] for place in places]
            bars(axes, index, scheme, _colour(scheme), groups, len(schemes))
        axes.set_xticks([0.27 + place for place in range(len(places))], places)
        axes.set_xlabel(AXES[axis])
        axes.set_ylabel(label)
    return with_legend(figure)


def _colour(scheme: str) -> str:
    return COLOURS[SCHEMES.index(scheme) % len(COLOURS)]
