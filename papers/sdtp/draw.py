"""The figures of [sdtp], in the paper's axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from handfast import figures, series, stats
from handfast.curves import COLOURS
from handfast.studies.reproduce import Figure as Of
from handfast.studies.reproduce import NotRun, Run, Runs
from handfast.studies.reproduce.plot import bars, with_legend

from .incc import repeated
from .measure import MS, connect, counter, delay, goodput, imbalance, needless, signalling

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARKERS = "osD^v<>Pph"
LOSS = "packet loss end to end, %"


def set_up(runs: Runs) -> Figure:
    """Figure 6."""
    figure = figures.blank(figures.PAGE_IN)
    axes = figure.subplots()
    lines(axes, runs.all, "loss", connect)
    axes.set_xlabel(LOSS)
    axes.set_ylabel("set-up of a connection, ms")
    return with_legend(figure)


def mean_delays(runs: Runs) -> Figure:
    """Figure 7: from the first transmission, and from the write."""
    figure = figures.blank(figures.PAGE_IN)
    for axes, start in zip(figure.subplots(1, 2), ("send", "write"), strict=True):
        lines(axes, runs.all, "loss", delay(start, "delivery", "mean"))
        axes.set_title(f"from the {'first transmission' if start == 'send' else 'write'} to the delivery", fontsize=8)
        axes.set_xlabel(LOSS)
        axes.set_ylabel("mean delay, ms")
    figure.axes[1].set_yscale("log")
    return with_legend(figure)


def packets(runs: Runs) -> Figure:
    """Figure 8: the packets of one seed, from their first transmission to their delivery."""
    figure = figures.blank(figures.PAGE_IN)
    points = ("1", "3", "5")
    for axes, lost in zip(figure.subplots(1, len(points), sharey=True), points, strict=True):
        for index, scheme in enumerate(("linux", "reno", "sdtp", "sdtp-reno")):
            numbers, delays = _packets(runs.of(scheme, lost=lost)[0])
            axes.plot(numbers, delays, color=COLOURS[index], lw=0.5, label=scheme)
        axes.set_title(f"{lost} % lost", fontsize=8)
        axes.set_xlabel("packet")
        axes.set_yscale("log")
    figure.axes[0].set_ylabel("delay, ms")
    return with_legend(figure)


def _packets(run: Run) -> tuple[Sequence[int], Sequence[float]]:
    frame = series.read(run.series_dir, run.result, series.PACKETS) if run.series_dir is not None else None
    if frame is None:
        raise NotRun("the sweep keeps no packets")
    known = frame.drop_nulls("delivered_s")
    return known["packet"].to_list(), (MS * (known["delivered_s"] - known["sent_s"])).to_list()


def lines(axes: Axes, some: Sequence[Run], axis: str, of: Of) -> None:
    """A line a scheme, with the medians' intervals, over the numbers on an axis."""
    present = [run for run in some if axis in run.choices]
    for index, scheme in enumerate(dict.fromkeys(run.scheme for run in present)):
        mine = [run for run in present if run.scheme == scheme]
        places = sorted({run.choices[axis] for run in mine}, key=float)
        found = [stats.summarise([of(run) for run in mine if run.choices[axis] == place]) for place in places]
        known = [(float(place), one) for place, one in zip(places, found, strict=True) if one is not None]
        axes.errorbar(
            [x for x, _ in known],
            [one.median for _, one in known],
            yerr=[[one.median - one.low for _, one in known], [one.high - one.median for _, one in known]],
            color=COLOURS[index % len(COLOURS)],
            marker=MARKERS[index % len(MARKERS)],
            ms=3,
            lw=0.9,
            capsize=1.5,
            label=scheme,
        )


def grouped(runs: Runs, axis: str, label: str, of: Of) -> Figure:
    """A group of bars for each choice of an axis, a bar for each scheme."""
    figure = figures.blank(figures.PAGE_IN)
    axes = figure.subplots()
    choices = list(dict.fromkeys(run.choices[axis] for run in runs.all if axis in run.choices))
    schemes = list(dict.fromkeys(run.scheme for run in runs.all if axis in run.choices))
    for index, scheme in enumerate(schemes):
        groups = [
            [of(run) for run in runs.all if run.scheme == scheme and run.choices.get(axis) == choice]
            for choice in choices
        ]
        bars(axes, index, scheme, COLOURS[index % len(COLOURS)], groups, len(schemes))
    axes.set_xticks([0.4 + place for place in range(len(choices))], [one.replace("-", " ") for one in choices])
    axes.set_ylabel(label)
    return with_legend(figure)


def needless_requests(runs: Runs) -> Figure:
    """Needless requests at 15 ms between packets."""
    some = Runs(tuple(run for run in runs.all if run.choices["apart"] == "15ms"), runs.quick, runs.scratch)
    return grouped(some, "loss", "needless RR", needless)


def chosen_caches(runs: Runs) -> Figure:
    """RR and CN by where packets are lost."""
    some = Runs(tuple(run for run in runs.all if run.scheme != "linux"), runs.quick, runs.scratch)
    return grouped(some, "where", "RR and CN a run", signalling)


def caches(runs: Runs) -> Figure:
    """The largest cache by its bound."""
    figure = grouped(runs, "cache", "largest cache, B", counter("cache_bytes_of_one"))
    figure.axes[0].set_yscale("log")
    return figure


def segments(runs: Runs) -> Figure:
    """How unequal the segments' requests are."""
    return grouped(runs, "lost", "RR, largest over mean", imbalance)


def rules(runs: Runs) -> Figure:
    """Segments that senders repeat."""
    return each(runs, "repeated, segments", lambda run: run.measures.retransmitted_segments)


def headers(runs: Runs) -> Figure:
    """Goodput on a core of 2 Mbit/s."""
    return each(runs, "goodput, Mbit/s", goodput)


def congestion(runs: Runs) -> Figure:
    """Mean delays by what loses packets."""

    def mean(run: Run) -> float | None:
        found = run.flow.measures.send_to_delivery_mean_s
        return None if found is None else MS * found

    return grouped(runs, "losses", "mean delay, ms", mean)


def each(runs: Runs, label: str, of: Of) -> Figure:
    """A bar for each scheme."""
    figure = figures.blank(figures.COLUMN_IN)
    axes = figure.subplots()
    schemes = list(dict.fromkeys(run.scheme for run in runs.all))
    for index, scheme in enumerate(schemes):
        bars(axes, index, scheme, COLOURS[index], [[of(run) for run in runs.of(scheme)]], len(schemes))
    axes.set_xticks([])
    axes.set_ylabel(label)
    return with_legend(figure)


def beyond(runs: Runs) -> Figure:
    """Mean delays by case, the remedies side by side."""
    left_out = ("nowhere", "nowhere-reno", "sdtp-reno", "impatient")
    some = tuple(
        run
        for run in runs.all
        if run.sweep == "beyond" and run.scheme not in left_out and run.choices["case"] != "transfer"
    )
    figure = grouped(Runs(some, runs.quick, runs.scratch), "case", "mean delay, ms", delay("send", "delivery", "mean"))
    figure.axes[0].tick_params("x", labelsize=4, rotation=20)
    figure.axes[0].set_yscale("log")
    return figure


def rivals(runs: Runs) -> Figure:
    """99 % of the delays by case on long links, the rivals side by side."""
    some = tuple(
        run
        for run in runs.all
        if run.scheme != "nowhere" and run.choices["core"] == "long" and "transfer" not in run.choices["case"]
    )
    return grouped(Runs(some, runs.quick, runs.scratch), "case", "99 % of delays, ms", delay("send", "delivery", "p99"))


def placements(runs: Runs) -> Figure:
    """Mean delays by what the links lose."""
    figure = grouped(runs, "lost", "mean delay, ms", delay("send", "delivery", "mean"))
    figure.axes[0].set_ylim(bottom=60)
    return figure


def in_network(runs: Runs) -> Figure:
    """Segments that the senders of protected flows repeat, by case, over drop-tail."""
    some = tuple(run for run in runs.all if run.choices["queue"] == "drop-tail")
    return grouped(Runs(some, runs.quick, runs.scratch), "case", "repeated, segments", repeated)
