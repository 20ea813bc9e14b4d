"""Downloads by curl while the client's address changes, by each thing that is below sessions; every byte compared."""

from __future__ import annotations

import hashlib
import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from conftest import mine, real
from handfast.lab import controller, processes
from handfast.lab.names import Namespace
from session_scene import DATA, PAGES, PEER, SERVER, Scene, needs, scene

pytestmark = [
    real,
    pytest.mark.skipif(controller.missing() is not None, reason=f"no daemon to run: {controller.missing()}"),
    needs("curl"),
]

PAGE = f"http://{SERVER}:{PAGES}/"
AWAY = (0.0, 0.4, 0.2)
"""Seconds without an address, in turn."""


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Scene]:
    with scene(tmp_path) as scene_of_test:
        yield scene_of_test
    assert mine() == []


def _serve(made: Scene, below: str | list[str]) -> None:
    config = made.daemon.config
    config.write_text(config.read_text().replace("[session]", f"[session]\nbelow = {json.dumps(below)}", 1))
    made.daemon.start()
    made.daemon.until(lambda status: status["ok"])


def _download(made: Scene, below: str, got: Path) -> subprocess.Popen[str]:
    curl = ["curl", "-sS", "-o", str(got), PAGE]
    return made.start(made.session("run", "--below", below, "--peer", PEER, "--", *curl))


def _is_carried(status: dict[str, Any], below: str) -> bool:
    return any(session["below"] == below for session in status["list"])


def _same(file: Path) -> bool:
    return hashlib.sha256(file.read_bytes()).digest() == hashlib.sha256(DATA).digest()


def _has_mptcp(space: Namespace) -> bool:
    command = processes.inside(space.name, ["sysctl", "-n", "net.mptcp.enabled"])
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    return said.stdout.strip() == "1"


@pytest.mark.parametrize("below", ["udp", "mptcp", "sctp"])
def test_a_download_goes_on_while_the_address_changes(made: Scene, tmp_path: Path, below: str) -> None:
    if below == "mptcp" and not _has_mptcp(made.server):
        pytest.skip("this kernel has no MPTCP")
    got = tmp_path / "got"
    _serve(made, below)
    with made.roaming(every=1.2, away=AWAY) as times, _download(made, below, got) as download:
        made.daemon.until(lambda status: _is_carried(status, below))
        _, said = download.communicate(timeout=120)
    assert download.returncode == 0, said
    assert _same(got)
    assert len(times) >= 3, "it has roamed"
    counters = made.daemon.counters()
    assert counters["paths_taken"] > 2, counters
    assert (counters["windows_restored"] > 0) == (below != "mptcp"), counters


def test_one_serve_takes_clients_of_three_kinds_at_once(made: Scene, tmp_path: Path) -> None:
    kinds = ("tcp", "udp", "sctp")
    _serve(made, ["udp", "sctp"])
    with ExitStack() as stack:
        times = stack.enter_context(made.roaming(every=1.2, away=AWAY))
        downloads = [stack.enter_context(_download(made, below, tmp_path / below)) for below in kinds]
        for below in kinds:
            made.daemon.until(partial(_is_carried, below=below))
        ends = [(download.communicate(timeout=240)[1], download.returncode) for download in downloads]
    assert all(code == 0 for _, code in ends), ends
    assert all(_same(tmp_path / below) for below in kinds)
    assert len(times) >= 3, "it has roamed"
    assert made.daemon.ask()["below"] == list(kinds)


def test_an_association_has_two_addresses_and_goes_on_by_the_one_that_is_left(made: Scene, tmp_path: Path) -> None:
    """No new association, and so no new path of the session."""
    got = tmp_path / "got"
    _serve(made, "sctp")
    # Without this the kernel takes away the other addresses of a network with the first one.
    keep = "echo 1 > /proc/sys/net/ipv4/conf/wire/promote_secondaries"
    subprocess.run(processes.inside(made.client.name, ["sh", "-c", keep]), check=True)
    made.come()
    made.number -= 1
    with _download(made, "sctp", got) as download:
        made.daemon.until(lambda status: _is_carried(status, "sctp"))
        time.sleep(1)
        assert download.poll() is None, "it is under way"
        before = got.stat().st_size
        made.leave()
        time.sleep(0.5)
        assert got.stat().st_size > before + 500_000, "it goes on by the other one"
        _, said = download.communicate(timeout=120)
    assert download.returncode == 0, said
    assert _same(got)
    assert made.daemon.counters()["paths_taken"] == 1, made.daemon.ask()
