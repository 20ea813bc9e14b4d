"""curl and OpenSSH by sessions while the client's address changes, every byte compared; and without sessions."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median

import pytest
from pyroute2 import IPRoute

from conftest import mine, real
from handfast.lab import controller, processes
from handfast.lab.names import Namespace
from openssh import sshd
from sdtp_scene import inside
from session_scene import DATA, PAGES, PART, PEER, SERVER, Scene, needs, scene

pytestmark = [
    real,
    pytest.mark.skipif(controller.missing() is not None, reason=f"no daemon to run: {controller.missing()}"),
]

WHO = 7070
MARKED = (
    "sysctl -qw net.ipv4.tcp_fwmark_accept=1",
    "ip rule add fwmark 0x6866 lookup 104",
    "ip route add local default dev lo table 104",
)
"""What docs/reference/session.md says of `client_address`."""
PREAMBLE = 8
"""Octets before the first message of a path. Alone in the SYN they would save nothing."""
AWAY = (0.0, 1.0, 0.3, 2.0)
"""Seconds without an address, in turn."""
PAGE = f"http://{SERVER}:{PAGES}/"


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Scene]:
    with scene(tmp_path) as scene_of_test:
        yield scene_of_test
    assert mine() == []


def _same(file: Path) -> bool:
    return hashlib.sha256(file.read_bytes()).digest() == hashlib.sha256(DATA).digest()


@needs("curl")
@needs("ssh")
@needs("sshd")
def test_a_download_and_an_ssh_session_go_on_while_the_address_changes(made: Scene, tmp_path: Path) -> None:
    got, sent, back = (tmp_path / name for name in ("got", "sent", "back"))
    sent.write_bytes(DATA[:10_000_000])
    made.daemon.start()
    made.daemon.until(lambda status: status["ok"])
    curl = ["curl", "-sS", "-o", str(got), PAGE]
    with sshd(made.server, SERVER, tmp_path) as ssh:
        proxy = " ".join(made.session("connect", "--peer", PEER, "%h", "%p"))
        call = " ".join([*ssh, f"-o'ProxyCommand {proxy}'", f"root@{SERVER}"])
        # The shell's prompt, a letter at a time, while the file is under way.
        with made.start(["sh", "-c", f"{call} cat"]) as letters, made.roaming(every=1.2, away=AWAY) as times:
            download = made.start(made.session("run", "--peer", PEER, "--", *curl))
            copy = made.start(["sh", "-c", f"{call} cat < {sent} > {back}"])
            assert letters.stdin is not None
            assert letters.stdout is not None
            echoed = 0
            while download.poll() is None or copy.poll() is None:
                letters.stdin.write(f"{echoed}\n")
                letters.stdin.flush()
                assert letters.stdout.readline() == f"{echoed}\n"
                echoed += 1
                time.sleep(0.05)
            said = [process.communicate()[1] for process in (download, copy)]
            letters.stdin.close()
        assert (download.returncode, copy.returncode, letters.returncode) == (0, 0, 0), said
    assert len(times) >= 3, "it has roamed"
    assert _same(got)
    assert back.read_bytes() == sent.read_bytes()
    assert echoed > 20
    # A program that ends while its machine has no address cannot say so: its session is over once signs of life were
    # asked for in vain, and after `expiry`.
    made.daemon.until(lambda status: status["sessions"] == 0, patience=30)


def _at(server: Namespace, command: str) -> str:
    return subprocess.run(
        processes.inside(server.name, ["sh", "-c", command]), capture_output=True, text=True, check=True
    ).stdout


def _early(server: Namespace) -> int:
    """Connections whose SYN carried data that the kernel took before the handshake was over."""
    names, values = (line.split() for line in _at(server, "grep ^TcpExt: /proc/net/netstat").splitlines())
    return int(values[names.index("TCPFastOpenPassive")])


@contextmanager
def _syns(server: Namespace) -> Iterator[list[int]]:
    """How many octets each SYN carries that comes to the server's end of sessions, over IPv4."""
    seen: list[int] = []
    protocol = socket.htons(0x0800)
    with inside(server, lambda: socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, protocol)) as sniffer:
        sniffer.settimeout(0.1)
        stop = threading.Event()

        def look() -> None:
            while not stop.is_set():
                with suppress(TimeoutError):
                    packet = sniffer.recv(1 << 16)
                    tcp = packet[4 * (packet[0] & 15) : int.from_bytes(packet[2:4])]
                    is_syn = packet[9] == socket.IPPROTO_TCP and tcp[13] & 0x12 == 0x02
                    if is_syn and int.from_bytes(tcp[2:4]) == int(PEER.rpartition(":")[2]):
                        seen.append(len(tcp) - 4 * (tcp[12] >> 4))

        thread = threading.Thread(target=look)
        thread.start()
        try:
            yield seen
        finally:
            stop.set()
            thread.join()


@needs("curl")
@pytest.mark.parametrize("setting", [1, 3])
def test_a_session_asks_for_its_next_path_in_the_syn(made: Scene, tmp_path: Path, setting: int) -> None:
    got = tmp_path / "got"
    _at(made.server, f"echo {setting} > /proc/sys/net/ipv4/tcp_fastopen")
    made.daemon.start()
    made.daemon.until(lambda status: status["ok"])
    with _syns(made.server) as syns, made.roaming(every=1.2, away=(0.0, 0.3)) as times:
        code, _, said = made.run(made.session("run", "--peer", PEER, "--", "curl", "-sS", "-o", str(got), PAGE))
    assert code == 0, said
    assert _same(got)
    assert len(times) >= 3, "it has roamed"
    # What looks may miss some.
    assert len(syns) >= 2
    assert min(syns) > PREAMBLE, "the whole of the first message goes with the SYN"
    assert (_early(made.server) > len(times)) == (setting == 3), "a path each time, and the first one"


@needs("curl")
def test_without_sessions_the_same_download_fails(made: Scene, tmp_path: Path) -> None:
    got = tmp_path / "got"
    with made.roaming(every=1.2, away=AWAY):
        code, _, said = made.run(["curl", "-sS", "--speed-time", "3", "--speed-limit", "1", "-o", str(got), PAGE])
    assert code == 28, said
    assert not _same(got)


@needs("curl")
def test_where_there_is_no_peer_a_program_goes_straight_at_once(made: Scene, tmp_path: Path) -> None:
    got = tmp_path / "got"
    curl = ["curl", "-sS", "-o", str(got), "-w", "%{time_connect}", f"{PAGE}part"]
    code, took, said = made.run(made.session("run", "--", *curl))
    assert code == 0, said
    assert got.read_bytes() == DATA[:PART]
    assert float(took) < 1
    code, _, said = made.run(made.session("run", "--peer", PEER, "--", *curl))
    assert code != 0, "it has to have the peer that was named"


def _full_listener(address: str, port: int) -> list[socket.socket]:
    """One that takes nobody any more: Linux drops further SYNs, and answers nothing."""
    listener = socket.create_server((address, port), backlog=0)
    clients = [socket.socket() for _ in range(3)]
    for client in clients:
        client.setblocking(False)
        client.connect_ex((address, port))
    return [listener, *clients]


def test_a_probe_that_nothing_answers_costs_50_ms_once(made: Scene) -> None:
    host, port = PEER.split(":")
    held = inside(made.server, lambda: _full_listener(host, int(port)))
    curl = f"curl -sS -o /dev/null -w '%{{time_connect}} ' {PAGE}part"
    firsts, seconds = [], []
    for _ in range(5):
        code, took, said = made.run(made.session("run", "--all", "--", "sh", "-c", f"{curl}; {curl}"))
        assert code == 0, said
        first, second = map(float, took.split())
        firsts.append(first)
        seconds.append(second)
    assert 0.045 < median(firsts) < 0.4, "the kernel's own timeout of a SYN is 1 s"
    assert median(seconds) < 0.045, "it is remembered"
    for each in held:
        each.close()


def _ends_of_connects() -> list[int]:
    """The ends beside commands `session connect`: processes with the arguments of their parents."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        # Processes end at any time.
        with suppress(OSError):
            own = (place / "cmdline").read_bytes()
            parent = re.search(r"^PPid:\s*(\d+)", (place / "status").read_text(), re.MULTILINE)
            if parent and b"session\0connect\0" in own and Path(f"/proc/{parent[1]}/cmdline").read_bytes() == own:
                found.append(int(place.name))
    return found


@needs("ssh")
@needs("sshd")
def test_an_ssh_session_goes_on_while_the_end_of_its_proxy_command_is_killed(made: Scene, tmp_path: Path) -> None:
    sent, back = tmp_path / "sent", tmp_path / "back"
    sent.write_bytes(DATA[:40_000_000])
    made.daemon.start()
    made.daemon.until(lambda status: status["ok"])
    with sshd(made.server, SERVER, tmp_path) as ssh:
        proxy = " ".join(made.session("connect", "--peer", PEER, "%h", "%p"))
        call = " ".join([*ssh, f"-o'ProxyCommand {proxy}'", f"root@{SERVER}"])
        kills = 0
        with made.start(["sh", "-c", f"{call} cat < {sent} > {back}"]) as copy:
            while copy.poll() is None:
                time.sleep(0.15 + kills % 7 / 100)
                for end in _ends_of_connects():
                    os.kill(end, signal.SIGKILL)
                    kills += 1
            _, errors = copy.communicate()
    assert copy.returncode == 0, errors
    assert hashlib.sha256(back.read_bytes()).digest() == hashlib.sha256(sent.read_bytes()).digest()
    assert kills >= 5


@needs("curl")
@needs("unshare")
def test_a_peer_s_name_is_looked_up_again(made: Scene, tmp_path: Path) -> None:
    """The peer is at another address behind the same name: sessions that are open dial it there."""
    got, hosts = tmp_path / "got", tmp_path / "hosts"
    hosts.write_text(f"{SERVER} peer.example\n")
    made.daemon.config.write_text(made.daemon.config.read_text().replace(f'"{PEER}"', '"0.0.0.0:7443"'))
    made.daemon.start()
    made.daemon.until(lambda status: status["ok"])
    inside(made.server, lambda: _route(lambda link, index: link.addr("add", index=index, address=MOVED, prefixlen=16)))
    curl = ["curl", "-sS", "-o", str(got), PAGE]
    run = made.session("run", "--verbose", "--peer", "peer.example", "--", *curl)
    own_hosts = ["unshare", "--mount", "sh", "-c", f'mount --bind {hosts} /etc/hosts && exec "$@"', "sh"]
    with made.start([*own_hosts, *run]) as download:
        time.sleep(1.5)
        hosts.write_text(f"{MOVED} peer.example\n")
        gone = {"dst": f"{SERVER}/32", "type": "unreachable"}
        inside(made.client, lambda: _route(lambda link, _: link.route("add", **gone)))
        _, errors = download.communicate(timeout=60)
    assert download.returncode == 0, errors
    assert _same(got)
    assert "the peer has other addresses" in errors


MOVED = "10.2.9.1"


def _route(change: Callable[[IPRoute, int], object]) -> None:
    with IPRoute() as link:
        change(link, link.link_lookup(ifname="wire")[0])


@pytest.mark.skipif(shutil.which("ip") is None, reason="`ip` is not installed")
def test_a_target_sees_the_clients_own_address(tmp_path: Path) -> None:
    """By TPROXY's other half: the server's answers find the way back by the connection's mark."""
    with scene(tmp_path, pages=False, ports=[WHO], target="client_address = true") as made:
        for command in MARKED:
            _at(made.server, command)
        made.daemon.start()
        made.daemon.until(lambda status: status["ok"])
        with who(made.server) as seen:
            with made.start(made.session("connect", "--peer", PEER, SERVER, str(WHO))) as program:
                assert program.stdin is not None
                assert program.stdout is not None
                assert program.stdout.readline() == "10.2.0.2\n"
                made.leave()
                made.come()
                # By another path; the target's connection stays as it was.
                program.stdin.write("still\n")
                program.stdin.flush()
                assert program.stdout.readline() == "still\n"
                program.stdin.close()
            with made.start(made.session("connect", "--peer", PEER, SERVER, str(WHO))) as program:
                assert program.stdin is not None
                assert program.stdout is not None
                assert program.stdout.readline() == "10.2.0.3\n"
                program.stdin.close()
        assert seen == ["10.2.0.2", "10.2.0.3"]


@contextmanager
def who(server: Namespace) -> Iterator[list[str]]:
    """Tells each client which address it has, then returns what it says."""
    listener = inside(server, lambda: socket.create_server((SERVER, WHO)))
    seen: list[str] = []

    def serve() -> None:
        for _ in range(2):
            peer, (address, _port) = listener.accept()
            seen.append(address)
            with peer:
                peer.sendall(f"{address}\n".encode())
                while said := peer.recv(4096):
                    peer.sendall(said)

    with listener, ThreadPoolExecutor(1) as pool:
        done = pool.submit(serve)
        yield seen
        done.result(10)
