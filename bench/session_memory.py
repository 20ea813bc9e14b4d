"""What thousands of sessions take: the memory of both ends of `handfastd session`, as the kernel counts it.

Needs root, and a binary named on the command line: bench/session_memory.py HANDFASTD [SESSIONS] [--below WHAT]. A
program opens so many connections by its end's SOCKS proxy, says one octet on each, and hears it again; then all are
idle. Below the sessions is TCP, or `mptcp`, `udp` or `sctp`.
"""

from __future__ import annotations

import argparse
import os
import resource
import selectors
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

from handfast.studies import roaming
from measure import Failed
from session import ADDRESS, CLIENT, SERVER, Running, inside, say, spaces

SESSIONS = 10_000
PORT = 5202
PATIENCE_S = 300


def echo() -> None:
    """Each octet comes back."""
    listener = socket.create_server((ADDRESS, PORT), backlog=4096)
    ready = selectors.DefaultSelector()
    ready.register(listener, selectors.EVENT_READ)
    while True:
        for key, _ in ready.select():
            if key.fileobj is listener:
                ready.register(listener.accept()[0], selectors.EVENT_READ)
            elif isinstance(key.fileobj, socket.socket):
                octets = key.fileobj.recv(4096)
                if octets:
                    key.fileobj.sendall(octets)
                else:
                    ready.unregister(key.fileobj)
                    key.fileobj.close()


def hold(count: int) -> None:
    """Open them all and wait for a line."""
    proxy = urlsplit(os.environ["ALL_PROXY"])
    held = []
    for number in range(count):
        held.append(_opened(proxy.hostname or "", proxy.port or 0, proxy.username or "", proxy.password or ""))
        if number % 1000 == 999:
            say(f"{number + 1}")
    say("held")
    sys.stdin.readline()
    for one in held:
        one.sendall(b"y")
    for one in held:
        expect(one, b"y")
    say("all answer")


def _opened(host: str, port: int, user: str, password: str) -> socket.socket:
    """RFC 1928 with RFC 1929."""
    made = socket.create_connection((host, port))
    made.sendall(b"\x05\x01\x02")
    expect(made, b"\x05\x02")
    made.sendall(b"\x01" + bytes([len(user)]) + user.encode() + bytes([len(password)]) + password.encode())
    expect(made, b"\x01\x00")
    made.sendall(b"\x05\x01\x00\x01" + socket.inet_aton(ADDRESS) + PORT.to_bytes(2))
    expect(made, b"\x05\x00")
    made.recv(8)
    made.sendall(b"x")
    expect(made, b"x")
    return made


def expect(of: socket.socket, octets: bytes) -> None:
    """What has to come next."""
    got = of.recv(len(octets))
    if got != octets:
        raise Failed(f"{got!r} came instead of {octets!r}")


def end_of(pid: int) -> int:
    """The end of a `run`: a child of the process that keeps what it needs, or that process itself."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    lines = {int(child): Path(f"/proc/{child}/cmdline").read_bytes() for child in children}
    return next((child for child, line in lines.items() if b"\0session\0run\0" in line), pid)


def resident_mb(pid: int) -> float:
    """proc(5), `statm`."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def measured(running: Running, command: list[str], ends: dict[str, int]) -> dict[str, float]:
    """Run the program that holds them: what each end has then, MB."""
    found = {}
    with subprocess.Popen(
        command, env=running.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as client:
        watchdog = threading.Timer(PATIENCE_S, client.kill)
        watchdog.daemon = True
        watchdog.start()
        for line in client.stdout or ():
            if line.strip() == "held":
                time.sleep(1)
                found = {name: resident_mb(pid) for name, pid in {**ends, "`run`": end_of(client.pid)}.items()}
                if client.stdin:
                    client.stdin.close()
            elif line.strip() == "all answer":
                break
            else:
                sys.stderr.write(f"{line.strip()} sessions\n")
        else:
            raise Failed("the program has ended early")
        watchdog.cancel()
        # Its end goes with it, which a kill would leave until its sessions expire.
        client.terminate()
    return found


def told(most: int) -> argparse.Namespace:
    """The command line; `most` descriptors a process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("handfastd", type=Path)
    # Each end has two descriptors for a session, and some of its own.
    parser.add_argument("sessions", type=int, nargs="?", default=min(SESSIONS, (most - 100) // 2))
    parser.add_argument("--below", choices=["tcp", *roaming.BELOW], default="tcp")
    return parser.parse_args()


def main() -> int:
    """Measure and print a table."""
    if sys.argv[1:] == ["echo"]:
        echo()
    if sys.argv[1:2] == ["hold"]:
        hold(int(sys.argv[2]))
        return 0
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    options = told(most)
    handfastd, count, below = str(options.handfastd.resolve()), options.sessions, options.below
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        stack.enter_context(spaces())
        running = Running(stack, folder)
        key = running.said(handfastd, "session", "key").strip()
        config = folder / "session.toml"
        config.write_text(f"""
[session]
listen = "{ADDRESS}:7443"
key_file = "{folder}/server.key"
socket = "{folder}/socket"
clients = ["{key}"]
sessions = {count}
sessions_of_one = {count}
targets = [{{address = "{ADDRESS}", ports = [{PORT}]}}]
{"" if below == "tcp" else f'below = ["{below}"]'}
""")
        me = [sys.executable, str(Path(__file__).resolve())]
        running.start(*inside(SERVER, *me, "echo"))
        serve = running.start(*inside(SERVER, handfastd, "session", "serve", "--config", str(config)))
        time.sleep(1)
        before = resident_mb(serve.pid)
        way = ["--peer", ADDRESS, "--below", below]
        command = inside(CLIENT, handfastd, "session", "run", *way, "--", *me, "hold", str(count))
        ends = measured(running, command, {"`serve`": serve.pid})
    say(f"Over {below}:\n")
    say(f"| end | MB at first | MB with {count} | kB a session |")
    say("|---|--:|--:|--:|")
    for name, with_all in ends.items():
        say(f"| {name} | {before:.1f} | {with_all:.1f} | {(with_all - before) * 1e3 / count:.1f} |")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as failed:
        sys.exit(f"error: {failed}")
