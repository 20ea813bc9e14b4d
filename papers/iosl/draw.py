"""The figures of [iosl], in the paper's axes, and what it has no figure of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from handfast import figures
from handfast.curves import COLOURS
from handfast.studies.reproduce import Figure as Of
from handfast.studies.reproduce import Runs, middle
from handfast.studies.reproduce.plot import bars, with_legend

from .measure import delay, detected, excess, false_alarms, goodput, lost, predicted_excess, recovery, timeouts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SCHEMES = ("tcp", "iosl", "unwarned", "unbounded", "tau-4", "tau-16", "linux", "rto-max", "linux-iosl")


def windows(runs: Runs) -> Figure:
    """Figure 9(a): throughput and cwnd around the second blockage of 1 s, one seed."""
    import numpy as np

    figure = figures.blank(figures.PAGE_IN)
    rate, window = figure.subplots(1, 2)
    for scheme in ("tcp", "linux", "iosl"):
        run = runs.of(scheme, rate="50", gap="1s")[0]
        middle = run.result.handovers[1].down_s
        at = np.arange(middle - 1, middle + 4, 0.05)
        passed = np.array([run.at("delivered_bytes", float(time)) for time in at])
        rate.plot(at[1:] - middle, np.diff(passed) * 8e-6 / 0.05, color=_colour(scheme), lw=0.8, label=scheme)
        cwnd = [run.at("cwnd_pkt", float(time)) for time in at]
        window.plot(at - middle, cwnd, color=_colour(scheme), lw=0.8, drawstyle="steps-post")
    rate.set_ylabel("throughput, Mbit/s")
    # What fills a hole delivers more at once than any link carries.
    rate.set_ylim(0, 60)
    window.set_ylabel("cwnd, segments")
    for axes in (rate, window):
        axes.axvspan(0, 1, color="#dddddd", lw=0)
        axes.set_xlabel("s from the cut")
    return with_legend(figure)


def by_lead(runs: Runs) -> Figure:
    """Figure 9(b), by how long the signal falls before the cut."""
    return _by(runs, "fade", [("recovery, s", recovery), ("timeouts", timeouts)], ("tcp", "iosl", "tau-16"))


def detection(runs: Runs) -> Figure:
    """What is predicted of links that go, by the noise of the modem's reports; and false alarms of those that stay."""
    figure = figures.blank(figures.PAGE_IN)
    found, wrong, left = figure.subplots(1, 3)
    noises = list(dict.fromkeys(run.choices["noise"] for run in runs.all))
    of_noise = [runs.of("iosl", case="goes", noise=noise) for noise in noises]
    bars(found, 0, "predicted", _colour("iosl"), [[detected(run) for run in some] for some in of_noise], 1)
    found.set_ylabel("predicted of those that go, %")
    cases = [case for case in dict.fromkeys(run.choices["case"] for run in runs.all) if case != "goes"]
    for index, case in enumerate(cases):
        groups = [[false_alarms(run) for run in runs.of("iosl", case=case, noise=noise)] for noise in noises]
        bars(wrong, index, case, COLOURS[index], groups, len(cases))
    wrong.set_ylabel("false alarms of 4 fades")
    wrong.legend(fontsize=5)
    for index, scheme in enumerate(("tcp", "iosl")):
        groups = [[goodput(run) for run in runs.of(scheme, case=cases[0], noise=noise)] for noise in noises]
        bars(left, index, scheme, _colour(scheme), groups, 2)
    left.set_ylabel(f"Mbit/s, {cases[0]}")
    left.legend(fontsize=5)
    for axes in (found, wrong, left):
        axes.set_xticks(range(len(noises)), noises)
        axes.set_xlabel("noise")
    return figure


def fluctuation(runs: Runs) -> Figure:
    """Delay, losses and goodput by the modem's word on the rate."""
    of: list[tuple[str, Of]] = [("delay, ms", delay), ("lost, segments", lost), ("goodput, Mbit/s", goodput)]
    return _by(runs, "estimate", of, ("tcp", "linux", "unbounded", "unwarned"))


def equation(runs: Runs) -> Figure:
    """What a disconnection costs, by W, beside equation (5)."""
    figure = figures.blank(figures.PAGE_IN)
    sizes = ("100", "400", "1600")
    for axes, rtt in zip(figure.subplots(1, 3), ("20ms", "100ms", "200ms"), strict=True):
        for scheme, colour in zip(("pure", "friendly"), COLOURS, strict=False):
            found = [middle(runs, excess, scheme, rtt=rtt, window=size) for size in sizes]
            axes.plot([int(size) for size in sizes], found, color=colour, marker="o", ms=2, lw=0.8, label=scheme)
        of = [predicted_excess(1e-3 * int(rtt.removesuffix("ms")), int(size)) for size in sizes]
        axes.plot([int(size) for size in sizes], of, color="#888888", ls=":", lw=0.8, label="equation (5)")
        axes.set_xscale("log")
        axes.set_yscale("symlog", linthresh=100)
        axes.set_title(f"RTT {rtt}", fontsize=8)
        axes.set_xlabel("W, segments")
    figure.axes[0].set_ylabel("segments not sent")
    return with_legend(figure)


def _by(runs: Runs, axis: str, of: Sequence[tuple[str, Of]], schemes: Sequence[str]) -> Figure:
    figure = figures.blank(figures.PAGE_IN)
    places = [place for place in dict.fromkeys(run.choices[axis] for run in runs.all) if place != "never"]
    for axes, (label, what) in zip(figure.subplots(1, len(of)), of, strict=True):
        for index, scheme in enumerate(schemes):
            groups = [[what(run) for run in runs.of(scheme, **{axis: place})] for place in places]
            bars(axes, index, scheme, _colour(scheme), groups, len(schemes))
        axes.set_xticks([0.27 + place for place in range(len(places))], places)
        axes.set_xlabel(axis)
        axes.set_ylabel(label)
    return with_legend(figure)


def _colour(scheme: str) -> str:
    return COLOURS[SCHEMES.index(scheme) % len(COLOURS)]
