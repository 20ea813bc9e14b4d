"""The Rust parser and scapy read the same packets from the same bytes, and write the same bytes."""

import json
import random
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import pytest

import rust_example

pytest.importorskip("scapy", reason="scapy is not installed: pip install -e .[dev]")

from scapy.layers.inet import IP, TCP, UDP, IPOption_Router_Alert
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Packet, Padding, Raw

PACKETS = 300
MAX_OPTIONS = 40

Option: TypeAlias = tuple[str | int, Any]

NOP: Option = ("NOP", None)


@dataclass
class Case:
    """One packet: how scapy builds it, and whether our emitter lays it out the same way."""

    layers: Packet
    canonical: bool
    frame: bytes = field(init=False)

    def __post_init__(self) -> None:
        self.frame = bytes(self.layers)

    @property
    def link(self) -> str:
        return "ethernet" if isinstance(self.layers, Ether) else "raw"


def word(rng: random.Random) -> int:
    return rng.getrandbits(32)


def known_options(rng: random.Random, *, canonical: bool) -> list[Option]:
    """Some of the options that we speak, each at most once."""
    nops = [NOP] if canonical else []
    options: list[Option] = []
    permitted, stamps = rng.random() < 0.3, rng.random() < 0.6
    if rng.random() < 0.4:
        options.append(("MSS", rng.getrandbits(16)))
    if permitted != stamps:
        options += nops * 2
    if permitted:
        options.append(("SAckOK", b""))
    if stamps:
        options.append(("Timestamp", (word(rng), word(rng))))
    if rng.random() < 0.3:
        options += [*nops, ("WScale", rng.randrange(15))]
    if rng.random() < 0.4:
        options += [*nops * 2, ("SAck", tuple(word(rng) for _ in range(2 * rng.randint(1, 3))))]
    return options


def unknown_option(rng: random.Random) -> Option:
    # Kinds without a meaning for scapy or for us, among them MPTCP and the experimental ones.
    return (rng.choice([30, 77, 200, 253, 254]), rng.randbytes(rng.randrange(9)))


def tcp_options(rng: random.Random, *, canonical: bool) -> list[Option]:
    """Options that fit the header; where not canonical, in any order and anywhere between NOPs."""
    while True:
        options = known_options(rng, canonical=canonical)
        unknown = [unknown_option(rng) for _ in range(rng.choice([0, 0, 1, 2]))]
        if not canonical:
            options += [NOP] * rng.randrange(3)
            rng.shuffle(options)
        options += unknown
        if len(bytes(TCP(options=options))) - 20 <= MAX_OPTIONS:
            return options


def tcp(rng: random.Random, *, canonical: bool) -> Packet:
    header = TCP(
        sport=rng.getrandbits(16),
        dport=rng.getrandbits(16),
        seq=word(rng),
        ack=word(rng),
        reserved=rng.choice([0, 0, rng.randrange(8)]),
        flags=rng.getrandbits(9),
        window=rng.getrandbits(16),
        urgptr=rng.choice([0, rng.getrandbits(16)]),
        options=tcp_options(rng, canonical=canonical),
    )
    if rng.random() < 0.1:
        header.chksum = rng.getrandbits(16)
    return header


def ipv4(rng: random.Random, *, canonical: bool) -> Packet:
    header = IP(
        src=".".join(str(byte) for byte in rng.randbytes(4)),
        dst=".".join(str(byte) for byte in rng.randbytes(4)),
        ttl=rng.getrandbits(8),
        tos=rng.getrandbits(8),
        id=rng.getrandbits(16),
        flags="DF",
    )
    if not canonical:
        header.flags = rng.choice(["DF", "", "evil"])
        header.options = rng.choice([[], [IPOption_Router_Alert()]])
    return header


def ipv6(rng: random.Random, *, canonical: bool) -> Packet:
    def address() -> str:
        return ":".join(f"{rng.getrandbits(16):x}" for _ in range(8))

    label = 0 if canonical else rng.getrandbits(20)
    return IPv6(src=address(), dst=address(), hlim=rng.getrandbits(8), tc=rng.getrandbits(8), fl=label)


def framing(rng: random.Random) -> Packet | None:
    if rng.random() < 0.4:
        return None
    ethernet = Ether(src=rng.randbytes(6), dst=rng.randbytes(6))
    if rng.random() < 0.5:
        return ethernet
    return ethernet / Dot1Q(prio=rng.randrange(8), dei=rng.randrange(2), vlan=rng.randrange(4096))


def case(rng: random.Random) -> Case:
    canonical = rng.random() < 0.6
    packet = rng.choice([ipv4, ipv6])(rng, canonical=canonical)
    packet /= tcp(rng, canonical=canonical) if rng.random() < 0.9 else UDP(sport=word(rng) & 0xFFFF)
    packet /= Raw(rng.randbytes(rng.choice([0, 0, 1, 2, 3, rng.randrange(1461)])))
    frame = framing(rng)
    if frame is None:
        return Case(packet, canonical)
    padded = not canonical and rng.random() < 0.5
    return Case(frame / packet / Padding(b"\xee" * 11) if padded else frame / packet, canonical)


def flattened(value: object) -> list[int]:
    """SACK edges, whatever scapy nests them into."""
    return [int(edge) for edge in value] if isinstance(value, tuple) else []


def segment_fields(packet: Packet) -> dict[str, Any]:
    segment = packet[TCP]
    options = dict(segment.options)
    sack = flattened(options.get("SAck"))
    unknown = [(kind, value) for kind, value in segment.options if isinstance(kind, int)]
    return {
        "src_port": segment.sport,
        "dst_port": segment.dport,
        "seq": segment.seq,
        "ack": segment.ack,
        "flags": int(segment.reserved) << 9 | int(segment.flags),
        "window": segment.window,
        "urgent": segment.urgptr,
        "mss": options.get("MSS"),
        "window_scale": options.get("WScale"),
        "sack_permitted": "SAckOK" in options,
        "timestamps": list(options["Timestamp"]) if "Timestamp" in options else None,
        "sack": [list(edges) for edges in zip(sack[::2], sack[1::2], strict=True)],
        "unknown": b"".join(bytes([kind, len(value) + 2]) + value for kind, value in unknown).hex(),
    }


def ethernet_fields(packet: Packet) -> dict[str, Any] | None:
    if Ether not in packet:
        return None
    tag = packet.getlayer(Dot1Q)
    return {
        "dst": packet.dst.replace(":", ""),
        "src": packet.src.replace(":", ""),
        "vlan": tag and [tag.prio, bool(tag.dei), tag.vlan],
    }


def checksum_is_right(packet: Packet) -> bool:
    """Whether scapy computes the checksum of TCP or UDP that stands there."""
    layer = TCP if TCP in packet else UDP
    again = packet.copy()
    del again[layer].chksum
    return bool(type(packet)(bytes(again))[layer].chksum == packet[layer].chksum)


def scapy_fields(link: str, frame: bytes) -> dict[str, Any]:
    """The packet as scapy reads it, in the words of `wire_json`."""
    first = frame[0] >> 4
    packet = Ether(frame) if link == "ethernet" else IP(frame) if first == 4 else IPv6(frame)
    ip = packet[IP] if IP in packet else packet[IPv6]
    v4 = IP in packet
    is_tcp = TCP in packet
    body = bytes(ip.payload.original)[: (ip.len - 4 * ip.ihl) if v4 else ip.plen]
    # A datagram without a checksum, or with another length than the packet's, stays as it came.
    is_udp = UDP in packet and packet[UDP].chksum != 0 and packet[UDP].len == len(body)
    if is_tcp:
        kind, header_len = {"tcp": segment_fields(packet)}, 4 * packet[TCP].dataofs
    elif is_udp:
        kind, header_len = {"udp": {"src_port": packet[UDP].sport, "dst_port": packet[UDP].dport}}, 8
    else:
        kind, header_len = {"protocol": ip.proto if v4 else ip.nh}, 0
    return {
        "ethernet": ethernet_fields(packet),
        "src": ip.src,
        "dst": ip.dst,
        "hop_limit": ip.ttl if v4 else ip.hlim,
        "traffic_class": ip.tos if v4 else ip.tc,
        "identification": ip.id if v4 else 0,
        "may_fragment": v4 and "DF" not in ip.flags,
        "flow_label": 0 if v4 else ip.fl,
        "corrupted": (is_tcp or is_udp) and not checksum_is_right(packet),
        "body": kind,
        "payload": body[header_len:].hex(),
    }


def ask_rust(lines: list[tuple[str, bytes]]) -> list[dict[str, Any]]:
    answers = rust_example.run("wire_json", [f"{link} {frame.hex()}" for link, frame in lines])
    return [json.loads(line) for line in answers.splitlines()]


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    rng = random.Random(20_260_101)
    return [case(rng) for _ in range(PACKETS)]


@pytest.fixture(scope="module")
def answers(cases: list[Case]) -> list[dict[str, Any]]:
    return ask_rust([(case.link, case.frame) for case in cases])


def test_the_cases_cover_what_they_must(cases: list[Case]) -> None:
    fields = [scapy_fields(case.link, case.frame) for case in cases]
    segments = [f["body"]["tcp"] for f in fields if "tcp" in f["body"]]
    for name in ("mss", "window_scale", "sack_permitted", "timestamps", "sack", "unknown", "urgent"):
        assert sum(bool(segment[name]) for segment in segments) >= 30, name
    assert sum(len(f["payload"]) // 2 % 2 for f in fields) >= 30
    assert sum(f["corrupted"] for f in fields) >= 10
    assert sum(case.canonical for case in cases) >= 100
    assert sum("." in f["src"] for f in fields) >= 100
    assert sum(bool(f["ethernet"] and f["ethernet"]["vlan"]) for f in fields) >= 50


def test_rust_reads_what_scapy_wrote(cases: list[Case], answers: list[dict[str, Any]]) -> None:
    for case, answer in zip(cases, answers, strict=True):
        assert answer.get("packet") == scapy_fields(case.link, case.frame), (case.frame.hex(), answer)


def test_rust_writes_the_bytes_that_scapy_wrote(cases: list[Case], answers: list[dict[str, Any]]) -> None:
    for case, answer in zip(cases, answers, strict=True):
        if case.canonical and not answer["packet"]["corrupted"]:
            assert answer["emitted"] == case.frame.hex()


def test_scapy_reads_what_rust_wrote(cases: list[Case], answers: list[dict[str, Any]]) -> None:
    for case, answer in zip(cases, answers, strict=True):
        assert scapy_fields(case.link, bytes.fromhex(answer["emitted"])) == answer["packet"]


def test_both_refuse_a_wrong_ipv4_header(cases: list[Case]) -> None:
    frames = [bytearray(case.frame) for case in cases if case.link == "raw" and case.frame[0] >> 4 == 4]
    for frame in frames:
        frame[10] ^= 0x40
        again = IP(bytes(frame))
        found = again.chksum
        del again.chksum
        assert IP(bytes(again)).chksum != found
    answers = ask_rust([("raw", bytes(frame)) for frame in frames])
    assert len(frames) >= 30
    assert all("checksum" in answer["error"] for answer in answers)
