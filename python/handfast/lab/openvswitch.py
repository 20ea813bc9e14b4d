"""Open vSwitch in a namespace, with its userspace datapath: a real switch for a controller to command.

Started by hand, as no init system is needed for that: a database of its own in a scratch folder, one daemon for it, one
for the switch. Both end with the block that started them.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from handfast.errors import MissingRequirementError
from handfast.lab import processes

PACKAGE = "apt-get install --no-install-recommends openvswitch-switch"
SCHEMA = Path("/usr/share/openvswitch/vswitch.ovsschema")
READY_S = 10.0
"""How long it may take to start."""
_LOOK_EVERY_S = 0.02


@dataclass(frozen=True, slots=True)
class Bridge:
    """A switch."""

    name: str
    datapath_id: int
    ports: Mapping[str, int]
    """Interfaces of the namespace, and their OpenFlow numbers."""
    controller: str | None = None
    """As ovs-vsctl(8) has it: "tcp:127.0.0.1:6653"; None: nobody commands it."""


@dataclass(frozen=True, slots=True)
class OpenVSwitch:
    """A running Open vSwitch."""

    namespace: str
    folder: Path

    def add(self, bridge: Bridge) -> None:
        """Make a switch that does what any switch does, until its controller says otherwise."""
        command = ["add-br", bridge.name, "--", "set", "bridge", bridge.name]
        # Secure: without its controller it keeps its entries until their timeouts, instead of taking over.
        command += ["datapath_type=netdev", "protocols=OpenFlow13", "fail_mode=secure"]
        command += [f"other-config:datapath-id={bridge.datapath_id:016x}", "other-config:disable-in-band=true"]
        for interface, number in bridge.ports.items():
            command += ["--", "add-port", bridge.name, interface]
            command += ["--", "set", "interface", interface, f"ofport_request={number}"]
        if bridge.controller is not None:
            # A controller that comes back is found within a second.
            command += ["--", "set-controller", bridge.name, bridge.controller]
            command += ["--", "set", "controller", bridge.name, "max_backoff=1000", "inactivity_probe=5000"]
        self.configure(*command)
        # After the controller: a bridge that gets its first one forgets its entries.
        self.flow(bridge.name, "add-flow", "priority=0,actions=NORMAL")

    def configure(self, *command: str) -> None:
        """Run ovs-vsctl(8)."""
        self._call("ovs-vsctl", f"--db={self._database}", "--timeout=10", *command)

    def bridges(self) -> list[str]:
        """The names of its switches."""
        return self._call("ovs-vsctl", f"--db={self._database}", "--timeout=10", "list-br").split()

    def flow(self, bridge: str, command: str, *arguments: str) -> str:
        """Run ovs-ofctl(8) on a bridge: "dump-flows", "add-flow"."""
        return self._call("ovs-ofctl", "-O", "OpenFlow13", command, f"unix:{self.folder / bridge}.mgmt", *arguments)

    def forget_cache(self) -> None:
        """Drop the flows that its datapath has cached; each is looked up in the tables again."""
        (control,) = self.folder.glob("ovs-vswitchd.*.ctl")
        self._call("ovs-appctl", "-t", str(control), "revalidator/purge")

    @property
    def _database(self) -> str:
        return f"unix:{self.folder / 'db.sock'}"

    def _call(self, program: str, *arguments: str) -> str:
        command = processes.inside(self.namespace, [processes.find(program, PACKAGE), *arguments])
        done = subprocess.run(  # noqa: S603 (the command is ours)
            command, check=False, capture_output=True, text=True, env=_environment(self.folder), timeout=30
        )
        if done.returncode != 0:
            raise MissingRequirementError(f"Open vSwitch: {program}: {done.stderr.strip() or done.returncode}")
        return done.stdout


def missing() -> str | None:
    """What Open vSwitch lacks here; None: nothing."""
    try:
        for program in ("ovsdb-tool", "ovsdb-server", "ovs-vswitchd", "ovs-vsctl", "ovs-ofctl"):
            processes.find(program, PACKAGE)
    except MissingRequirementError as error:
        return str(error)
    return None if SCHEMA.exists() else f"{SCHEMA} is missing: {PACKAGE}"


@contextmanager
def running(namespace: str, folder: Path) -> Iterator[OpenVSwitch]:
    """Open vSwitch in a namespace, with its files in `folder`, there as long as the block lasts."""
    if lacks := missing():
        raise MissingRequirementError(lacks)
    environment, database = _environment(folder), folder / "conf.db"
    subprocess.run(  # noqa: S603 (the command is ours)
        [processes.find("ovsdb-tool", PACKAGE), "create", str(database), str(SCHEMA)], check=True, env=environment
    )
    server = ["ovsdb-server", str(database), f"--remote=punix:{folder / 'db.sock'}", "--no-chdir"]
    switch = ["ovs-vswitchd", f"unix:{folder / 'db.sock'}", "--no-chdir"]
    with ExitStack() as stack:
        for name, command, ready in (("ovsdb", server, "db.sock"), ("vswitchd", switch, "")):
            log, program = folder / f"{name}.log", processes.find(command[0], PACKAGE)
            run = processes.running(namespace, [program, *command[1:]], log=log, environment=environment)
            process = stack.enter_context(run)
            if ready:
                _await(folder / ready, process, log)
        yield OpenVSwitch(namespace, folder)


def _await(socket: Path, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + READY_S
    while not socket.exists():
        if process.poll() is not None or time.monotonic() > deadline:
            raise MissingRequirementError(f"Open vSwitch did not start: {processes.last_words(log)}")
        time.sleep(_LOOK_EVERY_S)


def _environment(folder: Path) -> dict[str, str]:
    # Absolute paths only: its daemons resolve others against wherever they stand.
    return {**os.environ, "OVS_RUNDIR": str(folder), "OVS_LOGDIR": str(folder), "OVS_DBDIR": str(folder)}
