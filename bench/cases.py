"""What is measured: the scenario of ours and the script of ns-2 that do the same work."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measure import RUNNER, Sample, measure

HERE = Path(__file__).resolve().parent

Tool = Sequence[str | Path]


@dataclass(frozen=True, slots=True)
class Case:
    """One scenario, and what is demanded of it."""

    name: str
    scenario: str
    scheme: str
    duration_s: float
    quick_s: float
    """Duration under `--quick`."""
    ns2: str | None = None
    """ns-2's script for the same work."""
    fastest: tuple[str, ...] = ()
    """What makes ns-2 fastest; without it ns-2 runs as it comes: all packet headers, its default scheduler."""
    stagger_ms: float | None = None
    """Nothing in the case is random: the pairs differ in the time between the starts of flows, around this."""
    gate: float | None = None
    """How many times as many packets per second of processor time as ns-2 there must be."""

    def ours(
        self, seed: int, duration_s: float, folder: Path, *, series: bool = False, command: Tool = (RUNNER,)
    ) -> Sample:
        """One run of ours; `command` begins with what runs it."""
        scenario, out = HERE / "scenarios" / self.scenario, folder / "result.json"
        options: list[str | Path] = ["--scheme", self.scheme, "--seed", str(seed), "--out", out]
        if self.stagger_ms is not None:
            options += ["--set", f"generate.dumbbell.flows.stagger={self.stagger_ms * spread(seed):.6g}ms"]
        if series:
            options += ["--series", folder / "series.bin"]
        whole = [*command, scenario, *options, "--set", f"duration={duration_s:g}s"]
        return measure(whole, lambda _: facts(json.loads(out.read_text())["runs"][0]))

    def theirs(self, seed: int, duration_s: float, *, fastest: bool) -> Sample | None:
        """One run of ns-2, if it has a script."""
        if self.ns2 is None:
            return None
        kind = self.fastest if fastest else ("-headers", "all", "-sched", "Calendar")
        vary = ["-seed", str(seed)] if self.stagger_ms is None else ["-spread", f"{spread(seed):g}"]
        return measure(["ns", HERE / "ns2" / self.ns2, *kind, *vary, "-time", f"{duration_s:g}"])


def spread(seed: int) -> float:
    """0.8, 0.9, 1, 1.1, 1.2, and again."""
    return 0.8 + 0.1 * ((seed - 1) % 5)


def facts(result: dict[str, Any]) -> dict[str, Any]:
    """What ns-2's scripts print, from our result."""
    aggregate = result["aggregate"]
    return {
        "packets": result["packets"],
        "packet_hops": result["packet_hops"],
        "segments_sent": sum(flow["data_segments_sent"] for flow in result["flows"]),
        "retransmitted_segments": aggregate["retransmitted_segments"],
        # Over the whole run, as ns-2's scripts count it; ours counts from a flow's first byte to its last.
        "goodput_bps": aggregate["delivered_bytes"] * 8 / result["duration_s"],
    }


WIRELESS = Case(
    name="wireless",
    scenario="wireless.toml",
    scheme="sack",
    duration_s=20_000,
    quick_s=1_000,
    ns2="wireless.tcl",
    fastest=("-headers", "needed", "-sched", "List"),
    gate=2.0,
)
DUMBBELL = Case(
    name="dumbbell",
    scenario="dumbbell.toml",
    scheme="cubic",
    duration_s=100,
    quick_s=4,
    ns2="dumbbell.tcl",
    fastest=("-headers", "needed", "-sched", "Splay"),
    gate=6.0,
    stagger_ms=10,
)
# A quick run of 4 s would not measure a packet: a quarter of its processor time is the start (reading, planning,
# building), and a packet of the first seconds costs half as much again as a later one.
DUMBBELL_10000 = Case("dumbbell, 10,000 flows", "dumbbell-10000.toml", "cubic", duration_s=100, quick_s=50)
DUMBBELL_BBR = Case("dumbbell, BBR", "dumbbell.toml", "bbr", duration_s=100, quick_s=4, stagger_ms=10)
# A quick run of 4 s is the start: the window grows to 19,500 segments, overflows the queue, and falls to 0.7 of that.
LONG_PATH = Case("long path, a window of 20,000", "long-path.toml", "linux", duration_s=20, quick_s=4)
SNOOP = Case("wireless, Snoop at the base station", "wireless-snoop.toml", "snoop", 20_000, 1_000)
STREET = Case("street, 100 stations that roam", "street.toml", "spurious", 60, 10)


def ns2_missing() -> str | None:
    """Why ns-2 cannot run, for people; None if it can."""
    if shutil.which("ns") is None:
        return "ns-2 is not installed, so there is nothing to compare with (Debian: apt-get install ns2)"
    return None
