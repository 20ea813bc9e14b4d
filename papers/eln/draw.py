"""The figures of [eln], in the paper's axes, each with the capacity limit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from handfast import figures, stats
from handfast.curves import COLOURS
from handfast.studies.reproduce import Figure as Of
from handfast.studies.reproduce import Run, Runs, mean_time, middle
from handfast.studies.reproduce.plot import bars, with_legend

from .measure import CAPS, LINK_MBPS, share, throughput

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SCHEMES = ("tahoe", "reno", "newreno", "sack", "snoop", "eln", "unseen", "mute")
MARKERS = "osD^v<>P"


def by_loss(runs: Runs) -> Figure:
    """Figure 2."""
    figure, panels = _panels("throughput, Mbit/s")
    for cap, axes in panels.items():
        _lines(axes, [run for run in runs.all if run.sweep == "loss" and run.choices["cap"] == cap], "loss", throughput)
        axes.set_xscale("log")
        _limit(axes)
        axes.set_xlabel("packet loss on the radio")
    return with_legend(figure)


def by_speed(runs: Runs) -> Figure:
    """Figure 6."""
    figure, panels = _panels("throughput, Mbit/s")
    for cap, axes in panels.items():
        _lines(
            axes, [run for run in runs.all if run.sweep == "speed" and run.choices["cap"] == cap], "speed", throughput
        )
        # What the gaps leave: 200 ms each 500 m.
        speeds = sorted({float(run.choices["speed"]) for run in runs.all if run.sweep == "speed"})
        left = [LINK_MBPS * (1 - 0.2 * speed / 3.6 / 500) for speed in speeds]
        axes.plot(speeds, left, color="#888888", lw=0.8, ls=":", label="limit")
        axes.set_xlabel("speed, km/h")
    return with_legend(figure)


def windows(runs: Runs) -> Figure:
    """Figure 3: one seed, loss 0.002."""
    return _over_time(runs, "cwnd_pkt", "cwnd, segments", 1.0, loss="2e-3")


def ride_windows(runs: Runs) -> Figure:
    """Figure 4: one seed."""
    return _over_time(runs, "cwnd_pkt", "cwnd, segments", 1.0)


def sequence(runs: Runs) -> Figure:
    """Figure 5: one seed."""
    figure = _over_time(runs, "delivered_bytes", "sequence number, segments", 1 / 1024)
    for axes in figure.axes:
        end = axes.get_xlim()[1]
        axes.plot([0, end], [0, LINK_MBPS * 1e6 / 8 / 1024 * end], color="#888888", lw=0.8, ls=":", label="limit")
    return figure


def shares(runs: Runs) -> Figure:
    """The judged download's part of what both deliver; the limit is half, as both windows allow as much."""
    figure = figures.blank(figures.COLUMN_IN)
    axes = figure.subplots()
    _bars(axes, runs.all, [("", share)], "share of the bytes delivered")
    axes.axhline(0.5, color="#888888", lw=0.8, ls=":", label="limit")
    return with_legend(figure)


def beyond(runs: Runs) -> Figure:
    """Throughput, and the time that short flows take, by case."""
    figure = figures.blank((figures.PAGE_IN[0], 2 * figures.PAGE_IN[1]))
    cases = [case for case in dict.fromkeys(run.choices["case"] for run in runs.all) if case != "short-flows"]
    for axes, cap in zip(figure.subplots(2, 1), CAPS, strict=True):
        for index, scheme in enumerate(_present(runs.all)):
            values = [[throughput(run) for run in runs.of(scheme, case=case, cap=cap)] for case in cases]
            bars(axes, index, scheme, _colour(scheme), values, 3)
        axes.axhline(LINK_MBPS, color="#888888", lw=0.8, ls=":", label="limit")
        axes.set_xticks(
            [0.27 + place for place in range(len(cases))], [case.replace("-", " ") for case in cases], fontsize=5
        )
        axes.set_ylabel(f"Mbit/s, cap {cap}")
        short = [
            f"{scheme} {middle(runs, mean_time, scheme, case='short-flows', cap=cap):.2f} s"
            for scheme in _present(runs.all)
        ]
        axes.set_title(f"flows of 20 kB take {', '.join(short)}", fontsize=6)
    return with_legend(figure)


def _panels(label: str) -> tuple[Figure, dict[str, Axes]]:
    figure = figures.blank(figures.PAGE_IN)
    panels = dict(zip(CAPS, figure.subplots(1, 2, sharey=True), strict=True))
    for cap, axes in panels.items():
        axes.set_title(f"window of at most {cap} segments", fontsize=8)
    panels[CAPS[0]].set_ylabel(label)
    return figure, panels


def _limit(axes: Axes) -> None:
    axes.axhline(LINK_MBPS, color="#888888", lw=0.8, ls=":", label="limit")


def _lines(axes: Axes, some: Sequence[Run], axis: str, of: Of) -> None:
    for scheme in _present(some):
        mine = [run for run in some if run.scheme == scheme]
        places = sorted({run.choices[axis] for run in mine}, key=float)
        found = [stats.summarise([of(run) for run in mine if run.choices[axis] == place]) for place in places]
        known = [(float(place), one) for place, one in zip(places, found, strict=True) if one is not None]
        axes.errorbar(
            [x for x, _ in known],
            [one.median for _, one in known],
            yerr=[[one.median - one.low for _, one in known], [one.high - one.median for _, one in known]],
            color=_colour(scheme),
            marker=MARKERS[SCHEMES.index(scheme)],
            ms=3,
            lw=0.9,
            capsize=1.5,
            label=scheme,
        )


def _over_time(runs: Runs, name: str, label: str, factor: float, **choices: str) -> Figure:
    figure, panels = _panels(label)
    for cap, axes in panels.items():
        for scheme in _present(runs.all):
            run = runs.of(scheme, cap=cap, **choices)[0]
            values = run.column(name) * factor
            # Beyond the receiver's window cwnd means nothing.
            shown = values.clip(max=float(cap)) if name == "cwnd_pkt" else values
            axes.plot(run.column("time_s"), shown, color=_colour(scheme), lw=0.7, label=scheme, drawstyle="steps-post")
        axes.set_xlabel("time, s")
    return with_legend(figure)


def _bars(axes: Axes, some: Sequence[Run], of: Sequence[tuple[str, Of]], label: str) -> None:
    present = _present(some)
    for index, scheme in enumerate(present):
        groups = [[figure(run) for run in some if run.scheme == scheme] for _, figure in of]
        bars(axes, index, scheme, _colour(scheme), groups, len(present))
    axes.set_xticks([])
    axes.set_ylabel(label)


def _present(some: Sequence[Run]) -> list[str]:
    found = {run.scheme for run in some}
    return [scheme for scheme in SCHEMES if scheme in found]


def _colour(scheme: str) -> str:
    return COLOURS[SCHEMES.index(scheme)]
