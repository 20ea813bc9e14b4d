"""A switch and nothing else: Open vSwitch with four ports whose other ends a test holds, and daemons that it starts.

Port 1 leads to a correspondent, 2 and 3 to access points, 4 to another host. Frames are written and read as they
are, so what a test counts is what the switch did.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyroute2 import IPRoute, netns

from handfast.lab import controller, names, openvswitch, processes

BRIDGE = "br0"
DATAPATH = "00000000000000aa"
SECOND_BRIDGE, SECOND_DATAPATH = "br1", "00000000000000bb"
CORE = "core"
LISTEN = "127.0.0.1:6653"
PORTS = (1, 2, 3, 4)
OURS = "cookie=0x6866"
STATION = bytes.fromhex("02000a000005")
CORRESPONDENT = bytes.fromhex("02000a000001")
OTHER = bytes.fromhex("02000a000004")
PATIENCE_S = 10.0
BURST = 20
"""So many frames a test sends at a time."""
UDP, TCP = 17, 6
_ETH_P_ALL = 3
_PACKET_AUXDATA, _SOL_PACKET = 8, 263
_TAG_IS_THERE = 1 << 4
"""`TP_STATUS_VLAN_VALID` of packet(7): the kernel takes a frame's tag off and says it beside."""

CONFIG = """
listen = "{listen}"
association_socket = "{socket}"
mode = "act"
release = {{rate = "54Mbit/s"}}
[access_points.ap1]
datapath_id = "{datapath}"
port = 2
{ap1}
[access_points.ap2]
datapath_id = "{second}"
port = 3
{ap2}
{more}
"""


@dataclass(frozen=True, slots=True)
class Frame:
    """What came out of a port."""

    vlan: int | None
    """Of its tag; None: it had none."""
    destination: bytes
    source: bytes
    rest: bytes
    """From the Ethernet type on, without the tag."""


def udp(to: bytes, number: int, *, source: bytes = CORRESPONDENT, vlan: int | None = None, port: int = 5060) -> bytes:
    """A datagram of 100 bytes with a number in it."""
    payload = b"number %06d" % number
    datagram = (4000).to_bytes(2, "big") + port.to_bytes(2, "big") + (8 + 58).to_bytes(2, "big") + bytes(2)
    return _frame(to, source, vlan, UDP, datagram + payload.ljust(58))


def tcp(to: bytes, seq: int, *, source: bytes = CORRESPONDENT, vlan: int | None = None, payload: bytes = b"") -> bytes:
    """A segment with data from a sequence number on; its checksum is left out."""
    ports = (443).to_bytes(2, "big") + (40000).to_bytes(2, "big")
    header = ports + seq.to_bytes(4, "big") + bytes(4) + bytes([0x50, 0x18, 0x10, 0, 0, 0, 0, 0])
    return _frame(to, source, vlan, TCP, header + (payload or b"%08d" % seq).ljust(100))


def _frame(to: bytes, source: bytes, vlan: int | None, protocol: int, body: bytes) -> bytes:
    header = bytearray.fromhex("45000000000000004000000000000000" + "0a000005")
    header[2:4] = (20 + len(body)).to_bytes(2, "big")
    header[9], header[12:16] = protocol, bytes([10, 0, 0, source[-1]])
    words = sum(int.from_bytes(header[at : at + 2], "big") for at in range(0, 20, 2))
    while words >> 16:
        words = (words & 0xFFFF) + (words >> 16)
    header[10:12] = (0xFFFF - words).to_bytes(2, "big")
    tag = b"" if vlan is None else b"\x81\x00" + vlan.to_bytes(2, "big")
    return to + source + tag + b"\x08\x00" + bytes(header) + body


@dataclass(slots=True)
class Daemon:
    """A handfastd that a test has started."""

    process: subprocess.Popen[bytes]
    config: Path
    socket: Path
    log: Path

    def lines(self) -> list[dict[str, Any]]:
        """Its log."""
        text = self.log.read_text(encoding="utf-8") if self.log.exists() else ""
        return [json.loads(line) for line in text.splitlines() if line.startswith("{")]

    def said(self, what: str) -> list[dict[str, Any]]:
        """The lines of its log with this message."""
        return [line for line in self.lines() if line["message"] == what]

    def wait(self, what: str, count: int = 1) -> list[dict[str, Any]]:
        """Until its log has as many such lines; the lines.

        A thread of its own writes the log, so an answer at the socket may come before the line that belongs to it.
        """
        until(lambda: len(self.said(what)) >= count, lambda: f"{what}: {self.log.read_text()}")
        return self.said(what)

    def tell(self, **event: object) -> dict[str, Any]:
        """Say a line at the association socket; its answer."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            client.settimeout(PATIENCE_S)
            client.connect(str(self.socket))
            client.sendall(json.dumps(event).encode() + b"\n")
            with client.makefile("r", encoding="utf-8") as answers:
                answer: dict[str, Any] = json.loads(answers.readline())
                return answer

    @contextmanager
    def talking(self) -> Iterator[Callable[..., None]]:
        """One connection for many events; all are answered at its end."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            client.settimeout(PATIENCE_S)
            client.connect(str(self.socket))
            with client.makefile("rb") as answers:

                def say(**event: object) -> None:
                    client.sendall(json.dumps(event).encode() + b"\n")
                    assert answers.readline()

                yield say

    def associated(self, ap: str, epoch: int, station: bytes = STATION, **more: object) -> dict[str, Any]:
        """An access point has a station."""
        return self.tell(event="associated", station=station.hex(":"), ap=ap, epoch=epoch, **more)

    def disassociated(self, ap: str, epoch: int, station: bytes = STATION, **more: object) -> dict[str, Any]:
        """An access point has a station no more."""
        return self.tell(event="disassociated", station=station.hex(":"), ap=ap, epoch=epoch, **more)

    def status(self) -> dict[str, Any]:
        """What it says of itself."""
        return self.tell(event="status")

    def ready(self) -> None:
        """Until it commands the switch."""

        def commands() -> bool:
            assert self.process.poll() is None, processes.last_words(self.log)
            with suppress(OSError):
                return bool(self.status()["switches"])
            return False

        until(commands, lambda: f"no switch: {processes.last_words(self.log)}")

    def stop(self, how: int = signal.SIGTERM) -> int:
        """End it; its exit code."""
        self.process.send_signal(how)
        return self.process.wait(timeout=PATIENCE_S)


@dataclass(frozen=True, slots=True)
class How:
    """How a daemon is started otherwise: its standard error, and what its process does first."""

    stderr: int
    before: Callable[[], None] | None = None


@dataclass(slots=True)
class Scene:
    """The switch, its ports' other ends, and a folder."""

    space: names.Namespace
    folder: Path
    switch: openvswitch.OpenVSwitch
    ends: Mapping[int, socket.socket]
    stack: ExitStack = field(default_factory=ExitStack)

    def configure(self, *command: str) -> None:
        """Run ovs-vsctl(8)."""
        self.switch.configure(*command)

    def port(self, number: int, *settings: str) -> None:
        """Set columns of a port: "tag=10"."""
        self.configure("set", "port", f"p{number}", *settings)

    def entries(self, bridge: str = BRIDGE) -> list[str]:
        """All flow entries."""
        return self.switch.flow(bridge, "dump-flows").splitlines()[1:]

    def second(self, *, core: bool) -> None:
        """Move ap2 to a switch of its own behind the first one; with `core` both, and port 1, are behind a third."""
        self.configure("del-port", BRIDGE, "p3")
        _add_bridge(self.switch, SECOND_BRIDGE, SECOND_DATAPATH, {3: "p3"})
        self.switch.flow(SECOND_BRIDGE, "add-flow", "priority=0,actions=NORMAL")
        if not core:
            return self._patch(BRIDGE, SECOND_BRIDGE)
        self.configure("add-br", CORE, "--", "set", "bridge", CORE, "datapath_type=netdev")
        self.configure("del-port", BRIDGE, "p1", "--", "add-port", CORE, "p1")
        self._patch(BRIDGE, CORE)
        return self._patch(SECOND_BRIDGE, CORE)

    def _patch(self, one: str, other: str) -> None:
        for here, there in ((one, other), (other, one)):
            name, peer = f"{here}-{there}", f"{there}-{here}"
            self.configure(
                *("add-port", here, name, "--", "set", "interface", name, "type=patch", f"options:peer={peer}"),
                "ofport_request=9",
            )

    def ours(self) -> list[str]:
        """Those that daemons made."""
        return [entry for entry in self.entries() if OURS in entry]

    def diverts(self) -> None:
        """Until a daemon's entries are there: its answer to an event does not wait for them."""
        until(self.ours, self.entries)

    def enter(self, entry: str) -> None:
        """Add a flow entry, as another controller would."""
        self.switch.flow(BRIDGE, "add-flow", entry)

    def send(self, port: int, *frames: bytes) -> None:
        """Frames come in at a port."""
        for frame in frames:
            self.ends[port].send(frame)

    def came(self, port: int, *, within_s: float = 0.5, to: bytes = STATION) -> list[Frame]:
        """The frames for a station that leave by a port until none has for a while."""
        found, end = [], self.ends[port]
        deadline = time.monotonic() + within_s
        while (left := deadline - time.monotonic()) > 0:
            end.settimeout(left)
            try:
                data, beside, _, where = end.recvmsg(65536, 128)
            except TimeoutError:
                break
            if where[2] != socket.PACKET_OUTGOING and data[:6] == to:
                found.append(Frame(_tag(beside), data[:6], data[6:12], data[12:]))
        return found

    def forget(self) -> None:
        """Drop what came so far, at all ports."""
        for port in PORTS:
            self.came(port, within_s=0.05)

    def daemon(
        self,
        name: str = "handfastd",
        *,
        listen: str = LISTEN,
        ap1: str = "",
        ap2: str = "",
        more: str = "",
        second: str = DATAPATH,
        how: How | None = None,
    ) -> Daemon:
        """Start a daemon; it goes with the scene.

        `ap1`, `ap2`: more keys of the access points; `more`: tables; `second`: the switch of ap2.
        """
        config, log, path = (self.folder / f"{name}.{kind}" for kind in ("toml", "log", "sock"))
        keys = {"listen": listen, "socket": path, "datapath": DATAPATH, "second": second}
        config.write_text(_ordered(CONFIG.format(**keys, ap1=ap1, ap2=ap2, more=more)))
        return self.start(config, log, path, how)

    def start(self, config: Path, log: Path, path: Path, how: How | None = None) -> Daemon:
        """Start a daemon with a configuration file that is there."""
        command = [str(controller.daemon()), "controller", "--config", str(config)]
        if how is not None:
            inside = processes.inside(self.space.name, command)
            process = subprocess.Popen(inside, stderr=how.stderr, preexec_fn=how.before)
            self.stack.callback(_end, process)
        else:
            process = self.stack.enter_context(processes.running(self.space.name, command, log=log))
        return Daemon(process, config, path, log)

    @contextmanager
    def connections(self, count: int, *, patience_s: float = 5.0) -> Iterator[list[socket.socket]]:
        """Connections to the daemon, from where the switch is; as many as it takes."""

        def make() -> list[socket.socket]:
            netns.setns(str(names.DIRECTORY / self.space.name))
            host, port = LISTEN.split(":")
            made = []
            for _ in range(count):
                stream = socket.socket()
                stream.settimeout(patience_s)
                with suppress(OSError):
                    stream.connect((host, int(port)))
                made.append(stream)
            return made

        with ThreadPoolExecutor(1) as apart:
            streams = apart.submit(make).result()
        try:
            yield streams
        finally:
            for stream in streams:
                stream.close()

    def connect(self, *where: str) -> None:
        """Tell the switch who its controllers are."""
        targets = where or (f"tcp:{LISTEN}",)
        bridges = self.switch.bridges()
        for bridge in (name for name in (BRIDGE, SECOND_BRIDGE) if name in bridges):
            self.configure("set-controller", bridge, *targets, "--", "set", "controller", bridge, "max_backoff=1000")
            # A bridge that gets its first controller forgets its entries.
            self.switch.flow(bridge, "add-flow", "priority=0,actions=NORMAL")

    def learn(self, vlans: Mapping[int, int | None] | None = None) -> None:
        """The correspondent, the station at ap1 and the other host speak, so that the switch has learnt their ports."""
        for port, host in ((1, CORRESPONDENT), (2, STATION), (4, OTHER)):
            self.send(port, udp(b"\xff" * 6, 0, source=host, vlan=(vlans or {}).get(port)))
        self.forget()


def acting(scene: Scene, *, ap1: str = "", ap2: str = "", more: str = "") -> Daemon:
    """A daemon that commands the switch."""
    daemon = scene.daemon(ap1=ap1, ap2=ap2, more=more)
    scene.connect()
    daemon.ready()
    scene.learn()
    return daemon


def _ordered(text: str) -> str:
    """Keys at the top of `more` go before the first table."""
    head, *tables = text.strip().split("\n[")
    top = [line for table in tables for line in table.splitlines() if line.startswith("top.")]
    kept = ["\n".join(line for line in table.splitlines() if not line.startswith("top.")) for table in tables]
    return "\n".join([head, *(line.removeprefix("top.") for line in top)]) + "".join(f"\n[{table}" for table in kept)


def _tag(beside: list[tuple[int, int, bytes]]) -> int | None:
    for level, kind, data in beside:
        if (level, kind) == (_SOL_PACKET, _PACKET_AUXDATA):
            status, tci = int.from_bytes(data[:4], "little"), int.from_bytes(data[16:18], "little")
            return tci & 0xFFF if status & _TAG_IS_THERE else None
    return None


def until(done: Callable[[], object], complaint: Callable[[], object] = lambda: "in vain") -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not done():
        assert time.monotonic() < deadline, complaint()
        time.sleep(0.02)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


def _wire(space: names.Namespace) -> dict[int, socket.socket]:
    """Veth pairs in a namespace: `pN` for the switch, and a raw socket at each `hN`."""

    def make() -> dict[int, socket.socket]:
        netns.setns(str(names.DIRECTORY / space.name))
        quiet = Path("/proc/sys/net/ipv6/conf/default/disable_ipv6")
        if quiet.exists():
            quiet.write_text("1")
        ends = {}
        with IPRoute() as link:
            link.link("set", index=1, state="up")
            for number in PORTS:
                link.link("add", ifname=f"p{number}", kind="veth", peer={"ifname": f"h{number}"})
                for end in (f"p{number}", f"h{number}"):
                    link.link("set", index=link.link_lookup(ifname=end)[0], state="up")
        for number in PORTS:
            raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETH_P_ALL))
            raw.bind((f"h{number}", _ETH_P_ALL))
            raw.setsockopt(_SOL_PACKET, _PACKET_AUXDATA, 1)
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
            ends[number] = raw
        return ends

    with ThreadPoolExecutor(1) as apart:
        return apart.submit(make).result()


_made = iter(range(1, 1 << 30))


def _add_bridge(switch: openvswitch.OpenVSwitch, name: str, datapath: str, ports: Mapping[int, str]) -> None:
    switch.configure("add-br", name, "--", "set", "bridge", name, "datapath_type=netdev", "fail_mode=secure")
    switch.configure("set", "bridge", name, "protocols=OpenFlow13", f"other-config:datapath-id={datapath}")
    for number, port in ports.items():
        switch.configure("add-port", name, port, "--", "set", "interface", port, f"ofport_request={number}")


@contextmanager
def bridge() -> Iterator[Scene]:
    """The scene, with the switch's entry that does what any switch does; no daemon runs and it has no controller."""
    space = names.mine(900_000 + next(_made), 0, "harm")
    folder = names.scratch_of(space)
    netns.create(space.name)
    folder.mkdir(parents=True, mode=0o700)
    with ExitStack() as stack:
        stack.callback(netns.remove, space.name)
        stack.callback(_remove, folder)
        ends = _wire(space)
        for end in ends.values():
            stack.callback(end.close)
        switch = stack.enter_context(openvswitch.running(space.name, folder))
        _add_bridge(switch, BRIDGE, DATAPATH, {number: f"p{number}" for number in PORTS})
        scene = Scene(space, folder, switch, ends, stack.enter_context(ExitStack()))
        scene.enter("priority=0,actions=NORMAL")
        yield scene


def _remove(folder: Path) -> None:
    for root, folders, files in os.walk(folder, topdown=False):
        for name in files:
            (Path(root) / name).unlink()
        for name in folders:
            (Path(root) / name).rmdir()
    folder.rmdir()
