"""What runs at the ends: pages that can be had in parts, and a download over a plain or a multipath socket.

`pages ADDRESS PORT FILE` serves by HTTP, `give ADDRESS PORT FILE` sends the file's size and the file to each
connection, and `take ADDRESS PORT` writes what it gets to standard output. The connection stays open until all has
come: Linux lets no subflow join a multipath connection that its application has closed, though much of it may still
wait to be sent.
"""

from __future__ import annotations

import os
import shutil
import socket
import sys
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

MPTCP = 262
"""`IPPROTO_MPTCP` of linux/in.h; a peer without it gets TCP."""
SIZE = 8
"""Octets of a size."""


def pages(address: str, port: int, file: Path) -> None:
    """RFC 9110 §14: a client that comes again asks for the rest."""

    class Pages(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            size, wanted = file.stat().st_size, self.headers.get("Range", "")
            start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted else 0
            self.send_response(206 if wanted else 200)
            self.send_header("Accept-Ranges", "bytes")
            if wanted:
                self.send_header("Content-Range", f"bytes {start}-{size - 1}/{size}")
            self.send_header("Content-Length", str(size - start))
            self.end_headers()
            # A client that is gone is no news.
            with file.open("rb") as octets, suppress(OSError):
                octets.seek(start)
                shutil.copyfileobj(octets, self.wfile, 1 << 18)

        def log_message(self, *_: object) -> None:
            """Not on the terminal."""

    ThreadingHTTPServer((address, port), Pages).serve_forever()


def give(address: str, port: int, file: Path) -> None:
    """Sends the file to whoever comes."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, MPTCP) as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind((address, port))
        server.listen()
        while True:
            peer, _ = server.accept()
            threading.Thread(target=_send, args=(peer, file), daemon=True).start()


def _send(peer: socket.socket, file: Path) -> None:
    with peer, file.open("rb") as octets, suppress(OSError):
        peer.sendall(file.stat().st_size.to_bytes(SIZE))
        while part := octets.read(1 << 18):
            peer.sendall(part)
        peer.recv(1)


def take(address: str, port: int) -> None:
    """Writes what comes to standard output."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, MPTCP) as client:
        client.connect((address, port))
        left = int.from_bytes(client.recv(SIZE, socket.MSG_WAITALL))
        while left and (part := client.recv(1 << 18)):
            os.write(1, part)
            left -= len(part)


if __name__ == "__main__":
    what, address, port, *rest = sys.argv[1:]
    if what == "take":
        take(address, int(port))
    else:
        {"pages": pages, "give": give}[what](address, int(port), Path(rest[0]))
