"""A claim of our own: SDTP beside other help at the same two nodes."""

from __future__ import annotations

import json

from handfast.studies.reproduce import Check, Control, Figure, Finding, Run, Runs, mean_time, medians, middle, no_less

from .measure import beside, delay

OURS = ("sdtp", "sdtp-parity", "sdtp-even")
"""As it is; with parity beside what is sent again; with a handshake that takes as long as the way of data."""
RIVALS = ("linux", "duplicate", "fec", "fec-brief", "fec-spread", "link-arq", "snoop", "proxy")
CORES = ("short", "long")
PACED = ("none", "two-percent", "five-percent", "one-link", "bursts")
"""Packets one by one: what counts is when each is delivered."""
TRANSFERS = ("transfer", "transfer-five-percent", "transfer-bursts")
"""1 MB: what counts is how long it takes."""
MEAN: Figure = delay("send", "delivery", "mean")
MOST: Figure = delay("send", "delivery", "p99")
WRITTEN: Figure = delay("write", "delivery", "mean")
"""From the write: with what waits in the sender for its window. What waits in a proxy is in every figure."""


def kilobytes(run: Run) -> float | None:
    """Bytes of IP packets that have passed links, each of the six by itself."""
    return float(json.loads(run.result.raw)["byte_hops"]) / 1e3


def rivals(runs: Runs) -> Finding:
    """Mean delays and 99 % of them, and the time of a transfer, by paired differences."""

    def longer(ours: str, rival: str, figure: Figure, unit: str, what: str, **where: str) -> Check:
        name = f"{what} of {rival} no less than of {ours}, {where['core']}, {where['case']}"
        return no_less(name, beside(runs, rival, ours, figure, **where), unit)

    def judged(ours: str) -> tuple[Check, ...]:
        return tuple(
            check
            for rival in RIVALS
            for core in CORES
            for check in (
                *(longer(ours, rival, MEAN, "ms", "mean", core=core, case=case) for case in PACED),
                *(longer(ours, rival, MOST, "ms", "99 %", core=core, case=case) for case in PACED),
                *(longer(ours, rival, mean_time, "s", "time", core=core, case=case) for case in TRANSFERS),
            )
        )

    def shown(case: str) -> tuple[tuple[str, str, Figure], ...]:
        figures = (("mean delay", "ms", MEAN), ("99 % of delays", "ms", MOST), ("mean from the write", "ms", WRITTEN))
        return (
            *(figures if case in PACED else (("time of 1 MB", "s", mean_time),)),
            ("over all links", "kB", kilobytes),
        )

    def at(scheme: str, figure: Figure, case: str, core: str = "long") -> str:
        return f"{middle(runs, figure, scheme, case=case, core=core):.4g}"

    return Finding(
        tuple(
            one
            for core in CORES
            for case in (*PACED, *TRANSFERS)
            for name, unit, figure in shown(case)
            for one in medians(runs, name, unit, figure, (*OURS, *RIVALS), case=case, core=core)
        ),
        judged("sdtp"),
        Control("headers converted, nothing repaired", judged("nowhere")),
        cause=(
            "A repair that needs no question arrives sooner. On long links 99 % of packets arrive within "
            f"{at('fec-brief', MOST, 'two-percent')} ms with a symbol behind each second packet and "
            f"{at('duplicate', MOST, 'two-percent')} with copies, {at('sdtp', MOST, 'two-percent')} with SDTP, which "
            f"asks. All links carry {at('fec-brief', kilobytes, 'two-percent')}, "
            f"{at('duplicate', kilobytes, 'two-percent')} and {at('sdtp', kilobytes, 'two-percent')} kB for it"
        ),
        remark="BBR is no rival here. Delays count from the first transmission: what waits in the sender for its "
        "window is in none of them, and what waits in a proxy is. From the write, packets on short links at 2 % take "
        f"{at('linux', WRITTEN, 'two-percent', 'short')} ms in the mean with nothing in the path, "
        f"{at('proxy', WRITTEN, 'two-percent', 'short')} with the proxies and "
        f"{at('sdtp', WRITTEN, 'two-percent', 'short')} with SDTP",
    )
