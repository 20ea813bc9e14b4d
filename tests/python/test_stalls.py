"""The commands of docs/how-to/my-app-stalls.md, tried on this machine's kernel."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from conftest import ROOT, edited, real

PAGE = (ROOT / "docs" / "how-to" / "my-app-stalls.md").read_text(encoding="utf-8")
HUB, SERVER, PHONE = (f"stalls-{name}-{os.getpid()}" for name in ("hub", "server", "phone"))
"""Two runs of these tests on one machine do not meet."""
ADDRESS = {SERVER: "192.0.2.1", PHONE: "192.0.2.2"}
GAP_S = 4.0
"""The uncapped timer, doubled from 0.2 s, expires about 3.0 and 6.2 s after the cut: this is between them."""

GONE_S = 5.0
"""A radio that does not come back."""


def tried(kind: str) -> list[str]:
    """The code blocks of the page that are marked so."""
    blocks = re.findall(rf"<!-- tried: {kind} -->\n\n((?:    .*\n)+)", PAGE)
    assert blocks
    return ["".join(line.removeprefix("    ") for line in block.splitlines(keepends=True)) for block in blocks]


def run(*words: str) -> str:
    """A command that has to succeed."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{shlex.join(words)}: {done.stderr}"
    return done.stdout


def inside(space: str, *words: str) -> str:
    """The same in a namespace."""
    return run("ip", "netns", "exec", space, *words)


@pytest.fixture
def network() -> Iterator[None]:
    """A server and a phone at a bridge: a port that leaves the bridge is a radio that is gone."""
    with ExitStack() as stack:
        for space in (HUB, SERVER, PHONE):
            run("ip", "netns", "add", space)
            stack.callback(run, "ip", "netns", "del", space)
        run("ip", "-n", HUB, "link", "add", "radio", "type", "bridge")
        run("ip", "-n", HUB, "link", "set", "radio", "up")
        for number, space in enumerate((SERVER, PHONE)):
            port = f"port{number}"
            run("ip", "-n", HUB, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", space)
            run("ip", "-n", HUB, "link", "set", port, "master", "radio", "up")
            run("ip", "-n", space, "addr", "add", f"{ADDRESS[space]}/24", "dev", "eth0")
            run("ip", "-n", space, "link", "set", "eth0", "up")
        yield


class Thread(threading.Thread):
    """Does its work in a namespace, which it never leaves, and keeps what it raised."""

    def __init__(self, space: str, work: Callable[[], None]) -> None:
        super().__init__(daemon=True)
        self._space, self._work = space, work
        self.error: BaseException | None = None
        self.start()

    def run(self) -> None:
        from pyroute2 import netns

        try:
            netns.setns(self._space)
            self._work()
        except BaseException as error:
            self.error = error


def stall(capped: bool) -> float:
    """How long after the radio's return the phone gets new data, seconds."""
    ready, over, arrivals = threading.Event(), threading.Event(), [0.0]

    def serve() -> None:
        with socket.create_server((ADDRESS[SERVER], 5001)) as listener:
            ready.set()
            connection, _ = listener.accept()
            with connection as sock:
                if capped:
                    exec(tried("python")[0], {"sock": sock, "socket": socket})  # noqa: S102 (our own page)
                while not over.is_set():
                    sock.sendall(bytes(1000))
                    time.sleep(0.01)

    def receive() -> None:
        with socket.create_connection((ADDRESS[SERVER], 5001), timeout=20) as sock:
            while not over.is_set() and sock.recv(65536):
                arrivals.append(time.monotonic())

    server = Thread(SERVER, serve)
    assert ready.wait(10), server.error
    phone = Thread(PHONE, receive)
    time.sleep(1)
    assert len(arrivals) > 1, (server.error, phone.error)
    run("ip", "-n", HUB, "link", "set", "port1", "nomaster")
    time.sleep(GAP_S)
    run("ip", "-n", HUB, "link", "set", "port1", "master", "radio")
    back = time.monotonic()
    while arrivals[-1] < back and time.monotonic() < back + 15:
        time.sleep(0.005)
    first = next((at for at in arrivals if at >= back), float("inf"))
    over.set()
    phone.join(20)
    server.join(20)
    return first - back


@real
@pytest.mark.usefixtures("network")
def test_the_cap_of_one_socket_ends_the_stall_within_its_second() -> None:
    if not Path("/proc/sys/net/ipv4/tcp_rto_max_ms").exists():
        pytest.skip("this kernel has no tcp_rto_max_ms (Linux 6.15 has it)")
    without, capped = stall(capped=False), stall(capped=True)
    assert capped < 1.3 < 1.8 < without


@real
@pytest.mark.usefixtures("network")
def test_the_cap_of_a_machine_ends_the_stall_within_its_second() -> None:
    if not Path("/proc/sys/net/ipv4/tcp_rto_max_ms").exists():
        pytest.skip("this kernel has no tcp_rto_max_ms (Linux 6.15 has it)")
    inside(SERVER, *shlex.split(tried("sysctl")[0]))
    assert stall(capped=False) < 1.3


@real
@pytest.mark.usefixtures("network")
def test_bbr_can_be_the_default_of_a_namespace() -> None:
    available = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    if "bbr" not in available:
        pytest.skip("this kernel has no BBR")
    command = tried("sysctl")[1]
    inside(SERVER, *shlex.split(command))
    assert inside(SERVER, "sysctl", "-n", "net.ipv4.tcp_congestion_control").strip() == "bbr"


@real
@pytest.mark.usefixtures("network")
def test_bbr_can_be_that_of_one_destination() -> None:
    (command,) = tried("route")
    if "bbr" not in Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split():
        pytest.skip("this kernel has no BBR")
    run("ip", "-n", SERVER, "addr", "add", "198.51.100.2/24", "dev", "eth0")
    inside(SERVER, *shlex.split(command))
    assert "congctl bbr" in inside(SERVER, "ip", "route", "show", "192.0.2.0/24")


@real
@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_the_line_of_c_caps_the_timer(tmp_path: Path) -> None:
    if not Path("/proc/sys/net/ipv4/tcp_rto_max_ms").exists():
        pytest.skip("this kernel has no tcp_rto_max_ms (Linux 6.15 has it)")
    (line,) = re.findall(r"In C: `(int ms = .*?;)`", PAGE)
    cap, call = line.split("; ", 1)
    (tmp_path / "cap.c").write_text(
        "#include <netinet/in.h>\n#include <sys/socket.h>\n"
        f"int main(void) {{ int fd = socket(AF_INET, SOCK_STREAM, 0); {cap}; int failed = {call} int got = 0;"
        " socklen_t size = sizeof got; getsockopt(fd, IPPROTO_TCP, 44, &got, &size); return failed || got != ms; }\n"
    )
    run("cc", "-Werror", "-Wall", "-o", str(tmp_path / "cap"), str(tmp_path / "cap.c"))
    run(str(tmp_path / "cap"))


@real
def test_this_kernel_takes_the_options_of_sockets() -> None:
    available = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    for block in tried("python"):
        if (", 44," in block and not Path("/proc/sys/net/ipv4/tcp_rto_max_ms").exists()) or (
            "bbr" in block and "bbr" not in available
        ):
            continue
        with socket.socket() as sock:
            names = {"sock": sock, "socket": socket}
            exec(block, names)  # noqa: S102 (our own page)
            if names["sock"] is not sock:
                names["sock"].close()  # type: ignore[attr-defined]


def gap(opened: str) -> float:
    """How long nothing arrives once the phone's first radio is gone for good, seconds; `opened` makes the sockets."""
    ready, over, arrivals = threading.Event(), threading.Event(), [0.0]

    def made() -> socket.socket:
        names: dict[str, object] = {"socket": socket}
        exec(opened, names)  # noqa: S102 (our own page)
        assert isinstance(names["sock"], socket.socket)
        return names["sock"]

    def serve() -> None:
        with made() as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((ADDRESS[SERVER], 5002))
            listener.listen()
            ready.set()
            connection, _ = listener.accept()
            with connection as sock:
                sock.settimeout(1)
                while not over.is_set():
                    with suppress(TimeoutError):
                        sock.sendall(bytes(1000))
                    time.sleep(0.01)

    def receive() -> None:
        with made() as sock:
            sock.settimeout(20)
            sock.connect((ADDRESS[SERVER], 5002))
            while not over.is_set() and sock.recv(65536):
                arrivals.append(time.monotonic())

    server = Thread(SERVER, serve)
    assert ready.wait(10), server.error
    phone = Thread(PHONE, receive)
    time.sleep(2)
    assert len(arrivals) > 1, (server.error, phone.error)
    run("ip", "-n", HUB, "link", "set", "port1", "nomaster")
    time.sleep(0.2)  # what was on its way has arrived
    cut = time.monotonic()
    while arrivals[-1] < cut and time.monotonic() < cut + GONE_S:
        time.sleep(0.005)
    found = arrivals[-1] - cut if arrivals[-1] >= cut else float("inf")
    over.set()
    run("ip", "-n", HUB, "link", "set", "port1", "master", "radio")
    phone.join(30)
    server.join(30)
    return found


@real
@pytest.mark.usefixtures("network")
def test_mptcp_goes_on_over_the_other_radio() -> None:
    if not Path("/proc/sys/net/mptcp").exists():
        pytest.skip("this kernel has no MPTCP")
    run("ip", "-n", HUB, "link", "add", "port2", "type", "veth", "peer", "name", "eth1", "netns", PHONE)
    run("ip", "-n", HUB, "link", "set", "port2", "master", "radio", "up")
    # Each radio answers for its own address alone.
    inside(PHONE, "sysctl", "-qw", "net.ipv4.conf.all.arp_ignore=1", "net.ipv4.conf.all.rp_filter=0")
    run("ip", "-n", PHONE, "addr", "add", "192.0.2.7/24", "dev", "eth1", "noprefixroute")
    run("ip", "-n", PHONE, "link", "set", "eth1", "up")
    run("ip", "-n", PHONE, "route", "add", "192.0.2.0/24", "dev", "eth1", "metric", "100")
    (command,) = tried("ip")
    inside(PHONE, *shlex.split(command))
    assert "192.0.2.7" in inside(PHONE, "ip", "mptcp", "endpoint", "show")
    mptcp = next(block for block in tried("python") if "262" in block)
    measured = gap(mptcp)
    plain = gap(edited(mptcp, ", 262", ""))
    print(f"MPTCP: {measured:.2f} s, TCP: {plain} s")  # noqa: T201 (the page quotes it)
    assert measured < GONE_S
    assert plain == float("inf")
