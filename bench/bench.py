#!/usr/bin/env python3
"""`make bench`: packets per second of processor time, beside ns-2 on the same work.

Writes `out/bench.json` and prints a table. Exit 1 if a gate fails, or if the two simulators did not do the same work;
2 if nothing could be measured.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, median
from typing import Any

from cases import DUMBBELL, DUMBBELL_10000, DUMBBELL_BBR, LONG_PATH, SNOOP, STREET, WIRELESS, Case, ns2_missing
from gate import Gate
from measure import ROOT, Failed, Sample, build_runner, say

PAIRS = 5
"""Interleaved runs of each side; the median counts."""
NS2 = "ns-2"
"""As it comes: what the gates are about."""
PEERS = {NS2: False, "ns-2, fastest": True}
"""How ns-2 runs, and whether at its fastest for the case: its results are the same."""
AGREEMENT = 0.05
"""How far segments, retransmissions and goodput may differ from ns-2's, relative, in mean and median of all pairs."""
AGREE_ON = ("segments_sent", "retransmitted_segments", "goodput_bps")
SERIES_GATE = 1.5
"""Most processor time with time series, relative to the time without."""
SCALE_GATE = 2.5
"""Highest cost of a packet at 10,000 flows, relative to that at 100."""
WINDOW_GATE = 2.5
"""Highest cost of a packet in a window of 20,000 segments, relative to that of 100 flows with 34 each."""
MEMORY_GATE_MB = 50.0
"""Most memory of a run, 10^6 bytes."""
MB_PER_MIB = 1.048576


@dataclass(slots=True)
class Row:
    """A line of the table and an entry of `cases`."""

    name: str
    ours: list[Sample]
    theirs: dict[str, list[Sample]] = field(default_factory=dict)
    """By name of the peer."""
    ratio: dict[str, float] = field(default_factory=dict)
    void: list[str] = field(default_factory=list)
    """Why the comparison does not count."""

    def as_json(self) -> dict[str, Any]:
        """The entry of `cases`."""
        peers = {name: summary(samples) for name, samples in self.theirs.items()}
        return {
            "name": self.name,
            "ours": summary(self.ours),
            "peers": peers,
            "ratio": self.ratio,
            "void": self.void,
        }


def summary(samples: list[Sample]) -> dict[str, Any]:
    """The medians over the runs, and what was counted, mean over the runs."""

    def middle(value: Callable[[Sample], float]) -> float:
        return round(median(map(value, samples)), 3)

    counted = {key: fmean(s.facts[key] for s in samples) for key in (*AGREE_ON, "packets", "packet_hops")}
    return {
        "packets_per_cpu_s": middle(lambda s: s.packets_per_cpu_s),
        "packet_hops_per_cpu_s": middle(lambda s: s.facts["packet_hops"] / s.cpu_s),
        "cpu_s": middle(lambda s: s.cpu_s),
        "peak_mib": middle(lambda s: s.peak_mib),
        "runs": len(samples),
        **counted,
    }


class Bench:
    """One call of this script."""

    def __init__(self, *, quick: bool, pairs: int, folder: Path, ns2: bool = True) -> None:
        self.quick = quick
        self.pairs = pairs
        self.folder = folder
        self.ns2 = ns2
        self.rows: list[Row] = []
        self.gates: list[Gate] = []

    def run(self) -> None:
        """Measure everything."""
        wireless = self.beside_ns2(WIRELESS)
        dumbbell = self.beside_ns2(DUMBBELL)
        self.gates += [
            Gate(f"memory of {row.name}, MB", summary(row.ours)["peak_mib"] * MB_PER_MIB, most=MEMORY_GATE_MB)
            for row in (wireless, dumbbell)
        ]
        for case in (WIRELESS, DUMBBELL):
            self.with_series(case)
        self.with_many_flows()
        self.with_large_window()
        self.with_bbr()
        self.with_agents()

    def beside_ns2(self, case: Case) -> Row:
        """Our runs and ns-2's in turn, so that a disturbance of the machine meets both."""
        row = Row(case.name, [])
        for seed in self.seeds(case.name):
            row.ours.append(self.ours(case, seed))
            for peer, fastest in PEERS.items() if self.ns2 else ():
                theirs = case.theirs(seed, self.duration(case), fastest=fastest)
                if theirs is not None:
                    row.theirs.setdefault(peer, []).append(theirs)
        for peer, samples in row.theirs.items():
            pairs = zip(row.ours, samples, strict=True)
            row.ratio[peer] = round(median(a.packets_per_cpu_s / b.packets_per_cpu_s for a, b in pairs), 3)
        if NS2 in row.theirs:
            compare(row, row.theirs[NS2])
            self.gates.append(Gate(f"{case.name}, times ns-2's packets per CPU second", row.ratio[NS2], case.gate))
        self.rows.append(row)
        return row

    def with_series(self, case: Case) -> None:
        """The price of recording time series."""
        name = f"{case.name}, time series on"
        pairs = [(self.ours(case, seed, series=True), self.ours(case, seed)) for seed in self.seeds(name)]
        ratio = round(median(a.cpu_s / b.cpu_s for a, b in pairs), 3)
        self.rows.append(Row(name, [on for on, _ in pairs], ratio={"time series off, CPU time": ratio}))
        self.gates.append(Gate(f"{name}, times the CPU time without", ratio, most=SERIES_GATE))

    def with_many_flows(self) -> None:
        """The price of a packet among many flows."""
        ratio = self.cost(DUMBBELL_10000, DUMBBELL, "100 flows")
        self.gates.append(Gate(f"{DUMBBELL_10000.name}, times the cost of a packet at 100", ratio, most=SCALE_GATE))

    def with_large_window(self) -> None:
        """The price of a packet among 20,000 in flight."""
        ratio = self.cost(LONG_PATH, DUMBBELL, "100 flows")
        self.gates.append(Gate(f"{LONG_PATH.name}, times the cost of a packet at 100 flows", ratio, most=WINDOW_GATE))

    def with_bbr(self) -> None:
        """The price of a packet whose sender samples delivery rates and paces."""
        self.cost(DUMBBELL_BBR, DUMBBELL, "CUBIC")

    def with_agents(self) -> None:
        """The price of a packet where agents look at it: users run agents."""
        self.cost(SNOOP, WIRELESS, "without Snoop")
        self.rows.append(Row(STREET.name, [self.ours(STREET, seed) for seed in self.seeds(STREET.name)]))

    def cost(self, case: Case, other: Case, name: str) -> float:
        """The price of a packet beside that in the case `other`, which the table calls `name`."""
        pairs = [(self.ours(case, seed), self.ours(other, seed)) for seed in self.seeds(case.name)]
        ratio = round(median(b.packets_per_cpu_s / a.packets_per_cpu_s for a, b in pairs), 3)
        self.rows.append(Row(case.name, [first for first, _ in pairs], ratio={f"{name}, cost of a packet": ratio}))
        return ratio

    def ours(self, case: Case, seed: int, *, series: bool = False) -> Sample:
        """One run of ours."""
        return case.ours(seed, self.duration(case), self.folder, series=series)

    def duration(self, case: Case) -> float:
        """Simulated seconds."""
        return case.quick_s if self.quick else case.duration_s

    def seeds(self, name: str) -> Iterator[int]:
        """A seed for each pair, with progress."""
        for seed in range(1, self.pairs + 1):
            say(f"\r{name}: pair {seed} of {self.pairs}", end="")
            yield seed
        say()

    @property
    def failed(self) -> bool:
        """Whether something does not hold. A quick run judges nothing: it is over before the start-up has faded."""
        return not self.quick and (any(row.void for row in self.rows) or not all(gate.holds for gate in self.gates))

    def as_json(self) -> dict[str, Any]:
        """The content of `out/bench.json`."""
        return {
            "schema": 1,
            "quick": self.quick,
            "cases": [row.as_json() for row in self.rows],
            "gates": [gate.as_json() for gate in self.gates],
        }


def compare(row: Row, theirs: list[Sample]) -> None:
    """Note in `row` where the two simulators did not do the same work."""
    for key in AGREE_ON:
        ours, peers = ([float(sample.facts[key]) for sample in samples] for samples in (row.ours, theirs))
        # The mean alone would let a pair that is far off on one side hide the others, which are on the other.
        each = median(map(relative, ours, peers))
        mean = relative(fmean(ours), fmean(peers))
        if max(abs(mean), abs(each)) > AGREEMENT:
            row.void.append(
                f"{key}: off ns-2's by {mean:+.1%} in the mean, {each:+.1%} in the median (see bench/README.md)"
            )


def relative(ours: float, theirs: float) -> float:
    """How much more ours is than theirs."""
    return (ours - theirs) / theirs if theirs else float(ours != theirs)


def table(bench: Bench) -> str:
    """What a person reads."""
    lines = [f"{'':30}{'Mpkt/CPU s':>11}{'Mhop/CPU s':>11}{'peak MiB':>9}{'CPU s':>8}  ratio"]
    for row in bench.rows:
        lines.append(line(row.name, summary(row.ours), row.ratio))
        lines += [line(f"  {name}", summary(samples), {}) for name, samples in row.theirs.items()]
        lines += [f"  VOID: {why}" for why in row.void]
    lines.append("")
    lines += [str(gate) for gate in bench.gates]
    return "\n".join(lines) + "\n"


def line(name: str, figures: dict[str, Any], ratio: dict[str, float]) -> str:
    """A row of the table."""
    rates = f"{figures['packets_per_cpu_s'] / 1e6:11.3f}{figures['packet_hops_per_cpu_s'] / 1e6:11.3f}"
    beside = ", ".join(f"{value:.2f} x {peer}" for peer, value in ratio.items())
    return f"{name:30}{rates}{figures['peak_mib']:9.1f}{figures['cpu_s']:8.2f}  {beside}"


def main(argv: list[str] | None = None) -> int:
    """The exit code; `argv` without the program's name, or the process's own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="short runs: a look, not a measurement; judges nothing")
    parser.add_argument("--pairs", type=int, default=PAIRS, help=f"runs of each side (default {PAIRS})")
    parser.add_argument("--without-ns2", action="store_true", help="ours alone: its gates are not judged")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "bench.json", help="default: out/bench.json")
    args = parser.parse_args(argv)
    if args.pairs < 1:
        parser.error("--pairs: at least 1")
    try:
        if not args.without_ns2 and (why := ns2_missing()) is not None:
            raise Failed(f"{why}; --without-ns2 measures ours alone")
        build_runner()
        with tempfile.TemporaryDirectory() as folder:
            bench = Bench(quick=args.quick, pairs=args.pairs, folder=Path(folder), ns2=not args.without_ns2)
            bench.run()
    except Failed as error:
        say(f"error: {error}")
        return 2
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(bench.as_json(), indent=2) + "\n")
    sys.stdout.write(table(bench))
    return 1 if bench.failed else 0


if __name__ == "__main__":
    sys.exit(main())
