"""Programs that know of no proxy and speak UDP: `python led_call.py WHAT HOST PORT [SECONDS]`.

Each prints what it has seen, as JSON.
"""

from __future__ import annotations

import ctypes
import errno
import json
import socket
import struct
import sys
import time
from pathlib import Path

PATIENCE_S = 20.0


def _exchange(by: socket.socket, payload: bytes, to: tuple[str, int] | None) -> tuple[str, int]:
    """Send again and again, as who uses UDP does, until the answer is there: from where."""
    by.settimeout(0.2)
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        try:
            if to is None:
                by.send(payload)
            else:
                by.sendto(payload, to)
            answer, sender = by.recvfrom(65_535)
        except (TimeoutError, ConnectionRefusedError):
            continue
        if answer == payload:
            return str(sender[0]), int(sender[1])
    raise TimeoutError


def names(host: str, port: int) -> object:
    """Which addresses a program sees, with sockets of both families, connected and not."""
    seen = []
    for family, at in ((socket.AF_INET, host), (socket.AF_INET6, host if ":" in host else f"::ffff:{host}")):
        if family == socket.AF_INET and ":" in host:
            continue
        with socket.socket(family, socket.SOCK_DGRAM) as by:
            seen.append(_exchange(by, b"not connected", (at, port)))
        with socket.socket(family, socket.SOCK_DGRAM) as by:
            by.connect((at, port))
            seen.append(_exchange(by, b"connected", None))
            seen.append(by.getpeername()[:2])
            # With an address all the same.
            seen.append(_exchange(by, b"again", (at, port)))
    return seen


def refused(host: str, port: int) -> object:
    """How long a program sends before it gets an error, without and with connect(2), and which."""
    found = []
    for is_connected in (False, True):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as by:
            begin = time.monotonic()
            # What was refused once is known: another target for another try.
            to = (host, port + is_connected)
            try:
                if is_connected:
                    by.connect(to)
                while time.monotonic() < begin + PATIENCE_S:
                    _ = by.send(b"?") if is_connected else by.sendto(b"?", to)
                    time.sleep(0.01)
                found.append(("none", PATIENCE_S))
            except OSError as error:
                found.append((type(error).__name__, time.monotonic() - begin))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as by:
        try:
            by.connect((host, port))
            found.append(("none", 0.0))
        except OSError as error:
            found.append((type(error).__name__, 0.0))
    return found


def calling(host: str, port: int, span: float) -> object:
    """One connected socket all along: how many datagrams came back, how often the kernel said that nobody is there."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as by:
        by.connect((host, port))
        by.settimeout(0.001)
        begin, sent, came, wrong = time.monotonic(), 0, set[int](), list[str]()
        while (now := time.monotonic()) < begin + span + 1.0:
            try:
                if now >= begin + sent * 0.02 and now < begin + span:
                    sent += 1
                    by.send(struct.pack("!Q", sent - 1))
                came.update(struct.unpack("!Q", by.recv(100)))
            except (TimeoutError, BlockingIOError):
                continue
            except OSError as error:
                wrong.append(type(error).__name__)
        return {"sent": sent, "came": len(came), "last": max(came, default=-1), "wrong": wrong}


def many(host: str, port: int) -> object:
    """How many targets a program may have at once, the error of one more, and how long until it may have others."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as kept:
        kept.connect((host, port))
        sockets, wrong = [], ""
        try:
            for n in range(1, 300):
                sockets.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
                sockets[-1].connect((host, 20_000 + n))
        except OSError as error:
            wrong = type(error).__name__
        for each in sockets:
            each.close()
        begin = time.monotonic()
        while True:
            try:
                for n in range(1, 100):
                    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
                        other.connect((host, 30_000 + n))
                break
            except OSError:
                assert time.monotonic() < begin + 50
                time.sleep(1)
        free = time.monotonic() - begin
        # It was connected all along, and sends for the first time.
        return {"most": len(sockets), "wrong": wrong, "free": free, "kept": _exchange(kept, b"kept", None)}


def straight_then(host: str, port: int) -> object:
    """A socket that is connected to a name server after it was led elsewhere."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as by:
        by.connect((host, port))
        try:
            by.connect((host, 53))
            at_once = by.getsockname()[0]
        except OSError as error:
            at_once = errno.errorcode[error.errno or 0]
        # connect(2): it dissolves the association.
        none = struct.pack("H14x", socket.AF_UNSPEC)
        assert ctypes.CDLL(None).connect(by.fileno(), none, len(none)) == 0
        by.connect((host, 53))
        return [at_once, by.getsockname()[0]]


def shot(host: str, port: int) -> object:
    """Two datagrams, and the program ends at once."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as by:
        by.connect((host, port))
        return [by.send(b"first"), by.send(b"last")]


def once(host: str, port: int) -> object:
    """One datagram, and its answer if there is one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as by:
        by.settimeout(PATIENCE_S)
        by.sendto(b"once", (host, port))
        return [by.recv(100).decode(), by.getsockname()[0]]


def _ports() -> list[int]:
    """Those of sockets of UDP at 127.0.0.1."""
    lines = [line.split() for line in Path("/proc/net/udp").read_text().splitlines()[1:]]
    return [int(line[1][9:], 16) for line in lines if line[1].startswith("0100007F")]


def intruder(host: str, port: int) -> object:
    """A program has an alias, and another user sends to all ports of this machine."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as by:
        _exchange(by, b"own", (host, port))
        ports = _ports()
        sys.stdout.write(f"{json.dumps(ports)}\n")
        sys.stdout.flush()
        sys.stdin.readline()
        _exchange(by, b"at last", (host, port))
    return len(ports)


def main() -> None:
    """What is asked for."""
    what, host, port, *span = sys.argv[1:]
    sys.stdout.write(json.dumps(globals()[what](host, int(port), *map(float, span))) + "\n")


if __name__ == "__main__":
    main()
