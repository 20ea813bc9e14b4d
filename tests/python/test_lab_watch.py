"""`handfastd watch` beside real kernels: what it says a stall was, and what it really was."""

from __future__ import annotations

import json
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from pyroute2 import IPRoute

import handfast as hf
from conftest import OUTAGE, commanded, real, skip_if_late
from handfast.lab import controller, names, processes
from handfast.lab.names import Namespace
from handfast.lab.plan import Plan
from handfast.lab.plumbing import Spaces, spaces
from handfast.results import Result
from sdtp_scene import inside

pytestmark = [real, commanded]

GAP_S = 1.5
NEAR, FAR = "10.77.0.1", "10.77.0.2"


def watch(space: Namespace, seconds: int) -> subprocess.Popen[str]:
    command = [str(controller.daemon()), "watch", "--json", "--for", str(seconds)]
    inside_it = processes.inside(space.name, command)
    return subprocess.Popen(inside_it, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def said(process: subprocess.Popen[str]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The stalls, and the sum."""
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    *stalls, total = [json.loads(line) for line in out.splitlines()]
    return [one["stall"] for one in stalls], total["watch"]


def lengths(stall: dict[str, Any]) -> dict[str, float]:
    return {phase["cause"]: phase["length_s"] for phase in stall["phases"]}


def test_a_path_that_is_gone_and_the_timer_after_it(plan: Plan, outage: hf.Scenario) -> None:
    """The lab's radio drops all; the kernel that sends hears nothing of it."""
    with spaces(plan) as made:
        server = next(space for node, space in zip(plan.nodes, made.nodes, strict=True) if node.name == "server")
        with watch(server, 7) as process:
            run = outage.core.run_lab("linux", 1, made.hub.name, [space.name for space in made.nodes])
            stalls, total = said(process)
    result = Result.from_json(run.json)
    skip_if_late(result)
    [stall] = [one for one in stalls if one["length_s"] > 1]
    assert (stall["direction"], stall["cause"], stall["end"]) in {
        ("sending", cause, "went-on") for cause in ("path-gone", "timer-backoff")
    }
    waited = result.handovers[0].stall_s
    assert waited is not None
    assert stall["length_s"] == pytest.approx(GAP_S + waited, abs=0.3)
    # A retransmission had no answer: from it on at most, the path may have been there.
    assert 0.2 < lengths(stall)["path-gone"] < GAP_S + 0.2
    assert set(stall["replay"]["saved_s"]) == {"rto-max", "sdn", "iosl"}
    assert stall["replay"]["saved_s"]["sdn"] > 0
    assert total["stalls"] == len(stalls)
    assert "10.0.0" not in json.dumps(stalls), "nobody has asked for names"


def test_a_cable_that_is_pulled(plan: Plan) -> None:
    with spaces(plan) as made, wired(made) as (client, peer), sending(client, peer), watch(made.nodes[0], 5) as process:
        time.sleep(1.0)
        inside(made.nodes[1], lambda: set_up("cable1", state="down"))
        time.sleep(GAP_S)
        inside(made.nodes[1], lambda: set_up("cable1"))
        stalls, total = said(process)
    [stall] = [one for one in stalls if one["length_s"] > 1]
    assert stall["cause"] == "radio-gone"
    assert lengths(stall)["radio-gone"] == pytest.approx(GAP_S, abs=0.4)
    assert total["causes"]["radio-gone"]["stalls"] == 1


def test_a_name_server_that_answers_late(plan: Plan, tmp_path: Path) -> None:
    """The C library asks; nothing of its question is read, only that its socket is there."""
    configuration = tmp_path / "resolv.conf"
    configuration.write_text(f"nameserver {FAR}\n")
    asking = f"mount --bind {configuration} /etc/resolv.conf && getent ahostsv4 late.example"
    with spaces(plan) as made, wired(made), name_server(made.nodes[1]), watch(made.nodes[0], 5) as process:
        time.sleep(1.0)
        command = processes.inside(made.nodes[0].name, ["unshare", "--mount", "sh", "-c", asking])
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
        stalls, total = said(process)
    assert answer.stdout.startswith("192.0.2.7"), answer.stderr
    [stall] = [one for one in stalls if one["direction"] == "resolving"]
    assert (stall["cause"], stall["end"], stall["replay"]) == ("dns", "went-on", None)
    assert stall["length_s"] == pytest.approx(GAP_S, abs=0.3)
    assert total["causes"]["dns"]["stalls"] == 1


@contextmanager
def name_server(space: Namespace) -> Iterator[None]:
    """Answers each question with an address, after a while."""
    with inside(space, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as server:
        server.bind((FAR, 53))

        def answer() -> None:
            question, peer = server.recvfrom(512)
            time.sleep(GAP_S)
            # RFC 1035 §4.1: an answer, one record: the name asked for, A, IN, an hour, four octets.
            head = question[:2] + b"\x81\x80" + b"\x00\x01\x00\x01\x00\x00\x00\x00"
            name = question[12 : question.index(0, 12) + 5]
            server.sendto(head + name + b"\xc0\x0c\x00\x01\x00\x01\x00\x00\x0e\x10\x00\x04\xc0\x00\x02\x07", peer)

        with ThreadPoolExecutor(1) as pool:
            done = pool.submit(answer)
            yield
            done.result(10)


@pytest.fixture
def outage() -> hf.Scenario:
    changes = [("duration", "7s"), ("events.0.at", "2s"), ("events.0.gap", f"{GAP_S}s")]
    return hf.parse(OUTAGE.read_text(encoding="utf-8"), "wifi-outage.toml", changes)


@pytest.fixture
def plan(outage: hf.Scenario) -> Plan:
    return Plan.of(outage.core, "linux")


@contextmanager
def wired(made: Spaces) -> Iterator[tuple[socket.socket, socket.socket]]:
    """A cable between two namespaces, and a connection over it."""
    near, far = made.nodes[:2]
    inside(near, lambda: lay(str(names.DIRECTORY / far.name)))
    inside(near, lambda: set_up("cable0", NEAR))
    inside(far, lambda: set_up("cable1", FAR))
    with (
        inside(far, lambda: socket.create_server((FAR, 7000))) as server,
        inside(near, lambda: socket.create_connection((FAR, 7000), 10)) as client,
    ):
        peer, _ = server.accept()
        with peer:
            yield client, peer


def lay(far: str) -> None:
    with IPRoute() as link:
        link.link("add", ifname="cable0", kind="veth", peer={"ifname": "cable1", "net_ns_fd": far})


def set_up(name: str, address: str | None = None, state: str = "up") -> None:
    with IPRoute() as link:
        index = link.link_lookup(ifname=name)[0]
        if address is not None:
            link.addr("add", index=index, address=address, prefixlen=24)
        link.link("set", index=index, state=state)


@contextmanager
def sending(client: socket.socket, peer: socket.socket) -> Iterator[None]:
    """A little all the time, which the peer reads."""
    stop = threading.Event()

    def send() -> None:
        while not stop.wait(0.01):
            client.send(bytes(1000))
            with suppress(BlockingIOError):
                peer.recv(1 << 16, socket.MSG_DONTWAIT)

    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(send)
        try:
            yield
        finally:
            stop.set()
            done.result()
