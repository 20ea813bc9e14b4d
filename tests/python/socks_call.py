"""A program that calls a server by UDP, by SOCKS5's UDP ASSOCIATE (RFC 1928 section 7).

`python socks_call.py HOST PORT SECONDS [intruder]` sends 50 datagrams a second to an echo, and prints what came of it.
With `straight` as SECONDS' prefix there is no relay: `straight:5`.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from urllib.parse import urlsplit

EVERY_S = 0.02
"""Between two datagrams: a call's."""
LENGTH = 200
LINGER_S = 1.0
"""Answers have so long after the last datagram."""


class Relay:
    """A relay of UDP, by the proxy in the environment."""

    def __init__(self) -> None:
        proxy = urlsplit(os.environ["ALL_PROXY"])
        assert proxy.hostname is not None
        self.control = socket.create_connection((proxy.hostname, proxy.port or 0))
        user, password = (word.encode() for word in (proxy.username or "", proxy.password or ""))
        sign = bytes([1, len(user)]) + user + bytes([len(password)]) + password
        self.control.sendall(b"\x05\x01\x02" + sign + b"\x05\x03\x00\x01" + bytes(6))
        answer = self.control.makefile("rb").read(14)
        assert answer[:6] == b"\x05\x02\x01\x00\x05\x00", answer
        (port,) = struct.unpack("!H", answer[12:])
        self.at = ("127.0.0.1", port)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    @staticmethod
    def header(host: str, port: int) -> bytes:
        """Of a datagram to a host by its name or address: a name goes as it is."""
        name = host.encode()
        return b"\x00\x00\x00\x03" + bytes([len(name)]) + name + struct.pack("!H", port)

    def send(self, host: str, port: int, payload: bytes) -> None:
        """One to a host."""
        self.socket.sendto(self.header(host, port) + payload, self.at)

    def receive(self) -> bytes:
        """What the next one that has come carries."""
        datagram, sender = self.socket.recvfrom(65_535)
        assert sender == self.at
        assert datagram[:3] == b"\x00\x00\x00"
        skip = {1: 8, 4: 20}.get(datagram[3]) or 5 + datagram[4]
        return datagram[skip + 2 :]


class Straight:
    """No relay."""

    def __init__(self) -> None:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    def send(self, host: str, port: int, payload: bytes) -> None:
        """One to a host, where there is a way."""
        try:
            self.socket.sendto(payload, (host, port))
        except OSError:
            return

    def receive(self) -> bytes:
        """The next one that has come."""
        return self.socket.recv(65_535)


def call(by: Relay | Straight, host: str, port: int, span: float) -> dict[str, object]:
    """What came of a call."""
    begin = time.monotonic()
    sent, came, late = 0, dict[int, float](), 0
    twice = 0
    by.socket.settimeout(0.001)
    while (now := time.monotonic()) < begin + span + LINGER_S:
        if now >= begin + sent * EVERY_S and now < begin + span:
            by.send(host, port, struct.pack("!Q", sent) + bytes([sent % 251]) * (LENGTH - 8))
            sent += 1
        try:
            payload = by.receive()
        except (TimeoutError, ConnectionError, BlockingIOError):
            continue
        (number,) = struct.unpack("!Q", payload[:8])
        assert payload[8:] == bytes([number % 251]) * (LENGTH - 8)
        twice += number in came
        late += bool(came) and number < max(came)
        came[number] = time.monotonic()
    times = sorted(came.values())
    gaps = sorted((after - before for before, after in pairwise(times)), reverse=True)
    last = max(came, default=-1)
    return {"sent": sent, "came": len(came), "twice": twice, "late": late, "gaps_s": gaps[:10], "last": last}


def as_another_user(act: Callable[[], None]) -> None:
    """Does something in a process of another user."""
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setuid(65_534)
        act()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def main() -> None:
    """A call."""
    host, port, span = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    by = Straight() if span.startswith("straight:") else Relay()
    if isinstance(by, Relay) and sys.argv[4:] == ["intruder"]:
        datagram = by.header(host, port) + b"intruder"
        relay = by.at

        def intrude() -> None:
            stranger = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            stranger.sendto(datagram, relay)

        as_another_user(intrude)
        time.sleep(0.2)
    sys.stdout.write(json.dumps(call(by, host, port, float(span.removeprefix("straight:")))) + "\n")


if __name__ == "__main__":
    main()
