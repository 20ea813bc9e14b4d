"""A program that asks a name server by UDP, by a relay: `python dns_question.py SERVER NAME` prints the address."""

from __future__ import annotations

import socket
import struct
import sys

from socks_call import Relay

NUMBER = 0x6866


def question(name: str) -> bytes:
    """RFC 1035 section 4.1: for an A record, recursion desired."""
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    return struct.pack("!6H", NUMBER, 0x0100, 1, 0, 0, 0) + labels + b"\x00\x00\x01\x00\x01"


def main() -> None:
    """Asks again each second, as resolvers do."""
    server, name = sys.argv[1:]
    relay, asked = Relay(), question(name)
    relay.socket.settimeout(1)
    for _ in range(5):
        relay.send(server, 53, asked)
        try:
            answer = relay.receive()
        except TimeoutError:
            continue
        number, flags, _, count = struct.unpack("!4H", answer[:8])
        assert (number, flags & 0x8000, count) == (NUMBER, 0x8000, 1)
        sys.stdout.write(socket.inet_ntoa(answer[-4:]) + "\n")
        return
    sys.exit("no answer")


if __name__ == "__main__":
    main()
