"""One node of SDTP on a processor of its own, beside bare forwarding by the same ways of the kernel.

Two veths lead to the node and away from it. `sdtp_load` on another processor is all the rest of the line. It stops the
node, has frames wait for it, and lets it go on until all have come out: the node always has enough to do. Processor
time is that of the node's process, and of what the kernel does in its stead on its processor.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from measure import Failed, say
from sdtp_spaces import ask, ip_tool, namespace, node_file, running

FRAMES = (64, 1514)
"""Bytes of a frame of the hosts, without frame check sequence."""
BARE = ("mmsg", "ring", "ring-xdp", "xdp-native", "xdp-generic")
"""Ways of the kernel: `packet_io` of `[sdtp]`; both modes of AF_XDP."""
ROLES = {"none": 2, "sending": 1, "caching": 2, "receiving": 3}
"""What the node under test does, and its number. With `none` it observes."""
REPETITIONS = 3
SECONDS = "2"
WAITING = "2048"
"""Frames that wait for the node."""
NODE_CPU = "1"
LOAD_CPU = "0"
MTU = 1700
"""Of the veths: a frame of 1,514 bytes is converted too."""

KEYS = "mtu = 1620\nseal = false"

Row = dict[str, float]


def per_core(folder: Path) -> dict[str, dict[str, Row]]:
    """By frame size, for each way and each node: medians of interleaved runs, and the ratio to the fastest way."""
    if (os.cpu_count() or 1) < 2:
        raise Failed("a node and its load need a processor each")
    return {str(frame): _rows(folder, frame) for frame in FRAMES}


def _rows(folder: Path, frame: int) -> dict[str, Row]:
    runs: dict[str, list[Row]] = {}
    for number in range(REPETITIONS):
        say(f"one processor, {frame} B ({number + 1} of {REPETITIONS})")
        for way in BARE:
            runs.setdefault(f"bare, {way}", []).append(_bare(folder, way, frame))
        for role in ROLES:
            runs.setdefault(f"node, {role}", []).append(_node(folder, role, frame))
    rows = {name: {"ns": median(run["ns"] for run in done)} for name, done in runs.items()}
    fastest = min(row["ns"] for name, row in rows.items() if name.startswith("bare"))
    for row in rows.values():
        row["frames/processor s"] = 1e9 / row["ns"]
        row["of the fastest"] = fastest / row["ns"]
    return rows


def _bare(folder: Path, way: str, frame: int) -> Row:
    with _line() as line:
        program = str(folder / "examples" / "forward")
        command = ["ip", "netns", "exec", line, "taskset", "-c", NODE_CPU, program, "n0", "n1", way]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                if process.stdout is None or process.stdout.readline() != "ready\n":
                    raise Failed(f"bare forwarding by {way} does not start")
                return _load(folder, line, "none", frame, process.pid)
            finally:
                process.kill()


def _node(folder: Path, role: str, frame: int) -> Row:
    with _line() as line, ExitStack() as stack:
        where = Path(stack.enter_context(TemporaryDirectory()))
        # The receiving edge stands the other way round.
        ends = ("n1", "n0") if role == "receiving" else ("n0", "n1")
        hosts = {"sending": ["10.0.0.1"], "receiving": ["10.0.0.2"]}.get(role, [])
        file, path = node_file(where, ROLES[role], ends, hosts, "observe" if role == "none" else "act", KEYS)
        process = stack.enter_context(running(line, folder / "handfastd", "sdtp", file, path, cpu=NODE_CPU))
        row = _load(folder, line, role, frame, process.pid)
        counters = ask(path)["counters"]
        did = {"sending": "converted", "caching": "cache_bytes", "receiving": "reverted"}.get(role, "passed")
        if counters[did] == 0 or counters["overloads"]:
            raise Failed(f"the node does not do what is measured: {role} {counters}")
        return row


def _load(folder: Path, line: str, role: str, frame: int, pid: int) -> Row:
    program = folder / "examples" / "sdtp_load"
    command = ["ip", "netns", "exec", line, "taskset", "-c", LOAD_CPU, str(program), "--role", role]
    command += ["--frame", str(frame), "--input", "g0", "--output", "s0", "--pid", str(pid), "--processor", NODE_CPU]
    command += ["--seconds", SECONDS, "--window", WAITING]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise Failed(f"sdtp_load: {done.stderr.strip()}")
    found: Row = json.loads(done.stdout)
    if found["lost"]:
        raise Failed(f"{role}: {found['lost']} frames were lost")
    return found


@contextmanager
def _line() -> Iterator[str]:
    """g0 - n0 (node) n1 - s0, and nobody else who sends."""
    with namespace("bench-sdtp-core") as line:
        silent = ["net.ipv6.conf.all.disable_ipv6=1", "net.ipv6.conf.default.disable_ipv6=1"]
        subprocess.run(["ip", "netns", "exec", line, "sysctl", "-qw", *silent], check=True)
        for one, other in (("g0", "n0"), ("n1", "s0")):
            ip_tool("-n", line, "link", "add", one, "type", "veth", "peer", "name", other)
        for end in ("g0", "n0", "n1", "s0"):
            ip_tool("-n", line, "link", "set", end, "mtu", str(MTU), "up")
        ip_tool("-n", line, "link", "set", "lo", "up")
        yield line
