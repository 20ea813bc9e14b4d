"""Network namespaces for benches, and services for those of SDTP."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from pyroute2 import netns

from measure import Failed

PATIENCE_S = 10.0
T = TypeVar("T")

NODE = """
[sdtp]
address = "10.99.0.{number}"
datapath_id = "{number:016x}"
inside = "{inside}"
outside = "{outside}"
hosts = {hosts}
controller = "127.0.0.1:6654"
socket = "{socket}"
mode = "{mode}"
{more}
"""


def node_file(
    folder: Path, number: int, ends: tuple[str, str], hosts: list[str], mode: str, more: str
) -> tuple[Path, Path]:
    """The file of a node between two interfaces, the one inside first; and the path of its socket."""
    file, path = folder / f"node{number}.toml", folder / f"node{number}.sock"
    inside, outside = ends
    keys = {"number": number, "inside": inside, "outside": outside, "socket": path, "mode": mode, "more": more}
    file.write_text(NODE.format(hosts=json.dumps(hosts), **keys), encoding="utf-8")
    return file, path


def ip_tool(*arguments: str) -> None:
    """Run the tool for links."""
    done = subprocess.run(["ip", *arguments], check=False, capture_output=True, text=True)
    if done.returncode:
        raise Failed(f"ip {' '.join(arguments)}: {done.stderr.strip()}")


@contextmanager
def namespace(name: str) -> Iterator[str]:
    """A namespace, until the end."""
    ip_tool("netns", "add", name)
    try:
        yield name
    finally:
        ip_tool("netns", "delete", name)


def inside_of(space: str, work: Callable[[], T]) -> T:
    """Do something in a namespace, in a thread of its own."""

    def there() -> T:
        netns.setns(f"/run/netns/{space}")
        return work()

    with ThreadPoolExecutor(1) as apart:
        return apart.submit(there).result()


@contextmanager
def running(
    space: str, program: Path, service: str, config: Path, path: Path, cpu: str | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """A service that answers at a socket, until the end; on one processor, if that is said."""
    pinned = ["taskset", "-c", cpu] if cpu is not None else []
    command = ["ip", "netns", "exec", space, *pinned, str(program), service, "--config", str(config)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        until(lambda: bool(ask(path)))
        yield process
    finally:
        process.terminate()
        process.wait()


def ask(path: Path) -> dict[str, Any]:
    """How a service does; nothing where none answers."""
    with suppress(OSError), socket.socket(socket.AF_UNIX) as client:
        client.settimeout(PATIENCE_S)
        client.connect(str(path))
        client.sendall(b'{"event": "status"}\n')
        with client.makefile("r", encoding="utf-8") as answers:
            answer: dict[str, Any] = json.loads(answers.readline())
            return answer
    return {}


def until(done: Callable[[], bool]) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + PATIENCE_S
    while not done():
        if time.monotonic() > deadline:
            raise Failed("the nodes do not start")
        time.sleep(0.02)
