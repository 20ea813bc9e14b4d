"""What hosts' TCP can do across a lossy line of `handfastd sdtp`: sizes, versions, options, ways to begin and end."""

from __future__ import annotations

import random
import select
import socket
import struct
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from conftest import mine, real
from handfast.lab import controller
from sdtp_across import Across, across
from sdtp_frames import segments
from sdtp_scene import PATIENCE_S, RAW, Core, inside
from sdtp_traffic import Options, both_ways, both_ways_once, connected, exactly, send

pytestmark = [
    real,
    pytest.mark.skipif(controller.missing() is not None, reason=f"no daemon to run: {controller.missing()}"),
]

RANDOM = random.Random(3)
DATA, BACK = RANDOM.randbytes(400_000), RANDOM.randbytes(250_000)
TIMESTAMPS = 12
"""Bytes of the option in each segment; the size that the kernel says is without them."""
TCP_MD5SIG = 14
"""Of linux/tcp.h."""
MPTCP, SOL_MPTCP, MPTCP_INFO = 262, 284, 1
"""Of linux/in.h and linux/mptcp.h."""


@pytest.fixture(scope="module")
def clean() -> Iterator[None]:
    yield
    assert mine() == []


@pytest.fixture(scope="module")
def line(clean: None) -> Iterator[Across]:  # noqa: ARG001
    """Hosts that take packets of 9,040 bytes, and links of 1,500 between nodes."""
    with across(Core(), access=9040) as made:
        yield made


@pytest.fixture(scope="module")
def wide(clean: None) -> Iterator[Across]:  # noqa: ARG001
    """The same hosts; the nodes have IPv6 addresses and links of 9,216."""
    with across(Core("fd99::{}", 9216), access=9040) as made:
        yield made


def _most(bytes_: int) -> Options:
    return ((socket.IPPROTO_TCP, socket.TCP_MAXSEG, bytes_),)


def _size(end: socket.socket) -> int:
    return end.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG)


@pytest.mark.parametrize(("version", "size"), [(4, 1380), (6, 1380), (4, 536)])
def test_the_edge_lowers_the_segment_size(line: Across, version: int, size: int) -> None:
    own = _most(536) if size == 536 else ()
    with (
        line.repaired(converted=400, repeats=5),
        connected(line, 7000 + size, version=version, client=own) as (client, server),
    ):
        assert _size(client) == _size(server) == size - TIMESTAMPS
        both_ways(client, server, DATA, BACK)


@pytest.mark.parametrize(("version", "size"), [(4, 9000), (6, 8980), (4, 4000), (4, 536)])
def test_a_wide_core_carries_large_segments(wide: Across, version: int, size: int) -> None:
    own = _most(size) if size in {4000, 536} else ()
    with (
        wide.repaired(converted=2 * len(DATA) // 9000, repeats=2),
        connected(wide, 7000, version=version, client=own) as (client, server),
    ):
        assert _size(client) == _size(server) == size - TIMESTAMPS
        both_ways(client, server, DATA * 2, BACK * 2)


def test_hosts_that_open_at_the_same_time(line: Across) -> None:
    """RFC 9293 §3.5: it is plain TCP, for neither is the client."""

    def opening(host: str) -> socket.socket:
        made = socket.socket()
        made.settimeout(PATIENCE_S)
        made.bind((line.address(host), 7100))
        return made

    one, other = (inside(line.hosts[host], lambda host=host: opening(host)) for host in "ab")  # type: ignore[misc]
    admitted = line.scene.controller.counters()["controller_admitted"]
    with one, other, line.counting() as found, ThreadPoolExecutor(2) as pool:
        calls = [pool.submit(end.connect, (line.address(to), 7100)) for end, to in ((one, "b"), (other, "a"))]
        for call in calls:
            call.result()
        both_ways(one, other, DATA[:40_000], BACK[:40_000])
    assert found["packet_ins"] >= 2
    assert line.scene.controller.counters()["controller_admitted"] <= admitted + 1


def test_a_connection_that_is_half_closed_goes_on(line: Across) -> None:
    with line.repaired(converted=400, repeats=5), connected(line, 7200) as (client, server):
        client.sendall(b"all that I say")
        client.shutdown(socket.SHUT_WR)
        assert exactly(server, 100) == b"all that I say"
        with ThreadPoolExecutor(1) as pool:
            sending = pool.submit(send, server, DATA)
            assert exactly(client, len(DATA) + 1) == DATA
            sending.result()


def test_a_reset_ends_a_connection_at_both_ends(line: Across) -> None:
    with line.counting() as found:
        for port in range(7300, 7310):
            with connected(line, port) as (client, server):
                both = client.getsockname()
                client.sendall(DATA[:30_000])
                assert exactly(server, 30_000) == DATA[:30_000]
                server.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                server.close()
                began = time.monotonic()
                with pytest.raises(ConnectionResetError):
                    _until_reset(client)
                assert time.monotonic() - began < 5, both
    assert found["converted"] >= 10 * 22
    assert found["repeats"] > 0


def _until_reset(client: socket.socket) -> None:
    """A reset that is lost comes again when something is sent."""
    while True:
        client.settimeout(0.5)
        with suppress(TimeoutError):
            client.recv(1)
        client.settimeout(PATIENCE_S)
        client.sendall(b"?")


def test_a_server_that_refuses_is_heard(line: Across) -> None:
    with inside(line.hosts["a"], socket.socket) as client:
        client.settimeout(5)
        with pytest.raises(ConnectionRefusedError):
            client.connect((line.address("b"), 7399))


def test_a_silent_connection_is_kept_alive(line: Across) -> None:
    often: Options = (
        (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
        (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 1),
        (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 1),
        (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 4),
    )
    with connected(line, 7400, client=often) as (client, server):
        both_ways_once(client, server, b"before")
        with line.counting() as found:
            assert select.select([client, server], [], [], 3.5) == ([], [], []), "nothing comes, and it does not end"
        both_ways_once(client, server, b"after")
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 2)
    assert found["converted"] >= 3, "probes, and answers"


def _signed(peer: str) -> Options:
    """`struct tcp_md5sig` of linux/tcp.h."""
    key = b"a key of both"
    address = struct.pack("=HH4s120x", socket.AF_INET, 0, socket.inet_aton(peer))
    return ((socket.IPPROTO_TCP, TCP_MD5SIG, address + struct.pack("=BBHi80s", 0, 0, len(key), 0, key)),)


def test_signed_segments_pass_as_they_are(line: Across) -> None:
    """RFC 2385: nobody but the hosts can make a segment of such a connection. The server speaks first."""
    client, server = ((*_most(1400), *_signed(line.address(peer))) for peer in "ba")
    admitted = line.scene.controller.counters()["controller_admitted"]
    with line.counting() as found, connected(line, 7500, client=client, server=server) as ends:
        ends[1].sendall(b"the server's greeting")
        assert exactly(ends[0], 21) == b"the server's greeting"
        # Nobody repairs what is lost.
        both_ways(*ends, DATA[:20_000], BACK[:20_000])
    assert found["unfit"] >= 2, "the handshake; of the rest no edge knows"
    assert line.scene.controller.counters()["controller_admitted"] == admitted


@pytest.mark.parametrize("first", ["client", "server"])
def test_mptcp_stays_mptcp(line: Across, first: str) -> None:
    """RFC 8684 §3.1: the client's closing ACK carries the keys."""
    for host in line.hosts.values():
        switch = Path("/proc/sys/net/mptcp/enabled")
        if not inside(host, switch.exists):
            pytest.skip("this kernel has no MPTCP")
        inside(host, lambda switch=switch: switch.write_text("1"))  # type: ignore[misc]
    port = 7600 if first == "client" else 7601
    with line.repaired(converted=400, repeats=5), connected(line, port, protocol=MPTCP) as (client, server):
        ends = (client, server) if first == "client" else (server, client)
        both_ways_once(*ends, b"hello")
        both_ways(client, server, DATA, BACK)
        for end in (client, server):
            assert _is_multipath(end)


def _is_multipath(end: socket.socket) -> bool:
    """Whether it has not fallen back to TCP: then the kernel has no such information, or says so."""
    try:
        info = end.getsockopt(SOL_MPTCP, MPTCP_INFO, 128)
    except OSError:
        return False
    # `mptcpi_flags` of linux/mptcp.h; bit 0: fallback.
    return int.from_bytes(info[8:12], "little") & 1 == 0


def _received(server: socket.socket, count: int) -> bytes:
    """What the first connection brings."""
    peer, _ = server.accept()
    with peer:
        peer.settimeout(PATIENCE_S)
        return exactly(peer, count)


def test_options_that_nobody_knows_come_as_they_were(line: Across) -> None:
    """Of a host that sends another one in each segment; it gets no help from a kernel."""
    raw = pytest.importorskip("sdtp_raw", reason="scapy is not installed: pip install -e .[dev]")
    server = inside(line.hosts["b"], lambda: socket.create_server((line.address("b"), 7700)))
    wires = line.wires()
    with server, wires["a"], wires["b"], ThreadPoolExecutor(1) as pool, line.repaired(converted=400, repeats=5):
        server.settimeout(PATIENCE_S)
        host = raw.RawHost(wires["a"], line.macs["b"], (line.address("b"), 7700))
        receiving = pool.submit(_received, server, len(DATA) + 1)
        # The sender first: why it gave up says more than that nothing came.
        host.send(DATA)
        assert receiving.result() == DATA
        options = {seen.identification: seen.options for seen in segments(wires["b"]) if seen.ends[0][0] == RAW}
    # The closing ACK is the edge's.
    options.pop(0, None)
    assert len(options) >= len(DATA) // 1000
    for number, came_as in options.items():
        assert came_as.endswith(host.sent[number]), number
    assert host.repeated <= 10, "most losses are repaired before it notices"
