"""The figures of [sdn], in the paper's axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from handfast import figures, stats
from handfast.curves import COLOURS
from handfast.studies.reproduce import Figure as Of
from handfast.studies.reproduce import Run, Runs
from handfast.studies.reproduce.plot import bars, with_legend

from . import live
from .measure import (
    after_return,
    after_returns,
    behind,
    cwnd,
    disconnection,
    expected_after_return,
    idle,
    last_byte,
    lost,
    repeated,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


LOADS = {"light": "a) light", "medium": "b) medium", "heavy": "c) heavy"}
SCHEMES = ("bare", "zwa", "spurious", "unpaced", "rto-max", "no-timestamps", "eifel", "textbook")
MARKERS = "osD^v<>P"
RATES = ("11Mbit", "54Mbit")
WINDOWS = ("90kB", "250kB", "500kB")
"""Of the sweep `release`."""


def idle_time(runs: Runs) -> Figure:
    """Figure 7: the idle time of a connection, for each disconnection."""
    figure, panels = _panels(runs)
    for load, axes in panels.items():
        shown = [run for run in runs.all if run.choices["load"] == load]
        for scheme, some in _by_scheme(shown):
            points = sorted((disconnection(run), idle(run) or float("nan")) for run in some)
            axes.plot(
                *zip(*points, strict=True),
                ls="",
                marker=_marker(scheme),
                ms=2,
                color=_colour(scheme),
                label=scheme,
                zorder=3 if scheme == "spurious" else 2,  # unpaced has the same points
            )
        axes.axline((2, 2), slope=1, color="#888888", lw=0.6, label="disconnection")
        axes.set_xlabel("disconnection, s")
    next(iter(panels.values())).set_ylabel("connection idle period, s")
    return with_legend(figure)


def average_window(runs: Runs) -> Figure:
    """Figure 8."""
    return _bars(runs, cwnd, "average cwnd, segments")


def retransmissions(runs: Runs) -> Figure:
    """Figure 9."""
    return _bars(runs, repeated, "retransmitted segments")


def together(runs: Runs) -> Figure:
    """Idle time after the return with all mobiles at once, in the axes of Figure 7."""
    return _bars(runs, after_returns, "idle after return, s")


def data_rate(runs: Runs) -> Figure:
    """Figure 10: the rate at the receiver over time, 70 ms of notification, one seed."""
    import numpy as np

    figure = figures.blank(figures.PAGE_IN)
    axes = figure.subplots()
    for scheme, some in _by_scheme([run for run in runs.all if run.choices["notification"] == "70ms"]):
        run = some[0]
        window = 1.0
        times = np.arange(run.handover.down_s - 8, run.handover.down_s + 15, 0.1)
        known, received = run.column("time_s"), run.column("delivered_bytes")
        count = [received[np.searchsorted(known, [t - window, t], side="right") - 1] for t in times]
        rates = [(late - early) * 8e-6 / window for early, late in count]
        axes.plot(times, rates, color=_colour(scheme), label=scheme, ls="--" if scheme == "unpaced" else "-")
    axes.axvspan(run.handover.down_s, run.handover.up_s or run.result.duration_s, color="#dddddd", lw=0)
    axes.set_xlabel("time, s")
    axes.set_ylabel("data rate, Mbit/s")
    axes.set_ylim(bottom=0)
    return with_legend(figure)


def timeline(runs: Runs) -> Figure:
    """Figure 3: what the application has got, and where the timer's schedule puts the sender's next word."""
    figure = figures.blank(figures.PAGE_IN)
    axes = figure.subplots()
    some = runs.of("bare", timers="kernel", load="light")
    chosen = max(some, key=lambda run: after_return(run) or 0.0)
    for scheme in ("bare", "spurious"):
        run = next(
            one
            for one in runs.of(scheme, timers="kernel", load="light")
            if (one.result.seed, one.choices) == (chosen.result.seed, chosen.choices)
        )
        start = run.handover.down_s
        axes.step(
            run.column("time_s") - start,
            run.column("delivered_bytes") / 1e6,
            where="post",
            color=_colour(scheme),
            label=scheme,
        )
    expected = expected_after_return(chosen)
    if expected is not None:
        axes.axvline(disconnection(chosen) + expected, color="#888888", ls=":", label="by the schedule")
    axes.axvspan(0, disconnection(chosen), color="#dddddd", lw=0)
    axes.set_xlim(-2, disconnection(chosen) + (after_return(chosen) or 0) + 4)
    axes.set_xlabel("time since the end of the old association, s")
    axes.set_ylabel("delivered, MB")
    return with_legend(figure)


def low_delay(runs: Runs) -> Figure:
    """Window of bare and spurious where links are short."""
    figure = figures.blank(figures.PAGE_IN)
    groups = [(delay, notice) for delay in ("5ms", "9ms") for notice in ("70ms", "2ms")]
    for axes, (of, label) in zip(
        figure.subplots(1, 2), ((cwnd, "average cwnd, segments"), (repeated, "retransmitted segments")), strict=True
    ):
        for index, (scheme, _) in enumerate(_by_scheme(runs.all)):
            some = [runs.of(scheme, delay=d, notification=n) for d, n in groups]
            bars(axes, index, scheme, _colour(scheme), [[of(run) for run in one] for one in some], 2)
        axes.set_xticks(
            [0.2 + place for place in range(len(groups))],
            [f"{d.removesuffix('ms')}, {n.removesuffix('ms')}" for d, n in groups],
        )
        axes.set_xlabel("link delay, notification; ms")
        axes.set_ylabel(label)
    return with_legend(figure)


def detection(runs: Runs) -> Figure:
    """The congestion window over one handover, by what finds the timeouts spurious."""
    figure = figures.blank(figures.PAGE_IN)
    axes = figure.subplots()
    for scheme, some in _by_scheme([run for run in runs.all if run.choices["timeouts"] == "several"]):
        run = some[0]
        axes.step(
            run.column("time_s") - run.handover.down_s,
            run.column("cwnd_pkt"),
            where="post",
            color=_colour(scheme),
            label=scheme,
        )
    axes.axvspan(0, disconnection(run), color="#dddddd", lw=0)
    axes.set_xlim(-2, disconnection(run) + 6)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("time since the end of the old association, s")
    axes.set_ylabel("cwnd, segments")
    return with_legend(figure)


def response(runs: Runs) -> Figure:
    """Figure 11: the response time of the controller, median and 99th percentile."""
    found = live.response(quick=runs.quick)
    figure = figures.blank(figures.PAGE_IN)
    axes = figure.subplots()
    for index, quantile in enumerate(("p50", "p99")):
        for place, samples in enumerate(found.values()):
            summary = stats.summarise([1e-3 * sample[f"{quantile}_us"] for sample in samples])
            if summary is not None:
                label = quantile if place == 0 else "_"
                axes.bar(place + 0.4 * index, summary.median, 0.4, color=COLOURS[index], label=label)
    axes.axhspan(9.2, 11, color="#dddddd", lw=0, label="the paper")
    axes.set_yscale("log")
    axes.set_xticks([place + 0.2 for place in range(len(found))], list(found))
    axes.set_ylabel("controller response time, ms")
    return with_legend(figure)


def bit_errors(runs: Runs) -> Figure:
    """When each connection delivered its last byte, with bit errors."""
    figure = figures.blank(figures.PAGE_IN)
    axes = figure.subplots()
    for index, scheme in enumerate(("zwa", "spurious")):
        some = sorted(runs.of(scheme, "ber", errors="some"), key=last_byte)
        values = [last_byte(run) for run in some]
        axes.step(
            values,
            [(place + 1) / len(values) for place in range(len(values))],
            where="post",
            color=_colour(scheme),
            label=scheme,
            ls="-" if index else "--",
        )
    axes.set_xlabel("last delivery, s after the return")
    axes.set_ylabel("share of connections")
    axes.set_ylim(0, 1.02)
    return with_legend(figure)


def release(runs: Runs) -> Figure:
    """Losses, and how far behind, by access rate and window."""
    figure = figures.blank(figures.PAGE_IN)
    points = [(rate, window) for rate in RATES for window in WINDOWS]
    for axes, (of, label) in zip(
        figure.subplots(1, 2), ((lost, "lost segments"), (behind, "behind the ideal sender, s")), strict=True
    ):
        for index, (scheme, _) in enumerate(_by_scheme(runs.all)):
            some = [runs.of(scheme, rate=rate, window=window) for rate, window in points]
            bars(axes, index, scheme, _colour(scheme), [[of(run) for run in one] for one in some], 5)
        labels = [f"{rate.removesuffix('Mbit')}\n{window.removesuffix('kB')}" for rate, window in points]
        axes.set_xticks([0.32 + place for place in range(len(points))], labels)
        axes.set_xlabel("access rate, Mbit/s; window, kB")
        axes.set_ylabel(label)
    return with_legend(figure)


def _panels(runs: Runs) -> tuple[Figure, dict[str, Axes]]:
    present = [load for load in LOADS if any(run.choices["load"] == load for run in runs.all)]
    figure = figures.blank(figures.PAGE_IN)
    panels = dict(zip(present, figure.subplots(1, len(present), sharey=True, squeeze=False).flat, strict=True))
    for load, axes in panels.items():
        axes.set_title(LOADS[load], fontsize=8)
    return figure, panels


def _bars(runs: Runs, of: Of, label: str) -> Figure:
    figure, panels = _panels(runs)
    for load, axes in panels.items():
        for index, (scheme, some) in enumerate(_by_scheme([run for run in runs.all if run.choices["load"] == load])):
            bars(axes, index, scheme, _colour(scheme), [[of(run) for run in some]], 1)
        axes.set_xticks([])
    next(iter(panels.values())).set_ylabel(label)
    return with_legend(figure)


def _by_scheme(some: Sequence[Run]) -> list[tuple[str, list[Run]]]:
    found = {scheme: [run for run in some if run.scheme == scheme] for scheme in SCHEMES}
    return [(scheme, mine) for scheme, mine in found.items() if mine]


def _colour(scheme: str) -> str:
    return COLOURS[SCHEMES.index(scheme)]


def _marker(scheme: str) -> str:
    return MARKERS[SCHEMES.index(scheme)]
