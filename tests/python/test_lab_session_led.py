"""UDP of programs that know of no proxy: QUIC and calls by `run --cgroup` and `run --all`, and what goes straight."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT, real
from datagram_scene import CALL, NAMES, QUIC, SIX, made_with, serving
from handfast.lab import processes
from sdtp_scene import inside
from session_scene import PEER, SERVER, Scene, lacks_cgroup

LACKING = lacks_cgroup()
pytestmark = [real, pytest.mark.skipif(LACKING is not None, reason=f"{LACKING}")]

Record = Callable[[str, object], None]
CALLER = ROOT / "tests" / "python" / "led_call.py"
QUINN = ROOT / "bench" / "roaming" / "quic"
AWAY = (0.0, 0.6)
"""Seconds without an address, in turn."""
OCTETS = random.Random(47).randbytes(40_000_000)
UNLISTED = 9


@pytest.fixture(scope="module")
def quinn() -> Path:
    """The client and server of QUIC of `make bench-roaming`; the client does not follow its address here."""
    cargo = shutil.which("cargo")
    if cargo is None:
        pytest.skip("cargo is not installed")
    built = subprocess.run([cargo, "build", "--quiet"], cwd=QUINN, capture_output=True, text=True, check=False)
    if built.returncode:
        pytest.skip(f"the client of QUIC cannot be built: {built.stderr}")
    return QUINN / "target" / "debug" / "roaming-quic"


@contextmanager
def _octets_by_quic(made: Scene, quinn: Path, folder: Path) -> Iterator[Path]:
    file, certificate = folder / "octets", folder / "quic.pem"
    file.write_bytes(OCTETS)
    command = [str(quinn), "serve", f"{SERVER}:{QUIC}", str(certificate), str(file)]
    with processes.running(made.server.name, command, log=folder / "quic.log"):
        until = time.monotonic() + 10
        while not certificate.exists():
            assert time.monotonic() < until
            time.sleep(0.02)
        yield certificate


def _led(made: Scene, way: str, *program: str, more: tuple[str, ...] = ("--peer", PEER)) -> list[str]:
    return made.session("run", way, "--verbose", *more, "--", *program)


def _seen(made: Scene, way: str, *asked: str, more: tuple[str, ...] = ("--peer", PEER)) -> Any:  # noqa: ANN401
    code, said, errors = made.run(_led(made, way, sys.executable, str(CALLER), *asked, more=more))
    assert code == 0, errors
    return json.loads(said)


@pytest.mark.parametrize("below", ["udp", "tcp"])
def test_quic_goes_on_while_the_address_changes(
    tmp_path: Path, quinn: Path, below: str, record_property: Record
) -> None:
    with made_with(tmp_path, below) as made, _octets_by_quic(made, quinn, tmp_path) as certificate:
        got = tmp_path / "got"
        program = ["sh", "-c", f"exec {quinn} stay {SERVER}:{QUIC} {certificate} > {got}"]
        begin = time.monotonic()
        # The wire takes 2 s for the octets.
        with made.roaming(every=0.7, away=AWAY) as times:
            code, _, errors = made.run(_led(made, "--cgroup", *program, more=("--below", below, "--peer", PEER)))
        record_property("quic", {"below": below, "roams": len(times), "seconds": time.monotonic() - begin})
        counters = made.daemon.counters()
    assert code == 0, errors
    assert hashlib.sha256(got.read_bytes()).digest() == hashlib.sha256(OCTETS).digest()
    assert len(times) >= 2, "it has roamed"
    assert "session opened" in errors, "it did not go straight"
    record_property("counters", counters)


def test_without_sessions_the_same_download_stops(tmp_path: Path, quinn: Path) -> None:
    with made_with(tmp_path, "udp") as made, _octets_by_quic(made, quinn, tmp_path) as certificate:
        got = tmp_path / "got"
        program = ["sh", "-c", f"exec timeout 8 {quinn} stay {SERVER}:{QUIC} {certificate} > {got}"]
        # QUIC finds its new address by itself, with the next probe. After 1.5 s without one,
        # that probe comes later than the next roam.
        with made.roaming(every=0.7, away=(1.5,)) as times:
            code, _, _ = made.run(program)
    assert times
    assert code != 0
    assert 0 < got.stat().st_size < len(OCTETS)


def test_a_program_sees_the_target_it_speaks_with(tmp_path: Path) -> None:
    callers: list[str] = []
    with (
        made_with(tmp_path, "tcp") as made,
        serving(made.server, CALL, bytes, callers),
        serving(made.server, CALL, bytes, callers, six=True),
    ):
        seen = _seen(made, "--cgroup", "names", SERVER, str(CALL))
        # The client has no address of IPv6, nor a route.
        over_six = _seen(made, "--cgroup", "names", SIX, str(CALL))
    assert over_six == [[SIX, CALL]] * 4
    mapped = f"::ffff:{SERVER}"
    assert seen == [[SERVER, CALL]] * 4 + [[mapped, CALL]] * 4
    assert set(callers) == {SERVER, SIX}, "it came from the end beside the server"


def test_calls_go_on_while_the_address_changes(tmp_path: Path, record_property: Record) -> None:
    for way in ("--cgroup", "--all"):
        folder = tmp_path / way
        folder.mkdir()
        with (
            made_with(folder, "udp") as made,
            serving(made.server, CALL, bytes) as came,
            made.roaming(every=1.5, away=AWAY) as times,
        ):
            found = _seen(made, way, "calling", SERVER, str(CALL), "6", more=("--below", "udp", "--peer", PEER))
        record_property(way, {"roams": len(times), **found})
        assert len(times) >= 3, "it has roamed"
        assert len(came) == len(set(came)), "the target gets none twice"
        assert found["last"] >= found["sent"] - 30, "it goes on to its end"
        assert found["came"] >= 0.6 * found["sent"], found
        assert found["wrong"] == []


@pytest.mark.parametrize("way", ["--cgroup", "--all"])
def test_what_is_required_and_not_led_to_is_refused_soon(tmp_path: Path, way: str) -> None:
    with made_with(tmp_path, "tcp") as made, serving(made.server, UNLISTED, bytes) as came:
        sent, connected, again = _seen(made, way, "refused", SERVER, str(UNLISTED))
    if way == "--cgroup":
        assert sent[0] == "PermissionError"
        assert sent[1] < 1.0
        assert connected[0] == "PermissionError"
        assert again[0] == "PermissionError"
        assert came == []
    else:
        # What is not connected goes straight, and the port after it was refused.
        assert sent[0] == "none"
        assert connected[0] == "ConnectionRefusedError"
    assert connected[1] < 1.0


def test_no_more_targets_are_led_to_than_may_be_until_others_are_used_no_more(tmp_path: Path) -> None:
    with made_with(tmp_path, "tcp") as made, serving(made.server, CALL, bytes):
        found = _seen(made, "--cgroup", "many", SERVER, str(CALL))
    # One was connected before, and the socket that had none is counted.
    assert (found["most"], found["wrong"]) == (128, "PermissionError")
    assert found["kept"] == [SERVER, CALL], "nobody took the alias of a socket that is connected"


@pytest.mark.parametrize("way", ["--cgroup", "--all"])
def test_what_a_program_sends_last_comes(tmp_path: Path, way: str) -> None:
    callers: list[str] = []
    with made_with(tmp_path, "tcp") as made, serving(made.server, CALL, bytes, callers) as came:
        _seen(made, way, "shot", SERVER, str(CALL))
        made.daemon.until(lambda status: status["sessions"] == 0 and status["udp_ports"] == 0)
    assert (came, set(callers)) == ([b"first", b"last"], {SERVER})


@pytest.mark.parametrize("way", ["--cgroup", "--all"])
def test_a_name_server_is_asked_straight(tmp_path: Path, way: str) -> None:
    callers: list[str] = []
    with made_with(tmp_path, "tcp") as made, serving(made.server, NAMES, bytes, callers):
        seen = _seen(made, way, "once", SERVER, str(NAMES))
    assert seen[0] == "once"
    assert callers == ["10.2.0.2"], "its own address"


@pytest.mark.parametrize(("way", "at_once"), [("--cgroup", "EINVAL"), ("--all", "10.2.0.2")])
def test_a_socket_that_was_led_and_goes_straight_then(tmp_path: Path, way: str, at_once: str) -> None:
    with made_with(tmp_path, "tcp") as made:
        seen = _seen(made, way, "straight_then", SERVER, str(CALL))
    assert seen == [at_once, "10.2.0.2"]


@pytest.mark.parametrize("peer", [("--peer", PEER, "--policy", "prefer"), ()])
def test_what_may_go_straight_does_and_nothing_is_lost(tmp_path: Path, peer: tuple[str, ...]) -> None:
    """Where the peer does not lead, and where nobody has a peer: the first datagram is the only one."""
    callers: list[str] = []
    with made_with(tmp_path, "tcp") as made, serving(made.server, UNLISTED, bytes, callers) as came:
        if not peer:
            made.daemon.stop()
        seen = _seen(made, "--cgroup", "once", SERVER, str(UNLISTED), more=peer)
    assert seen[0] == "once"
    assert came == [b"once"]
    assert callers == ["10.2.0.2"]


def _strangers(made: Scene, ports: list[int]) -> None:
    def intrude() -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            for port in ports:
                stranger.sendto(b"intruder", ("127.0.0.1", port))

    inside(made.client, intrude)


def test_what_is_sent_from_outside_the_group_goes_nowhere(tmp_path: Path) -> None:
    with made_with(tmp_path, "tcp") as made, serving(made.server, CALL, bytes) as came:
        run = _led(made, "--cgroup", sys.executable, str(CALLER), "intruder", SERVER, str(CALL))
        with made.start(run) as process:
            assert process.stdout is not None
            ports = json.loads(process.stdout.readline())
            assert len(ports) >= 100
            _strangers(made, ports)
            _, errors = process.communicate("\n", timeout=30)
        assert process.returncode == 0, errors
    assert came
    assert b"intruder" not in came


@pytest.mark.parametrize("way", ["--cgroup", "--all"])
def test_a_socket_goes_on_while_its_end_is_killed(tmp_path: Path, way: str, record_property: Record) -> None:
    """Its port is there all along: the kernel never says that nobody is."""
    with made_with(tmp_path, "tcp") as made, serving(made.server, CALL, bytes) as came:
        program = [sys.executable, str(CALLER), "calling", SERVER, str(CALL), "6"]
        run = made.session("run", way, "--peer", PEER, "--", *program)
        kills = 0
        with made.start(run) as process:
            for _ in range(6):
                time.sleep(0.7)
                for end in made.ends(process):
                    os.kill(end, signal.SIGKILL)
                    kills += 1
            said, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")
    found = json.loads(said)
    record_property(way, {"kills": kills, **found})
    assert kills >= 4
    assert found["wrong"] == []
    # A session that begins anew is another client to this server, which has an answer for the first one only.
    assert len(came) >= 0.5 * found["sent"], found
    assert len(came) == len(set(came))
