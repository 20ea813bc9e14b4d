//! What the parser makes of frames, for tests in other languages. A line in: `ethernet HEX` or `raw HEX`. A line out: a
//! JSON object with the parsed fields and the frame as emitted again, or with `error`.

use std::error::Error;
use std::io::{self, BufRead, Write};

use bytes::Bytes;
use handfast_wire::tcp::Segment;
use handfast_wire::{Body, Checksums, LinkType, Packet};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn Error>> {
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let line = line?;
        let (link, frame) = line.split_once(' ').ok_or("expected: ethernet HEX, or raw HEX")?;
        let link = match link {
            "ethernet" => LinkType::Ethernet,
            "raw" => LinkType::RawIp,
            other => return Err(format!("link type {other}: expected ethernet or raw").into()),
        };
        writeln!(out, "{}", answer(link, &hex::decode(frame)?.into()))?;
    }
    Ok(())
}

fn answer(link: LinkType, frame: &Bytes) -> Value {
    let packet = match Packet::parse(link, frame, Checksums::Verify) {
        Ok(packet) => packet,
        Err(error) => return json!({ "error": error.to_string() }),
    };
    let mut emitted = Vec::new();
    match packet.emit(&mut emitted) {
        Ok(()) => json!({ "packet": packet_fields(&packet), "emitted": hex::encode(emitted) }),
        Err(error) => json!({ "error": error.to_string() }),
    }
}

fn packet_fields(packet: &Packet) -> Value {
    let ethernet = packet.ethernet.map(|ethernet| {
        let vlan = ethernet.vlan.map(|vlan| json!([vlan.priority, vlan.drop_eligible, vlan.id]));
        json!({ "dst": hex::encode(ethernet.dst), "src": hex::encode(ethernet.src), "vlan": vlan })
    });
    let body = match &packet.body {
        Body::Tcp(segment) => json!({ "tcp": segment_fields(segment) }),
        Body::Udp(datagram) => {
            json!({ "udp": { "src_port": datagram.src_port, "dst_port": datagram.dst_port } })
        }
        Body::Sdtp(_) => json!({ "protocol": handfast_wire::sdtp::PROTOCOL }),
        Body::Other { protocol, .. } => json!({ "protocol": protocol }),
    };
    json!({
        "ethernet": ethernet,
        "src": packet.src,
        "dst": packet.dst,
        "hop_limit": packet.hop_limit,
        "traffic_class": packet.traffic_class,
        "identification": packet.identification,
        "may_fragment": packet.may_fragment,
        "flow_label": packet.flow_label,
        "corrupted": packet.corrupted,
        "body": body,
        "payload": hex::encode(packet.body.payload().to_bytes()),
    })
}

fn segment_fields(segment: &Segment) -> Value {
    let sack: Vec<_> = segment.sack.as_slice().iter().map(|block| (block.start.0, block.end.0)).collect();
    json!({
        "src_port": segment.src_port,
        "dst_port": segment.dst_port,
        "seq": segment.seq.0,
        "ack": segment.ack.0,
        "flags": segment.flags.0,
        "window": segment.window,
        "urgent": segment.urgent,
        "mss": segment.mss,
        "window_scale": segment.window_scale,
        "sack_permitted": segment.sack_permitted,
        "timestamps": segment.timestamps.map(|timestamps| (timestamps.val, timestamps.ecr)),
        "sack": sack,
        "unknown": hex::encode(segment.rare.as_ref().map_or(&[][..], |rare| &rare.unknown)),
    })
}
