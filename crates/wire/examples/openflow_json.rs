//! What the parser makes of `OpenFlow` messages, for tests in other languages. A line in: a message in hex. A line out: a
//! JSON object with its fields and the message as emitted again, or with `error`.

use std::error::Error;
use std::fmt::Display;
use std::io::{self, BufRead, Write};

use bytes::Bytes;
use handfast_wire::openflow::{
    Action, Body, EthAddr, FlowMod, FlowRemoved, FlowStats, FlowStatsRequest, Instruction, Masked, Match,
    Message, MultipartReply, MultipartRequest, PacketIn, Port, TableFeatures, TableStats,
};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn Error>> {
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        writeln!(out, "{}", answer(&hex::decode(line?)?.into()))?;
    }
    Ok(())
}

fn answer(frame: &Bytes) -> Value {
    let message = match Message::parse(frame) {
        Ok(message) => message,
        Err(error) => return json!({ "error": error.to_string() }),
    };
    let mut emitted = Vec::new();
    match message.emit(&mut emitted) {
        Ok(()) => json!({
            "xid": message.xid,
            "body": body(&message.body),
            "emitted": hex::encode(emitted),
        }),
        Err(error) => json!({ "error": error.to_string() }),
    }
}

/// The name of the body's type and its fields.
fn body(body: &Body) -> Value {
    match body {
        Body::Hello(hello) => json!({ "hello": { "version": hello.version, "bitmaps": hello.bitmaps } }),
        Body::Error(error) => {
            json!({ "error": { "type": error.kind, "code": error.code, "data": hex::encode(&error.data) } })
        }
        Body::EchoRequest(data) => json!({ "echo_request": hex::encode(data) }),
        Body::EchoReply(data) => json!({ "echo_reply": hex::encode(data) }),
        Body::FeaturesRequest => json!({ "features_request": null }),
        Body::FeaturesReply(features) => json!({ "features_reply": {
            "datapath_id": features.datapath_id,
            "n_buffers": features.n_buffers,
            "n_tables": features.n_tables,
            "auxiliary_id": features.auxiliary_id,
            "capabilities": features.capabilities,
        } }),
        Body::SetConfig(config) => {
            json!({ "set_config": { "flags": config.flags, "miss_send_len": config.miss_send_len } })
        }
        Body::PacketIn(packet) => json!({ "packet_in": packet_in(packet) }),
        Body::FlowRemoved(removed) => json!({ "flow_removed": flow_removed(removed) }),
        Body::PortStatus(status) => {
            json!({ "port_status": { "reason": status.reason as u8, "port": port(&status.port) } })
        }
        Body::PacketOut(packet) => json!({ "packet_out": {
            "buffer_id": packet.buffer_id,
            "in_port": packet.in_port.0,
            "actions": actions(&packet.actions),
            "data": hex::encode(&packet.data),
        } }),
        Body::FlowMod(change) => json!({ "flow_mod": flow_mod(change) }),
        Body::MultipartRequest(request) => multipart_request(request),
        Body::MultipartReply(reply) => multipart_reply(reply),
        Body::BarrierRequest => json!({ "barrier_request": null }),
        Body::BarrierReply => json!({ "barrier_reply": null }),
        Body::RoleRequest(role) => {
            json!({ "role_request": { "role": role.role as u8, "generation_id": role.generation_id } })
        }
        Body::RoleReply(role) => {
            json!({ "role_reply": { "role": role.role as u8, "generation_id": role.generation_id } })
        }
        Body::Unknown { kind, body } => json!({ "unknown": { "type": kind, "body": hex::encode(body) } }),
    }
}

fn packet_in(packet: &PacketIn) -> Value {
    json!({
        "buffer_id": packet.buffer_id,
        "total_len": packet.total_len,
        "reason": packet.reason as u8,
        "table_id": packet.table_id,
        "cookie": packet.cookie,
        "match": matches(&packet.matches),
        "data": hex::encode(&packet.data),
    })
}

fn flow_mod(change: &FlowMod) -> Value {
    json!({
        "cookie": change.cookie,
        "cookie_mask": change.cookie_mask,
        "table_id": change.table_id,
        "command": change.command as u8,
        "idle_timeout": change.idle_timeout,
        "hard_timeout": change.hard_timeout,
        "priority": change.priority,
        "buffer_id": change.buffer_id,
        "out_port": change.out_port.0,
        "out_group": change.out_group,
        "flags": change.flags.0,
        "match": matches(&change.matches),
        "instructions": instructions(&change.instructions),
    })
}

fn flow_removed(removed: &FlowRemoved) -> Value {
    json!({
        "cookie": removed.cookie,
        "priority": removed.priority,
        "reason": removed.reason as u8,
        "table_id": removed.table_id,
        "duration_sec": removed.duration_sec,
        "duration_nsec": removed.duration_nsec,
        "idle_timeout": removed.idle_timeout,
        "hard_timeout": removed.hard_timeout,
        "packet_count": removed.packet_count,
        "byte_count": removed.byte_count,
        "match": matches(&removed.matches),
    })
}

fn multipart_request(request: &MultipartRequest) -> Value {
    match request {
        MultipartRequest::Flow(request) => json!({ "flow_stats_request": flow_stats_request(request) }),
        MultipartRequest::Table => json!({ "table_request": null }),
        MultipartRequest::TableFeatures => json!({ "table_features_request": null }),
        MultipartRequest::PortDescription => json!({ "port_description_request": null }),
        MultipartRequest::Other { kind, flags, body } => json!({ "other_multipart_request": {
            "type": kind, "flags": flags, "body": hex::encode(body),
        } }),
    }
}

fn flow_stats_request(request: &FlowStatsRequest) -> Value {
    json!({
        "table_id": request.table_id,
        "out_port": request.out_port.0,
        "out_group": request.out_group,
        "cookie": request.cookie,
        "cookie_mask": request.cookie_mask,
        "match": matches(&request.matches),
    })
}

fn multipart_reply(reply: &MultipartReply) -> Value {
    match reply {
        MultipartReply::Flow { more, flows } => {
            let flows: Vec<_> = flows.iter().map(flow_stats).collect();
            json!({ "flow_stats_reply": { "more": more, "flows": flows } })
        }
        MultipartReply::Table { more, tables } => {
            let tables: Vec<_> = tables.iter().map(table_stats).collect();
            json!({ "table_reply": { "more": more, "tables": tables } })
        }
        MultipartReply::TableFeatures { more, tables } => {
            let tables: Vec<_> = tables.iter().map(table_features).collect();
            json!({ "table_features_reply": { "more": more, "tables": tables } })
        }
        MultipartReply::PortDescription { more, ports } => {
            let ports: Vec<_> = ports.iter().map(port).collect();
            json!({ "port_description_reply": { "more": more, "ports": ports } })
        }
        MultipartReply::Other { kind, flags, body } => json!({ "other_multipart_reply": {
            "type": kind, "flags": flags, "body": hex::encode(body),
        } }),
    }
}

fn table_stats(table: &TableStats) -> Value {
    json!({
        "table_id": table.table_id,
        "active_count": table.active_count,
        "lookup_count": table.lookup_count,
        "matched_count": table.matched_count,
    })
}

fn table_features(table: &TableFeatures) -> Value {
    json!({
        "table_id": table.table_id,
        "name": hex::encode(table.name),
        "metadata_match": table.metadata_match,
        "metadata_write": table.metadata_write,
        "config": table.config,
        "max_entries": table.max_entries,
        "properties": hex::encode(&table.properties),
    })
}

fn flow_stats(flow: &FlowStats) -> Value {
    json!({
        "table_id": flow.table_id,
        "duration_sec": flow.duration_sec,
        "duration_nsec": flow.duration_nsec,
        "priority": flow.priority,
        "idle_timeout": flow.idle_timeout,
        "hard_timeout": flow.hard_timeout,
        "flags": flow.flags.0,
        "cookie": flow.cookie,
        "packet_count": flow.packet_count,
        "byte_count": flow.byte_count,
        "match": matches(&flow.matches),
        "instructions": instructions(&flow.instructions),
    })
}

fn port(port: &Port) -> Value {
    json!({
        "port_no": port.port_no.0,
        "hw_addr": mac(port.hw_addr),
        "name": hex::encode(port.name),
        "config": port.config,
        "state": port.state,
        "curr": port.curr,
        "advertised": port.advertised,
        "supported": port.supported,
        "peer": port.peer,
        "curr_speed": port.curr_speed,
        "max_speed": port.max_speed,
    })
}

fn actions(actions: &[Action]) -> Value {
    let action = |action: &Action| match action {
        Action::Output { port, max_len } => json!({ "output": { "port": port.0, "max_len": max_len } }),
        Action::SetMetadata(value) => json!({ "set_metadata": value }),
        Action::Other { kind, body } => json!({ "other": { "type": kind, "body": hex::encode(body) } }),
    };
    actions.iter().map(action).collect()
}

fn instructions(all: &[Instruction]) -> Value {
    let instruction = |instruction: &Instruction| match instruction {
        Instruction::GotoTable(table) => json!({ "goto_table": table }),
        Instruction::WriteActions(written) => json!({ "write_actions": actions(written) }),
        Instruction::ApplyActions(applied) => json!({ "apply_actions": actions(applied) }),
        Instruction::ClearActions => json!({ "clear_actions": [] }),
        Instruction::Other { kind, body } => json!({ "other": { "type": kind, "body": hex::encode(body) } }),
    };
    all.iter().map(instruction).collect()
}

/// The fields that are there, by the names that os-ken has for them; those with a mask as a pair.
fn matches(matches: &Match) -> Value {
    let mut fields = serde_json::Map::new();
    let mut put = |name: &str, value: Option<Value>| {
        fields.extend(value.map(|value| (name.to_owned(), value)));
    };
    put("in_port", matches.in_port.map(|port| json!(port.0)));
    put("metadata", matches.metadata.map(|metadata| masked(metadata, Value::from)));
    put("eth_dst", matches.eth_dst.map(|address| masked(address, mac)));
    put("eth_src", matches.eth_src.map(|address| masked(address, mac)));
    put("eth_type", matches.eth_type.map(|kind| json!(kind)));
    put("vlan_vid", matches.vlan_vid.map(|vid| masked(vid, Value::from)));
    put("ip_proto", matches.ip_proto.map(|protocol| json!(protocol)));
    put("ipv4_src", matches.ipv4_src.map(|address| masked(address, text)));
    put("ipv4_dst", matches.ipv4_dst.map(|address| masked(address, text)));
    put("tcp_src", matches.tcp_src.map(|port| json!(port)));
    put("tcp_dst", matches.tcp_dst.map(|port| json!(port)));
    put("udp_src", matches.udp_src.map(|port| json!(port)));
    put("udp_dst", matches.udp_dst.map(|port| json!(port)));
    put("arp_tpa", matches.arp_tpa.map(|address| masked(address, text)));
    put("ipv6_src", matches.ipv6_src.map(|address| masked(address, text)));
    put("ipv6_dst", matches.ipv6_dst.map(|address| masked(address, text)));
    put("tcp_flags", matches.tcp_flags.map(|flags| masked(flags, Value::from)));
    let other = (!matches.other.is_empty()).then(|| json!(hex::encode(&matches.other)));
    put("other", other);
    fields.into()
}

fn masked<T: Copy>(field: Masked<T>, value: impl Fn(T) -> Value) -> Value {
    match field.mask {
        Some(mask) => json!([value(field.value), value(mask)]),
        None => value(field.value),
    }
}

fn text(address: impl Display) -> Value {
    address.to_string().into()
}

fn mac(address: EthAddr) -> Value {
    address.map(|byte| format!("{byte:02x}")).join(":").into()
}
