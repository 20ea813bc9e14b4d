"""OpenFlow 1.3 messages drawn from a seed: their values in the words of `openflow_json`, and their bytes by os-ken.

os-ken is a controller: it serialises what controllers send and parses what switches send. What only switches send, and
the element of a hello, which os-ken leaves out, is packed by os-ken's own layout of the structures.
"""

import random
import struct
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import Any, TypeAlias

from os_ken.lib.stringify import StringifyMixin
from os_ken.ofproto import ofproto_v1_3 as ofp
from os_ken.ofproto import ofproto_v1_3_parser as parser
from os_ken.ofproto.ofproto_parser import MsgBase
from os_ken.ofproto.ofproto_protocol import ProtocolDesc

Fields: TypeAlias = dict[str, Any]
Both: TypeAlias = tuple[Fields, Any]
How: TypeAlias = tuple[bool, str | int]

DATAPATH = ProtocolDesc(version=ofp.OFP_VERSION)

# In the order in which we emit them: whether they take a mask, and how they are drawn (a number: that many bits).
KNOWN: dict[str, How] = {
    "in_port": (False, "port"),
    "metadata": (True, 64),
    "eth_dst": (True, "mac"),
    "eth_src": (True, "mac"),
    "eth_type": (False, 16),
    "vlan_vid": (True, 16),
    "ip_proto": (False, 8),
    "ipv4_src": (True, "ipv4"),
    "ipv4_dst": (True, "ipv4"),
    "tcp_src": (False, 16),
    "tcp_dst": (False, 16),
    "udp_src": (False, 16),
    "udp_dst": (False, 16),
    "arp_tpa": (True, "ipv4"),
    "ipv6_src": (True, "ipv6"),
    "ipv6_dst": (True, "ipv6"),
    "tcp_flags": (True, 16),
}
# Fields that our parser keeps as bytes.
OTHER: dict[str, How] = {
    "ip_dscp": (False, 8),
    "arp_op": (False, 16),
    "ipv6_exthdr": (True, 16),
    "xreg1": (True, 64),
}


@dataclass
class Case:
    """One message: what it says, and what os-ken writes for it."""

    xid: int
    body: Fields
    frame: bytes

    @property
    def kind(self) -> str:
        return next(iter(self.body))


def word(rng: random.Random, bits: int) -> int:
    """Any value, the lowest and the highest more often."""
    edges = [0, 1, 2**bits - 1]
    return rng.choice(edges) if rng.random() < 0.4 else rng.getrandbits(bits)


def port_no(rng: random.Random) -> int:
    named: list[int] = [ofp.OFPP_LOCAL, ofp.OFPP_CONTROLLER, ofp.OFPP_NORMAL]
    return rng.choice([*named, rng.randrange(1, 100), word(rng, 32)])


def mac(rng: random.Random) -> str:
    return rng.randbytes(6).hex(":")


def oxm_value(rng: random.Random, how: str | int) -> int | str:
    if isinstance(how, int):
        return word(rng, how)
    draw: dict[str, Callable[[random.Random], int | str]] = {
        "port": port_no,
        "mac": mac,
        "ipv4": lambda rng: str(IPv4Address(word(rng, 32))),
        "ipv6": lambda rng: str(
            IPv6Address(rng.choice([rng.getrandbits(128), 0x2001_0DB8 << 96 | rng.getrandbits(8)]))
        ),
    }
    return draw[how](rng)


def oxm_fields(rng: random.Random, known: dict[str, How], chance: float) -> list[tuple[str, Any]]:
    fields: list[tuple[str, Any]] = []
    for name, (maskable, how) in known.items():
        if rng.random() < chance:
            value = oxm_value(rng, how)
            masked = maskable and rng.random() < 0.5
            fields.append((name, (value, oxm_value(rng, how)) if masked else value))
    return fields


def oxm_bytes(fields: list[tuple[str, Any]]) -> bytes:
    buffer = bytearray()
    for name, value in fields:
        ofp.oxm_serialize(*ofp.oxm_from_user(name, value), buffer, len(buffer))
    return bytes(buffer)


def match(rng: random.Random) -> Both:
    """Values in our words, and os-ken's match."""
    known = oxm_fields(rng, KNOWN, rng.choice([0, 0.1, 0.4, 1]))
    other = oxm_fields(rng, OTHER, rng.choice([0, 0, 0, 0.3]))
    values = {name: list(value) if isinstance(value, tuple) else value for name, value in known}
    if other:
        values["other"] = oxm_bytes(other).hex()
    return values, parser.OFPMatch(_ordered_fields=known + other)


def serialised(part: StringifyMixin) -> bytes:
    buffer = bytearray()
    part.serialize(buffer, 0)
    return bytes(buffer)


def as_other(part: StringifyMixin) -> Fields:
    """An action or instruction as our parser keeps what it does not know."""
    written = serialised(part)
    return {"other": {"type": part.type, "body": written[4:].hex()}}


def action(rng: random.Random) -> Both:
    if rng.random() < 0.6:
        port, max_len = port_no(rng), word(rng, 16)
        return {"output": {"port": port, "max_len": max_len}}, parser.OFPActionOutput(port, max_len)
    if rng.random() < 0.3:
        value = word(rng, 64)
        return {"set_metadata": value}, parser.OFPActionSetField(metadata=value)
    other = rng.choice(
        [
            parser.OFPActionGroup(word(rng, 32)),
            parser.OFPActionSetQueue(word(rng, 32)),
            parser.OFPActionPushVlan(0x8100),
            parser.OFPActionDecNwTtl(),
            parser.OFPActionSetField(eth_dst=mac(rng)),
            parser.OFPActionSetField(ipv6_src="2001:db8::1"),
            parser.OFPActionExperimenterUnknown(0x00002320, rng.randbytes(8)),
        ]
    )
    return as_other(other), other


def actions(rng: random.Random) -> tuple[list[Fields], list[Any]]:
    drawn = [action(rng) for _ in range(rng.choice([0, 1, 1, 2, 5]))]
    return [values for values, _ in drawn], [made for _, made in drawn]


def instruction(rng: random.Random) -> Both:
    match rng.choice(["apply", "apply", "write", "clear", "goto", "other"]):
        case "apply":
            values, made = actions(rng)
            return {"apply_actions": values}, parser.OFPInstructionActions(ofp.OFPIT_APPLY_ACTIONS, made)
        case "write":
            values, made = actions(rng)
            return {"write_actions": values}, parser.OFPInstructionActions(ofp.OFPIT_WRITE_ACTIONS, made)
        case "clear":
            return {"clear_actions": []}, parser.OFPInstructionActions(ofp.OFPIT_CLEAR_ACTIONS, [])
        case "goto":
            table = word(rng, 8)
            return {"goto_table": table}, parser.OFPInstructionGotoTable(table)
    other = rng.choice(
        [parser.OFPInstructionMeter(word(rng, 32)), parser.OFPInstructionWriteMetadata(word(rng, 64), word(rng, 64))]
    )
    return as_other(other), other


def instructions(rng: random.Random) -> tuple[list[Fields], list[Any]]:
    drawn = [instruction(rng) for _ in range(rng.randrange(4))]
    return [values for values, _ in drawn], [made for _, made in drawn]


def sent(xid: int, body: Fields, message: MsgBase) -> Case:
    """A message that os-ken serialises."""
    message.set_xid(xid)
    message.serialize()
    return Case(xid, body, bytes(message.buf))


def packed(xid: int, body: Fields, kind: int, content: bytes) -> Case:
    """A message whose body is packed by os-ken's layout."""
    header = struct.pack(ofp.OFP_HEADER_PACK_STR, ofp.OFP_VERSION, kind, ofp.OFP_HEADER_SIZE + len(content), xid)
    return Case(xid, body, header + content)


def hello(rng: random.Random, xid: int) -> Case:
    versions = rng.sample(range(1, 30), rng.randrange(4))
    bitmaps = [sum(1 << version for version in versions)] if versions else []
    content = struct.pack(ofp.OFP_HELLO_ELEM_VERSIONBITMAP_HEADER_PACK_STR, ofp.OFPHET_VERSIONBITMAP, 8)
    content = content + struct.pack("!I", *bitmaps) if bitmaps else b""
    return packed(xid, {"hello": {"version": 4, "bitmaps": bitmaps}}, ofp.OFPT_HELLO, content)


def error(rng: random.Random, xid: int) -> Case:
    kind, code, data = rng.randrange(14), word(rng, 16), rng.randbytes(rng.choice([0, 64, 100]))
    body = {"error": {"type": kind, "code": code, "data": data.hex()}}
    return sent(xid, body, parser.OFPErrorMsg(DATAPATH, kind, code, data))


def echo_request(rng: random.Random, xid: int) -> Case:
    data = rng.randbytes(rng.randrange(20))
    return sent(xid, {"echo_request": data.hex()}, parser.OFPEchoRequest(DATAPATH, data))


def echo_reply(rng: random.Random, xid: int) -> Case:
    data = rng.randbytes(rng.randrange(20))
    return sent(xid, {"echo_reply": data.hex()}, parser.OFPEchoReply(DATAPATH, data))


def features_request(_: random.Random, xid: int) -> Case:
    return sent(xid, {"features_request": None}, parser.OFPFeaturesRequest(DATAPATH))


def features_reply(rng: random.Random, xid: int) -> Case:
    values = {
        "datapath_id": word(rng, 64),
        "n_buffers": word(rng, 32),
        "n_tables": word(rng, 8),
        "auxiliary_id": word(rng, 8),
        "capabilities": word(rng, 32),
    }
    content = struct.pack(ofp.OFP_SWITCH_FEATURES_PACK_STR, *values.values(), 0)
    return packed(xid, {"features_reply": values}, ofp.OFPT_FEATURES_REPLY, content)


def set_config(rng: random.Random, xid: int) -> Case:
    values = {"flags": rng.randrange(4), "miss_send_len": word(rng, 16)}
    return sent(xid, {"set_config": values}, parser.OFPSetConfig(DATAPATH, **values))


def packet_in(rng: random.Random, xid: int) -> Case:
    matches, made = match(rng)
    data = rng.randbytes(rng.choice([0, 1, 60, 1500]))
    fixed = {
        "buffer_id": word(rng, 32),
        "total_len": rng.randrange(len(data), 2**16),
        "reason": rng.randrange(3),
        "table_id": word(rng, 8),
        "cookie": word(rng, 64),
    }
    content = struct.pack(ofp.OFP_PACKET_IN_PACK_STR, *fixed.values()) + serialised(made) + bytes(2) + data
    return packed(xid, {"packet_in": {**fixed, "match": matches, "data": data.hex()}}, ofp.OFPT_PACKET_IN, content)


def packet_out(rng: random.Random, xid: int) -> Case:
    values, made = actions(rng)
    # os-ken refuses data beside a packet that the switch keeps, and overwrites data where there are no actions.
    buffer_id = rng.choice([ofp.OFP_NO_BUFFER, word(rng, 32)])
    has_data = bool(made) and buffer_id == ofp.OFP_NO_BUFFER
    data = rng.randbytes(rng.choice([1, 60, 1500])) if has_data else b""
    in_port = port_no(rng)
    body = {"packet_out": {"buffer_id": buffer_id, "in_port": in_port, "actions": values, "data": data.hex()}}
    return sent(xid, body, parser.OFPPacketOut(DATAPATH, buffer_id, in_port, made, data or None))


def flow_mod(rng: random.Random, xid: int) -> Case:
    matches, match_made = match(rng)
    values, made = instructions(rng)
    fixed = {
        "cookie": word(rng, 64),
        "cookie_mask": word(rng, 64),
        "table_id": word(rng, 8),
        "command": rng.randrange(5),
        "idle_timeout": word(rng, 16),
        "hard_timeout": word(rng, 16),
        "priority": word(rng, 16),
        "buffer_id": word(rng, 32),
        "out_port": port_no(rng),
        "out_group": word(rng, 32),
        "flags": rng.randrange(32),
    }
    body = {"flow_mod": {**fixed, "match": matches, "instructions": values}}
    return sent(xid, body, parser.OFPFlowMod(DATAPATH, **fixed, match=match_made, instructions=made))


def flow_removed(rng: random.Random, xid: int) -> Case:
    matches, made = match(rng)
    fixed = {
        "cookie": word(rng, 64),
        "priority": word(rng, 16),
        "reason": rng.randrange(4),
        "table_id": word(rng, 8),
        "duration_sec": word(rng, 32),
        "duration_nsec": word(rng, 32),
        "idle_timeout": word(rng, 16),
        "hard_timeout": word(rng, 16),
        "packet_count": word(rng, 64),
        "byte_count": word(rng, 64),
    }
    content = struct.pack(ofp.OFP_FLOW_REMOVED_PACK_STR0, *fixed.values()) + serialised(made)
    return packed(xid, {"flow_removed": {**fixed, "match": matches}}, ofp.OFPT_FLOW_REMOVED, content)


def port(rng: random.Random) -> tuple[Fields, bytes]:
    address = rng.randbytes(6)
    name = rng.choice([b"eth0", b"a-name-of-sixteen"[:16], b""]).ljust(16, b"\0")
    words = {
        key: word(rng, 32)
        for key in ("config", "state", "curr", "advertised", "supported", "peer", "curr_speed", "max_speed")
    }
    number = port_no(rng)
    content = struct.pack(ofp.OFP_PORT_PACK_STR, number, address, name, *words.values())
    return {"port_no": number, "hw_addr": address.hex(":"), "name": name.hex(), **words}, content


def port_status(rng: random.Random, xid: int) -> Case:
    values, content = port(rng)
    reason = rng.randrange(3)
    body = {"port_status": {"reason": reason, "port": values}}
    return packed(xid, body, ofp.OFPT_PORT_STATUS, struct.pack("!B7x", reason) + content)


def barrier_request(_: random.Random, xid: int) -> Case:
    return sent(xid, {"barrier_request": None}, parser.OFPBarrierRequest(DATAPATH))


def barrier_reply(_: random.Random, xid: int) -> Case:
    return packed(xid, {"barrier_reply": None}, ofp.OFPT_BARRIER_REPLY, b"")


def role_request(rng: random.Random, xid: int) -> Case:
    values = {"role": rng.randrange(4), "generation_id": word(rng, 64)}
    return sent(xid, {"role_request": values}, parser.OFPRoleRequest(DATAPATH, **values))


def role_reply(rng: random.Random, xid: int) -> Case:
    values = {"role": rng.randrange(4), "generation_id": word(rng, 64)}
    content = struct.pack(ofp.OFP_ROLE_REQUEST_PACK_STR, *values.values())
    return packed(xid, {"role_reply": values}, ofp.OFPT_ROLE_REPLY, content)


def flow_stats_request(rng: random.Random, xid: int) -> Case:
    matches, made = match(rng)
    fixed = {
        "table_id": word(rng, 8),
        "out_port": port_no(rng),
        "out_group": word(rng, 32),
        "cookie": word(rng, 64),
        "cookie_mask": word(rng, 64),
    }
    body = {"flow_stats_request": {**fixed, "match": matches}}
    return sent(xid, body, parser.OFPFlowStatsRequest(DATAPATH, 0, **fixed, match=made))


def port_description_request(_: random.Random, xid: int) -> Case:
    return sent(xid, {"port_description_request": None}, parser.OFPPortDescStatsRequest(DATAPATH, 0))


def multipart_reply(xid: int, body: Fields, kind: int, flags: int, content: bytes) -> Case:
    header = struct.pack(ofp.OFP_MULTIPART_REPLY_PACK_STR, kind, flags)
    return packed(xid, body, ofp.OFPT_MULTIPART_REPLY, header + content)


def flow_stats(rng: random.Random) -> tuple[Fields, bytes]:
    matches, match_made = match(rng)
    values, made = instructions(rng)
    tail = serialised(match_made) + b"".join(serialised(one) for one in made)
    fixed = {
        "table_id": word(rng, 8),
        "duration_sec": word(rng, 32),
        "duration_nsec": word(rng, 32),
        "priority": word(rng, 16),
        "idle_timeout": word(rng, 16),
        "hard_timeout": word(rng, 16),
        "flags": rng.randrange(32),
        "cookie": word(rng, 64),
        "packet_count": word(rng, 64),
        "byte_count": word(rng, 64),
    }
    content = struct.pack(ofp.OFP_FLOW_STATS_0_PACK_STR, ofp.OFP_FLOW_STATS_0_SIZE + len(tail), *fixed.values()) + tail
    return {**fixed, "match": matches, "instructions": values}, content


def flow_stats_reply(rng: random.Random, xid: int) -> Case:
    flows = [flow_stats(rng) for _ in range(rng.randrange(4))]
    more = rng.random() < 0.5
    body = {"flow_stats_reply": {"more": more, "flows": [values for values, _ in flows]}}
    return multipart_reply(xid, body, ofp.OFPMP_FLOW, int(more), b"".join(content for _, content in flows))


def table_request(_: random.Random, xid: int) -> Case:
    return sent(xid, {"table_request": None}, parser.OFPTableStatsRequest(DATAPATH, 0))


def table_features_request(_: random.Random, xid: int) -> Case:
    return sent(xid, {"table_features_request": None}, parser.OFPTableFeaturesStatsRequest(DATAPATH, 0, []))


def table_stats(rng: random.Random) -> tuple[Fields, bytes]:
    bits = {"table_id": 8, "active_count": 32, "lookup_count": 64, "matched_count": 64}
    values = {name: word(rng, width) for name, width in bits.items()}
    return values, struct.pack(ofp.OFP_TABLE_STATS_PACK_STR, *values.values())


def table_features(rng: random.Random) -> tuple[Fields, bytes]:
    """Without properties: os-ken takes them apart, and ours keeps them as they came."""
    name = rng.randbytes(8).ljust(32, b"\0")
    bits = {"metadata_match": 64, "metadata_write": 64, "config": 32, "max_entries": 32}
    values = {key: word(rng, width) for key, width in bits.items()}
    table_id = word(rng, 8)
    made = struct.pack("!HB5x32sQQII", 64, table_id, name, *values.values())
    return {"table_id": table_id, "name": name.hex(), **values, "properties": ""}, made


def table_reply(rng: random.Random, xid: int) -> Case:
    tables = [table_stats(rng) for _ in range(rng.randrange(4))]
    more = rng.random() < 0.5
    body = {"table_reply": {"more": more, "tables": [values for values, _ in tables]}}
    return multipart_reply(xid, body, ofp.OFPMP_TABLE, int(more), b"".join(content for _, content in tables))


def table_features_reply(rng: random.Random, xid: int) -> Case:
    tables = [table_features(rng) for _ in range(rng.randrange(4))]
    more = rng.random() < 0.5
    body = {"table_features_reply": {"more": more, "tables": [values for values, _ in tables]}}
    content = b"".join(content for _, content in tables)
    return multipart_reply(xid, body, ofp.OFPMP_TABLE_FEATURES, int(more), content)


def port_description_reply(rng: random.Random, xid: int) -> Case:
    ports = [port(rng) for _ in range(rng.randrange(4))]
    more = rng.random() < 0.5
    body = {"port_description_reply": {"more": more, "ports": [values for values, _ in ports]}}
    return multipart_reply(xid, body, ofp.OFPMP_PORT_DESC, int(more), b"".join(content for _, content in ports))


def unknown(rng: random.Random, xid: int) -> Case:
    """Messages that our parser keeps as they came."""
    message = rng.choice(
        [
            parser.OFPGetConfigRequest(DATAPATH),
            parser.OFPExperimenter(DATAPATH, word(rng, 32), word(rng, 32), rng.randbytes(12)),
            parser.OFPGetAsyncRequest(DATAPATH),
            parser.OFPTableMod(DATAPATH, 1, 0),
        ]
    )
    case = sent(xid, {}, message)
    case.body = {"unknown": {"type": case.frame[1], "body": case.frame[8:].hex()}}
    return case


def other_multipart_request(rng: random.Random, xid: int) -> Case:
    case = sent(xid, {}, parser.OFPPortStatsRequest(DATAPATH, 0, port_no(rng)))
    case.body = {"other_multipart_request": {"type": ofp.OFPMP_PORT_STATS, "flags": 0, "body": case.frame[16:].hex()}}
    return case


def other_multipart_reply(rng: random.Random, xid: int) -> Case:
    content = struct.pack(ofp.OFP_AGGREGATE_STATS_REPLY_PACK_STR, word(rng, 64), word(rng, 64), word(rng, 32))
    body = {"other_multipart_reply": {"type": ofp.OFPMP_AGGREGATE, "flags": 0, "body": content.hex()}}
    return multipart_reply(xid, body, ofp.OFPMP_AGGREGATE, 0, content)


KINDS: list[Callable[[random.Random, int], Case]] = [
    hello,
    error,
    echo_request,
    echo_reply,
    features_request,
    features_reply,
    set_config,
    packet_in,
    packet_out,
    flow_mod,
    flow_removed,
    port_status,
    barrier_request,
    barrier_reply,
    role_request,
    role_reply,
    flow_stats_request,
    flow_stats_reply,
    table_request,
    table_reply,
    table_features_request,
    table_features_reply,
    port_description_request,
    port_description_reply,
    unknown,
    other_multipart_request,
    other_multipart_reply,
]


def draw(seed: int, per_kind: int) -> list[Case]:
    rng = random.Random(seed)
    return [kind(rng, word(rng, 32)) for kind in KINDS for _ in range(per_kind)]
