"""The figures of [vho], in the paper's axes: transfer time by flows, with quartiles; goodput by packets."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from handfast import figures
from handfast.curves import COLOURS
from handfast.studies.reproduce import Run, Runs, mean_time, middle, required
from handfast.studies.reproduce.plot import bars, with_legend

from .measure import FLOWS, SCHEMES, WIRE_S, goodput, lost, there, took

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LINKS = {
    "hsdpa": (6e6, 0.05),
    "wlan": (54e6, 0.004),
    "lte": (50e6, 0.015),
    "lte-15ms": (50e6, 0.015),
    "lte-50ms": (50e6, 0.05),
    "hsdpa-2": (2e6, 0.05),
}
"""Rate in bit/s and delay in s of the new link, for the capacity limit."""
PACKET_BITS = 1500 * 8
RULES = ("min-rto", "bdp-window", "reordering", "retransmit", "initial-ssthresh", "handoff-ssthresh")


def limit(link: str, packets: int, flows: int) -> float:
    """The least time of a sender that knew everything: all packets at the link's rate, the last acknowledgment back."""
    rate, delay = LINKS[link]
    return packets * flows * PACKET_BITS / rate + 2 * delay + WIRE_S


def start(runs: Runs) -> Figure:
    """Figures 2 to 5: goodput by the number of packets."""
    figure = figures.blank(figures.PAGE_IN)
    for axes, (link, count) in zip(
        figure.subplots(1, 4, sharey=False),
        [(link, count) for count in ("1", "4") for link in ("lte", "wlan")],
        strict=True,
    ):
        for scheme in there(runs):
            points = [
                (int(packets), statistics.median(value for run in some if (value := goodput(run)) is not None))
                for packets in ("10", "100", "200", "300", "400")
                if (some := runs.of(scheme, link=link, flows=count, packets=packets))
            ]
            axes.plot(*zip(*points, strict=True), color=_colour(scheme), label=scheme, marker="o", ms=2)
        axes.axhline(_share(runs, link, count), color="#888888", ls=":", label="capacity limit")
        axes.set_title(f"{link}, {count} flow{'s' if count != '1' else ''}", fontsize=7)
        axes.set_xlabel("packets")
        axes.set_ylim(bottom=0)
    figure.axes[0].set_ylabel("goodput of a flow, Mbit/s")
    return with_legend(figure)


def _share(runs: Runs, link: str, count: str) -> float:
    run = runs.of("tcp", link=link, flows=count, packets="400")[0]
    return 1e-6 * statistics.fmean(required(flow.measures.limit_bps) for flow in run.flows[: int(count)])


def handovers_hsdpa(runs: Runs) -> Figure:
    """Figures 6 and 7."""
    return _times(
        runs,
        {
            "to HSDPA, 100 packets": ({"way": "wlan-hsdpa"}, 100, "hsdpa"),
            "to WLAN, 500 packets": ({"way": "hsdpa-wlan"}, 500, "wlan"),
        },
    )


def handovers_lte(runs: Runs) -> Figure:
    """Figures 8 and 9."""
    return _times(
        runs,
        {
            "to LTE, 1000 packets": ({"way": "wlan-lte"}, 1000, "lte"),
            "to WLAN, 1000 packets": ({"way": "lte-wlan"}, 1000, "wlan"),
        },
    )


def break_egprs(runs: Runs) -> Figure:
    """Figure 10."""
    return _times(runs, {"EGPRS to LTE, 500 packets": ({}, 500, "lte")})


def break_hsdpa(runs: Runs) -> Figure:
    """Figure 11."""
    return _times(runs, {"HSDPA to LTE, 500 packets": ({}, 500, "lte")})


def outage_hsdpa(runs: Runs) -> Figure:
    """Figure 12."""
    return _times(runs, {"HSDPA, 1 s, 100 packets": ({"link": "hsdpa"}, 100, "hsdpa-2")})


def outage_lte(runs: Runs) -> Figure:
    """Figure 13."""
    return _times(
        runs,
        {
            "LTE 15 ms, 1000 packets": ({"link": "lte-15ms"}, 1000, "lte-15ms"),
            "LTE 50 ms, 1000 packets": ({"link": "lte-50ms"}, 1000, "lte-50ms"),
        },
    )


def rules(runs: Runs) -> Figure:
    """By rule: losses, or the time for 100 packets, with all rules and without the one, as a multiple of tcp's."""
    figure = figures.blank(figures.PAGE_IN)
    axes = figure.subplots()
    shown: Mapping[str, Callable[[Run], float | None]] = {
        "bdp-window": lost,
        "initial-ssthresh": lost,
        "retransmit": lambda run: took(run, 100),
        "handoff-ssthresh": lambda run: took(run, 500),
    }
    for index, label in enumerate(("all rules", "without the rule")):
        for place, (rule, of) in enumerate(shown.items()):
            scheme = "vho" if index == 0 else f"no-{rule}"
            mine = _quartiles([of(run) for run in runs.of(scheme, scene=rule)])
            base = _quartiles([of(run) for run in runs.of("tcp", scene=rule)])
            if mine is not None and base is not None and base[1] > 0:
                axes.bar(
                    place + 0.4 * index,
                    mine[1] / base[1],
                    0.4,
                    color=COLOURS[index],
                    label=label if place == 0 else "_",
                )
    axes.axhline(1, color="#888888", ls=":", label="tcp")
    axes.set_xticks([place + 0.2 for place in range(len(shown))], list(shown))
    axes.set_ylabel("multiple of tcp's")
    return with_legend(figure)


def beyond(runs: Runs) -> Figure:
    """Time for 500 packets, by what the paper leaves out."""
    figure = figures.blank(figures.PAGE_IN)
    axes = figure.subplots()
    cases = [case for case in dict.fromkeys(run.choices["case"] for run in runs.all) if case != "short-flows"]
    schemes = list(dict.fromkeys(run.scheme for run in runs.all))
    for index, scheme in enumerate(schemes):
        values = [[took(run, 500) for run in runs.of(scheme, case=case)] for case in cases]
        bars(axes, index, scheme, _colour(scheme), values, len(schemes))
    axes.axhline(limit("lte", 500, 1), color="#888888", ls=":", label="capacity limit, one flow")
    axes.set_xticks([0.3 + place for place in range(len(cases))], cases, fontsize=5)
    axes.set_ylabel("transfer time of the slowest flow, s")
    short = ", ".join(f"{scheme} {middle(runs, mean_time, scheme, case='short-flows'):.2f} s" for scheme in schemes)
    axes.set_title(f"flows of 50 kB take {short}", fontsize=6)
    return with_legend(figure)


def _times(runs: Runs, panels: Mapping[str, tuple[Mapping[str, str], int, str]]) -> Figure:
    """Transfer time by the number of flows: median, and the quartiles as bars."""
    figure = figures.blank(figures.PAGE_IN)
    for axes, (title, (choices, packets, link)) in zip(
        figure.subplots(1, len(panels), squeeze=False).flat, panels.items(), strict=True
    ):
        for index, scheme in enumerate(there(runs)):
            for place, count in enumerate(FLOWS):
                some = [took(run, packets) for run in runs.of(scheme, flows=count, **choices)]
                _quartile_bar(axes, place + 0.15 * index, some, scheme, named=place == 0)
        for place, count in enumerate(FLOWS):
            least = limit(link, packets, int(count))
            label = "capacity limit" if place == 0 else "_"
            axes.hlines(least, place - 0.1, place + 0.7, color="#888888", ls=":", label=label)
        axes.set_title(title, fontsize=8)
        axes.set_xticks([place + 0.3 for place in range(len(FLOWS))], list(FLOWS))
        axes.set_xlabel("flows")
        axes.set_ylim(bottom=0)
    figure.axes[0].set_ylabel("transfer time of the slowest flow, s")
    return with_legend(figure)


def _quartile_bar(axes: Axes, x: float, some: Sequence[float | None], scheme: str, *, named: bool) -> None:
    found = _quartiles(some)
    if found is None:
        return
    low, middle, high = found
    reach = [[middle - low], [high - middle]]
    axes.errorbar(
        x, middle, yerr=reach, color=_colour(scheme), marker="o", ms=3, capsize=2, ls="", label=scheme if named else "_"
    )


def _quartiles(some: Sequence[float | None]) -> tuple[float, float, float] | None:
    known = [value for value in some if value is not None]
    if len(known) < 2:
        return None
    low, middle, high = statistics.quantiles(known, n=4, method="inclusive")
    return low, middle, high


def _colour(scheme: str) -> str:
    return COLOURS[SCHEMES.index(scheme) if scheme in SCHEMES else len(SCHEMES)]
