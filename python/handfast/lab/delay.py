"""A way between programs that takes a while: what comes to a port leaves for another one so much later, both ways.

`python -m handfast.lab.delay SECONDS PORT LISTEN...`: what connects to one of the addresses LISTEN (at the same port)
is joined with 127.0.0.1:PORT. It stands for the network between a controller and its nodes.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress

LARGEST = 65_536
MOST_UNDERWAY = 1024
"""Pieces on the way; beyond, their sender waits."""


async def carry(source: asyncio.StreamReader, sink: asyncio.StreamWriter, delay_s: float) -> None:
    """Hand on what comes, each piece `delay_s` after it came; then the end."""
    underway: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(MOST_UNDERWAY)
    loop = asyncio.get_running_loop()

    async def arrive() -> None:
        while True:
            due, piece = await underway.get()
            await asyncio.sleep(due - loop.time())
            if not piece:
                sink.close()
                return
            sink.write(piece)
            await sink.drain()

    arriving = asyncio.ensure_future(arrive())
    piece = b" "
    while piece:
        with suppress(ConnectionError):
            piece = await source.read(LARGEST)
        await underway.put((loop.time() + delay_s, piece))
    with suppress(ConnectionError):
        await arriving


async def serve(delay_s: float, port: int, listen: list[str]) -> None:
    """Join whoever connects with the port, until this is cancelled."""

    async def join(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
        except ConnectionError:
            writer.close()
            return
        await asyncio.gather(carry(reader, far_writer, delay_s), carry(far_reader, writer, delay_s))

    servers = [await asyncio.start_server(join, address, port) for address in listen]
    await asyncio.gather(*(server.serve_forever() for server in servers))


def main(arguments: list[str]) -> None:
    """Run from the command line."""
    delay_s, port, *listen = arguments
    asyncio.run(serve(float(delay_s), int(port), listen))


if __name__ == "__main__":
    main(sys.argv[1:])
