"""[eln] figure 2, throughput against loss: here and in ns-2."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import fmean
from typing import TYPE_CHECKING, ClassVar

from handfast import api, curves, figures, shipped, stats
from handfast.engine import Progress
from handfast.errors import InputError, refuse_unknown
from handfast.results import SIM, Result
from handfast.stats import Summary
from handfast.studies.document import summary, written
from handfast.studies.grid import Cell, Order, ScenarioCell, fill
from handfast.studies.peers import ns2
from handfast.studies.peers.names import DOCUMENT, TABLES
from handfast.studies.table import Drawn, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from handfast.api import Scenario

SCENARIO = "papers/eln/radio.toml"
SCRIPT = "papers/eln/ns2/radio.tcl"

SCHEMES = ("tahoe", "reno", "newreno", "sack", "snoop")
"""Those that both have; ns-2 has no explicit loss notification."""
LOSSES = ("1e-4", "3e-4", "1e-3", "3e-3", "1e-2", "3e-2", "1e-1")
"""Per packet on the radio, towards the mobile ([eln] table 1)."""
QUICK_LOSSES = ("1e-3", "1e-2", "1e-1")
CAPS = (20, 64)
"""Segments on their way at most: ns-2's default, and one that fills the queue."""
SEEDS = tuple(range(1, 13))
QUICK_SEEDS = tuple(range(1, 7))
"""Fewer have no interval of 95 %."""
SEGMENT = 1024
"""Payload, bytes."""
LIMIT_BPS = 2e6 * SEGMENT / (SEGMENT + 40)
"""What the radio carries of it."""
QUICK_S = 50.0
MAX_SEED = 10_000
"""ns-2 reaches its N-th random stream by making all before it."""


@dataclass(frozen=True, slots=True)
class Row:
    """One point of the figure, in both."""

    cap: int
    loss: str
    scheme: str
    ours: Summary
    """Goodput, bit/s."""
    theirs: Summary
    repeated: tuple[float, float]
    """Repeated segments by the sender, and its timeouts, in the mean: ours."""
    their_repeated: tuple[float, float]

    @property
    def difference(self) -> float:
        """How far ours is from ns-2's, as a share of ns-2's."""
        return self.ours.median / max(self.theirs.median, 1) - 1

    @property
    def beyond(self) -> bool:
        """Whether the intervals have nothing in common."""
        return self.ours.low > self.theirs.high or self.theirs.low > self.ours.high


@dataclass(frozen=True, slots=True)
class Throughput(Drawn):
    """The whole figure."""

    FIGURE: ClassVar[str] = "figure"

    rows: tuple[Row, ...]
    seeds: tuple[int, ...]
    duration_s: float
    version: str
    """ns-2's."""
    runs: int
    reused: int

    @property
    def caps(self) -> dict[int, list[Row]]:
        """The rows of each cap."""
        return {
            cap: [row for row in self.rows if row.cap == cap] for cap in dict.fromkeys(row.cap for row in self.rows)
        }

    def _tables(self) -> Mapping[str, Callable[[], Iterator[Mapping[str, object]]]]:
        """One row a point of the figure."""
        return {"points": lambda: map(_flat, self.rows)}

    def document(self) -> str:
        """The figure as JSON."""
        head = {"peers": "eln", "ns2": self.version, "seeds": list(self.seeds), "duration_s": self.duration_s}
        return written({**head, "limit_bps": LIMIT_BPS, "rows": [_document(row) for row in self.rows]})

    def files(self) -> Mapping[str, str | bytes]:
        """The figure as JSON, and as tables in Markdown, one for each cap."""
        return {DOCUMENT: self.document(), TABLES: "\n".join(map(_markdown, self.caps.values()))}

    def overview(self) -> Table:
        """Both medians of each point."""
        rows = [
            [str(row.cap), row.loss, row.scheme, *(f"{one.median / 1e6:.3f}" for one in (row.ours, row.theirs))]
            for row in self.rows
        ]
        return Table(["cap, pkt", "loss", "scheme", "ours, Mbit/s", "ns-2, Mbit/s"], rows)

    def draw(self) -> Figure:
        """Figure 2: lines are ours, crosses ns-2's with their intervals; a panel for each cap."""
        figure = figures.blank((figures.PAGE_IN[0], figures.PAGE_IN[1] * 1.2))
        panels = figure.subplots(1, len(self.caps), sharey=True, squeeze=False)
        for axes, (cap, rows) in zip(panels.flat, self.caps.items(), strict=True):
            _panel(axes, rows)
            axes.set_title(f"at most {cap} segments on their way", fontsize=8, loc="left")
        figure.axes[0].set_ylabel("throughput, Mbit/s")
        figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=8)
        return figure


def _flat(row: Row) -> Mapping[str, object]:
    sides = {f"{name}_bps": one.median for name, one in (("ours", row.ours), ("ns2", row.theirs))}
    point = {"cap_pkt": row.cap, "loss": float(row.loss), "scheme": row.scheme}
    return {**point, **sides, "difference": row.difference, "beyond": row.beyond}


Point = tuple[int, str, str]
"""Cap, loss, scheme."""


def study(order: Order, progress: Progress | None = None) -> Throughput:
    """Do the runs that the directory does not hold yet, in both simulators, and set them side by side."""
    schemes, seeds = order.schemes or SCHEMES, order.seeds_of(SEEDS, QUICK_SEEDS)
    refuse_unknown(schemes, SCHEMES, "scheme", has="ns-2 has", more=" for this figure")
    if max(seeds) > MAX_SEED or min(seeds) < 1:
        raise InputError(f"seeds are streams of ns-2's generator here, from 1 to {MAX_SEED}")
    version = ns2.require()
    base = api.load(shipped.file(SCENARIO))
    duration_s = QUICK_S if order.quick else base.duration_s
    points: list[Point] = list(product(CAPS, QUICK_LOSSES if order.quick else LOSSES, schemes))
    wanted = {key: cells for point in points for key, cells in _cells(base, point, seeds, duration_s).items()}
    done = fill(wanted, order, progress)
    rows = tuple(_row(point, done.results[point, SIM], done.results[point, ns2.BACKEND]) for point in points)
    return Throughput(rows, tuple(seeds), duration_s, version, done.runs, done.reused)


def _cells(
    base: Scenario, point: Point, seeds: Sequence[int], duration_s: float
) -> dict[tuple[Point, str], Sequence[Cell]]:
    cap, loss, scheme = point
    changes = [
        ("duration", f"{duration_s:g}s"),
        ("tcp.receive_buffer", f"{cap * SEGMENT}B"),
        ("links.radio.forward.loss", loss),
    ]
    ours, script = base.with_overrides(changes), shipped.file(SCRIPT)
    options = {"loss": loss, "window": str(cap)}
    return {
        (point, SIM): [ScenarioCell((), ours, scheme, seed) for seed in seeds],
        (point, ns2.BACKEND): [ns2.Cell(ns2.Task(script, options, scheme, seed, duration_s)) for seed in seeds],
    }


def _row(point: Point, ours: Sequence[Result], theirs: Sequence[Result]) -> Row:
    return Row(*point, _summary(ours), _summary(theirs), _means(ours), _means(theirs))


def _summary(runs: Sequence[Result]) -> Summary:
    # Over the whole run, as ns-2's script counts it; `goodput_bps` counts from a flow's first byte to its last.
    found = stats.summarise([8 * (run.aggregate.delivered_bytes or 0) / run.duration_s for run in runs])
    assert found is not None  # noqa: S101 (there are seeds)
    return found


def _means(runs: Sequence[Result]) -> tuple[float, float]:
    repeated = fmean(run.aggregate.retransmitted_segments or 0 for run in runs)
    return repeated, fmean(run.aggregate.timeouts or 0 for run in runs)


def _document(row: Row) -> Mapping[str, object]:
    return {
        "cap_pkt": row.cap,
        "loss": float(row.loss),
        "scheme": row.scheme,
        "ours": _side(row.ours, row.repeated),
        "ns2": _side(row.theirs, row.their_repeated),
        "difference": row.difference,
        "beyond": row.beyond,
    }


def _side(goodput: Summary, counts: tuple[float, float]) -> Mapping[str, object]:
    return {
        "goodput_bps": summary(goodput),
        "retransmitted_segments_mean": counts[0],
        "timeouts_mean": counts[1],
    }


def _markdown(rows: Sequence[Row]) -> str:
    schemes = list(dict.fromkeys(row.scheme for row in rows))
    lines = [
        [loss, *(_apart(row) for row in rows if row.loss == loss)] for loss in dict.fromkeys(row.loss for row in rows)
    ]
    return f"At most {rows[0].cap} segments on their way:\n\n" + Table(["loss", *schemes], lines).markdown()


def _apart(row: Row) -> str:
    figures = f"{row.ours.median / 1e6:.3f} {row.theirs.median / 1e6:.3f}"
    return f"{figures} **{row.difference:+.1%}**" if row.beyond else f"{figures} {row.difference:+.1%}"


def _panel(axes: Axes, rows: Sequence[Row]) -> None:
    axes.axhline(LIMIT_BPS / 1e6, color="#888888", linewidth=0.6, label="limit")
    for place, scheme in enumerate(dict.fromkeys(row.scheme for row in rows)):
        mine = [row for row in rows if row.scheme == scheme]
        loss, colour = [float(row.loss) for row in mine], f"C{place}"
        dashes = curves.dash(place, figures.DASHES)
        axes.plot(loss, [row.ours.median / 1e6 for row in mine], color=colour, ls=dashes, label=scheme)
        theirs = [row.theirs for row in mine]
        axes.vlines(loss, [one.low / 1e6 for one in theirs], [one.high / 1e6 for one in theirs], color=colour, lw=0.6)
        axes.plot(loss, [one.median / 1e6 for one in theirs], "x", color=colour, markersize=4)
    axes.set_xscale("log")
    axes.set_xlabel("loss on the radio, of packets")
    axes.set_ylim(bottom=0)
