#!/usr/bin/env python3
"""`make bench-false-alarm`, as root: what a false report costs a call, a stream and a QUIC download.

The lab's hosts are network namespaces with the kernel's UDP, the switch is Open vSwitch, `handfastd controller`
commands it, and the station is with its access point all the time. Three seconds into each run the controller is told
that it has left. Writes `out/bench-false-alarm.json` and prints a table.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from statistics import median

import handfast as hf
from handfast.lab import controller, processes
from handfast.lab.names import Namespace
from handfast.lab.plan import Node, Plan
from handfast.lab.plumbing import spaces
from measure import ROOT, TARGET, Failed, build, make_peer, say

AIOQUIC = "aioquic==1.7.2"
VENV = TARGET / "bench" / "aioquic"
ENDS = ROOT / "bench" / "false_alarm_ends.py"
ALARM_S = 3.0
"""After the load has begun."""
REPETITIONS = 3
TREATMENTS = ("no alarm", "pass", "hold", "drop")
VOICE_PORT = 5004
RATE = "20Mbit/s"
SCENARIO = f"""
duration = "%SECONDS%s"
[nodes]
cn = {{kind = "host"}}
s1 = {{kind = "switch"}}
ap1 = {{kind = "ap"}}
ap2 = {{kind = "ap"}}
mn = {{kind = "station", ap = "ap1"}}
ctl = {{kind = "controller", role = "controller"}}
[[links]]
between = ["cn", "s1"]
rate = "{RATE}"
delay = "18.9ms"
queue = "100pkt"
[[links]]
between = ["s1", "ap1"]
rate = "1Gbit/s"
delay = "100us"
[[links]]
between = ["s1", "ap2"]
rate = "1Gbit/s"
delay = "100us"
[[links]]
between = ["ap1", "mn"]
rate = "54Mbit/s"
delay = "1ms"
[[links]]
between = ["ap2", "mn"]
rate = "54Mbit/s"
delay = "1ms"
# Neighbours and the switch learn who is where.
[[flows]]
from = "mn"
to = "cn"
app = {{transfer = "1kB"}}
[schemes.spurious]
sender = "linux"
agents = [{{kind = "sdn", at = "role:controller", policy = "spurious"}}]
"""


Host = tuple[Namespace, Node]
"""Where it is, and what the scenario says of it."""


@dataclass(frozen=True, slots=True)
class Load:
    """What comes for the station."""

    name: str
    seconds: float
    """How long: where the station says nothing, until the controller has given it up."""


LOADS = (Load("call", 8), Load("stream", 16), Load("QUIC", 8))


@dataclass(frozen=True, slots=True)
class Figures:
    """What has arrived at the station."""

    gap_s: float
    """The longest time without anything after the alarm."""
    late_s: float | None
    """The longest time that a datagram was on its way after the alarm."""
    arrived: int
    """Bytes, after the alarm."""


def figures(arrived: Sequence[tuple[float, int, float | None]], alarm: float, end: float) -> Figures:
    """From the arrivals of a run."""
    after = [at for at, _, _ in arrived if at >= alarm]
    times = [max((at for at, _, _ in arrived if at < alarm), default=alarm), *after, end]
    late = [delay for at, _, delay in arrived if delay is not None and at >= alarm]
    gap = max(later - earlier for earlier, later in pairwise(times))
    return Figures(gap, max(late, default=None), sum(count for at, count, _ in arrived if at >= alarm))


@contextmanager
def lab(treatment: str, seconds: float) -> Iterator[tuple[Host, Host, controller.Controller]]:
    """The network, as long as the block lasts: the correspondent, the station, and who commands the switch."""
    text = SCENARIO.replace("%SECONDS%", str(seconds + 3))
    scenario = hf.parse(text, "false-alarm.toml").core
    plan = Plan.of(scenario, "spurious")
    if plan.controlled is None:
        raise Failed("the scenario has no controller")
    words = "" if treatment == "no alarm" else f'\n[not_tcp]\nudp = "{treatment}"\n'
    controlled = replace(plan.controlled, configuration=plan.controlled.configuration + words)
    with ThreadPoolExecutor(1) as pool, spaces(plan) as made, ExitStack() as stack:
        running = stack.enter_context(controller.running(controlled, made.nodes[controlled.switch]))
        names = [node.name for node in made.nodes]
        measuring = pool.submit(
            scenario.run_lab, "spurious", 1, made.hub.name, names, association_socket=running.association_socket
        )
        # The small flow has been: whoever has to is known.
        time.sleep(1.5)
        hosts = dict(zip((node.name for node in plan.nodes), zip(made.nodes, plan.nodes, strict=True), strict=True))
        yield hosts["cn"], hosts["mn"], running
        measuring.result()


def run(load: Load, treatment: str) -> Figures:
    """One run."""
    with lab(treatment, load.seconds) as (cn, mn, running), tempfile.TemporaryDirectory() as folder:
        (there, correspondent), (here, station) = cn, mn
        seconds = str(load.seconds)

        def start(space: Namespace, *words: str) -> subprocess.Popen[str]:
            command = processes.inside(space.name, [str(VENV / "bin" / "python"), str(ENDS), *words])
            return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

        if load.name == "QUIC":
            other = start(there, "serve", correspondent.address, str(load.seconds + 2), folder)
            time.sleep(1.0)
            begin = time.monotonic()
            listener = start(here, "fetch", correspondent.address, seconds)
        else:
            begin = time.monotonic()
            port = str(VOICE_PORT)
            other = start(there, "call", correspondent.address, station.address, port, seconds, "speaks")
            how = "speaks" if load.name == "call" else "silent"
            listener = start(here, "call", station.address, correspondent.address, port, seconds, how)
        time.sleep(max(0.0, begin + ALARM_S - time.monotonic()))
        alarm = time.monotonic()
        if treatment != "no alarm":
            raise_alarm(running)
        words, _ = listener.communicate(timeout=60)
        other.communicate(timeout=60)
        if listener.returncode != 0:
            raise Failed(f"{load.name}: exit {listener.returncode}")
        end = begin + load.seconds - 0.5
        return figures([tuple(one) for one in json.loads(words) if one[0] <= end], alarm, end)


def raise_alarm(running: controller.Controller) -> None:
    """Say that the station has left."""
    (came,) = (
        line
        for line in map(json.loads, running.log.read_text(encoding="utf-8").splitlines())
        if line["message"] == "station associated"
    )
    event = {"event": "disassociated", "station": came["station"], "ap": "ap1", "epoch": came["epoch"]}
    answer = controller.say(running.association_socket, event)
    if not answer.get("ok"):
        raise Failed(f"the controller does not take the alarm: {answer}")


def table(rows: dict[str, dict[str, list[Figures]]]) -> str:
    """What a person reads: medians."""
    lines = [f"{'':8} {'':9} {'longest gap':>12} {'latest':>9} {'arrived':>9}"]
    for load, by_treatment in rows.items():
        whole = median(one.arrived for one in by_treatment["no alarm"])
        for treatment, samples in by_treatment.items():
            gap = median(one.gap_s for one in samples)
            delays = [one.late_s for one in samples if one.late_s is not None]
            late = f"{1000 * median(delays):6.0f} ms" if delays else "        -"
            share = 100 * median(one.arrived for one in samples) / whole
            lines.append(f"{load:8} {treatment:9} {1000 * gap:9.0f} ms {late:>9} {share:7.1f} %")
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str]) -> int:
    """Measure, write and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=REPETITIONS, metavar="N", help="runs of each; medians count")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "bench-false-alarm.json", metavar="FILE")
    given = parser.parse_args(arguments)
    try:
        build("handfastd", "-p", "handfast-daemon")
        if not make_peer(VENV, AIOQUIC):
            raise Failed(f"{AIOQUIC} cannot be installed, so there is no QUIC")
        rows: dict[str, dict[str, list[Figures]]] = {
            load.name: {treatment: [] for treatment in TREATMENTS} for load in LOADS
        }
        for number in range(given.repetitions):
            for load in LOADS:
                for treatment in TREATMENTS:
                    say(f"{number + 1}/{given.repetitions}  {load.name}, {treatment}")
                    rows[load.name][treatment].append(run(load, treatment))
    except (Failed, hf.HandfastError) as error:
        say(f"error: {error}")
        return 2
    fields = ("gap_s", "late_s", "arrived")
    content = {
        load: {
            name: [{field: getattr(one, field) for field in fields} for one in samples] for name, samples in by.items()
        }
        for load, by in rows.items()
    }
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps({"schema": 1, "loads": content}, indent=2) + "\n", encoding="utf-8")
    sys.stdout.write(table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
