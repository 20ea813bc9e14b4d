//! Random requests and packets of a small world, in which they meet often.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use handfast_core::{Duration, SeqNum};
use handfast_wire::openflow::{
    ALL_TABLES, ANY_GROUP, Action, FlowMod, FlowModCommand, FlowModFlags, Instruction, Masked, Match,
    NO_BUFFER, PortNo, WHOLE_PACKET,
};
use handfast_wire::tcp::{Flags, Segment};
use handfast_wire::{Body, Ethernet, Packet, Payload, Vlan};
use proptest::option::weighted;
use proptest::prelude::*;
use proptest::sample::select;

use crate::bench::{MAC_A, MAC_B, P1, P2, P3, datagram, framed};

pub(crate) const N_TABLES: u8 = 3;
pub(crate) const MAX_ENTRIES: usize = 12;

/// What happens to a switch.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Change(FlowMod),
    Packet(PortNo, Packet),
    Wait(Duration),
}

pub(crate) fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => flow_mod().prop_map(Step::Change),
        4 => (select(vec![P1, P2]), packet()).prop_map(|(port, packet)| Step::Packet(port, packet)),
        1 => (0..2500_u64).prop_map(|ms| Step::Wait(Duration::from_millis(ms))),
    ]
}

/// A field that is often left out, and often masked.
fn field<T: Copy + std::fmt::Debug + 'static>(
    values: Vec<Masked<T>>,
) -> impl Strategy<Value = Option<Masked<T>>> {
    weighted(0.4, select(values))
}

const fn part<T>(value: T, mask: T) -> Masked<T> {
    Masked { value, mask: Some(mask) }
}

fn mac() -> impl Strategy<Value = Option<Masked<[u8; 6]>>> {
    field(vec![
        Masked::exact(MAC_A),
        part(MAC_B, [0xff; 6]),
        part([2, 0, 0, 0, 0, 0], [0xff, 0xff, 0, 0, 0, 0]),
        part([0; 6], [0; 6]),
    ])
}

fn vlan() -> impl Strategy<Value = Option<Masked<u16>>> {
    field(vec![Masked::exact(0), Masked::exact(0x1001), part(0x1000, 0x1000), part(0x1002, 0x1fff)])
}

fn v4(a: u8, b: u8, c: u8, d: u8) -> Ipv4Addr {
    Ipv4Addr::new(a, b, c, d)
}

fn ipv4() -> impl Strategy<Value = Option<Masked<Ipv4Addr>>> {
    field(vec![
        Masked::exact(v4(10, 0, 0, 1)),
        part(v4(10, 0, 0, 2), v4(255, 255, 255, 255)),
        part(v4(10, 0, 0, 0), v4(255, 255, 255, 0)),
        part(v4(10, 0, 0, 0), v4(255, 0, 0, 0)),
        part(v4(10, 0, 0, 1), v4(255, 0, 0, 255)),
        part(v4(0, 0, 0, 0), v4(0, 0, 0, 0)),
    ])
}

fn v6(last: u16) -> Ipv6Addr {
    Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, last)
}

fn ipv6() -> impl Strategy<Value = Option<Masked<Ipv6Addr>>> {
    let prefix = Ipv6Addr::new(0xffff, 0xffff, 0xffff, 0xffff, 0, 0, 0, 0);
    field(vec![Masked::exact(v6(1)), part(v6(0), prefix), part(v6(2), v6(0xffff))]).prop_filter(
        "a value within its mask",
        |field| {
            field.is_none_or(|field| {
                field.mask.is_none_or(|mask| field.value.to_bits() & !mask.to_bits() == 0)
            })
        },
    )
}

fn tcp_flags() -> impl Strategy<Value = Option<Masked<u16>>> {
    field(vec![Masked::exact(0x10), part(0x02, 0x02), part(0, 0x02), part(0x10, 0xfff)])
}

/// Matches whose fields have their prerequisites.
pub(crate) fn matches() -> impl Strategy<Value = Match> {
    let metadata = weighted(0.2, select(vec![Masked::exact(0_u64), part(0, 1), Masked::exact(7)]));
    let link = (weighted(0.3, select(vec![P1, P2])), metadata, mac(), mac(), vlan());
    let port = || weighted(0.4, select(vec![80_u16, 1000]));
    let network = (0..8_u8, ipv4(), ipv4(), ipv6(), ipv6());
    let transport = (weighted(0.6, select(vec![6_u8, 17])), port(), port(), tcp_flags());
    (link, network, transport).prop_map(|(link, network, transport)| {
        let (in_port, metadata, eth_dst, eth_src, vlan_vid) = link;
        let mut matches = Match { in_port, metadata, eth_dst, eth_src, vlan_vid, ..Match::default() };
        let (kind, src4, dst4, src6, dst6) = network;
        match kind {
            0..4 => {
                (matches.eth_type, matches.ipv4_src, matches.ipv4_dst) = (Some(0x0800), src4, dst4);
            }
            4..6 => {
                (matches.eth_type, matches.ipv6_src, matches.ipv6_dst) = (Some(0x86dd), src6, dst6);
            }
            6 => (matches.eth_type, matches.arp_tpa) = (Some(0x0806), dst4),
            _ => {}
        }
        let (protocol, src, dst, flags) = transport;
        if kind < 6 {
            matches.ip_proto = protocol;
        }
        match matches.ip_proto {
            Some(6) => (matches.tcp_src, matches.tcp_dst, matches.tcp_flags) = (src, dst, flags),
            Some(17) => (matches.udp_src, matches.udp_dst) = (src, dst),
            _ => {}
        }
        matches
    })
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let ports = select(vec![P1, P2, P3, PortNo::IN_PORT, PortNo::CONTROLLER, PortNo::ALL]);
    let action = ports.prop_map(|port| Action::Output { port, max_len: WHOLE_PACKET });
    prop::collection::vec(action, 0..3)
}

/// Instructions of table `table`, in any order.
fn instructions(table: u8) -> impl Strategy<Value = Vec<Instruction>> {
    let apply = actions().prop_map(Instruction::ApplyActions);
    let write = actions().prop_map(Instruction::WriteActions);
    let goto = (table.saturating_add(1)..=N_TABLES).prop_map(Instruction::GotoTable);
    let clear = Just(Instruction::ClearActions);
    (weighted(0.6, apply), weighted(0.3, write), weighted(0.4, goto), weighted(0.2, clear))
        .prop_map(|(apply, write, goto, clear)| {
            [goto, write, clear, apply].into_iter().flatten().collect::<Vec<_>>()
        })
        .prop_shuffle()
}

pub(crate) fn flow_mod() -> impl Strategy<Value = FlowMod> {
    let commands = prop_oneof![
        6 => Just(FlowModCommand::Add),
        1 => Just(FlowModCommand::Modify),
        1 => Just(FlowModCommand::ModifyStrict),
        1 => Just(FlowModCommand::Delete),
        1 => Just(FlowModCommand::DeleteStrict),
    ];
    (commands, 0..N_TABLES, prop::bool::weighted(0.3)).prop_flat_map(|(command, table, all)| {
        let deletes = matches!(command, FlowModCommand::Delete | FlowModCommand::DeleteStrict);
        let table_id = if deletes && all { ALL_TABLES } else { table };
        let marks = (0..4_u64, select(vec![0_u64, 0, 1, 3]), 0..4_u16);
        let ends =
            (select(vec![0_u16, 0, 1, 2]), select(vec![0_u16, 0, 2, 3]), select(vec![0_u16, 1, 2, 4, 5]));
        let out_port = select(vec![PortNo::ANY, PortNo::ANY, P1, P2]);
        let which = prop_oneof![1 => Just(Match::default()), 6 => matches()];
        (marks, ends, out_port, which, instructions(table)).prop_map(
            move |(marks, ends, out_port, matches, instructions)| {
                let ((cookie, cookie_mask, priority), (idle_timeout, hard_timeout, flags)) = (marks, ends);
                FlowMod {
                    cookie,
                    cookie_mask,
                    table_id,
                    command,
                    idle_timeout,
                    hard_timeout,
                    priority,
                    buffer_id: NO_BUFFER,
                    out_port,
                    out_group: ANY_GROUP,
                    flags: FlowModFlags(flags),
                    matches,
                    instructions,
                }
            },
        )
    })
}

/// Packets of that world: IPv4 and IPv6, TCP and UDP, with and without a tag.
pub(crate) fn packet() -> impl Strategy<Value = Packet> {
    let ends = (1..3_u8, 1..3_u8, prop::bool::weighted(0.3));
    let ports = (select(vec![80_u16, 1000]), select(vec![80_u16, 1000]));
    let flags = select(vec![Flags::ACK, Flags::SYN, Flags::SYN | Flags::ACK]);
    let frame = (select(vec![MAC_A, MAC_B]), select(vec![MAC_A, MAC_B]), weighted(0.3, 1..3_u16));
    (ends, ports, flags, any::<bool>(), frame).prop_map(|(ends, ports, flags, tcp, frame)| {
        let (src, dst) = addresses(ends);
        let packet = if tcp { segment(src, dst, ports, flags) } else { udp(src, dst, ports) };
        let vlan = frame.2.map(|id| Vlan { priority: 0, drop_eligible: false, id });
        Packet { ethernet: Some(Ethernet { dst: frame.0, src: frame.1, vlan }), ..packet }
    })
}

fn addresses((src, dst, ipv6): (u8, u8, bool)) -> (IpAddr, IpAddr) {
    if ipv6 {
        (v6(src.into()).into(), v6(dst.into()).into())
    } else {
        (v4(10, 0, 0, src).into(), v4(10, 0, 0, dst).into())
    }
}

fn segment(src: IpAddr, dst: IpAddr, (src_port, dst_port): (u16, u16), flags: Flags) -> Packet {
    let segment = Segment { src_port, dst_port, seq: SeqNum(1), flags, ..Segment::EMPTY };
    framed(Packet::tcp(src, dst, segment))
}

/// A whole UDP header, so that a real switch reads its ports; the checksum is left out as IPv4 allows.
fn udp(src: IpAddr, dst: IpAddr, (src_port, dst_port): (u16, u16)) -> Packet {
    let header = [src_port, dst_port, 8, 0].map(u16::to_be_bytes).concat();
    datagram(src, dst, Payload::Bytes(header.into()))
}

/// Source and destination port of a packet made here.
pub(crate) fn ports_of(packet: &Packet) -> (u16, u16) {
    match &packet.body {
        Body::Tcp(segment) => (segment.src_port, segment.dst_port),
        Body::Udp(datagram) => (datagram.src_port, datagram.dst_port),
        Body::Sdtp(sdtp) => (sdtp.connection, sdtp.slice),
        Body::Other { payload, .. } => {
            let bytes = payload.to_bytes();
            (u16::from_be_bytes([bytes[0], bytes[1]]), u16::from_be_bytes([bytes[2], bytes[3]]))
        }
    }
}
