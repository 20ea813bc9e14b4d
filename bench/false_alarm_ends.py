"""The ends of what `false_alarm.py` measures: a call, and a download over QUIC.

    false_alarm_ends.py call ADDRESS PEER PORT SECONDS speaks|silent
    false_alarm_ends.py serve ADDRESS SECONDS FOLDER
    false_alarm_ends.py fetch PEER SECONDS

`call` and `fetch` print what has arrived as a JSON list: [when, how many bytes, how long on its way], seconds of
`CLOCK_MONOTONIC`.
"""

from __future__ import annotations

import asyncio
import datetime
import json
import select
import socket
import struct
import sys
import time
from pathlib import Path

QUIC_PORT = 443
INTERVAL_S, PAYLOAD = 0.02, 160
"""G.711: 160 bytes each 20 ms."""
MORE = 40_000_000
"""Bytes of a download: more than the path carries in a run."""
_HEADER = struct.Struct("!d")
_CHUNK = 1 << 16

Arrivals = list[tuple[float, int, float | None]]


def call(address: str, peer: str, port: int, seconds: float, *, speaks: bool) -> Arrivals:
    """Listen, and speak at once."""
    arrived: Arrivals = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        line.bind((address, port))
        begin = time.monotonic()
        due = begin
        while (now := time.monotonic()) < begin + seconds:
            if now >= due:
                due += INTERVAL_S
                if speaks:
                    line.sendto(_HEADER.pack(now).ljust(PAYLOAD), (peer, port))
            if select.select([line], [], [], max(0.0, due - time.monotonic()))[0]:
                data = line.recv(2048)
                now = time.monotonic()
                arrived.append((now, len(data), now - _HEADER.unpack(data[: _HEADER.size])[0]))
    return arrived


async def serve(address: str, seconds: float, folder: Path) -> None:
    """Send to whoever opens a stream."""
    from aioquic.asyncio import serve as listen
    from aioquic.quic.configuration import QuicConfiguration

    certificate, key = _certificate(folder)
    configuration = QuicConfiguration(is_client=False, alpn_protocols=["bulk"])
    configuration.load_cert_chain(certificate, key)

    def opened(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(bytes(MORE))

    await listen(address, QUIC_PORT, configuration=configuration, stream_handler=opened)
    await asyncio.sleep(seconds)


async def fetch(peer: str, seconds: float) -> Arrivals:
    """Read from a stream for so long."""
    import ssl

    from aioquic.asyncio import connect
    from aioquic.quic.configuration import QuicConfiguration

    arrived: Arrivals = []
    configuration = QuicConfiguration(is_client=True, alpn_protocols=["bulk"], verify_mode=ssl.CERT_NONE)
    begin = time.monotonic()
    async with connect(peer, QUIC_PORT, configuration=configuration) as client:
        reader, writer = await client.create_stream()
        writer.write(b"more")
        while (left := begin + seconds - time.monotonic()) > 0:
            try:
                data = await asyncio.wait_for(reader.read(_CHUNK), left)
            except TimeoutError:
                break
            arrived.append((time.monotonic(), len(data), None))
        client.close()
    return arrived


def _certificate(folder: Path) -> tuple[Path, Path]:
    """One that nobody else needs."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "bench")])
    now = datetime.datetime.now(datetime.UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), 1, now, now + datetime.timedelta(days=1))
    certificate, private = folder / "certificate.pem", folder / "key.pem"
    certificate.write_bytes(made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    pem, pkcs8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    private.write_bytes(key.private_bytes(pem, pkcs8, serialization.NoEncryption()))
    return certificate, private


def say(arrived: Arrivals) -> None:
    """Print it."""
    sys.stdout.write(json.dumps(arrived) + "\n")


def main(what: str, *arguments: str) -> None:
    """Do what the command line says."""
    match what, arguments:
        case "call", (address, peer, port, seconds, ("speaks" | "silent") as how):
            say(call(address, peer, int(port), float(seconds), speaks=how == "speaks"))
        case "serve", (address, seconds, folder):
            asyncio.run(serve(address, float(seconds), Path(folder)))
        case "fetch", (peer, seconds):
            say(asyncio.run(fetch(peer, float(seconds))))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:])
