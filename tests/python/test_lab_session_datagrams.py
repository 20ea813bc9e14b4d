"""A call by UDP through sessions while the client's address changes, a question to a name server, and another user."""

from __future__ import annotations

import json
import socket
import statistics
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT, mine, real
from handfast.lab import controller
from handfast.lab.names import Namespace
from sdtp_scene import inside
from session_scene import PEER, SERVER, Scene, scene

pytestmark = [
    real,
    pytest.mark.skipif(controller.missing() is not None, reason=f"no daemon to run: {controller.missing()}"),
]

CALL, NAMES = 9_000, 53
EVERY_S = 2.0
"""Between two changes of address."""
AWAY = (0.0, 0.4)
"""Seconds without an address, in turn."""
SPAN_S = 13.0
Record = Callable[[str, object], None]
PROGRAMS = ROOT / "tests" / "python"
ANSWER = "192.0.2.77"


@contextmanager
def _made(folder: Path, below: str) -> Iterator[Scene]:
    with scene(folder, pages=False, target=f"udp_ports = [{CALL}, {NAMES}]") as made:
        config = made.daemon.config.read_text().replace("[session]", f'[session]\nbelow = "{below}"', 1)
        made.daemon.config.write_text(config)
        made.daemon.start()
        made.daemon.until(lambda status: status["ok"])
        yield made
    assert mine() == []


@contextmanager
def _serving(space: Namespace, port: int, answer: Callable[[bytes], bytes]) -> Iterator[list[bytes]]:
    """A server that knows one client, the first: whoever calls from another address gets no answer. What has come."""
    server = inside(space, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    server.bind((SERVER, port))
    server.settimeout(0.1)
    stop, came, clients = threading.Event(), list[bytes](), list[tuple[str, int]]()

    def serve() -> None:
        while not stop.is_set():
            try:
                datagram, client = server.recvfrom(65_535)
            except TimeoutError:
                continue
            came.append(datagram)
            clients.append(client)
            if client == clients[0]:
                server.sendto(answer(datagram), client)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield came
    finally:
        stop.set()
        thread.join()
        server.close()


def _call(made: Scene, below: str, span: str, *more: str, run: bool = True) -> dict[str, Any]:
    program = [sys.executable, str(PROGRAMS / "socks_call.py"), SERVER, str(CALL), span, *more]
    command = made.session("run", "--below", below, "--peer", PEER, "--", *program) if run else program
    code, said, errors = made.run(command)
    assert code == 0, errors
    found: dict[str, Any] = json.loads(said)
    return found


@pytest.mark.parametrize("below", ["tcp", "udp"])
def test_a_call_goes_on_while_the_address_changes(tmp_path: Path, below: str, record_property: Record) -> None:
    with _made(tmp_path, below) as made, _serving(made.server, CALL, bytes) as came:
        with made.roaming(every=EVERY_S, away=AWAY) as times:
            found = _call(made, below, str(SPAN_S))
        counters = made.daemon.counters()
    record_property("call", {"below": below, "roams": len(times), **found, **counters})
    assert len(times) >= 3, "it has roamed"
    assert found["twice"] == 0
    assert len(came) == len(set(came)), "the target gets none twice"
    assert found["last"] >= found["sent"] - 30, "it goes on to its end"
    # Without an address for a sixth of the time, and a moment more at each change.
    assert found["came"] >= 0.7 * found["sent"], found
    assert statistics.median(found["gaps_s"][: len(times)]) < max(AWAY) + 1, found


def test_without_sessions_the_same_call_ends_at_the_first_change(tmp_path: Path) -> None:
    with (
        _made(tmp_path, "tcp") as made,
        _serving(made.server, CALL, bytes),
        made.roaming(every=1.0, away=(0.0,)) as times,
    ):
        found = _call(made, "tcp", "straight:5", run=False)
    assert len(times) >= 2
    assert 0 < found["came"] < 0.6 * found["sent"], found


def _answered(question: bytes) -> bytes:
    """RFC 1035 section 4.1.3: one A record, whose name points at the question's."""
    answer = b"\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x3c\x00\x04" + socket.inet_aton(ANSWER)
    return question[:2] + b"\x81\x80\x00\x01\x00\x01\x00\x00\x00\x00" + question[12:] + answer


def test_a_name_server_is_asked(tmp_path: Path) -> None:
    with _made(tmp_path, "udp") as made, _serving(made.server, NAMES, _answered):
        program = [sys.executable, str(PROGRAMS / "dns_question.py"), SERVER, "server.example"]
        code, said, errors = made.run(made.session("run", "--below", "udp", "--peer", PEER, "--", *program))
    assert (code, said) == (0, f"{ANSWER}\n"), errors


def test_a_relay_is_its_users_alone(tmp_path: Path) -> None:
    with _made(tmp_path, "tcp") as made, _serving(made.server, CALL, bytes) as came:
        found = _call(made, "tcp", "1", "intruder")
    assert found["came"] > 0.8 * found["sent"], "whoever comes first takes nothing away"
    assert came
    assert all(not datagram.startswith(b"intruder") for datagram in came)
