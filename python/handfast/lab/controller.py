"""An SDN controller and its switch for a run: `handfastd controller` and Open vSwitch, in the switch's namespace."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from handfast.errors import MissingRequirementError
from handfast.lab import names, openvswitch, processes
from handfast.lab.names import Namespace

if TYPE_CHECKING:
    from handfast.lab.plan import Controlled

LISTEN = "127.0.0.1:6653"
"""Of the namespace, where nobody else is. The port is OpenFlow's own (IANA)."""
BRIDGE = "s1"
"""The switch's name for Open vSwitch."""
READY_S = 10.0
"""How long switch and controller may take to find one another."""
BINARY = "HANDFASTD"
"""The environment variable that says which daemon to take."""
_LOOK_EVERY_S = 0.02


def daemon() -> Path:
    """The daemon; raises `MissingRequirementError` where it is not built."""
    if named := os.environ.get(BINARY):
        return Path(named)
    if installed := shutil.which("handfastd"):
        return Path(installed)
    built = [Path(__file__).parents[3] / "target" / profile / "handfastd" for profile in ("release", "debug")]
    if found := max(filter(Path.exists, built), key=lambda path: path.stat().st_mtime, default=None):
        return found
    raise MissingRequirementError("`handfastd` is not built: make build (or name one in $HANDFASTD)")


def missing() -> str | None:
    """What the controller lacks here; None: nothing."""
    try:
        daemon()
    except MissingRequirementError as error:
        return str(error)
    return None


@dataclass(frozen=True, slots=True)
class Controller:
    """A controller and its switch."""

    association_socket: Path
    """The socket at which stations are reported."""
    log: Path
    process: subprocess.Popen[bytes]
    switch: openvswitch.OpenVSwitch
    command: tuple[str, ...]
    """How it was started."""


@contextmanager
def running(controlled: Controlled, space: Namespace, *, record: Path | None = None) -> Iterator[Controller]:
    """Switch and controller, there as long as the block lasts. `record`: a file for all that it hears and asks for."""
    folder, binary = names.scratch_of(space), daemon()
    folder.mkdir(parents=True, mode=0o700)
    config, log, association_socket = folder / "handfastd.toml", folder / "handfastd.log", folder / "association.sock"
    sockets = f'listen = "{LISTEN}"\nassociation_socket = "{association_socket}"\n'
    config.write_text(sockets + controlled.configuration, encoding="utf-8")
    command = [str(binary), "controller", "--config", str(config)]
    if record is not None:
        command += ["--record", str(record)]
    try:
        with (
            openvswitch.running(space.name, folder) as switch,
            processes.running(space.name, command, log=log) as process,
        ):
            bridge = openvswitch.Bridge(BRIDGE, controlled.datapath_id, controlled.ports, f"tcp:{LISTEN}")
            switch.add(bridge)
            _await_switch(association_socket, process, log)
            yield Controller(association_socket, log, process, switch, tuple(command))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def status(association_socket: Path) -> dict[str, Any]:
    """What the controller says of itself: counters, switches, what it holds."""
    return say(association_socket, {"event": "status"})


def say(association_socket: Path, line: Mapping[str, object]) -> dict[str, Any]:
    """Say something at the controller's association socket; its answer."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(READY_S)
        client.connect(str(association_socket))
        client.sendall(json.dumps(line).encode() + b"\n")
        with client.makefile("r", encoding="utf-8") as lines:
            answer: dict[str, Any] = json.loads(lines.readline())
            return answer


def _await_switch(association_socket: Path, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + READY_S
    while True:
        if process.poll() is not None:
            raise MissingRequirementError(f"handfastd ended: {processes.last_words(log)}")
        try:
            if status(association_socket)["switches"]:
                return
        except (FileNotFoundError, ConnectionRefusedError):
            pass
        if time.monotonic() > deadline:
            raise MissingRequirementError(f"the switch did not find its controller: {processes.last_words(log)}")
        time.sleep(_LOOK_EVERY_S)
