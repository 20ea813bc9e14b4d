#!/usr/bin/env python3
"""`make bench-sdtp`: what a packet costs at nodes of SDTP.

In memory (`crates/daemon/examples/sdtp_cost.rs`): a sending edge, a caching node and a receiving edge, without system
calls. Live, as root: one node on a processor of its own beside bare forwarding (`sdtp_core.py`), and a download between
the kernels of two namespaces through three `handfastd sdtp` on veths without loss, which convert, or only forward.
Processor time is that of the three processes. Writes `out/bench-sdtp.json` and prints a table.
"""

from __future__ import annotations

import argparse
import ctypes
import fcntl
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any

from measure import ROOT, TARGET, Failed, build, cpu_s, say
from sdtp_core import per_core
from sdtp_spaces import PATIENCE_S, ask, inside_of, ip_tool, namespace, node_file, running, until

PAYLOADS = (64, 1396)
"""The larger one is what a core of 1,500 bytes carries with timestamps."""
REPETITIONS = 3
SECONDS = 3.0
NODES = 3
SIOCETHTOOL = 0x8946
FEATURES = (0x17, 0x19, 0x1F, 0x24, 0x2C)
"""linux/ethtool.h: checksums, scatter-gather, TCP and generic segmentation, generic receive offload."""

CONTROLLER = """
[sdtp-controller]
listen = "127.0.0.1:6654"
socket = "{folder}/controller.sock"
placement = "every-switch"
nodes = [
    {{address = "10.99.0.1", datapath_id = "0000000000000001", hosts = ["10.1.0.1"]}},
    {{address = "10.99.0.2", datapath_id = "0000000000000002"}},
    {{address = "10.99.0.3", datapath_id = "0000000000000003", hosts = ["10.1.0.2"]}},
]
links = [{{delay = "1ms", loss = 0.01}}, {{delay = "1ms", loss = 0.01}}]
"""


def main() -> int:
    """Measure, write, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profile", default="release", help="of the build (default: release)")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "bench-sdtp.json")
    options = parser.parse_args()
    try:
        examples = ("--example", "sdtp_cost", "--example", "sdtp_load")
        build("the daemon", "-p", "handfast-daemon", "--bins", *examples, profile=options.profile)
        build("bare forwarding", "-p", "handfast-io", "--example", "forward", profile=options.profile)
        folder = TARGET / ("debug" if options.profile == "dev" else options.profile)
        memory = [in_memory(folder / "examples" / "sdtp_cost", payload) for payload in PAYLOADS]
        is_root = os.geteuid() == 0
        cores = per_core(folder) if is_root else {}
        lives = live(folder / "handfastd") if is_root else None
    except Failed as error:
        say(f"bench-sdtp: {error}")
        return 2
    found = {"profile": options.profile, "memory": memory, "one processor": cores, "live": lives}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    for case in memory:
        for what, cost in case["ns"].items():
            sys.stdout.write(f"{what}, {case['payload']} B: {cost:.0f} ns\n")
    for frame, rows in cores.items():
        for what, row in rows.items():
            row_text = f"{row['ns']:.0f} ns, {row['frames/processor s']:.0f} frames a processor second"
            share = f"{row['of the fastest']:.0%} of the fastest"
            sys.stdout.write(f"one processor, {frame} B, {what}: {row_text}, {share}\n")
    if lives is None:
        say("the live part needs root: left out")
    for mode, figures in (lives or {}).items():
        sys.stdout.write(f"live, {mode}: " + ", ".join(f"{name} {value:.4g}" for name, value in figures.items()) + "\n")
    return 0


def in_memory(program: Path, payload: int) -> dict[str, Any]:
    """The median of a few runs."""
    say(f"in memory, {payload} B")
    command = [str(program), "--payload", str(payload)]
    runs = [json.loads(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(REPETITIONS)]
    names = runs[0]["ns"]
    return {"payload": payload, "ns": {name: median(run["ns"][name] for run in runs) for name in names}}


def live(program: Path) -> dict[str, dict[str, float]]:
    """Medians of interleaved runs."""
    runs: dict[str, list[dict[str, float]]] = {"observe": [], "act": []}
    for number in range(REPETITIONS):
        for mode, done in runs.items():
            say(f"live, {mode} ({number + 1} of {REPETITIONS})")
            done.append(_download(program, mode))
    return {mode: {name: median(run[name] for run in done) for name in done[0]} for mode, done in runs.items()}


def _download(program: Path, mode: str) -> dict[str, float]:
    """One download through three nodes."""
    with ExitStack() as stack:
        line, left, right = (stack.enter_context(namespace(f"bench-sdtp-{what}")) for what in ("line", "left", "right"))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        _wire(line, left, right)
        (folder / "key").write_text("5d" * 32)
        controller = folder / "controller.toml"
        controller.write_text(CONTROLLER.format(folder=folder), encoding="utf-8")
        stack.enter_context(running(line, program, "sdtp-controller", controller, folder / "controller.sock"))
        nodes = []
        sockets = []
        for number in range(1, NODES + 1):
            ends = [f"w{2 * number - 1}", f"w{2 * number}"]
            inside, outside = reversed(ends) if number == NODES else ends
            hosts = {1: ["10.1.0.1"], NODES: ["10.1.0.2"]}.get(number, [])
            key = f'key_file = "{folder}/key"'
            file, path = node_file(folder, number, (inside, outside), hosts, mode, key)
            nodes.append(stack.enter_context(running(line, program, "sdtp", file, path)))
            sockets.append(path)
        until(lambda: mode == "observe" or all(ask(path)["controller"] for path in sockets))
        before = [cpu_s(node.pid) for node in nodes]
        received, took = _transfer(left, right)
        spent = [cpu_s(node.pid) - at for node, at in zip(nodes, before, strict=True)]
        counters = [ask(path)["counters"] for path in sockets]
        if (counters[0]["converted"] > 0) != (mode == "act"):
            raise Failed(f"mode {mode}: {counters[0]}")
        frames = [counted["frames"] for counted in counters]
        per_frame = {
            f"node {number} ns/frame": 1e9 * cpu / count
            for number, (cpu, count) in enumerate(zip(spent, frames, strict=True), 1)
        }
        return {"Mbit/s": 8e-6 * received / took, "frames/s": frames[1] / took, **per_frame}


def _transfer(left: str, right: str) -> tuple[int, float]:
    """Bytes that the right host has got from the left one, and the seconds that took."""
    listening = threading.Event()

    def receive() -> tuple[int, float]:
        with socket.create_server(("10.1.0.2", 9000)) as server:
            listening.set()
            peer, _ = server.accept()
            with peer:
                began, count, buffer = time.monotonic(), 0, bytearray(1 << 20)
                while got := peer.recv_into(buffer):
                    count += got
                return count, time.monotonic() - began

    def send() -> None:
        listening.wait(PATIENCE_S)
        with socket.create_connection(("10.1.0.2", 9000), PATIENCE_S) as client:
            data, until = bytes(1 << 16), time.monotonic() + SECONDS
            while time.monotonic() < until:
                client.sendall(data)

    with ThreadPoolExecutor(2) as pool:
        receiving = pool.submit(inside_of, right, receive)
        pool.submit(inside_of, left, send).result()
        return receiving.result()


def _wire(line: str, left: str, right: str) -> None:
    """Left host - w1 (node 1) w2 - w3 (node 2) w4 - w5 (node 3) w6 - right host."""
    for one, other in (("w2", "w3"), ("w4", "w5")):
        ip_tool("-n", line, "link", "add", one, "type", "veth", "peer", "name", other)
    for host, number, end in ((left, 1, "w1"), (right, 2, "w6")):
        mac = f"02:00:00:00:00:0{number}"
        ip_tool("-n", line, "link", "add", end, "type", "veth", "peer", "name", "eth0", "address", mac, "netns", host)
        ip_tool("-n", host, "address", "add", f"10.1.0.{number}/24", "dev", "eth0")
        ip_tool("-n", host, "link", "set", "eth0", "up")
        # A wire has no card that would cut segments and sum up.
        inside_of(host, _no_offloads)
    for end_number in range(1, 2 * NODES + 1):
        ip_tool("-n", line, "link", "set", f"w{end_number}", "up")
    ip_tool("-n", line, "link", "set", "lo", "up")


def _no_offloads() -> None:
    with socket.socket() as any_socket:
        for command in FEATURES:
            # `struct ethtool_value`: the command, and 0 for off.
            value = (ctypes.c_uint32 * 2)(command, 0)
            fcntl.ioctl(any_socket, SIOCETHTOOL, struct.pack("16sP", b"eth0", ctypes.addressof(value)))


if __name__ == "__main__":
    sys.exit(main())
