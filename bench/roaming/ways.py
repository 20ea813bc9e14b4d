"""How each way to keep a download is started, and what a change of address means for it."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from handfast.lab import processes
from handfast.lab.names import Namespace
from handfast.studies import roaming
from openssh import await_listener, sshd
from sdtp_scene import inside
from session_scene import PEER, SERVER, Scene

PAGES, RAW, QUIC, WIREGUARD, SOCKS = 8080, 8081, 8082, 51820, 1080
BY_PROXY = ("--socks5-hostname", f"127.0.0.1:{SOCKS}")
HERE = Path(__file__).parent
PROGRAM = HERE / "quic" / "target" / "release" / "roaming-quic"
INNER_CLIENT, INNER_SERVER = "10.3.0.2", "10.3.0.1"
RTO_MAX = Path("/proc/sys/net/ipv4/tcp_rto_max_ms")
RETRIES = Path("/proc/sys/net/ipv4/tcp_retries2")


@dataclass(frozen=True, slots=True)
class Place:
    """Where it runs."""

    scene: Scene
    folder: Path
    file: Path

    def ends(self, *arguments: object) -> list[str]:
        """The command of an end of ours."""
        return [sys.executable, str(HERE / "ends.py"), *map(str, arguments)]

    @contextmanager
    def serving(self, command: Sequence[str], name: str) -> Iterator[None]:
        """A program at the server."""
        with processes.running(self.scene.server.name, command, log=self.folder / f"{name}.log"):
            yield


Download = list[str]
"""A command at the client whose standard output is the file."""


@dataclass(frozen=True, slots=True)
class Way:
    """One way."""

    name: str
    prepared: Callable[[Place], AbstractContextManager[Download]]
    """A context in which the download can be started; it gives the command."""
    needs: Sequence[str] = ()
    moved: Callable[[Place, bool], None] | None = None
    """What else has to be done when the address is gone, and when there is another (true)."""
    counted: bool = False
    """What comes is not the file: its octets are counted, and not compared."""


def curl(address: str, *options: str) -> Download:
    """One that gives up where the connection does."""
    return ["curl", "-sS", "--connect-timeout", "5", *options, f"http://{address}:{PAGES}/file"]


@contextmanager
def plain(place: Place) -> Iterator[Download]:
    """TCP, and a program that waits for its kernel; the bench ends it when nothing comes any more."""
    with pages(place, SERVER):
        yield curl(SERVER)


@contextmanager
def ranges(place: Place) -> Iterator[Download]:
    """A program that asks for the rest when nothing has come for a second (RFC 9110 §14)."""
    with pages(place, SERVER):
        yield impatient(place)


def impatient(place: Place, *options: str) -> Download:
    """A curl that is started again for the rest."""
    script = """
import os, subprocess, sys
got, size = 0, int(sys.argv[1])
while got < size:
    with subprocess.Popen([*sys.argv[2:], "-C", str(got)], stdout=subprocess.PIPE) as one:
        while part := os.read(one.stdout.fileno(), 1 << 18):
            got += len(os.write(1, part) and part)
"""
    command = curl(SERVER, *options, "--speed-limit", "1", "--speed-time", "1")
    return [sys.executable, "-c", script, str(place.file.stat().st_size), *command]


@contextmanager
def socks(place: Place) -> Iterator[Download]:
    """Curl by the proxy of an ssh, which knows of no change."""
    with pages(place, SERVER), sshd(place.scene.server, SERVER, place.folder) as ssh, _proxy(place, ssh):
        yield curl(SERVER, *BY_PROXY)


@contextmanager
def autossh(place: Place) -> Iterator[Download]:
    """The same by autossh, which starts ssh again after two seconds without an answer, as curl is, for the rest."""
    with pages(place, SERVER), sshd(place.scene.server, SERVER, place.folder) as ssh:
        settings = ["AUTOSSH_GATETIME=0", "AUTOSSH_POLL=5", f"AUTOSSH_PATH={shutil.which('ssh')}"]
        again = ["env", *settings, "autossh", "-M", "0", *ssh[1:]]
        alive = ["-oServerAliveInterval=1", "-oServerAliveCountMax=2", "-oConnectTimeout=2"]
        with _proxy(place, [*again, *alive]):
            yield impatient(place, *BY_PROXY)


@contextmanager
def rsync(place: Place) -> Iterator[Download]:
    """Rsync over ssh, started again for the rest when nothing has come for two seconds."""
    with sshd(place.scene.server, SERVER, place.folder) as ssh:
        alive = ["-oServerAliveInterval=1", "-oServerAliveCountMax=2", "-oConnectTimeout=2"]
        yield copied(place, [*ssh, *alive], "--timeout=2")


def copied(place: Place, ssh: Sequence[str], *options: str) -> Download:
    """What an rsync over this ssh has got, as it comes; started again for the rest when it has ended early."""
    script = """
import os, subprocess, sys, threading, time
file, size = sys.argv[1], int(sys.argv[2])
def copied():
    return os.path.getsize(file) if os.path.exists(file) else 0
def copy():
    while copied() < size:
        subprocess.run(sys.argv[3:], stderr=subprocess.DEVNULL)
threading.Thread(target=copy, daemon=True).start()
while not copied():
    time.sleep(0.01)
got = 0
with open(file, "rb") as came:
    while got < size:
        part = came.read(1 << 18)
        got += len(part) and os.write(1, part)
        if not part:
            time.sleep(0.01)
"""
    got = place.folder / "got"
    copy = ["rsync", "--append", *options, "-e", " ".join(ssh), f"root@{SERVER}:{place.file}", str(got)]
    return [sys.executable, "-c", script, str(got), str(place.file.stat().st_size), *copy]


@contextmanager
def _proxy(place: Place, ssh: Sequence[str]) -> Iterator[None]:
    """A SOCKS proxy of ssh at the client."""
    command = [*ssh, "-N", "-D", f"127.0.0.1:{SOCKS}", f"root@{SERVER}"]
    with processes.running(place.scene.client.name, command, log=place.folder / "proxy.log"):
        await_listener(place.scene.client, SOCKS)
        yield


@contextmanager
def session(place: Place, *options: str) -> Iterator[Download]:
    """The same curl, and `handfastd session` around it."""
    with pages(place, SERVER):
        yield place.scene.session("run", "--peer", PEER, *options, "--", *curl(SERVER))


@contextmanager
def multipath(place: Place) -> Iterator[Download]:
    """Kernel MPTCP at both ends, with a path manager that knows each address at once (as mptcpd does)."""
    for space in (place.scene.client, place.scene.server):
        _ip(space, "mptcp", "limits", "set", "subflow", "8", "add_addr_accepted", "8")
        _ip(space, "mptcp", "endpoint", "flush")
    with place.serving(place.ends("give", SERVER, RAW, place.file), "give"):
        await_listener(place.scene.server, RAW)
        yield place.ends("take", SERVER, RAW)


@contextmanager
def brief_multipath(place: Place) -> Iterator[Download]:
    """The server gives up a subflow whose address is gone after some 7 s, and not after a quarter of an hour."""
    inside(place.scene.server, lambda: RETRIES.write_text("4"))
    with multipath(place) as download:
        yield download


def endpoints(place: Place, there: bool) -> None:
    """A subflow from the address that has come."""
    scene = place.scene
    if there:
        number = scene.number
        address = f"10.2.{number >> 8}.{number & 255}"
        _ip(scene.client, "mptcp", "endpoint", "add", address, "dev", "wire", "subflow")
    else:
        _ip(scene.client, "mptcp", "endpoint", "flush")


@contextmanager
def quic(place: Place) -> Iterator[Download]:
    """A client that follows its address (RFC 9000 §9); curl and its server would have to be others."""
    with quic_server(place, "serve", str(place.file)) as certificate:
        yield [str(PROGRAM), "get", f"{SERVER}:{QUIC}", str(certificate)]


@contextmanager
def socks_quic(place: Place) -> Iterator[Download]:
    """The same curl by a SOCKS proxy whose connections are streams of such a QUIC connection."""
    with pages(place, SERVER), quic_server(place, "lead") as certificate:
        command = [str(PROGRAM), "socks", f"{SERVER}:{QUIC}", str(certificate), f"127.0.0.1:{SOCKS}"]
        with processes.running(place.scene.client.name, command, log=place.folder / "socks.log"):
            await_listener(place.scene.client, SOCKS)
            yield curl(SERVER, *BY_PROXY)


@contextmanager
def quic_server(place: Place, what: str, *arguments: str) -> Iterator[Path]:
    """The bench's QUIC server; the file of its certificate."""
    certificate = place.folder / "quic.pem"
    certificate.unlink(missing_ok=True)
    with place.serving([str(PROGRAM), what, f"{SERVER}:{QUIC}", str(certificate), *arguments], "quic"):
        deadline = time.monotonic() + 10
        while not certificate.exists():
            if time.monotonic() > deadline:
                raise TimeoutError("the QUIC server does not start")
            time.sleep(0.05)
        yield certificate


@contextmanager
def wireguard(place: Place, *, capped: bool = False) -> Iterator[Download]:
    """A tunnel in user space (wireguard-go) whose client says every second that it is there."""
    keys = {name: _keys() for name in ("client", "server")}
    if capped:
        inside(place.scene.server, lambda: RTO_MAX.write_text("1000"))
    with (
        _tunnel(place, "server", keys, INNER_SERVER),
        _tunnel(place, "client", keys, INNER_CLIENT),
        pages(place, INNER_SERVER),
    ):
        yield curl(INNER_SERVER)


@contextmanager
def capped_wireguard(place: Place) -> Iterator[Download]:
    """And a server whose timer is capped at 1 s."""
    with wireguard(place, capped=True) as download:
        yield download


def told(place: Place, there: bool) -> None:
    """The server's address again: wireguard-go keeps the old one of its own as long as the interface is the same."""
    interface, key = (place.folder / "tunnel").read_text().split()
    if there:
        _run(place.scene.client, "wg", "set", interface, "peer", key, "endpoint", f"{SERVER}:{WIREGUARD}")


@contextmanager
def pages(place: Place, address: str) -> Iterator[None]:
    """The server's file by HTTP."""
    with place.serving(place.ends("pages", address, PAGES, place.file), "pages"):
        await_listener(place.scene.server, PAGES)
        yield


def _keys() -> tuple[str, str]:
    """A secret and a public one."""
    secret = subprocess.run(["wg", "genkey"], check=True, capture_output=True, text=True).stdout.strip()
    public = subprocess.run(["wg", "pubkey"], check=True, capture_output=True, text=True, input=secret)
    return secret, public.stdout.strip()


@contextmanager
def _tunnel(place: Place, end: str, keys: dict[str, tuple[str, str]], inner: str) -> Iterator[None]:
    """One end of it, and its interface."""
    space: Namespace = getattr(place.scene, end)
    other = "client" if end == "server" else "server"
    # The name is one for the whole machine: of the socket by which it is configured.
    interface = f"hf{end[0]}{place.scene.number % 1000}"
    secret = place.folder / f"{end}.wg"
    secret.write_text(keys[end][0])
    secret.chmod(0o600)
    with processes.running(space.name, ["wireguard-go", "--foreground", interface], log=place.folder / f"{end}-wg.log"):
        control = Path("/var/run/wireguard") / f"{interface}.sock"
        deadline = time.monotonic() + 10
        while not control.exists():
            if time.monotonic() > deadline:
                raise TimeoutError("wireguard-go does not start")
            time.sleep(0.05)
        peer = ["peer", keys[other][1], "allowed-ips", f"{INNER_SERVER if other == 'server' else INNER_CLIENT}/32"]
        if end == "client":
            peer += ["endpoint", f"{SERVER}:{WIREGUARD}", "persistent-keepalive", "1"]
        port = ["listen-port", str(WIREGUARD)] if end == "server" else []
        if end == "client":
            (place.folder / "tunnel").write_text(f"{interface} {keys[other][1]}")
        _run(space, "wg", "set", interface, *port, "private-key", str(secret), *peer)
        _ip(space, "addr", "add", f"{inner}/24", "dev", interface)
        _ip(space, "link", "set", interface, "up")
        yield


def _ip(space: Namespace, *arguments: str) -> None:
    _run(space, shutil.which("ip") or "/usr/sbin/ip", *arguments)


def _run(space: Namespace, *command: str) -> None:
    subprocess.run(processes.inside(space.name, command), check=True, capture_output=True)


@contextmanager
def caught(place: Place) -> Iterator[Download]:
    """Its connections caught at connect(2), without a proxy that curl knows of."""
    with session(place, "--all") as download:
        yield download


@contextmanager
def _below(place: Place, below: str) -> Iterator[Download]:
    with session(place, "--all", "--below", below) as download:
        yield download


WAYS = (
    Way(roaming.TCP, plain, ["curl"]),
    Way("TCP, asks for the rest after 1 s", ranges, ["curl"]),
    Way("SOCKS over ssh", socks, ["curl", "ssh"]),
    Way("autossh, asks for the rest", autossh, ["curl", "ssh", "autossh"]),
    Way("rsync, asks for the rest", rsync, ["rsync", "ssh"]),
    Way(roaming.MPTCP[0], multipath, ["ip"], endpoints),
    Way(roaming.MPTCP[1], brief_multipath, ["ip"], endpoints),
    Way(roaming.QUINN[0], quic),
    Way(roaming.QUINN[1], socks_quic, ["curl"]),
    Way("WireGuard (wireguard-go)", wireguard, ["curl", "wg", "wireguard-go"]),
    Way(roaming.TOLD, wireguard, ["curl", "wg", "wireguard-go"], told),
    Way(roaming.CAPPED, capped_wireguard, ["curl", "wg", "wireguard-go"], told),
    Way(roaming.SESSIONS[0], session, ["curl"]),
    Way(roaming.SESSIONS[1], caught, ["curl"]),
    *(
        Way(name, partial(_below, below=below), ["curl"])
        for name, below in zip(roaming.SESSIONS[2:], roaming.BELOW, strict=True)
    ),
)
