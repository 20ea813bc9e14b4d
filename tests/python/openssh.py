"""OpenSSH in a namespace, with keys of its own."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from handfast.lab import processes
from handfast.lab.names import Namespace
from sdtp_scene import PATIENCE_S, inside

PORT = 2222


def await_listener(space: Namespace, port: int) -> None:
    """Until somebody listens there, as the kernel's tables say: nothing is sent."""
    deadline = time.monotonic() + PATIENCE_S
    while f":{port:04X} " not in inside(space, _sockets):
        assert time.monotonic() < deadline, f"nobody listens at port {port}"
        time.sleep(0.02)


def _sockets() -> str:
    return "".join(table.read_text() for table in Path("/proc/thread-self/net").glob("tcp*") if table.is_file())


@contextmanager
def sshd(space: Namespace, address: str, folder: Path) -> Iterator[list[str]]:
    """How a client calls it, but for the host."""
    for key in ("host", "user"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / key)]
        subprocess.run(command, check=True)
    config = folder / "sshd_config"
    config.write_text(f"""
ListenAddress {address}:{PORT}
HostKey {folder / "host"}
AuthorizedKeysFile {folder / "user.pub"}
StrictModes no
UsePAM no
PidFile none
PermitRootLogin prohibit-password
""")
    known = folder / "known_hosts"
    known.write_text(f"[{address}]:{PORT} {(folder / 'host.pub').read_text()}")
    with ExitStack() as stack:
        separation = Path("/run/sshd")
        if not separation.exists():
            separation.mkdir(mode=0o755)
            stack.callback(separation.rmdir)
        server = [shutil.which("sshd") or "/usr/sbin/sshd", "-D", "-e", "-f", str(config)]
        stack.enter_context(processes.running(space.name, server, log=folder / "sshd.log"))
        await_listener(space, PORT)
        options = [f"UserKnownHostsFile={known}", "BatchMode=yes", "IdentitiesOnly=yes", f"IdentityFile={folder}/user"]
        yield ["ssh", "-F", "none", "-p", str(PORT), *(f"-o{option}" for option in options)]
