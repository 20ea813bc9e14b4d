"""OpenFlow 1.3 messages as os-ken reads them, in the words of `openflow_json`.

os-ken reads what switches send, and what both sides do.
"""

from collections.abc import Callable
from typing import Any

from os_ken.lib.stringify import StringifyMixin
from os_ken.ofproto import ofproto_parser
from os_ken.ofproto import ofproto_v1_3 as ofp
from os_ken.ofproto import ofproto_v1_3_parser as parser
from os_ken.ofproto.ofproto_parser import MsgBase

from openflow_cases import DATAPATH, KNOWN, Fields, as_other, oxm_bytes


def read(frame: bytes) -> tuple[int, Fields]:
    """The transaction and the body."""
    version, kind, length, xid = ofproto_parser.header(frame)
    message = ofproto_parser.msg(DATAPATH, version, kind, length, xid, frame)
    assert message is not None, "os-ken does not read it"
    name, fields = READERS[type(message).__name__]
    return message.xid, {name: fields(message)}


def attributes(part: StringifyMixin, *names: str) -> Fields:
    return {name: getattr(part, name) for name in names}


def match(made: parser.OFPMatch) -> Fields:
    fields = list(made.items())
    known = {name: list(value) if isinstance(value, tuple) else value for name, value in fields if name in KNOWN}
    other = oxm_bytes([(name, value) for name, value in fields if name not in KNOWN])
    return {**known, "other": other.hex()} if other else known


def action(made: parser.OFPAction) -> Fields:
    if made.type == ofp.OFPAT_OUTPUT:
        return {"output": attributes(made, "port", "max_len")}
    if made.type == ofp.OFPAT_SET_FIELD and made.key == "metadata":
        return {"set_metadata": made.value}
    return as_other(made)


def instruction(made: parser.OFPInstruction) -> Fields:
    names = {
        ofp.OFPIT_APPLY_ACTIONS: "apply_actions",
        ofp.OFPIT_WRITE_ACTIONS: "write_actions",
        ofp.OFPIT_CLEAR_ACTIONS: "clear_actions",
    }
    if made.type == ofp.OFPIT_GOTO_TABLE:
        return {"goto_table": made.table_id}
    if made.type in names:
        return {names[made.type]: [action(one) for one in made.actions]}
    return as_other(made)


def port(made: parser.OFPPort) -> Fields:
    words = attributes(made, "config", "state", "curr", "advertised", "supported", "peer", "curr_speed", "max_speed")
    return {"port_no": made.port_no, "hw_addr": made.hw_addr, "name": made.name.ljust(16, b"\0").hex(), **words}


def flow_stats(made: parser.OFPFlowStats) -> Fields:
    fixed = attributes(
        made,
        "table_id",
        "duration_sec",
        "duration_nsec",
        "priority",
        "idle_timeout",
        "hard_timeout",
        "flags",
        "cookie",
        "packet_count",
        "byte_count",
    )
    return {**fixed, "match": match(made.match), "instructions": [instruction(one) for one in made.instructions]}


def hello(message: MsgBase) -> Fields:
    bitmaps = [sum(1 << version for version in element.versions) for element in message.elements]
    return {"version": message.version, "bitmaps": bitmaps}


def error(message: MsgBase) -> Fields:
    return {"type": message.type, "code": message.code, "data": message.data.hex()}


def features_reply(message: MsgBase) -> Fields:
    return attributes(message, "datapath_id", "n_buffers", "n_tables", "auxiliary_id", "capabilities")


def packet_in(message: MsgBase) -> Fields:
    fixed = attributes(message, "buffer_id", "total_len", "reason", "table_id", "cookie")
    return {**fixed, "match": match(message.match), "data": message.data.hex()}


def flow_removed(message: MsgBase) -> Fields:
    fixed = attributes(
        message,
        "cookie",
        "priority",
        "reason",
        "table_id",
        "duration_sec",
        "duration_nsec",
        "idle_timeout",
        "hard_timeout",
        "packet_count",
        "byte_count",
    )
    return {**fixed, "match": match(message.match)}


def flow_mod(message: MsgBase) -> Fields:
    fixed = attributes(
        message,
        "cookie",
        "cookie_mask",
        "table_id",
        "command",
        "idle_timeout",
        "hard_timeout",
        "priority",
        "buffer_id",
        "out_port",
        "out_group",
        "flags",
    )
    return {**fixed, "match": match(message.match), "instructions": [instruction(one) for one in message.instructions]}


def port_status(message: MsgBase) -> Fields:
    return {"reason": message.reason, "port": port(message.desc)}


def role(message: MsgBase) -> Fields:
    return attributes(message, "role", "generation_id")


def flow_stats_reply(message: MsgBase) -> Fields:
    return {"more": bool(message.flags), "flows": [flow_stats(one) for one in message.body]}


def port_description_reply(message: MsgBase) -> Fields:
    return {"more": bool(message.flags), "ports": [port(one) for one in message.body]}


def table_reply(message: MsgBase) -> Fields:
    names = ("table_id", "active_count", "lookup_count", "matched_count")
    tables = [{name: getattr(one, name) for name in names} for one in message.body]
    return {"more": bool(message.flags), "tables": tables}


def table_features_reply(message: MsgBase) -> Fields:
    names = ("table_id", "metadata_match", "metadata_write", "config", "max_entries")
    tables = [
        {name: getattr(one, name) for name in names}
        | {"name": one.name.ljust(32, b"\0").hex(), "properties": "".join(map(str, one.properties))}
        for one in message.body
    ]
    return {"more": bool(message.flags), "tables": tables}


READERS: dict[str, tuple[str, Callable[[MsgBase], Any]]] = {
    "OFPHello": ("hello", hello),
    "OFPErrorMsg": ("error", error),
    "OFPEchoRequest": ("echo_request", lambda message: message.data.hex()),
    "OFPEchoReply": ("echo_reply", lambda message: message.data.hex()),
    "OFPSwitchFeatures": ("features_reply", features_reply),
    "OFPPacketIn": ("packet_in", packet_in),
    "OFPFlowRemoved": ("flow_removed", flow_removed),
    "OFPFlowMod": ("flow_mod", flow_mod),
    "OFPPortStatus": ("port_status", port_status),
    "OFPBarrierReply": ("barrier_reply", lambda _: None),
    "OFPRoleReply": ("role_reply", role),
    "OFPFlowStatsReply": ("flow_stats_reply", flow_stats_reply),
    "OFPTableStatsReply": ("table_reply", table_reply),
    "OFPTableFeaturesStatsReply": ("table_features_reply", table_features_reply),
    "OFPPortDescStatsReply": ("port_description_reply", port_description_reply),
}
READABLE = {name for name, _ in READERS.values()}
