"""The lab's commands besides runs: what the machine carries, and the relay."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import handfast as hf
from conftest import OUTAGE, Command, real
from handfast.lab import capacity
from handfast.lab.capacity import Capacity

IP = shutil.which("ip")
SLOW = Capacity(frames_per_s=6_000.0, real_time=True, steps=[])
FAST = ("--set", "links.0.rate=1Gbit/s", "--set", "links.radio.rate=400Mbit/s")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def measure(handfast: Command) -> dict[str, Any]:
    """What the machine carries, as it says in one of three attempts: while it stands still it carries nothing."""
    for _ in range(3):
        result = handfast("lab", "measure", "--seconds", "0.5", "--json")
        assert result.exit_code == 0, (result.output, result.exception)
        measured: dict[str, Any] = json.loads(result.stdout)
        if all(step["frames_per_s"] > 0 for step in measured["steps"]):
            return measured
    pytest.skip("this machine stands still for longer than a transfer takes")


@real
def test_what_is_measured_is_remembered_for_this_machine(handfast: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    assert capacity.remembered() is None
    measured = measure(handfast)
    steps = measured["steps"]
    # Busy machines stop early, but not before the second rate.
    assert [step["rate_bps"] for step in steps][:2] == [10_000_000, 25_000_000]
    for step in steps:
        assert step["frames_per_s"] > 0
        assert 0 < step["lateness_p50_us"] <= step["lateness_p99_us"] <= step["lateness_max_us"]
    known = capacity.remembered()
    assert known is not None
    assert known.frames_per_s == measured["frames_per_s"]
    monkeypatch.setattr("platform.release", lambda: "another")
    assert capacity.remembered() is None


@real
def test_a_run_that_asks_for_more_than_the_machine_carries_is_refused(
    handfast: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capacity, "remembered", lambda: SLOW)
    result = handfast("run", OUTAGE, "--scheme", "linux", "--backend", "lab", *FAST)
    assert result.exit_code == 2
    assert "this machine carries 6000" in result.stderr
    assert "handfast lab measure" in result.stderr


def test_a_modest_run_needs_no_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    def never() -> Capacity | None:
        raise AssertionError

    monkeypatch.setattr(capacity, "remembered", never)
    capacity.check(hf.load(OUTAGE, [("links.radio.rate", "2Mbit/s")]).core, "linux")


@real
@pytest.mark.parametrize(
    ("wire", "local", "why"),
    [
        ("listen:0", "stdio", "none of listen:PORT"),
        ("connect:192.0.2.1:80", "tcp:80", "not an address such as"),
        ("connect:192.0.2.1:80", "tcp:127.0.0.1:80", "one side has to wait"),
    ],
)
def test_a_relay_says_what_is_wrong_with_its_sides(handfast: Command, wire: str, local: str, why: str) -> None:
    result = handfast(
        "lab", "relay", wire, local, "--interface", "lo", "--address", "192.0.2.9", "--mac", "2:0:0:0:0:9"
    )
    assert result.exit_code == 2
    assert why in result.stderr


def ip(text: str, *, check: bool = True) -> None:
    subprocess.run([IP or "ip", *text.split()], check=check, capture_output=True)


@pytest.fixture
def wire() -> Iterator[str]:
    """A namespace whose interface `wire` has no address; at its other end a kernel is 192.0.2.2."""
    names = [f"handfast-relay-{os.getpid()}-{end}" for end in "ab"]
    try:
        for name in names:
            ip(f"netns add {name}")
        ip(f"-n {names[0]} link add name wire type veth peer name wire netns {names[1]}")
        for name in names:
            ip(f"-n {name} link set dev wire up")
        ip(f"-n {names[1]} addr add 192.0.2.2/24 dev wire")
        yield names[0]
    finally:
        for name in names:
            ip(f"netns del {name}", check=False)


SERVER = """
import hashlib, socket
server = socket.create_server(("192.0.2.2", 7000))
print("ready", flush=True)
stream, _ = server.accept()
data = b"".join(iter(lambda: stream.recv(65536), b""))
stream.sendall(hashlib.sha256(data).hexdigest().encode())
"""


@real
@pytest.mark.skipif(IP is None, reason="iproute2 is not installed")
def test_standard_input_crosses_the_wire(wire: str) -> None:
    """Without given neighbours, and from a kernel that leaves its checksums to a network card."""
    inside = [IP or "ip", "netns", "exec", wire[:-1] + "b"]
    with subprocess.Popen([*inside, sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            assert server.stdout.readline() == "ready\n"
            command = [sys.executable, "-m", "handfast", "lab", "relay", "connect:192.0.2.2:7000", "stdio"]
            command += ["--netns", wire, "--interface", "wire", "--address", "192.0.2.1"]
            data = bytes(range(256)) * 2_000
            done = subprocess.run(command, input=data, capture_output=True, timeout=30, check=False)
        finally:
            server.kill()
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode() == hashlib.sha256(data).hexdigest()
    assert b"1 connections, 0 broken; 512000 bytes to the wire, 64 from it" in done.stderr
