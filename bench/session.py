"""What a session costs without a roam: iperf3 between two namespaces, plain, by two bare relays, and by sessions.

Needs root, iperf3, and binaries named on the command line: bench/session.py HANDFASTD RELAY [--below tcp udp sctp]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from sdtp_spaces import ip_tool, namespace

CLIENT, SERVER = (f"handfast-session-{os.getpid()}-{end}" for end in ("client", "server"))
ADDRESS = "10.3.0.1"
BYTES = 2_000_000_000
ROUNDS = 3
TICKS = os.sysconf("SC_CLK_TCK")


def inside(space: str, *command: str) -> list[str]:
    """A command in a namespace."""
    return ["ip", "netns", "exec", space, *command]


@contextmanager
def spaces() -> Iterator[None]:
    """Two namespaces and a wire."""
    with ExitStack() as stack:
        for name in (CLIENT, SERVER):
            stack.enter_context(namespace(name))
        ip_tool(*f"-n {CLIENT} link add wire type veth peer name wire netns {SERVER}".split())
        for name, address in ((CLIENT, "10.3.0.2"), (SERVER, ADDRESS)):
            ip_tool(*f"-n {name} addr add {address}/24 dev wire".split())
            for link in ("lo", "wire"):
                ip_tool(*f"-n {name} link set dev {link} up".split())
        yield


class Running:
    """Programs that run."""

    def __init__(self, stack: ExitStack, home: Path) -> None:
        self.stack = stack
        self.pids: list[int] = []
        self.environment = {"HOME": str(home), "XDG_RUNTIME_DIR": str(home), "PATH": os.environ["PATH"]}

    def start(self, *command: str) -> subprocess.Popen[bytes]:
        """Start one that ends with the measurement."""
        process = subprocess.Popen(command, env=self.environment, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.pids.append(process.pid)
        self.stack.callback(process.wait)
        self.stack.callback(process.terminate)
        return process

    def said(self, *command: str) -> str:
        """Run one to its end: what it has said."""
        return subprocess.run(command, env=self.environment, check=True, capture_output=True, text=True).stdout


def iperf(running: Running, before: tuple[str, ...], to: str, more: tuple[str, ...]) -> float:
    """Bits per second that have come."""
    command = [*before, "iperf3", "-c", to, "-J", *more]
    said = json.loads(running.said(*inside(CLIENT, *command)))
    if "error" in said:
        raise SystemExit(f"error: {' '.join(command)}: {said['error']}")
    return float(said["end"]["sum_received"]["bits_per_second"])


def serve(running: Running, handfastd: str, folder: Path, below: str, port: int) -> None:
    """An end before the server, with this below sessions."""
    key = running.said(handfastd, "session", "key").strip()
    config = folder / f"{below}.toml"
    config.write_text(f"""
[session]
below = "{below}"
listen = "{ADDRESS}:{port}"
key_file = "{folder}/{below}.key"
socket = "{folder}/{below}.sock"
clients = ["{key}"]
targets = [{{address = "{ADDRESS}", ports = [5201]}}]
""")
    running.start(*inside(SERVER, handfastd, "session", "serve", "--config", str(config)))


def measure(
    running: Running, handfastd: str, relay: str, folder: Path, below: list[str]
) -> dict[str, Callable[..., float]]:
    """How each way is measured, and the processes that carry it."""
    running.start(*inside(SERVER, "iperf3", "-s"))
    running.start(*inside(SERVER, relay, f"{ADDRESS}:7400", f"{ADDRESS}:5201"))
    running.start(*inside(CLIENT, relay, "127.0.0.1:5201", f"{ADDRESS}:7400"))
    ways: dict[str, Callable[..., float]] = {
        "plain": lambda *more: iperf(running, (), ADDRESS, more),
        "two relays": lambda *more: iperf(running, (), "127.0.0.1", more),
    }
    for port, word in enumerate(below, 7443):
        serve(running, handfastd, folder, word, port)
        by = (handfastd, "session", "run", "--all", "--below", word, "--peer", f"{ADDRESS}:{port}", "--")
        ways[f"sessions, {word}"] = partial(_by, running, by)
    time.sleep(1)
    return ways


def _by(running: Running, by: tuple[str, ...], *more: str) -> float:
    return iperf(running, by, ADDRESS, more)


def say(line: str) -> None:
    """A line of the table."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def cpu_s(pids: list[int]) -> float:
    """Processor time of these processes, and of all that have ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    total = ended.ru_utime + ended.ru_stime
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        total += (int(fields[11]) + int(fields[12])) / TICKS
    return total


def main() -> int:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("handfastd", type=Path)
    parser.add_argument("relay", type=Path)
    parser.add_argument("--below", nargs="+", default=["tcp", "udp", "sctp"], help="what is below sessions, a row each")
    options = parser.parse_args()
    handfastd, relay = (str(name.resolve()) for name in (options.handfastd, options.relay))
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        stack.enter_context(spaces())
        running = Running(stack, folder)
        ways = measure(running, handfastd, relay, folder, options.below)
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
        for _ in range(ROUNDS):
            for name, way in ways.items():
                before = cpu_s(running.pids)
                rate = way("-n", str(BYTES))
                found[name].append((rate, (cpu_s(running.pids) - before) / (BYTES / 1e9)))
        limit = "tc qdisc add dev wire root tbf rate 1gbit burst 256kb latency 20ms"
        subprocess.run(inside(CLIENT, *limit.split()), check=True)
        limited = {name: statistics.median(way("-t", "4") for _ in range(ROUNDS)) for name, way in ways.items()}
    say("| way | Gbit/s | CPU s/GB of all programs | of a 1 Gbit/s wire |")
    say("|---|---|---|---|")
    for name, rows in found.items():
        rate, cost = (statistics.median(column) for column in zip(*rows, strict=True))
        say(f"| {name} | {rate / 1e9:.2f} | {cost:.2f} | {limited[name] / limited['plain']:.3f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
