#!/usr/bin/env python3
"""`make bench-controller`: what `handfastd controller` costs, beside os-ken in the same run.

Generated switches (`crates/daemon/examples/switches`) send packet-ins of 64 B TCP frames over loopback. handfastd holds
them while their stations are away and releases them, in order; os-ken answers each at once. Writes
`out/bench-controller.json` and prints a table. Exit 1 if a gate fails, 2 if something does not run.

`--response` measures the response time alone, for the numbers of hosts of [sdn] Figure 11, and builds nothing: it is
what the claim sdn-11 calls (`handfast reproduce sdn/11`).
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from gate import Gate
from measure import ROOT, TARGET, Failed, build, cpu_s, high_water_kib, make_peer, say

PAIRS = 5
"""Interleaved runs of each side; the median counts."""
OS_KEN = "os-ken==4.2.2"
VENV = TARGET / "bench" / "os-ken"
PEERS = {"os-ken": "native", "os-ken, eventlet": "eventlet"}
"""As it comes, with threads, and on the library that it used before: the kinds of its hub."""
RATE_GATE = 20.0
"""How many times as many packet-ins per second of processor time as either there must be."""
MEMORY_GATE_MB = 100.0
"""Most memory of 30,000 connections besides the held frames, the program itself included."""
READY_S = 30.0
"""Most time until a controller listens."""

Figures = dict[str, float]

CONFIG = """
listen = "127.0.0.1:{port}"
association_socket = "{socket}"
mode = "act"
release = {{rate = "54Mbit/s"}}
hold_expiry = "60s"

[limits]
away = 10000
"""
ACCESS_POINT = """
[access_points.ap{number}]
datapath_id = "{number:016x}"
port = 2
"""
SWITCHES = 4
MANY = ("--stations", "300", "--connections", "100")
"""30,000 connections."""
CROWD = ("--stations", "10000", "--connections", "3")
"""As many stations as `limits.stations` allows."""
HOSTS = {"50 mobiles, 5 correspondents, 60 pairs": 50 + 5 + 2 * 60, "215 hosts": 215}
"""[sdn] Figure 11 and section 4.1. Every host counts as a station that roams: here only those ask the controller."""
RESTING, HOSTS_OF_CONTROL = "resting", 215
"""The control: a controller that does not always work."""
PAUSE_S = 0.01
"""How long the controller of the control rests and works in turns."""
PRIORITY = 1
"""Real-time priority of controller and switches, where this is root: as in the lab, other work is not measured."""
NAP_S = 0.002
"""Between two looks at the clock."""
HELD_EACH = 10
"""Segments held for each of them."""
FRAME = 64
"""Bytes of a frame."""


@dataclass(slots=True)
class Case:
    """An entry of `cases`."""

    name: str
    ours: list[Figures]
    theirs: dict[str, list[Figures]] = field(default_factory=dict)
    """By name of the peer."""
    compared: str | None = None
    """The figure of the ratio."""

    @property
    def ratio(self) -> Figures:
        """The median over the pairs of our figure, divided by the peer's."""
        if self.compared is None:
            return {}
        return {
            peer: round(median(a[self.compared] / b[self.compared] for a, b in zip(self.ours, samples, strict=True)), 3)
            for peer, samples in self.theirs.items()
        }

    def as_json(self) -> dict[str, Any]:
        """The entry."""
        peers = {name: medians(samples) for name, samples in self.theirs.items()}
        return {"name": self.name, "ours": medians(self.ours), "peers": peers, "ratio": self.ratio}


def medians(samples: list[Figures]) -> Figures:
    """Of each figure, and how many runs there were."""
    return {key: round(median(sample[key] for sample in samples), 3) for key in samples[0]} | {"runs": len(samples)}


@dataclass(frozen=True, slots=True)
class Controller:
    """One that runs and listens."""

    pid: int
    port: int
    association_socket: Path | None = None
    """The association socket, if it has one."""
    binaries: Path = TARGET / "release"
    """Where the generated switches are."""

    def work(self, *options: str | Path) -> dict[str, Any]:
        """What generated switches report that were told these options."""
        events = ["--association-socket", str(self.association_socket)] if self.association_socket else []
        switches = self.binaries / "examples" / "switches"
        command = [switches, "--connect", f"127.0.0.1:{self.port}", *events, *options]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
        if done.returncode != 0:
            raise Failed(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
        facts: dict[str, Any] = json.loads(done.stdout)
        return facts

    def status(self) -> dict[str, Any]:
        """What handfastd says of itself."""
        with socket.socket(socket.AF_UNIX) as stream:
            stream.connect(str(self.association_socket))
            stream.sendall(b'{"event": "status"}\n')
            answer: dict[str, Any] = json.loads(stream.makefile().readline())
        return answer


def free_port() -> int:
    """A TCP port at which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


@contextmanager
def running(
    command: list[str | Path],
    port: int,
    association_socket: Path | None = None,
    *,
    log: Path,
    binaries: Path = TARGET / "release",
) -> Iterator[Controller]:
    """The controller that `command` starts, until it listens; it is killed at the end."""
    with log.open("w") as errors:
        process = subprocess.Popen([str(word) for word in command], stdout=errors, stderr=errors)
        try:
            deadline = time.monotonic() + READY_S
            while not listens(port):
                if process.poll() is not None or time.monotonic() > deadline:
                    raise Failed(f"does not listen: {' '.join(map(str, command))}: {log.read_text()[-500:]}")
                time.sleep(0.05)
            yield Controller(process.pid, port, association_socket, binaries)
        finally:
            process.kill()
            process.wait()


@contextmanager
def resting(pid: int) -> Iterator[None]:
    """The process is stopped every other `PAUSE_S`, as by a collector of garbage."""
    done = threading.Event()

    def rest() -> None:
        while not done.is_set():
            os.kill(pid, signal.SIGSTOP)
            done.wait(PAUSE_S)
            os.kill(pid, signal.SIGCONT)
            done.wait(PAUSE_S)

    thread = threading.Thread(target=rest)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


@contextmanager
def late() -> Iterator[Figures]:
    """How late a program that sleeps is woken, in the end: `late_p99_us`."""
    done, facts, waits = threading.Event(), Figures(), []

    def doze() -> None:
        while not done.is_set():
            before = time.perf_counter()
            time.sleep(NAP_S)
            waits.append(time.perf_counter() - before - NAP_S)

    thread = threading.Thread(target=doze)
    thread.start()
    try:
        yield facts
    finally:
        done.set()
        thread.join()
        facts["late_p99_us"] = 1e6 * sorted(waits)[int(0.99 * (len(waits) - 1))]


def listens(port: int) -> bool:
    """Whether somebody takes connections at a port."""
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


class Bench:
    """One call of this script."""

    def __init__(
        self, *, quick: bool, pairs: int, folder: Path, peers: bool, binaries: Path = TARGET / "release"
    ) -> None:
        self.quick = quick
        self.binaries = binaries
        self.pairs = pairs
        self.folder = folder
        self.peers = PEERS if peers else {}
        self.cases: list[Case] = []
        self.gates: list[Gate] = []

    def run(self) -> None:
        """Measure everything."""
        rounds = 1 if self.quick else 10
        self.rate(Case("packet-ins, held and released", [], compared="packet_ins_per_cpu_s"), rounds)
        self.latency(Case("packet-in to packet-out, station in release", [], compared="p50_us"))
        self.crowd()
        self.memory()

    def rate(self, case: Case, rounds: int) -> None:
        """As many packet-ins as each takes."""
        for _ in self.each(case):
            with self.handfastd() as ours:
                case.ours.append(rate(ours, "rate", "--rounds", str(rounds)))
            for peer, hub in self.peers.items():
                with self.os_ken(hub) as theirs:
                    # Fewer, or it would take minutes: the same mix of new segments and repeated ones.
                    figures = rate(theirs, "--stations", "20", "rate")
                    case.theirs.setdefault(peer, []).append(figures)
        for peer, ratio in case.ratio.items():
            self.gates.append(Gate(f"times the packet-ins per CPU second of {peer}", ratio, least=RATE_GATE))

    def crowd(self) -> None:
        """As many stations as the daemon takes, all away together and back together."""
        case = Case("packet-ins, 10,000 stations", [])
        with self.handfastd() as ours:
            case.ours.append(rate(ours, *CROWD, "rate", "--rounds", "1"))
        self.cases.append(case)

    def latency(self, case: Case) -> None:
        """One packet-in at a time, 500 a second."""
        options = ("latency", "--packets", "200" if self.quick else "2000")
        for _ in self.each(case):
            with self.handfastd() as ours:
                case.ours.append(ours.work(*options))
            for peer, hub in self.peers.items():
                with self.os_ken(hub) as theirs:
                    case.theirs.setdefault(peer, []).append(theirs.work(*options))

    def memory(self) -> None:
        """30,000 connections, of each one segment or ten."""
        named = {
            "30,000 connections, a segment of each held": 1,
            "30,000 connections, 300,000 segments held": HELD_EACH,
        }
        for name, segments in named.items():
            case = Case(name, [])
            with self.handfastd() as ours:
                case.ours.append(memory(ours, segments))
            self.cases.append(case)
            besides = case.ours[0]["besides_held_mb"]
            self.gates.append(Gate(f"memory of {name} besides held frames, MB", besides, most=MEMORY_GATE_MB))

    def response(self, runs: int) -> dict[str, list[Figures]]:
        """The latency with so many hosts, several times each; and with a controller that rests every other moment.

        `late_p99_us` says how late this machine was to wake a program that slept meanwhile.
        """
        packets = "200" if self.quick else "1000"
        found: dict[str, list[Figures]] = {}
        for name, hosts in [*HOSTS.items(), (RESTING, HOSTS_OF_CONTROL)]:
            options = ("--stations", str(hosts), "--connections", "1", "latency", "--packets", packets)
            for _ in range(runs):
                with self.handfastd() as ours, resting(ours.pid) if name == RESTING else nullcontext(), late() as facts:
                    figures = ours.work(*options)
                found.setdefault(name, []).append({**figures, **facts})
        return found

    def each(self, case: Case) -> Iterator[int]:
        """The pairs, with progress."""
        for pair in range(1, self.pairs + 1):
            say(f"\r{case.name}: pair {pair} of {self.pairs}", end="")
            yield pair
        say()
        self.cases.append(case)

    @contextmanager
    def handfastd(self) -> Iterator[Controller]:
        """Ours."""
        port, association, file = free_port(), self.folder / "association", self.folder / "handfastd.toml"
        points = "".join(ACCESS_POINT.format(number=number) for number in range(1, SWITCHES + 1))
        file.write_text(CONFIG.format(port=port, socket=association) + points)
        command: list[str | Path] = [self.binaries / "handfastd", "controller", "--config", file]
        with running(
            command, port, association, log=self.folder / "handfastd.log", binaries=self.binaries
        ) as controller:
            yield controller

    @contextmanager
    def os_ken(self, hub: str) -> Iterator[Controller]:
        """The peer."""
        port = free_port()
        app: list[str | Path] = [VENV / "bin" / "python", ROOT / "bench" / "osken_app.py", str(port)]
        with running(["env", f"OSKEN_HUB_TYPE={hub}", *app], port, log=self.folder / "os-ken.log") as controller:
            yield controller

    @property
    def failed(self) -> bool:
        """Whether something does not hold. A quick run judges nothing."""
        return not self.quick and not all(gate.holds for gate in self.gates)

    def as_json(self) -> dict[str, Any]:
        """The content of the file."""
        return {
            "schema": 1,
            "quick": self.quick,
            "cases": [case.as_json() for case in self.cases],
            "gates": [gate.as_json() for gate in self.gates],
        }


def rate(controller: Controller, *options: str) -> Figures:
    """Packet-ins per second of the controller's processor time, and per second."""
    before = cpu_s(controller.pid)
    facts = controller.work(*options)
    used = cpu_s(controller.pid) - before
    return {
        "packet_ins_per_cpu_s": facts["packet_ins"] / used,
        "packet_ins_per_s": facts["packet_ins"] / facts["wall_s"],
        "packet_ins": facts["packet_ins"],
        "packet_outs": facts["packet_outs"],
        "cpu_s": used,
        "peak_mib": high_water_kib(controller.pid) / 1024,
    }


def memory(controller: Controller, segments: int) -> Figures:
    """What 30,000 connections take, with so many segments held for each, in bytes / 1,000,000."""
    start = high_water_kib(controller.pid) * 1024 / 1e6
    facts = controller.work(*MANY, "open", "--segments", str(segments))
    status = controller.status()
    if status["connections"] != facts["connections"] or status["counters"]["held"] != facts["held"]:
        raise Failed(f"expected {facts}, not {status}")
    peak, frames = high_water_kib(controller.pid) * 1024 / 1e6, facts["held"] * FRAME / 1e6
    return {
        "connections": facts["connections"],
        "held": facts["held"],
        "start_mb": start,
        "peak_mb": peak,
        "held_mb": frames,
        # What keeps a frame besides its bytes counts here, unlike in the daemon's own bounds.
        "besides_held_mb": peak - frames,
    }


def make_os_ken() -> bool:
    """Make the peer's virtual environment; whether that went well."""
    if make_peer(VENV, OS_KEN, "eventlet"):
        return True
    say("os-ken cannot be installed, so there is nothing to compare with")
    return False


def table(bench: Bench) -> str:
    """What a person reads."""
    lines = []
    for case in bench.cases:
        lines += [case.name, line("handfastd", medians(case.ours))]
        for name, samples in case.theirs.items():
            beside = f"  {case.ratio[name]:.3g} x" if name in case.ratio else ""
            lines.append(line(name, medians(samples)) + beside)
    lines.append("")
    lines += [str(gate) for gate in bench.gates]
    return "\n".join(lines) + "\n"


def line(name: str, figures: Figures) -> str:
    """A controller's figures."""
    return f"  {name:18}" + "  ".join(f"{key} {value:,.10g}" for key, value in figures.items())


def response(binaries: Path, runs: int, *, quick: bool) -> int:
    """Print the response times; the exit code."""
    with suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(PRIORITY))  # of what this starts, too
    try:
        with tempfile.TemporaryDirectory() as folder:
            bench = Bench(quick=quick, pairs=runs, folder=Path(folder), peers=False, binaries=binaries)
            sys.stdout.write(json.dumps({"schema": 1, "response": bench.response(runs)}, indent=2) + "\n")
    except (Failed, OSError) as error:
        say(f"error: {error}")
        return 2
    return 0


def main() -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="short runs: a look, not a measurement; judges nothing")
    parser.add_argument("--pairs", type=int, default=PAIRS, help=f"runs of each side (default {PAIRS})")
    out = ROOT / "out" / "bench-controller.json"
    parser.add_argument("--out", type=Path, default=out, help="default: out/bench-controller.json")
    parser.add_argument("--response", action="store_true", help="response time only; prints JSON")
    parser.add_argument("--binaries", type=Path, default=TARGET / "release", help="with --response: what is built")
    args = parser.parse_args()
    if args.pairs < 1:
        parser.error("--pairs: at least 1")
    if args.response:
        return response(args.binaries, args.pairs, quick=args.quick)
    try:
        build("the daemon", "-p", "handfast-daemon", "--bin", "handfastd", "--example", "switches")
        with tempfile.TemporaryDirectory() as folder:
            bench = Bench(quick=args.quick, pairs=args.pairs, folder=Path(folder), peers=make_os_ken())
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
