"""A host that no kernel has: it sends TCP options that nobody knows, each segment its own."""

from __future__ import annotations

import select
import socket
import time
from contextlib import suppress
from dataclasses import dataclass, field

from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether

from sdtp_across import RAW_MAC
from sdtp_frames import segment
from sdtp_scene import PATIENCE_S, RAW

KIND = 253
"""RFC 4727 §2.2: for experiments."""
SIZE, WINDOW = 1000, 16
AGAIN_S = 0.3
_MOD = 1 << 32


@dataclass(slots=True)
class RawHost:
    """Half a TCP: it opens a connection, sends, repeats what is not acknowledged, and closes its side."""

    wire: socket.socket
    mac: str
    """Of the host at the other end."""
    to: tuple[str, int]
    port: int = 40_000
    sent: dict[int, bytes] = field(default_factory=dict)
    """The options of each packet, by its IP identification."""
    repeated: int = 0
    _next: int = 0xFFFF_F000
    _acknowledged: int = 0xFFFF_F000
    _theirs: int = 0

    def send(self, data: bytes) -> None:
        """All of it, until it is acknowledged."""
        self._open()
        start, size = self._next, len(data) + 1
        deadline = time.monotonic() + PATIENCE_S
        while (done := (self._acknowledged - start) % _MOD) < size:
            assert time.monotonic() < deadline, f"{done} bytes of {size} are acknowledged"
            self._fill(start, done, data)
            if not self._hear(AGAIN_S) and done < size:
                self.repeated += 1
                self._part(start, done - done % SIZE, data)

    def _open(self) -> None:
        first = self._next
        self._next = (first + 1) % _MOD
        deadline = time.monotonic() + PATIENCE_S
        while self._acknowledged != self._next:
            assert time.monotonic() < deadline, "no answer to its SYN"
            self._emit("S", first, b"", mss=True)
            self._hear(1.0)
        self._emit("A", self._next, b"")

    def _fill(self, start: int, done: int, data: bytes) -> None:
        end = min(done - done % SIZE + WINDOW * SIZE, len(data) + 1)
        while (at := (self._next - start) % _MOD) < end:
            self._part(start, at, data)
            self._next = (start + min(at + SIZE, len(data) + 1)) % _MOD

    def _part(self, start: int, at: int, data: bytes) -> None:
        """The last one has the FIN."""
        flags = "FA" if at + SIZE > len(data) else "A"
        self._emit(flags, (start + at) % _MOD, data[at : at + SIZE])

    def _emit(self, flags: str, seq: int, data: bytes, *, mss: bool = False) -> None:
        number = len(self.sent) + 1
        unknown = (KIND, b"\xf9\x89" + number.to_bytes(4, "big"))
        options = [*([("MSS", 1460)] if mss else []), unknown]
        tcp = TCP(sport=self.port, dport=self.to[1], flags=flags, seq=seq, ack=self._theirs, options=options)
        packet = Ether(src=RAW_MAC, dst=self.mac) / IP(src=RAW, dst=self.to[0], id=number, flags="DF") / tcp / data
        self.sent[number] = bytes([KIND, 8]) + unknown[1]
        self.wire.send(bytes(packet))

    def _hear(self, patience: float) -> bool:
        """Whether something new was acknowledged. Frames of others share the wire: they renew nobody's patience."""
        before, until = self._acknowledged, time.monotonic() + patience
        while (left := until - time.monotonic()) > 0.0 and select.select([self.wire], [], [], left)[0]:
            with suppress(BlockingIOError):
                while True:
                    self._take(self.wire.recv(2000))
            if self._acknowledged != before:
                return True
        return False

    def _take(self, frame: bytes) -> None:
        if (found := segment(frame)) is None or found.ends != (self.to, (RAW, self.port)):
            return
        if (found.acknowledged - self._acknowledged) % _MOD < _MOD // 2:
            self._acknowledged = found.acknowledged
        if found.flags & 0x02:
            self._theirs = (found.seq + 1) % _MOD
