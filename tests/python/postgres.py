"""A PostgreSQL server in a namespace, with a cluster of its own."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from handfast.lab import processes
from handfast.lab.names import Namespace
from openssh import await_listener

PORT = 5432
USER = "someone"
"""A superuser of it, without a password."""


@contextmanager
def postgres(space: Namespace, address: str, folder: Path) -> Iterator[list[str]]:
    """The command of a client; the server is not root's, and its log is in this folder."""
    folder.chmod(0o755)
    data = Path(tempfile.mkdtemp(prefix="handfast-postgres-"))
    shutil.chown(data, "postgres", "postgres")
    try:
        as_its_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--"]
        command = [*as_its_user, "initdb", "-D", str(data), "-A", "trust", "--no-sync", "-U", USER]
        subprocess.run(command, check=True, capture_output=True, cwd="/")
        with (data / "pg_hba.conf").open("a") as rules:
            rules.write(f"host all all {address}/32 trust\n")
        options = ["-c", f"listen_addresses={address}", "-c", f"unix_socket_directories={data}"]
        server = [*as_its_user, "postgres", "-D", str(data), *options]
        with processes.running(space.name, server, log=folder / "postgres.log"):
            await_listener(space, PORT)
            yield ["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-h", address, "-U", USER, "-d", "postgres"]
    finally:
        shutil.rmtree(data)
