//! Messages for the tests: any that has a form on the wire.

use bytes::Bytes;
use handfast_wire::openflow::{
    Action, Body, Error, FeaturesReply, FlowMod, FlowModCommand, FlowModFlags, FlowRemoved,
    FlowRemovedReason, FlowStats, FlowStatsRequest, Hello, Instruction, Masked, Match, Message,
    MultipartReply, MultipartRequest, PacketIn, PacketInReason, PacketOut, Port, PortNo, PortReason,
    PortStatus, Role, RoleMessage, SwitchConfig, TableFeatures, TableStats,
};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;

/// Types of messages that this crate speaks.
const KNOWN: [u8; 18] = [0, 1, 2, 3, 5, 6, 9, 10, 11, 12, 13, 14, 18, 19, 20, 21, 24, 25];

fn data(max: usize) -> impl Strategy<Value = Bytes> {
    vec(any::<u8>(), 0..max).prop_map(Bytes::from)
}

fn port_no() -> impl Strategy<Value = PortNo> {
    prop_oneof![1..5_u32, 0xffff_fff0..=u32::MAX, any::<u32>()].prop_map(PortNo)
}

fn masked<T: Arbitrary + Copy>() -> impl Strategy<Value = Option<Masked<T>>> {
    of(any::<(T, Option<T>)>().prop_map(|(value, mask)| Masked { value, mask }))
}

/// A field without a place in [`Match`], as it lies on the wire.
fn other_field() -> impl Strategy<Value = Vec<u8>> {
    let basic = prop_oneof![Just(1_u8), 7..10_u8, 17..23_u8, 28..128_u8];
    // Those that have no mask in 1.3 are kept where they have one.
    let with_mask = prop_oneof![Just(0_u8), Just(5), Just(10), 13..17_u8];
    prop_oneof![
        (basic, any::<bool>()).prop_map(|(number, mask)| (0x8000, number << 1 | u8::from(mask))),
        with_mask.prop_map(|number| (0x8000, number << 1 | 1)),
        // Neither the basic class nor the experimenters'.
        (prop_oneof![0..0x8000_u16, 0x8001..0xffff_u16], any::<u8>()),
        // Experimenters, but not TCP flags of the ONF: the last byte of the experimenter is not 0.
        (Just(0xffff), any::<u8>()),
    ]
    .prop_flat_map(|(class, number_mask)| {
        vec(1..=u8::MAX, 4..20).prop_map(move |value| {
            let mut field = class.to_be_bytes().to_vec();
            field.extend([number_mask, value.len() as u8]);
            field.extend(value);
            field
        })
    })
}

/// Boxed as the larger ones here: their trees of values do not fit a test's stack.
fn matches() -> BoxedStrategy<Match> {
    let link = (of(port_no()), masked::<u64>(), masked(), masked(), of(any::<u16>()), masked::<u16>());
    let ports = any::<[Option<u16>; 4]>();
    let v4 = (masked(), masked(), masked());
    let other = prop_oneof![4 => Just(Bytes::new()), 1 => vec(other_field(), 1..4).prop_map(|fields| fields.concat().into())];
    let network = (of(any::<u8>()), v4, ports, (masked(), masked()), masked(), other);
    (link, network)
        .prop_map(|(link, network)| {
            let (in_port, metadata, eth_dst, eth_src, eth_type, vlan_vid) = link;
            let (ip_proto, v4, [tcp_src, tcp_dst, udp_src, udp_dst], v6, tcp_flags, other) = network;
            let (ipv4_src, ipv4_dst, arp_tpa) = v4;
            let (ipv6_src, ipv6_dst) = v6;
            Match {
                in_port,
                metadata,
                eth_dst,
                eth_src,
                eth_type,
                vlan_vid,
                ip_proto,
                ipv4_src,
                ipv4_dst,
                tcp_src,
                tcp_dst,
                udp_src,
                udp_dst,
                arp_tpa,
                ipv6_src,
                ipv6_dst,
                tcp_flags,
                other,
            }
        })
        .boxed()
}

/// `words` of 8 bytes, less type and length.
fn padded_body() -> impl Strategy<Value = Bytes> {
    (1..4_usize, any::<u8>()).prop_map(|(words, fill)| vec![fill; words * 8 - 4].into())
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let output = (port_no(), any::<u16>()).prop_map(|(port, max_len)| Action::Output { port, max_len });
    let other = (1..=u16::MAX, padded_body()).prop_map(|(kind, body)| Action::Other { kind, body });
    let metadata = any::<u64>().prop_map(Action::SetMetadata);
    vec(prop_oneof![output, metadata, other], 0..4)
}

fn instructions() -> BoxedStrategy<Vec<Instruction>> {
    let kind = any::<u16>().prop_filter("a foreign kind", |kind| ![1, 3, 4, 5].contains(kind));
    vec(
        prop_oneof![
            any::<u8>().prop_map(Instruction::GotoTable),
            actions().prop_map(Instruction::WriteActions),
            actions().prop_map(Instruction::ApplyActions),
            Just(Instruction::ClearActions),
            (kind, data(13)).prop_map(|(kind, body)| Instruction::Other { kind, body }),
        ],
        0..4,
    )
    .boxed()
}

fn port() -> impl Strategy<Value = Port> {
    (port_no(), any::<([u8; 6], [u8; 16], [u32; 8])>()).prop_map(|(port_no, (hw_addr, name, words))| {
        let [config, state, curr, advertised, supported, peer, curr_speed, max_speed] = words;
        Port {
            port_no,
            hw_addr,
            name,
            config,
            state,
            curr,
            advertised,
            supported,
            peer,
            curr_speed,
            max_speed,
        }
    })
}

fn packet_in() -> BoxedStrategy<PacketIn> {
    let reason = prop_oneof![
        Just(PacketInReason::NoMatch),
        Just(PacketInReason::Action),
        Just(PacketInReason::InvalidTtl)
    ];
    (any::<(u32, u16, u8, u64)>(), reason, matches(), data(100))
        .prop_map(|((buffer_id, total_len, table_id, cookie), reason, matches, data)| PacketIn {
            buffer_id,
            total_len,
            reason,
            table_id,
            cookie,
            matches,
            data,
        })
        .boxed()
}

fn packet_out() -> BoxedStrategy<PacketOut> {
    (any::<u32>(), port_no(), actions(), data(100))
        .prop_map(|(buffer_id, in_port, actions, data)| PacketOut { buffer_id, in_port, actions, data })
        .boxed()
}

fn flow_mod() -> BoxedStrategy<FlowMod> {
    let command = prop_oneof![
        Just(FlowModCommand::Add),
        Just(FlowModCommand::Modify),
        Just(FlowModCommand::ModifyStrict),
        Just(FlowModCommand::Delete),
        Just(FlowModCommand::DeleteStrict),
    ];
    let fixed = any::<(u64, u64, u8, [u16; 4], u32, u32)>();
    (fixed, command, port_no(), matches(), instructions())
        .prop_map(|(fixed, command, out_port, matches, instructions)| {
            let (cookie, cookie_mask, table_id, words, buffer_id, out_group) = fixed;
            let [idle_timeout, hard_timeout, priority, flags] = words;
            FlowMod {
                cookie,
                cookie_mask,
                table_id,
                command,
                idle_timeout,
                hard_timeout,
                priority,
                buffer_id,
                out_port,
                out_group,
                flags: FlowModFlags(flags),
                matches,
                instructions,
            }
        })
        .boxed()
}

fn flow_removed() -> BoxedStrategy<FlowRemoved> {
    let reason = prop_oneof![
        Just(FlowRemovedReason::IdleTimeout),
        Just(FlowRemovedReason::HardTimeout),
        Just(FlowRemovedReason::Delete),
        Just(FlowRemovedReason::GroupDelete),
    ];
    let fixed = any::<(u64, u8, [u16; 3], [u32; 2], [u64; 2])>();
    (fixed, reason, matches())
        .prop_map(|((cookie, table_id, words, durations, counts), reason, matches)| {
            let [priority, idle_timeout, hard_timeout] = words;
            let ([duration_sec, duration_nsec], [packet_count, byte_count]) = (durations, counts);
            FlowRemoved {
                cookie,
                priority,
                reason,
                table_id,
                duration_sec,
                duration_nsec,
                idle_timeout,
                hard_timeout,
                packet_count,
                byte_count,
                matches,
            }
        })
        .boxed()
}

fn flow_stats() -> BoxedStrategy<FlowStats> {
    let fixed = any::<(u8, [u32; 2], [u16; 4], [u64; 3])>();
    (fixed, matches(), instructions())
        .prop_map(|((table_id, durations, words, counts), matches, instructions)| {
            let ([duration_sec, duration_nsec], [cookie, packet_count, byte_count]) = (durations, counts);
            let [priority, idle_timeout, hard_timeout, flags] = words;
            FlowStats {
                table_id,
                duration_sec,
                duration_nsec,
                priority,
                idle_timeout,
                hard_timeout,
                flags: FlowModFlags(flags),
                cookie,
                packet_count,
                byte_count,
                matches,
                instructions,
            }
        })
        .boxed()
}

/// A multipart message that is kept: of a type not spoken here.
fn foreign_multipart() -> impl Strategy<Value = (u16, u16, Bytes)> {
    let kind = any::<u16>().prop_filter("a foreign kind", |kind| ![1, 3, 12, 13].contains(kind));
    prop_oneof![
        (kind, any::<u16>(), data(40)),
        // Or of one spoken here, with flags that have no meaning.
        (prop_oneof![Just(1), Just(3), Just(12), Just(13)], 2..=u16::MAX, data(40)),
    ]
}

fn multipart_request() -> BoxedStrategy<MultipartRequest> {
    let flow = (any::<(u8, u32, u64, u64)>(), port_no(), matches()).prop_map(
        |((table_id, out_group, cookie, cookie_mask), out_port, matches)| FlowStatsRequest {
            table_id,
            out_port,
            out_group,
            cookie,
            cookie_mask,
            matches,
        },
    );
    prop_oneof![
        flow.prop_map(MultipartRequest::Flow),
        Just(MultipartRequest::Table),
        Just(MultipartRequest::TableFeatures),
        Just(MultipartRequest::PortDescription),
        foreign_multipart().prop_map(|(kind, flags, body)| MultipartRequest::Other { kind, flags, body }),
    ]
    .boxed()
}

fn table_stats() -> impl Strategy<Value = TableStats> {
    any::<(u8, u32, u64, u64)>().prop_map(|(table_id, active_count, lookup_count, matched_count)| {
        TableStats { table_id, active_count, lookup_count, matched_count }
    })
}

fn table_features() -> impl Strategy<Value = TableFeatures> {
    let numbers = any::<(u8, [u8; 32], u64, u64, u32, u32)>();
    (numbers, data(24)).prop_map(|(numbers, properties)| {
        let (table_id, name, metadata_match, metadata_write, config, max_entries) = numbers;
        TableFeatures { table_id, name, metadata_match, metadata_write, config, max_entries, properties }
    })
}

fn multipart_reply() -> BoxedStrategy<MultipartReply> {
    prop_oneof![
        (any::<bool>(), vec(flow_stats(), 0..4))
            .prop_map(|(more, flows)| MultipartReply::Flow { more, flows }),
        (any::<bool>(), vec(table_stats(), 0..4))
            .prop_map(|(more, tables)| MultipartReply::Table { more, tables }),
        (any::<bool>(), vec(table_features(), 0..4))
            .prop_map(|(more, tables)| MultipartReply::TableFeatures { more, tables }),
        (any::<bool>(), vec(port(), 0..4))
            .prop_map(|(more, ports)| MultipartReply::PortDescription { more, ports }),
        foreign_multipart().prop_map(|(kind, flags, body)| MultipartReply::Other { kind, flags, body }),
    ]
    .boxed()
}

fn role() -> impl Strategy<Value = RoleMessage> {
    let role = prop_oneof![Just(Role::NoChange), Just(Role::Equal), Just(Role::Master), Just(Role::Slave)];
    (role, any::<u64>()).prop_map(|(role, generation_id)| RoleMessage { role, generation_id })
}

fn session() -> BoxedStrategy<Body> {
    let kind = any::<u8>().prop_filter("a foreign kind", |kind| !KNOWN.contains(kind));
    prop_oneof![
        (any::<u8>(), vec(any::<u32>(), 0..4))
            .prop_map(|(version, bitmaps)| Body::Hello(Hello { version, bitmaps })),
        (any::<(u16, u16)>(), data(80)).prop_map(|((kind, code), data)| Body::Error(Error {
            kind,
            code,
            data
        })),
        data(20).prop_map(Body::EchoRequest),
        data(20).prop_map(Body::EchoReply),
        Just(Body::FeaturesRequest),
        any::<(u64, u32, u8, u8, u32)>().prop_map(
            |(datapath_id, n_buffers, n_tables, auxiliary_id, capabilities)| Body::FeaturesReply(
                FeaturesReply { datapath_id, n_buffers, n_tables, auxiliary_id, capabilities }
            )
        ),
        any::<(u16, u16)>()
            .prop_map(|(flags, miss_send_len)| Body::SetConfig(SwitchConfig { flags, miss_send_len })),
        Just(Body::BarrierRequest),
        Just(Body::BarrierReply),
        role().prop_map(Body::RoleRequest),
        role().prop_map(Body::RoleReply),
        (kind, data(40)).prop_map(|(kind, body)| Body::Unknown { kind, body }),
    ]
    .boxed()
}

fn body() -> BoxedStrategy<Body> {
    let reason = prop_oneof![Just(PortReason::Add), Just(PortReason::Delete), Just(PortReason::Modify)];
    prop_oneof![
        4 => session(),
        2 => packet_in().prop_map(Body::PacketIn),
        2 => packet_out().prop_map(Body::PacketOut),
        3 => flow_mod().prop_map(Body::FlowMod),
        2 => flow_removed().prop_map(Body::FlowRemoved),
        1 => (reason, port()).prop_map(|(reason, port)| Body::PortStatus(PortStatus { reason, port })),
        2 => multipart_request().prop_map(Body::MultipartRequest),
        3 => multipart_reply().prop_map(Body::MultipartReply),
    ]
    .boxed()
}

/// Any message.
pub(crate) fn message() -> impl Strategy<Value = Message> {
    (any::<u32>(), body()).prop_map(|(xid, body)| Message { xid, body })
}

/// Its bytes.
pub(crate) fn emitted(message: &Message) -> Bytes {
    let mut frame = Vec::new();
    message.emit(&mut frame).unwrap();
    frame.into()
}
