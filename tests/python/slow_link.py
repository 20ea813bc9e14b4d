"""A link between two interfaces of this namespace: its rate, its delay and its queue.

Lines of standard input cut and mend it: `down`, `up`.

    python slow_link.py ONE OTHER RATE_BPS DELAY_S QUEUE

Run as a program of its own: a sender in the same process would delay its packets.
"""

from __future__ import annotations

import ctypes
import errno
import select
import socket
import sys
import time
from collections import deque

PACKET_IGNORE_OUTGOING = 23
SOL_PACKET = 263
ETH_P_ALL = 3
PR_SET_TIMERSLACK = 29
AGAIN_S = 0.0005


class Direction:
    """What comes by one interface leaves by the other one: in order, not faster than the link, and later."""

    def __init__(self, source: socket.socket, sink: socket.socket, rate_bps: float, delay_s: float, queue: int) -> None:
        self.source, self.sink = source, sink
        self.rate_bps, self.delay_s, self.queue = rate_bps, delay_s, queue
        self.free_at = 0.0
        self.under_way: deque[tuple[float, float, bytes]] = deque()
        """When the link has sent it, when it arrives, and the frame."""

    def take(self, now: float, *, is_up: bool) -> None:
        while True:
            try:
                frame = self.source.recv(65536)
            except BlockingIOError:
                return
            waiting = sum(1 for sent_at, *_ in self.under_way if sent_at > now)
            if is_up and waiting < self.queue:
                self.free_at = max(self.free_at, now) + len(frame) * 8 / self.rate_bps
                self.under_way.append((self.free_at, self.free_at + self.delay_s, frame))

    def give(self, now: float) -> None:
        while self.under_way and self.under_way[0][1] <= now:
            sent_at, _, frame = self.under_way[0]
            try:
                self.sink.send(frame)
            except OSError as error:
                if error.errno != errno.ENOBUFS:
                    raise
                # A busy machine's own queue is full: the link loses nothing by that.
                self.under_way[0] = sent_at, now + AGAIN_S, frame
                return
            self.under_way.popleft()


def opened(interface: str) -> socket.socket:
    opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    opened.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
    opened.bind((interface, 0))
    opened.setblocking(False)
    return opened


def main(one: str, other: str, rate_bps: str, delay_s: str, queue: str) -> None:
    ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, 1)
    here, there = opened(one), opened(other)
    shape = float(rate_bps), float(delay_s), int(queue)
    directions = Direction(here, there, *shape), Direction(there, here, *shape)
    is_up = True
    print("ready", flush=True)  # noqa: T201
    while True:
        now = time.monotonic()
        due = [direction.under_way[0][1] for direction in directions if direction.under_way]
        timeout = max(0.0, min(due) - now) if due else None
        readable, _, _ = select.select([here, there, sys.stdin], [], [], timeout)
        now = time.monotonic()
        if sys.stdin in readable:
            said = sys.stdin.readline().strip()
            if not said:
                return
            is_up = said == "up"
            if not is_up:
                for direction in directions:
                    direction.under_way.clear()
            print(said, flush=True)  # noqa: T201
        for direction in directions:
            direction.take(now, is_up=is_up)
            direction.give(time.monotonic())


if __name__ == "__main__":
    main(*sys.argv[1:])
