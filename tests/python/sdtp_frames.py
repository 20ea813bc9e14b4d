"""Frames at a host's interface: the TCP segments in them, and the bytes that they carry."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

_ETH_P_ALL = 3
_SO_RCVBUFFORCE = 33
_LONGEST = 80_000
"""Longer than a segment that a kernel leaves to its card."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A TCP segment in IPv4."""

    ends: tuple[tuple[str, int], tuple[str, int]]
    identification: int
    seq: int
    acknowledged: int
    flags: int
    options: bytes
    data: bytes


def wire(interface: str) -> socket.socket:
    """All that comes and leaves there, in the namespace of the thread."""
    made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETH_P_ALL))
    made.bind((interface, _ETH_P_ALL))
    made.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, 32 << 20)
    made.setblocking(False)
    return made


def segments(at: socket.socket) -> Iterator[Seen]:
    """What has come so far."""
    with suppress(BlockingIOError):
        while True:
            if (found := segment(at.recv(_LONGEST))) is not None:
                yield found


def segment(frame: bytes) -> Seen | None:
    """What a frame says, if it is TCP in IPv4."""
    if frame[12:14] != b"\x08\x00" or frame[23] != socket.IPPROTO_TCP:
        return None

    def number(place: int, size: int) -> int:
        return int.from_bytes(frame[place : place + size], "big")

    at = 14 + (frame[14] & 15) * 4
    data = at + (frame[at + 12] >> 4) * 4
    addresses = (socket.inet_ntoa(frame[place : place + 4]) for place in (26, 30))
    source, destination = zip(addresses, (number(at, 2), number(at + 2, 2)), strict=True)
    return Seen(
        (source, destination),
        number(18, 2),
        number(at + 4, 4),
        number(at + 8, 4),
        frame[at + 13],
        frame[at + 20 : data],
        frame[data : 14 + number(16, 2)],
    )


def streams(seen: Iterable[Seen]) -> dict[tuple[tuple[str, int], tuple[str, int]], bytes]:
    """The bytes of each direction in order, from the SYN on, up to the first gap."""
    parts: dict[tuple[tuple[str, int], tuple[str, int]], dict[int, bytes]] = {}
    starts: dict[tuple[tuple[str, int], tuple[str, int]], int] = {}
    for one in seen:
        if one.flags & 0x02:
            starts[one.ends] = one.seq + 1
        elif one.data:
            known = parts.setdefault(one.ends, {})
            at = (one.seq - starts.get(one.ends, one.seq)) % (1 << 32)
            known[at] = max(known.get(at, b""), one.data, key=len)
    return {ends: _joined(known) for ends, known in parts.items()}


def _joined(parts: dict[int, bytes]) -> bytes:
    joined = b""
    for at in sorted(parts):
        if at > len(joined):
            break
        joined += parts[at][len(joined) - at :]
    return joined
