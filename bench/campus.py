"""How long a campus of 1,000 roaming stations takes to simulate, and what its controller needs of memory."""

from __future__ import annotations

import argparse
import statistics
import sys

from gate import Gate
from measure import ROOT, RUNNER, Failed, Sample, build_runner, measure, say

SCENARIO = ROOT / "bench" / "campus.toml"
SCHEME, WITHOUT = "spurious", "linux"
"""With the controller, and the same senders in the same network without one."""
GATE_S = 60.0
"""Processor seconds for its 60 simulated ones."""


def main(arguments: list[str]) -> int:
    """Run both kinds by turns; 1 where the gate fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=3, help="how often each is run (default: 3)")
    pairs = parser.parse_args(arguments).pairs
    try:
        build_runner()
        samples: dict[str, list[Sample]] = {SCHEME: [], WITHOUT: []}
        for number in range(pairs):
            for scheme, done in samples.items():
                say(f"pair {number + 1} of {pairs}: {scheme}, a minute or so")
                done.append(measure([RUNNER, SCENARIO, "--scheme", scheme]))
    except Failed as failure:
        say(f"error: {failure}")
        return 2
    name = "60 s of 1,000 stations at 50 access points, seconds of processor time"
    gate = Gate(name, cpu(samples[SCHEME]), most=GATE_S)
    peak, without = (statistics.median(one.peak_mib for one in some) for some in samples.values())
    sys.stdout.write(
        f"{gate}\n"
        f"without a controller: {cpu(samples[WITHOUT]):.1f} s\n"
        f"memory: {peak:.1f} MiB, without a controller {without:.1f}; "
        f"it, its switches and what it holds take {peak - without:.1f}\n"
    )
    return 0 if gate.holds else 1


def cpu(samples: list[Sample]) -> float:
    """The median of their processor times, seconds."""
    return statistics.median(sample.cpu_s for sample in samples)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
