"""A client whose address changes and a server, in namespaces of their own, with `handfastd session` between them."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from pyroute2 import IPRoute, netns

from handfast.lab import controller, names, processes
from handfast.lab.names import Namespace
from openssh import PORT
from sdtp_scene import Daemon, inside

SERVER = "10.2.0.1"
PEER = f"{SERVER}:7443"
PAGES = 8080
RATE = "160mbit"
"""Of the server's wire: so a transfer takes as long as several changes of address."""
PART = 100_000
DATA = random.Random(31).randbytes(100_000_000)
CAME_FROM: set[str] = set()
"""Addresses from which pages were asked for: the server's own one where a session leads to them."""

SERVE = """
[session]
listen = "{peer}"
key_file = "{folder}/server.key"
socket = "{socket}"
clients = ["{client}"]
expiry = "5s"
targets = [{{address = "{server}", ports = {ports}{more}}}]
"""


def needs(program: str) -> pytest.MarkDecorator:
    """Skips a test where a program is missing."""
    found = shutil.which(program) or shutil.which(program, path="/usr/sbin")
    return pytest.mark.skipif(found is None, reason=f"`{program}` is not installed")


def lacks_cgroup() -> str | None:
    """What `session run --cgroup` needs and this machine has not."""
    if lacks := controller.missing():
        return f"no daemon to run: {lacks}"
    run = [str(controller.daemon()), "session", "run", "--cgroup", "--", "true"]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    return done.stderr.strip() if done.returncode else None


@dataclass(slots=True)
class Scene:
    """What takes part."""

    client: Namespace
    server: Namespace
    daemon: Daemon
    home: Path
    number: int = 2
    """The client's address."""

    @property
    def environment(self) -> dict[str, str]:
        """Of the client's programs: nobody else's keys, and no proxy of this machine."""
        path = os.environ.get("PATH", "/usr/bin:/bin")
        return {"HOME": str(self.home), "XDG_RUNTIME_DIR": str(self.home), "PATH": f"{path}:/usr/sbin"}

    def session(self, *arguments: str) -> list[str]:
        """A command of `handfastd session`."""
        return [str(controller.daemon()), "session", *arguments]

    def start(self, command: Sequence[str]) -> subprocess.Popen[str]:
        """Start a program at the client."""
        return subprocess.Popen(
            processes.inside(self.client.name, command),
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, command: Sequence[str]) -> tuple[int, str, str]:
        """Run one to its end: its code, and what it has said."""
        with self.start(command) as process:
            said, errors = process.communicate(timeout=60)
        return process.returncode, said, errors

    def ends(self, process: subprocess.Popen[str]) -> list[int]:
        """The ends beside a command of `handfastd session` that runs: its children that are as it is."""
        pid = process.pid
        with suppress(FileNotFoundError, ProcessLookupError):
            own = Path(f"/proc/{pid}/cmdline").read_bytes()
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            lines = {int(child): Path(f"/proc/{child}/cmdline").read_bytes() for child in children}
            # Before it has begun a program is as who starts it.
            has_program = any(line not in {own, b""} for line in lines.values())
            return [child for child, line in lines.items() if has_program and line == own]
        return []

    def leave(self) -> None:
        """The client has no address any more."""
        inside(self.client, lambda: _address("del", self.number))

    def come(self) -> None:
        """The client has another one."""
        self.number += 1
        inside(self.client, lambda: _address("add", self.number))

    @contextmanager
    def roaming(self, *, every: float, away: Sequence[float]) -> Iterator[list[float]]:
        """Another address every so often, after such times without any; how long the client was away each time."""
        stop = threading.Event()
        times: list[float] = []

        def roam() -> None:
            while not stop.wait(every):
                gap = away[len(times) % len(away)]
                self.leave()
                threading.Event().wait(gap)
                self.come()
                times.append(gap)

        thread = threading.Thread(target=roam)
        thread.start()
        try:
            yield times
        finally:
            stop.set()
            thread.join()


def _address(what: str, number: int) -> None:
    with IPRoute() as link:
        index = link.link_lookup(ifname="wire")[0]
        link.addr(what, index=index, address=f"10.2.{number >> 8}.{number & 255}", prefixlen=16)


def _lay(there: Namespace, name: str = "wire") -> None:
    """A wire from here; its other end has this name there."""
    with (names.DIRECTORY / there.name).open("rb") as space, IPRoute() as link:
        link.link("add", ifname="wire", kind="veth", peer={"ifname": name, "net_ns_fd": space.fileno()})


def _up(number: int, rate: str | None) -> None:
    with IPRoute() as link:
        for name in ("lo", "wire"):
            index = link.link_lookup(ifname=name)[0]
            link.link("set", index=index, state="up")
        if rate is not None:
            link.tc("add", "tbf", index=index, handle=0x10000, rate=rate, burst=256 << 10, latency="50ms")
    _address("add", number)


class _Pages(BaseHTTPRequestHandler):
    """Gives `DATA`, as often as the path says; of /part the beginning."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        CAME_FROM.add(self.client_address[0])
        body = DATA[:PART] if self.path == "/part" else DATA
        times = int(self.path.removeprefix("/times/")) if self.path.startswith("/times/") else 1
        self.send_response(200)
        self.send_header("Content-Length", str(times * len(body)))
        self.end_headers()
        # Some clients end first.
        with suppress(ConnectionError):
            for _ in range(times):
                self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Not on the terminal."""


@contextmanager
def _pages(server: Namespace) -> Iterator[None]:
    given = inside(server, lambda: ThreadingHTTPServer((SERVER, PAGES), _Pages))
    thread = threading.Thread(target=given.serve_forever)
    thread.start()
    try:
        yield
    finally:
        given.shutdown()
        given.server_close()
        thread.join()


def _raise(interface: str) -> None:
    with IPRoute() as link:
        link.link("set", index=link.link_lookup(ifname=interface)[0], state="up")


@contextmanager
def _far(client: Namespace, server: Namespace, wire: Sequence[str], log: Path) -> Iterator[None]:
    """The lab's packet loop between them, in a namespace of its own: a program, a rate, a delay and a queue."""
    hub = names.mine(930_000, 2, "hub")
    netns.create(hub.name)
    try:
        for end, space in (("client", client), ("server", server)):
            inside(space, partial(_lay, hub, end))
            inside(hub, partial(_raise, end))
        program, *kind = wire
        with processes.running(hub.name, [program, *(space.name for space in (hub, client, server)), *kind], log=log):
            yield
    finally:
        netns.remove(hub.name)


@contextmanager
def scene(
    folder: Path,
    rate: str | None = RATE,
    *,
    pages: bool = True,
    ports: Sequence[int] = (),
    wire: Sequence[str] = (),
    target: str = "",
) -> Iterator[Scene]:
    """A client and a server with pages, and an end of sessions before it, which leads to these ports too.

    `wire`: the program between them, and its rate, delay and queue, instead of `rate`. `target`: more keys of it.
    """
    client, server = (names.mine(930_000, number, name) for number, name in enumerate(("client", "server")))
    with ExitStack() as stack:
        for space in (client, server):
            netns.create(space.name)
            stack.callback(netns.remove, space.name)
        if wire:
            stack.enter_context(_far(client, server, wire, folder / "wire.log"))
        else:
            inside(client, lambda: _lay(server))
        inside(client, lambda: _up(2, None))
        inside(server, lambda: _up(1, None if wire else rate))
        home = folder / "home"
        home.mkdir()
        daemon = Daemon(server, "serve", folder, stack, "session serve")
        made = Scene(client, server, daemon, home)
        _, key, errors = made.run(made.session("key"))
        assert key, errors
        listed = [PAGES, PORT, *ports]
        daemon.config.write_text(
            SERVE.format(
                peer=PEER,
                folder=folder,
                socket=daemon.socket,
                client=key.strip(),
                server=SERVER,
                ports=listed,
                more=f", {target}" if target else "",
            )
        )
        if pages:
            stack.enter_context(_pages(server))
        yield made
