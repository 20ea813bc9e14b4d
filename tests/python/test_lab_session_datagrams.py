"""A call by UDP through sessions while the client's address changes, a question to a name server, and another user."""

from __future__ import annotations

import json
import socket
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT, real
from datagram_scene import CALL, NAMES, made_with, serving
from handfast.lab import controller
from session_scene import PEER, SERVER, Scene

pytestmark = [
    real,
    pytest.mark.skipif(controller.missing() is not None, reason=f"no daemon to run: {controller.missing()}"),
]

EVERY_S = 2.0
"""Between two changes of address."""
AWAY = (0.0, 0.4)
"""Seconds without an address, in turn."""
SPAN_S = 13.0
Record = Callable[[str, object], None]
PROGRAMS = ROOT / "tests" / "python"
ANSWER = "192.0.2.77"


def _call(made: Scene, below: str, span: str, *more: str, run: bool = True) -> dict[str, Any]:
    program = [sys.executable, str(PROGRAMS / "socks_call.py"), SERVER, str(CALL), span, *more]
    command = made.session("run", "--below", below, "--peer", PEER, "--", *program) if run else program
    code, said, errors = made.run(command)
    assert code == 0, errors
    found: dict[str, Any] = json.loads(said)
    return found


@pytest.mark.parametrize("below", ["tcp", "udp"])
def test_a_call_goes_on_while_the_address_changes(tmp_path: Path, below: str, record_property: Record) -> None:
    with made_with(tmp_path, below) as made, serving(made.server, CALL, bytes) as came:
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
        made_with(tmp_path, "tcp") as made,
        serving(made.server, CALL, bytes),
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
    with made_with(tmp_path, "udp") as made, serving(made.server, NAMES, _answered):
        program = [sys.executable, str(PROGRAMS / "dns_question.py"), SERVER, "server.example"]
        code, said, errors = made.run(made.session("run", "--below", "udp", "--peer", PEER, "--", *program))
    assert (code, said) == (0, f"{ANSWER}\n"), errors


def test_a_relay_is_its_users_alone(tmp_path: Path) -> None:
    with made_with(tmp_path, "tcp") as made, serving(made.server, CALL, bytes) as came:
        found = _call(made, "tcp", "1", "intruder")
    assert found["came"] > 0.8 * found["sent"], "whoever comes first takes nothing away"
    assert came
    assert all(not datagram.startswith(b"intruder") for datagram in came)
