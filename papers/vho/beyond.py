"""A claim of our own, beside those of [vho]: what the paper leaves out."""

from __future__ import annotations

from handfast.studies.reproduce import Check, Control, Figure, Finding, Runs, above, mean_time, medians, pairs

from .causes import of
from .measure import lost

CASES = (
    "as-in-the-paper",
    "acks-lost-1e-1",
    "losses-1e-3",
    "losses-1e-2",
    "bursts-of-5",
    "fades-of-20ms",
    "cross-traffic",
    "bottleneck-in-the-wire",
    "eight-flows",
)
ELSEWHERE = ("cross-traffic", "bottleneck-in-the-wire")
"""Where what is told of the access link says nothing of the path."""
SCHEMES = ("tcp", "qs-share", "vho", "abest-vho")
TIME: Figure = of(500)


def beyond(runs: Runs) -> Finding:
    """Time for 500 packets after the break, by paired differences; of short flows the time that they take."""

    def faster(scheme: str, figure: Figure, case: str) -> Check:
        return above(
            f"{scheme} before tcp, {case}", pairs(runs.of("tcp", case=case), runs.of(scheme, case=case), figure), "s"
        )

    def loses_less(scheme: str, case: str) -> Check:
        beside = pairs(runs.of("vho", case=case), runs.of(scheme, case=case), lost)
        return above(f"{scheme} loses less than vho, {case}", beside, "seg")

    def judged(vho: str, abest: str) -> tuple[Check, ...]:
        return (
            *(faster(scheme, TIME, case) for scheme in (vho, abest) for case in CASES),
            *(faster(scheme, mean_time, "short-flows") for scheme in (vho, abest)),
            *(loses_less(abest, case) for case in ELSEWHERE),
        )

    return Finding(
        (
            *(one for case in CASES for one in medians(runs, "time", "s", TIME, SCHEMES, case=case)),
            *(one for case in ELSEWHERE for one in medians(runs, "lost", "seg", lost, SCHEMES, case=case)),
            *medians(runs, "time of a flow of 50 kB", "s", mean_time, SCHEMES, case="short-flows"),
        ),
        judged("vho", "abest-vho"),
        Control("tcp in place of both", judged("tcp", "tcp")),
        remark="Encrypted payload is no case: the mobile itself tells, and nobody on the way reads a segment",
    )
