"""A claim of our own: caching-based in-network congestion control, which [sdtp] leaves to future work."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from handfast.results import Flow
from handfast.studies.reproduce import (
    Check,
    Control,
    Figure,
    Finding,
    NotRun,
    Run,
    Runs,
    above,
    at_least,
    at_most,
    mean_time,
    medians,
    middle,
    no_less,
    required,
)

from .measure import MS, beside, counted

SCHEMES = ("linux", "sdtp", "mask", "cache", "nowhere", "cache-native", "cache-small")
QUEUES = ("drop-tail", "codel")
MORE = 1.1
"""A protected flow takes at most this share of what it takes without protection, for each byte of a plain one."""
AS_MUCH = 0.95
"""Of the bytes that the link carries without protection at least this share."""


def protected(run: Run) -> Sequence[Flow]:
    """The flows between protected hosts."""
    return [flow for flow in run.flows if flow.flow.startswith("data")]


def of_protected(name: str) -> Figure:
    """The mean over the protected flows of a figure of their delays, ms."""

    def of(run: Run) -> float | None:
        if any(flow.measures.delivered_packets != flow.measures.measured_packets for flow in protected(run)):
            raise NotRun(f"a run of {run.scheme} ends before its packets are delivered")
        return MS * statistics.fmean(required(getattr(flow.measures, name)) for flow in protected(run))

    return of


MEAN = of_protected("send_to_delivery_mean_s")
MOST = of_protected("send_to_delivery_p99_s")
WRITE = of_protected("write_to_delivery_mean_s")


def repeated(run: Run) -> float | None:
    """Segments that senders of protected flows have repeated: what was lost for them."""
    return float(sum(required(flow.measures.retransmitted_segments) for flow in protected(run)))


def ends(run: Run) -> list[float]:
    """When each protected flow has delivered all, seconds."""
    return [required(flow.measures.last_byte_s) for flow in protected(run)]


def last(run: Run) -> float | None:
    """From the first start until the last protected flow has delivered all, seconds."""
    return max(ends(run)) - min(required(flow.measures.start_s) for flow in protected(run))


def apart(run: Run) -> float | None:
    """From the first protected flow that has delivered all to the last one, seconds."""
    return max(ends(run)) - min(ends(run))


def carried(run: Run) -> float | None:
    """What all flows have delivered, MB."""
    return sum(required(flow.measures.delivered_bytes) for flow in run.flows) / 1e6


def advantage(run: Run) -> float | None:
    """What the protected flows have got for each byte of the plain ones."""
    ours = sum(required(flow.measures.delivered_bytes) for flow in protected(run))
    return ours / (sum(required(flow.measures.delivered_bytes) for flow in run.flows) - ours)


def held(run: Run) -> float | None:
    """What has waited at the nodes at most, kB."""
    return counted(run, "held_bytes") / 1e3


def control(runs: Runs) -> Finding:
    """Delays, repetitions and times by paired differences; shares by medians."""

    def better(ours: str, figure: Figure, what: str, unit: str, case: str, queue: str) -> Check:
        name = f"{what}, {case}, {queue}: linux above {ours}"
        return above(name, beside(runs, "linux", ours, figure, case=case, queue=queue), unit)

    def no_worse(ours: str, figure: Figure, what: str, unit: str, case: str) -> Check:
        """Over drop-tail, than Linux over CoDel."""
        pairs = list(
            zip(
                (figure(run) for run in runs.of("linux", case=case, queue="codel")),
                (figure(run) for run in runs.of(ours, case=case, queue="drop-tail")),
                strict=True,
            )
        )
        return no_less(f"{what}, {case}: linux over CoDel no less than {ours} over drop-tail", pairs, unit)

    def fair(ours: str, queue: str) -> tuple[Check, ...]:
        def of(figure: Figure, scheme: str) -> float:
            return middle(runs, figure, scheme, case="beside", queue=queue)

        return (
            at_most(f"taken, {ours}, {queue}", of(advantage, ours), MORE * of(advantage, "linux")),
            at_least(f"carried, {ours}, {queue}", of(carried, ours), AS_MUCH * of(carried, "linux"), "MB"),
        )

    def judged(ours: str) -> tuple[Check, ...]:
        return (
            *(
                check
                for queue in QUEUES
                for check in (
                    *(
                        better(ours, figure, what, "ms", "others", queue)
                        for figure, what in ((MEAN, "mean delay"), (MOST, "99 % of delays"), (WRITE, "from the write"))
                    ),
                    better(ours, repeated, "repeated", "seg", "others", queue),
                    better(ours, mean_time, "time of 500 kB", "s", "incast", queue),
                    better(ours, last, "until the last ends", "s", "incast", queue),
                    better(ours, MOST, "99 % of delays", "ms", "incast", queue),
                    better(ours, repeated, "repeated", "seg", "incast", queue),
                    better(ours, repeated, "repeated", "seg", "beside", queue),
                    *fair(ours, queue),
                )
            ),
            no_worse(ours, MEAN, "mean delay", "ms", "others"),
            no_worse(ours, MOST, "99 % of delays", "ms", "others"),
            no_worse(ours, mean_time, "time of 500 kB", "s", "incast"),
        )

    shown: tuple[tuple[str, str, str, Figure], ...] = (
        ("others", "mean delay", "ms", MEAN),
        ("others", "99 % of delays", "ms", MOST),
        ("others", "from the write", "ms", WRITE),
        ("others", "repeated", "seg", repeated),
        ("incast", "time of 500 kB", "s", mean_time),
        ("incast", "until the last ends", "s", last),
        ("incast", "mean delay", "ms", MEAN),
        ("incast", "99 % of delays", "ms", MOST),
        ("incast", "repeated", "seg", repeated),
        ("beside", "for each byte of the others", "", advantage),
        ("beside", "carried", "MB", carried),
        ("beside", "mean delay", "ms", MEAN),
        ("beside", "repeated", "seg", repeated),
    )

    def at(figure: Figure, case: str, queue: str, *schemes: str) -> str:
        of = (middle(runs, figure, scheme, case=case, queue=queue) for scheme in schemes)
        return " / ".join(f"{one:.4g}" for one in of)

    def shares(queue: str) -> str:
        return at(advantage, "beside", queue, "linux", "sdtp", "cache", "cache-native")

    return Finding(
        (
            *(
                one
                for queue in QUEUES
                for case, name, unit, figure in shown
                for one in medians(runs, name, unit, figure, SCHEMES, case=case, queue=queue)
            ),
            *(
                one
                for case in ("others", "incast", "beside")
                for one in medians(runs, "waited at most", "kB", held, ("cache",), case=case, queue="drop-tail")
            ),
        ),
        judged("cache"),
        Control("every loss repaired, none signalled", judged("mask")),
        cause=(
            "The enforced window is smaller than the host's own: for each byte of the others linux, sdtp, cache and "
            f"cache with headers of 44 B take {shares('drop-tail')} over drop-tail and {shares('codel')} over CoDel, "
            "so it is not the headers. What slow start sends too much waits or is lost: with room for all of it, and "
            "for twelve packets a connection, 99 % of the delays, incast, are "
            f"{at(MOST, 'incast', 'drop-tail', 'cache', 'cache-small')} ms. The mean time of 500 kB tells of unequal "
            f"shares as well: from the first to the last that ends linux and cache take "
            f"{at(apart, 'incast', 'drop-tail', 'linux', 'cache')} s, and until the last "
            f"{at(last, 'incast', 'drop-tail', 'linux', 'cache', 'cache-native')} s with linux, cache and short headers"
        ),
        remark="FQ-CoDel and ECN were not run beside them: these rivals are missing",
    )
