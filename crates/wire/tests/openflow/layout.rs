//! `OpenFlow` messages byte by byte, as the specification (1.3.5, TS-023) lays them out.

use bytes::Bytes;
use handfast_wire::openflow::{
    ALL_TABLES, ANY_GROUP, Action, Body, Error, FeaturesReply, FlowMod, FlowModCommand, FlowModFlags,
    FlowRemoved, FlowRemovedReason, FlowStats, FlowStatsRequest, Hello, Instruction, Masked, Match, Message,
    MultipartReply, MultipartRequest, NO_BUFFER, PacketIn, PacketInReason, PacketOut, Port, PortNo,
    PortReason, PortStatus, Role, RoleMessage, SwitchConfig, TableFeatures, TableStats, WHOLE_PACKET,
};

pub(crate) fn bytes(text: &str) -> Bytes {
    hex::decode(text.replace(char::is_whitespace, "")).unwrap().into()
}

/// The bytes are the message, and the message is these bytes.
#[track_caller]
fn both_ways(body: Body, text: &str) {
    let frame = bytes(text);
    let message = Message { xid: 0x0102_0304, body };
    assert_eq!(Message::parse(&frame).as_ref(), Ok(&message));
    let mut out = vec![0xee];
    assert_eq!(message.emit(&mut out), Ok(()));
    assert_eq!(hex::encode(&out[1..]), hex::encode(&frame));
    assert_eq!(Message::framed_len(&frame), Ok(Some(frame.len())));
}

pub(crate) fn data(bytes: &'static [u8]) -> Bytes {
    Bytes::from_static(bytes)
}

#[test]
fn hello() {
    both_ways(Body::Hello(Hello { version: 4, bitmaps: vec![] }), "04 00 0008 01020304");
    let bitmaps = vec![1 << 4 | 1 << 1];
    both_ways(Body::Hello(Hello { version: 4, bitmaps }), "04 00 0010 01020304  0001 0008 00000012");
    let two_words = Hello { version: 6, bitmaps: vec![0x52, 1] };
    both_ways(Body::Hello(two_words), "06 00 0018 01020304  0001 000c 00000052 00000001 00000000");
}

#[test]
fn error() {
    let error = Error { kind: 5, code: 6, data: data(b"flow") };
    both_ways(Body::Error(error), "04 01 0010 01020304  0005 0006 666c6f77");
}

#[test]
fn echo() {
    both_ways(Body::EchoRequest(data(b"hi")), "04 02 000a 01020304 6869");
    both_ways(Body::EchoReply(data(b"")), "04 03 0008 01020304");
}

#[test]
fn features() {
    both_ways(Body::FeaturesRequest, "04 05 0008 01020304");
    let features = FeaturesReply {
        datapath_id: 0x0000_0200_0000_0007,
        n_buffers: 0x100,
        n_tables: 0xfe,
        auxiliary_id: 1,
        capabilities: 0x4f,
    };
    both_ways(
        Body::FeaturesReply(features),
        "04 06 0020 01020304  0000020000000007 00000100 fe 01 0000 0000004f 00000000",
    );
}

#[test]
fn set_config() {
    let config = SwitchConfig { flags: 1, miss_send_len: 0xffff };
    both_ways(Body::SetConfig(config), "04 09 000c 01020304  0001 ffff");
}

#[test]
fn packet_in() {
    let packet = PacketIn {
        buffer_id: NO_BUFFER,
        total_len: 60,
        reason: PacketInReason::Action,
        table_id: 2,
        cookie: 0x4846_0000_0000_0001,
        matches: Match { in_port: Some(PortNo(7)), ..Match::default() },
        data: data(&[0xff, 0xfe, 0xfd]),
    };
    both_ways(
        Body::PacketIn(packet),
        "04 0a 002d 01020304  ffffffff 003c 01 02 4846000000000001
         0001 000c 80000004 00000007 00000000  0000 fffefd",
    );
}

#[test]
fn packet_out() {
    let packet = PacketOut {
        buffer_id: NO_BUFFER,
        in_port: PortNo::CONTROLLER,
        actions: vec![
            Action::Output { port: PortNo(3), max_len: 0 },
            Action::Other { kind: 24, body: data(&[0, 0, 0, 0]) },
        ],
        data: data(&[0xab]),
    };
    both_ways(
        Body::PacketOut(packet),
        "04 0d 0031 01020304  ffffffff fffffffd 0018 000000000000
         0000 0010 00000003 0000 000000000000  0018 0008 00000000  ab",
    );
}

#[test]
fn flow_mod() {
    let change = FlowMod {
        cookie: 0x11,
        cookie_mask: 0xff00,
        table_id: 1,
        command: FlowModCommand::ModifyStrict,
        idle_timeout: 5,
        hard_timeout: 30,
        priority: 1000,
        buffer_id: NO_BUFFER,
        out_port: PortNo::ANY,
        out_group: ANY_GROUP,
        flags: FlowModFlags::SEND_FLOW_REM,
        matches: Match { eth_type: Some(0x800), ip_proto: Some(6), ..Match::default() },
        instructions: vec![
            Instruction::ApplyActions(vec![Action::Output {
                port: PortNo::CONTROLLER,
                max_len: WHOLE_PACKET,
            }]),
            Instruction::WriteActions(vec![]),
            Instruction::ClearActions,
            Instruction::Other { kind: 6, body: data(&[0, 0, 0, 9]) },
            Instruction::GotoTable(2),
        ],
    };
    both_ways(
        Body::FlowMod(change),
        "04 0e 0078 01020304  0000000000000011 000000000000ff00 01 02 0005 001e 03e8 ffffffff ffffffff ffffffff 0001 0000
         0001 000f 80000a02 0800 80001401 06 00
         0004 0018 00000000 0000 0010 fffffffd ffff 000000000000
         0003 0008 00000000  0005 0008 00000000  0006 0008 00000009  0001 0008 02 000000",
    );
}

#[test]
fn flow_removed() {
    let removed = FlowRemoved {
        cookie: 9,
        priority: 0x8000,
        reason: FlowRemovedReason::HardTimeout,
        table_id: 3,
        duration_sec: 30,
        duration_nsec: 1_000_000,
        idle_timeout: 0,
        hard_timeout: 30,
        packet_count: 0x1_0000_0000,
        byte_count: 0x2_0000_0000,
        matches: Match::default(),
    };
    both_ways(
        Body::FlowRemoved(removed),
        "04 0b 0038 01020304  0000000000000009 8000 01 03 0000001e 000f4240 0000 001e
         0000000100000000 0000000200000000  0001 0004 00000000",
    );
}

const PORT: &str = "00000007 00000000 020000000001 0000 65746831000000000000000000000000
    00000001 00000004 00002820 00002821 00002822 00002823 000f4240 00989680";

pub(crate) fn port() -> Port {
    Port {
        port_no: PortNo(7),
        hw_addr: [2, 0, 0, 0, 0, 1],
        name: *b"eth1\0\0\0\0\0\0\0\0\0\0\0\0",
        config: 1,
        state: 4,
        curr: 0x2820,
        advertised: 0x2821,
        supported: 0x2822,
        peer: 0x2823,
        curr_speed: 1_000_000,
        max_speed: 10_000_000,
    }
}

#[test]
fn port_status() {
    let status = PortStatus { reason: PortReason::Modify, port: port() };
    both_ways(Body::PortStatus(status), &format!("04 0c 0050 01020304  02 00000000000000 {PORT}"));
}

#[test]
fn barrier() {
    both_ways(Body::BarrierRequest, "04 14 0008 01020304");
    both_ways(Body::BarrierReply, "04 15 0008 01020304");
}

#[test]
fn role() {
    let role = RoleMessage { role: Role::Master, generation_id: 0x8000_0000_0000_0001 };
    both_ways(Body::RoleRequest(role), "04 18 0018 01020304  00000002 00000000 8000000000000001");
    let role = RoleMessage { role: Role::Slave, generation_id: 1 };
    both_ways(Body::RoleReply(role), "04 19 0018 01020304  00000003 00000000 0000000000000001");
}

#[test]
fn flow_statistics() {
    let request = FlowStatsRequest {
        table_id: ALL_TABLES,
        out_port: PortNo::ANY,
        out_group: ANY_GROUP,
        cookie: 0x10,
        cookie_mask: 0xf0,
        matches: Match::default(),
    };
    both_ways(
        Body::MultipartRequest(MultipartRequest::Flow(request)),
        "04 12 0038 01020304  0001 0000 00000000  ff 000000 ffffffff ffffffff 00000000
         0000000000000010 00000000000000f0  0001 0004 00000000",
    );
    let flow = |table_id, instructions| FlowStats {
        table_id,
        duration_sec: 1,
        duration_nsec: 2,
        priority: 3,
        idle_timeout: 4,
        hard_timeout: 5,
        flags: FlowModFlags(6),
        cookie: 7,
        packet_count: 8,
        byte_count: 9,
        matches: Match::default(),
        instructions,
    };
    let flows = vec![flow(0, vec![Instruction::GotoTable(1)]), flow(1, vec![])];
    let counters = "00000001 00000002 0003 0004 0005 0006 00000000
        0000000000000007 0000000000000008 0000000000000009  0001 0004 00000000";
    both_ways(
        Body::MultipartReply(MultipartReply::Flow { more: true, flows }),
        &format!(
            "04 13 0088 01020304  0001 0001 00000000
             0040 00 00 {counters} 0001 0008 01000000  0038 01 00 {counters}"
        ),
    );
}

#[test]
fn port_descriptions() {
    both_ways(
        Body::MultipartRequest(MultipartRequest::PortDescription),
        "04 12 0010 01020304  000d 0000 00000000",
    );
    both_ways(
        Body::MultipartReply(MultipartReply::PortDescription { more: false, ports: vec![port(), port()] }),
        &format!("04 13 0090 01020304  000d 0000 00000000 {PORT} {PORT}"),
    );
}

#[test]
fn tables() {
    both_ways(Body::MultipartRequest(MultipartRequest::Table), "04 12 0010 01020304  0003 0000 00000000");
    both_ways(
        Body::MultipartRequest(MultipartRequest::TableFeatures),
        "04 12 0010 01020304  000c 0000 00000000",
    );
    let stats = TableStats { table_id: 7, active_count: 0x0102, lookup_count: 3, matched_count: 2 };
    both_ways(
        Body::MultipartReply(MultipartReply::Table { more: true, tables: vec![stats] }),
        "04 13 0028 01020304  0003 0001 00000000 07 000000 00000102 0000000000000003 0000000000000002",
    );
    let mut name = [0; 32];
    name[0] = 0x61;
    let features = TableFeatures {
        table_id: 7,
        name,
        metadata_match: 1,
        metadata_write: 2,
        config: 3,
        max_entries: 1_000_000,
        properties: data(&[0, 0, 0, 4, 0, 0, 0, 0]),
    };
    let zeros = "00".repeat(31);
    both_ways(
        Body::MultipartReply(MultipartReply::TableFeatures { more: false, tables: vec![features] }),
        &format!(
            "04 13 0058 01020304  000c 0000 00000000  0048 07 0000000000 61 {zeros}
             0000000000000001 0000000000000002 00000003 000f4240  00000004 00000000"
        ),
    );
}

#[test]
fn what_is_not_known_is_kept() {
    let body = || data(&[1, 2, 3]);
    both_ways(Body::Unknown { kind: 4, body: body() }, "04 04 000b 01020304  010203");
    let request = MultipartRequest::Other { kind: 0xffff, flags: 1, body: body() };
    both_ways(Body::MultipartRequest(request), "04 12 0013 01020304  ffff 0001 00000000 010203");
    let reply = MultipartReply::Other { kind: 2, flags: 0, body: body() };
    both_ways(Body::MultipartReply(reply), "04 13 0013 01020304  0002 0000 00000000 010203");
    // With a body it would change the tables.
    let change = MultipartRequest::Other { kind: 12, flags: 0, body: body() };
    both_ways(Body::MultipartRequest(change), "04 12 0013 01020304  000c 0000 00000000 010203");
}

#[test]
fn known_multipart_types_with_flags_that_have_no_meaning_are_kept() {
    for kind in [1, 13] {
        let (flags, body) = (2, data(&[9]));
        let text = |direction| format!("04 {direction} 0011 01020304  {kind:04x} 0002 00000000 09");
        let request = MultipartRequest::Other { kind, flags, body: body.clone() };
        both_ways(Body::MultipartRequest(request), &text("12"));
        both_ways(Body::MultipartReply(MultipartReply::Other { kind, flags, body }), &text("13"));
    }
}

/// A packet-in of nothing but that match, whose length without padding is `len`.
#[track_caller]
fn match_both_ways(matches: Match, len: usize, fields: &str) {
    let padding = "00".repeat(len.next_multiple_of(8) - len);
    let packet = PacketIn {
        buffer_id: 0,
        total_len: 0,
        reason: PacketInReason::NoMatch,
        table_id: 0,
        cookie: 0,
        matches,
        data: Bytes::new(),
    };
    let total = 8 + 16 + len.next_multiple_of(8) + 2;
    let text =
        format!("04 0a {total:04x} 01020304 {} 0001 {len:04x} {fields} {padding} 0000", "00".repeat(16));
    both_ways(Body::PacketIn(packet), &text);
}

#[test]
fn every_field_of_a_match() {
    let matches = Match {
        in_port: Some(PortNo(1)),
        metadata: Some(Masked::exact(0x6866)),
        eth_dst: Some(Masked::exact([2, 0, 0, 0, 0, 1])),
        eth_src: Some(Masked::exact([2, 0, 0, 0, 0, 2])),
        eth_type: Some(0x0800),
        vlan_vid: Some(Masked::exact(0x1007)),
        ip_proto: Some(6),
        ipv4_src: Some(Masked::exact([192, 0, 2, 1].into())),
        ipv4_dst: Some(Masked::exact([192, 0, 2, 2].into())),
        tcp_src: Some(80),
        tcp_dst: Some(443),
        udp_src: Some(53),
        udp_dst: Some(123),
        arp_tpa: Some(Masked::exact([192, 0, 2, 3].into())),
        ipv6_src: Some(Masked::exact("2001:db8::1".parse().unwrap())),
        ipv6_dst: Some(Masked::exact("2001:db8::2".parse().unwrap())),
        tcp_flags: Some(Masked::exact(0x012)),
        other: data(&[0x80, 0x00, 0x10, 1, 0x2e]),
    };
    match_both_ways(
        matches,
        4 + 8 + 12 + 10 + 10 + 6 + 6 + 5 + 8 + 8 + 4 * 6 + 8 + 20 + 20 + 10 + 5,
        "80000004 00000001  80000408 0000000000006866  80000606 020000000001  80000806 020000000002  80000a02 0800  80000c02 1007
         80001401 06  80001604 c0000201  80001804 c0000202
         80001a02 0050  80001c02 01bb  80001e02 0035  80002002 007b  80002e04 c0000203
         80003410 20010db8000000000000000000000001  80003610 20010db8000000000000000000000002
         ffff5406 4f4e4600 0012  80001001 2e",
    );
}

#[test]
fn every_mask_of_a_match() {
    let prefix = |value: &str, mask: &str| {
        Some(Masked { value: value.parse().unwrap(), mask: Some(mask.parse().unwrap()) })
    };
    let net = |value: [u8; 4]| Some(Masked { value: value.into(), mask: Some([255, 255, 255, 0].into()) });
    let matches = Match {
        eth_dst: Some(Masked { value: [1, 0, 0, 0, 0, 0], mask: Some([1, 0, 0, 0, 0, 0]) }),
        eth_src: Some(Masked { value: [2, 0, 0, 0, 0, 0], mask: Some([0xfe, 0, 0, 0, 0, 0]) }),
        vlan_vid: Some(Masked { value: 0x1000, mask: Some(0x1000) }),
        ipv4_src: net([192, 0, 2, 0]),
        ipv4_dst: net([10, 0, 0, 0]),
        arp_tpa: net([10, 0, 1, 0]),
        ipv6_src: prefix("2001:db8::", "ffff:ffff::"),
        ipv6_dst: prefix("fe80::", "ffc0::"),
        tcp_flags: Some(Masked { value: 0x002, mask: Some(0x017) }),
        ..Match::default()
    };
    match_both_ways(
        matches,
        4 + 16 + 16 + 8 + 12 + 12 + 12 + 36 + 36 + 12,
        "8000070c 010000000000 010000000000  8000090c 020000000000 fe0000000000  80000d04 1000 1000
         80001708 c0000200 ffffff00  80001908 0a000000 ffffff00  80002f08 0a000100 ffffff00
         80003520 20010db8000000000000000000000000 ffffffff000000000000000000000000
         80003720 fe800000000000000000000000000000 ffc00000000000000000000000000000
         ffff5508 4f4e4600 0002 0017",
    );
}

#[test]
fn flags_contain_flags() {
    let both = FlowModFlags(FlowModFlags::SEND_FLOW_REM.0 | FlowModFlags::RESET_COUNTS.0);
    assert!(both.contains(FlowModFlags::SEND_FLOW_REM) && both.contains(both));
    assert!(!both.contains(FlowModFlags::CHECK_OVERLAP));
    assert!(!FlowModFlags::SEND_FLOW_REM.contains(both));
    assert!(!FlowModFlags::default().contains(FlowModFlags::RESET_COUNTS));
}
