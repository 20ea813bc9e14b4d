"""[eln] figure 2, throughput against loss: here and in ns-2."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from handfast import api, curves, figures, shipped, stats
from handfast.engine import Progress, Task, execute
from handfast.errors import InputError, refuse_unknown
from handfast.frames import Tabular
from handfast.results import SIM, Result
from handfast.stats import Summary
from handfast.store import RunStore, staged, write_whole
from handfast.studies.peers import ns2
from handfast.studies.peers.names import DOCUMENT, OUT, TABLES
from handfast.values import Overrides

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from handfast.api import Scenario
    from handfast.picture import Picture

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
class Order:
    """What the user asked for."""

    schemes: Sequence[str] = SCHEMES
    seeds: Sequence[int] = SEEDS
    losses: Sequence[str] = LOSSES
    caps: Sequence[int] = CAPS
    duration_s: float | None = None
    """None: the scenario's own."""
    settings: Overrides = ()
    """Further values of the scenario that are replaced."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Further options of the script."""
    jobs: int | None = None
    out: Path = OUT / "eln"

    def __post_init__(self) -> None:
        refuse_unknown(self.schemes, SCHEMES, "scheme", has="ns-2 has", more=" for this figure")
        if max(self.seeds) > MAX_SEED or min(self.seeds) < 1:
            raise InputError(f"seeds are streams of ns-2's generator here, from 1 to {MAX_SEED}")


def order(
    schemes: Sequence[str] | None, seeds: Sequence[int] | None, *, quick: bool, jobs: int | None, out: Path | None
) -> Order:
    """What is asked for; None is the default, of a quick look where that is wanted."""
    return Order(
        schemes=schemes or SCHEMES,
        seeds=seeds or (QUICK_SEEDS if quick else SEEDS),
        losses=QUICK_LOSSES if quick else LOSSES,
        duration_s=QUICK_S if quick else None,
        jobs=jobs,
        out=out or OUT / "eln",
    )


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
class Study(Tabular):
    """The whole figure."""

    rows: tuple[Row, ...]
    seeds: tuple[int, ...]
    duration_s: float
    version: str
    """ns-2's."""
    runs: int
    reused: int

    def _tables(self) -> Mapping[str, Callable[[], Iterator[Mapping[str, object]]]]:
        """One row a point of the figure."""
        return {"points": lambda: map(_flat, self.rows)}

    def figure(self) -> Picture:
        """Lines are ours, crosses ns-2's; a panel for each cap."""
        from handfast.picture import Picture

        with figures.style():
            return Picture(draw(self))

    def _repr_html_(self) -> str:
        from handfast.page.document import table

        rows = [
            [str(row.cap), row.loss, row.scheme, *(f"{one.median / 1e6:.3f}" for one in (row.ours, row.theirs))]
            for row in self.rows
        ]
        return table(["cap, pkt", "loss", "scheme", "ours, Mbit/s", "ns-2, Mbit/s"], rows)

    def write(self, out: Path) -> None:
        """Write the study as JSON and in Markdown, and its figure, into `out`."""
        write_whole(out / DOCUMENT, document(self))
        write_whole(out / TABLES, markdown(self))
        with staged(out) as stage, figures.style():
            figures.save(draw(self), stage / "figure")


def _flat(row: Row) -> Mapping[str, object]:
    sides = {f"{name}_bps": one.median for name, one in (("ours", row.ours), ("ns2", row.theirs))}
    point = {"cap_pkt": row.cap, "loss": float(row.loss), "scheme": row.scheme}
    return {**point, **sides, "difference": row.difference, "beyond": row.beyond}


Point = tuple[int, str, str]
"""Cap, loss, scheme."""
Done = Mapping[tuple[Point, str], Sequence[Result]]
"""The runs by point and backend."""


def study(order: Order, progress: Progress | None = None) -> Study:
    """Do the runs that the directory does not hold yet, in both simulators, and set them side by side."""
    version = ns2.require()
    base = api.load(shipped.file(SCENARIO), order.settings)
    duration_s = order.duration_s or base.duration_s
    points: list[Point] = list(product(order.caps, order.losses, order.schemes))
    wanted = [(point, task) for point in points for task in _tasks(order, base, point, duration_s)]
    results, reused = _fill(order, [task for _, task in wanted], progress)
    done: dict[tuple[Point, str], list[Result]] = {}
    for (point, _), result in zip(wanted, results, strict=True):
        done.setdefault((point, result.backend), []).append(result)
    rows = tuple(_row(point, done[point, SIM], done[point, ns2.BACKEND]) for point in points)
    return Study(rows, tuple(order.seeds), duration_s, version, len(wanted), reused)


def _tasks(order: Order, base: Scenario, point: Point, duration_s: float) -> list[Task | ns2.Task]:
    cap, loss, scheme = point
    ours = base.with_overrides(
        [
            ("duration", f"{duration_s:g}s"),
            ("tcp.receive_buffer", f"{cap * SEGMENT}B"),
            ("links.radio.forward.loss", loss),
        ]
    )
    script = shipped.file(SCRIPT)
    options = {"loss": loss, "window": str(cap), **order.options}
    return [
        task
        for seed in order.seeds
        for task in (Task(ours.core, scheme, seed), ns2.Task(script, options, scheme, seed, duration_s))
    ]


def _fill(order: Order, wanted: Sequence[Task | ns2.Task], progress: Progress | None) -> tuple[list[Result], int]:
    store = RunStore(order.out / "runs")
    known = [_stored(store, task) for task in wanted]
    missing = [task for task, had in zip(wanted, known, strict=True) if had is None]
    done = iter(execute(missing, jobs=order.jobs, progress=progress, finished=store.save) if missing else ())
    return [had or next(done) for had in known], len(wanted) - len(missing)


def _stored(store: RunStore, task: Task | ns2.Task) -> Result | None:
    if isinstance(task, ns2.Task):
        return store.load(task.hash, task.scheme, task.seed, ns2.BACKEND)
    return store.load(task.scenario.hash, task.scheme, task.seed)


def _row(point: Point, ours: Sequence[Result], theirs: Sequence[Result]) -> Row:
    return Row(*point, _summary(ours), _summary(theirs), _means(ours), _means(theirs))


def _summary(runs: Sequence[Result]) -> Summary:
    # Over the whole run, as ns-2's script counts it; `goodput_bps` counts from a flow's first byte to its last.
    summary = stats.summarise([8 * (run.aggregate.delivered_bytes or 0) / run.duration_s for run in runs])
    assert summary is not None  # noqa: S101 (there are seeds)
    return summary


def _means(runs: Sequence[Result]) -> tuple[float, float]:
    repeated = fmean(run.aggregate.retransmitted_segments or 0 for run in runs)
    return repeated, fmean(run.aggregate.timeouts or 0 for run in runs)


def document(made: Study) -> str:
    """The study as JSON."""
    head = {"peers": "eln", "ns2": made.version, "seeds": list(made.seeds), "duration_s": made.duration_s}
    rows = [
        {
            "cap_pkt": row.cap,
            "loss": float(row.loss),
            "scheme": row.scheme,
            "ours": _side(row.ours, row.repeated),
            "ns2": _side(row.theirs, row.their_repeated),
            "difference": row.difference,
            "beyond": row.beyond,
        }
        for row in made.rows
    ]
    return json.dumps({**head, "limit_bps": LIMIT_BPS, "rows": rows}, indent=2) + "\n"


def _side(goodput: Summary, counts: tuple[float, float]) -> Mapping[str, object]:
    return {
        "goodput_bps": {"median": goodput.median, "low": goodput.low, "high": goodput.high, "runs": goodput.count},
        "retransmitted_segments_mean": counts[0],
        "timeouts_mean": counts[1],
    }


def markdown(made: Study) -> str:
    """The study as tables in Markdown, one for each cap."""
    return "\n".join(_markdown([row for row in made.rows if row.cap == cap]) for cap in _caps(made))


def _markdown(rows: Sequence[Row]) -> str:
    schemes = list(dict.fromkeys(row.scheme for row in rows))
    lines = [
        f"At most {rows[0].cap} segments on their way:",
        "",
        f"| loss | {' | '.join(schemes)} |",
        f"| --- |{' --: |' * len(schemes)}",
    ]
    for loss in dict.fromkeys(row.loss for row in rows):
        cells = (_apart(row) for row in rows if row.loss == loss)
        lines.append(f"| {loss} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _apart(row: Row) -> str:
    figures = f"{row.ours.median / 1e6:.3f} {row.theirs.median / 1e6:.3f}"
    return f"{figures} **{row.difference:+.1%}**" if row.beyond else f"{figures} {row.difference:+.1%}"


def _caps(made: Study) -> list[int]:
    return list(dict.fromkeys(row.cap for row in made.rows))


def draw(made: Study) -> Figure:
    """Figure 2: lines are ours, crosses ns-2's with their intervals; a panel for each cap."""
    caps = _caps(made)
    figure = figures.blank((figures.PAGE_IN[0], figures.PAGE_IN[1] * 1.2))
    panels = figure.subplots(1, len(caps), sharey=True, squeeze=False)
    for axes, cap in zip(panels.flat, caps, strict=True):
        _panel(axes, [row for row in made.rows if row.cap == cap])
        axes.set_title(f"at most {cap} segments on their way", fontsize=8, loc="left")
    figure.axes[0].set_ylabel("throughput, Mbit/s")
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=8)
    return figure


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
