"""Programs across a lossy line of `handfastd sdtp`: curl, iperf3 and OpenSSH, every byte compared."""

from __future__ import annotations

import json
import random
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from conftest import mine, real
from handfast.lab import controller, processes
from openssh import await_listener, sshd
from sdtp_across import Across, across
from sdtp_frames import segments, streams
from sdtp_scene import Core, inside

pytestmark = [
    real,
    pytest.mark.skipif(controller.missing() is not None, reason=f"no daemon to run: {controller.missing()}"),
]

DATA = random.Random(2).randbytes(1_000_000)


@pytest.fixture(scope="module")
def line() -> Iterator[Across]:
    """Each of four links loses 1 packet in 50."""
    with across(Core(), access=1500) as made:
        yield made
    assert mine() == []


def needs(program: str) -> pytest.MarkDecorator:
    found = shutil.which(program) or shutil.which(program, path="/usr/sbin")
    return pytest.mark.skipif(found is None, reason=f"`{program}` is not installed")


class _Pages(BaseHTTPRequestHandler):
    """Gives `DATA`, and keeps what is put."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer(DATA)

    def do_PUT(self) -> None:
        put = self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(b"same" if put == DATA else b"other")

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Not on the terminal."""


@contextmanager
def _serving(line: Across) -> Iterator[str]:
    server = inside(line.hosts["b"], lambda: ThreadingHTTPServer((line.address("b"), 8080), _Pages))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://{line.address('b')}:8080/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@needs("curl")
def test_curl_gets_and_puts(line: Across, tmp_path: Path) -> None:
    here, got = tmp_path / "here", tmp_path / "got"
    here.write_bytes(DATA)
    with _serving(line) as page, line.repaired(converted=1_500, repeats=20):
        line.run("a", ["curl", "-sS", "--noproxy", "*", "--http1.1", "-o", str(got), page])
        said = line.run("a", ["curl", "-sS", "--noproxy", "*", "-H", "Expect:", "-T", str(here), page])
    assert got.read_bytes() == DATA
    assert said.stdout == "same"


@needs("iperf3")
@pytest.mark.parametrize("port", [5301, 5302])
def test_iperf3_measures(line: Across, tmp_path: Path, port: int) -> None:
    """It does not look at what comes: the bytes on the wires at both hosts are compared."""
    sends, takes, more = ("a", "b", []) if port == 5301 else ("b", "a", ["-R"])
    server = ["iperf3", "-s", "-1", "-p", str(port)]
    client = ["iperf3", "-c", line.address("b"), "-p", str(port), "-n", "1M", "-J", *more]
    with processes.running(line.hosts["b"].name, server, log=tmp_path / "server.log") as serving:
        await_listener(line.hosts["b"], port)
        wires = line.wires()
        with wires["a"], wires["b"], line.repaired(converted=700, repeats=10):
            said = json.loads(line.run("a", client).stdout)["end"]
            serving.wait(10)
            sent, came = (streams(segments(wires[host])) for host in (sends, takes))
    received = said["sum_received"]["bytes"]
    assert received >= 700_000, "what is on its way when the sender has sent all is not counted"
    assert said["sum_sent"]["retransmits"] <= 10, "nodes repair what is lost"
    ways = [ends for ends in sent if ends[0][0] == line.address(sends) and port in (ends[0][1], ends[1][1])]
    assert len(ways) == 2, "what controls, and what is measured"
    for ends in ways:
        assert came[ends] == sent[ends][: len(came[ends])]
    assert max(len(came[ends]) for ends in ways) >= received


@needs("ssh")
@needs("sshd")
def test_ssh_runs_commands_and_carries_files(line: Across, tmp_path: Path) -> None:
    here, there, back = (tmp_path / name for name in ("here", "there", "back"))
    here.write_bytes(DATA)
    address = line.address("b")
    with sshd(line.hosts["b"], address, tmp_path) as ssh, line.repaired(converted=1_500, repeats=20):
        call = " ".join([*ssh, f"root@{address}"])
        line.run("a", ["sh", "-c", f"{call} 'cat > {there}' < {here}"])
        line.run("a", ["sh", "-c", f"{call} 'cat {there}' > {back}"])
    assert there.read_bytes() == back.read_bytes() == DATA
