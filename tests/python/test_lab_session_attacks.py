"""Floods at the real end before a server: its memory is bounded, and who has a key is served meanwhile."""

from __future__ import annotations

import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyroute2 import IPRoute

from conftest import mine, real
from handfast.lab import controller
from sdtp_scene import inside
from session_scene import DATA, PAGES, PART, PEER, SERVER, Scene, needs, scene

pytestmark = [
    real,
    pytest.mark.skipif(controller.missing() is not None, reason=f"no daemon to run: {controller.missing()}"),
    needs("curl"),
]

ETH_P_ALL = 3
CROWD = 3_000
"""Connections at once; more than the 256 handshakes that the end has under way."""
HELLO = b"hfiosl\x01\x01"
"""What who dials says first: name, version, pattern (`secure/channel.rs`)."""
FLOOD = """
import collections, os, socket, sys, threading, time
host, port, first, random, *sources = sys.argv[1:]
first, until = bytes.fromhex(first), time.monotonic() + 60

def flood(number):
    held = collections.deque(maxlen=20)
    while time.monotonic() < until:
        number += 1
        source = sources[number % len(sources)], 0
        try:
            held.append(socket.create_connection((host, int(port)), timeout=0.1, source_address=source))
            held[-1].sendall(first + os.urandom(int(random)))
        except OSError:
            pass

threads = [threading.Thread(target=flood, args=(7 * number,)) for number in range(64)]
for thread in threads:
    thread.start()
print("begins", flush=True)
"""
"""This, and so many random octets after it, from each address in turn: 64 at once, none waits long, for a minute."""
STRANGER = b"hfiosl\x01\x02" + (32).to_bytes(2)
"""Who does not know the end's key says this and a key of the moment, 32 random octets: it may be meant."""
ASK = f"""
exec 3<>/dev/tcp/{SERVER}/{PAGES}
while read -r _; do
    printf 'GET /times/0 HTTP/1.1\\r\\nHost: here\\r\\n\\r\\n' >&3
    while IFS= read -r line <&3 && [ "$line" != $'\\r' ]; do :; done
    echo answered
done
"""
"""Each line is a question, and its answer a line."""
MOST_MB = 64.0
"""Of the end: 20 KB of each of 3,000 would be that. It has 7 MB at first."""


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Scene]:
    """Client, server, and an end before it."""
    with scene(tmp_path) as one:
        one.daemon.start()
        one.daemon.until(lambda status: status["ok"])
        yield one
    assert mine() == []


def _crowd(says: bytes) -> list[socket.socket]:
    host, port = PEER.split(":")
    found = []
    for _ in range(CROWD):
        one = socket.create_connection((host, int(port)), timeout=5)
        one.sendall(says)
        found.append(one)
    return found


def _pid(made: Scene) -> int:
    process = made.daemon.process
    assert process is not None
    return process.pid


def _resident_mb(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE") / 1e6


def _is_served(made: Scene, folder: Path) -> bool:
    got = folder / "got"
    got.unlink(missing_ok=True)
    curl = ["curl", "-sS", "--max-time", "20", "-o", str(got), f"http://{SERVER}:{PAGES}/part"]
    code, _, said = made.run(made.session("run", "--peer", PEER, "--", *curl))
    assert code == 0, said
    return got.read_bytes() == DATA[:PART]


@pytest.mark.parametrize(
    "says",
    [b"", HELLO, HELLO + (96).to_bytes(2, "big") + bytes(96), bytes(range(256)) * 64],
    ids=["nothing", "a name alone", "a handshake that is none", "anything"],
)
def test_a_crowd_of_strangers_takes_bounded_memory_and_no_place(made: Scene, tmp_path: Path, says: bytes) -> None:
    assert _is_served(made, tmp_path)
    crowd = inside(made.client, lambda: _crowd(says))
    assert _is_served(made, tmp_path), "while they are there"
    assert _resident_mb(_pid(made)) < MOST_MB
    for one in crowd:
        one.close()
    assert made.daemon.ask()["sessions"] == 0, "nobody has opened one"


def test_who_reads_nothing_holds_up_nobody(made: Scene, tmp_path: Path) -> None:
    """Ten programs ask for 100 MB each, and read none of it."""
    ask = f"exec 3<>/dev/tcp/{SERVER}/{PAGES}; printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3; read -r _"
    sleepers = [made.start(made.session("run", "--all", "--peer", PEER, "--", "bash", "-c", ask)) for _ in range(10)]
    try:
        made.daemon.until(lambda status: status["sessions"] == 10)
        assert _is_served(made, tmp_path)
        # A session keeps 4 MiB that nobody has acknowledged, at most; the kernel keeps the rest.
        assert _resident_mb(_pid(made)) < 10 * 4.2 + MOST_MB
    finally:
        for sleeper in sleepers:
            sleeper.kill()
            sleeper.communicate()


def _overheard(made: Scene, folder: Path) -> bytes:
    """The first message of a client that the end knows, from the wire."""
    with inside(made.client, lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))) as wire:
        assert _is_served(made, folder)
        wire.settimeout(5)
        while True:
            frame = wire.recv(1 << 16)
            if (at := frame.find(HELLO)) >= 0:
                message = frame[at:]
                return message[: len(HELLO) + 2 + int.from_bytes(message[len(HELLO) :][:2])]


@contextmanager
def _flood(made: Scene, first: bytes, random: int, sources: list[str]) -> Iterator[None]:
    """These first messages from these addresses, as fast as they go."""
    host, port = PEER.split(":")
    with made.start([sys.executable, "-c", FLOOD, host, port, first.hex(), str(random), *sources]) as flood:
        try:
            assert flood.stdout is not None
            assert flood.stdout.readline() == "begins\n"
            yield
            assert flood.poll() is None, "it goes on until now"
        finally:
            flood.kill()


def _add_addresses(made: Scene, addresses: list[str]) -> None:
    def add() -> None:
        with IPRoute() as link:
            index = link.link_lookup(ifname="wire")[0]
            for address in addresses:
                link.addr("add", index=index, address=address, prefixlen=16)

    inside(made.client, add)


def _answer_s(asking: subprocess.Popen[str]) -> float:
    """How long a line takes there and back."""
    assert asking.stdin is not None
    assert asking.stdout is not None
    began = time.monotonic()
    asking.stdin.write("x\n")
    asking.stdin.flush()
    assert asking.stdout.readline() == "answered\n"
    return time.monotonic() - began


@pytest.mark.parametrize("count", [1, 200], ids=["one address", "200 addresses"])
@pytest.mark.parametrize("is_copy", [True, False], ids=["copies", "strangers"])
def test_a_flood_of_well_formed_requests_stops_nobody(
    made: Scene, tmp_path: Path, *, is_copy: bool, count: int
) -> None:
    """A session goes on, and new ones open, while handshakes come that cost as much as theirs."""
    sources = [f"10.2.{50 + number}.1" for number in range(count)]
    _add_addresses(made, sources)
    assert _is_served(made, tmp_path), "from now on it knows the end's key"
    first, random = (_overheard(made, tmp_path), 0) if is_copy else (STRANGER, 32)
    with made.start(made.session("run", "--all", "--peer", PEER, "--", "bash", "-c", ASK)) as asking:
        try:
            _answer_s(asking)
            with _flood(made, first, random, sources):
                # 44 ms of it are between the server's two packets.
                assert statistics.median(_answer_s(asking) for _ in range(50)) < 0.25
                took = []
                for _ in range(5):
                    began = time.monotonic()
                    assert _is_served(made, tmp_path), "a new session"
                    took.append(time.monotonic() - began)
                # The kernel sends a SYN that finds no room a second later.
                assert statistics.median(took) < 5
        finally:
            asking.kill()
    assert _resident_mb(_pid(made)) < MOST_MB
    counters = made.daemon.ask()["counters"]
    assert counters["connections_crowded"] > 256, counters
    # The last page's session may not have ended yet; one that a copy has opened would stay.
    made.daemon.until(lambda status: status["sessions"] <= 1)
