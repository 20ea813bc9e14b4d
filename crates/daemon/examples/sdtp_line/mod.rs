//! Two hosts with three nodes between them: a sending edge, a caching node, a receiving edge. For examples that measure nodes.

use std::net::IpAddr;

use bytes::Bytes;
use handfast_assist::sdtp::bump::{Bump, Mode, Side};
use handfast_assist::sdtp::{Config, Controller, Node, Placed, Planner};
use handfast_core::{Duration, SeqNum};
use handfast_wire::tcp::{Flags, Segment};
use handfast_wire::{Ethernet, Packet, Payload};

pub(crate) const CLIENT: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
pub(crate) const SERVER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2));
const FORTH: Ethernet = Ethernet { dst: [2, 0, 0, 0, 0, 2], src: [2, 0, 0, 0, 0, 1], vlan: None };
const BACK: Ethernet = Ethernet { dst: FORTH.src, src: FORTH.dst, vlan: None };
/// Of the client's data.
pub(crate) const FIRST: u32 = 101;

pub(crate) type Frame = Vec<u8>;

/// The address of a node.
pub(crate) fn edge(number: usize) -> IpAddr {
    [10, 99, 0, 1 + number as u8].into()
}

/// A node as a machine.
pub(crate) fn bump(number: usize, config: &Config) -> Bump {
    let hosts = match number {
        0 => [(CLIENT, Side::Inside.port())].into(),
        2 => [(SERVER, Side::Inside.port())].into(),
        _ => [].into(),
    };
    let mut bump = Bump::new(Node::new(edge(number), hosts, config.clone()), Mode::Act, config.connections);
    bump.set_controller(true);
    bump
}

/// The controller of the three. The sending edge is measured without a cache: the node behind it has one. The receiving edge notes
/// what has come, and says so.
pub(crate) fn controller() -> Controller {
    let placed = |number: usize, last: usize| Placed {
        address: edge(number),
        caching: number == 1 || number == last,
        retransmission: number == last,
        round_trip: Duration::from_millis(2),
    };
    let mut planner = Planner::default();
    planner.insert(edge(0), edge(2), [0, 1, 2].map(|number| placed(number, 2)).to_vec());
    planner.insert(edge(2), edge(0), [2, 1, 0].map(|number| placed(number, 0)).to_vec());
    Controller::new(planner, [(CLIENT, edge(0)), (SERVER, edge(2))].into())
}

/// A segment without an address.
pub(crate) fn segment(flags: Flags, seq: u32, ack: u32, payload: Bytes) -> Segment {
    let mss = flags.contains(Flags::SYN).then_some(1460);
    let (payload, seq, ack) = (Payload::Bytes(payload), SeqNum(seq), SeqNum(ack));
    Segment { flags, seq, ack, window: 500, mss, payload, ..Segment::EMPTY }
}

/// The client's SYN, and the server's answer.
pub(crate) fn handshake() -> [Frame; 2] {
    let syn = from_client(segment(Flags::SYN, FIRST - 1, 0, Bytes::new()));
    let answer = segment(Flags::SYN | Flags::ACK, 500, FIRST, Bytes::new());
    let answer = Segment { src_port: 80, dst_port: 4000, ..answer };
    [syn, frame(&Packet { ethernet: Some(BACK), ..Packet::tcp(SERVER, CLIENT, answer) })]
}

pub(crate) fn from_client(segment: Segment) -> Frame {
    let segment = Segment { src_port: 4000, dst_port: 80, ..segment };
    frame(&Packet { ethernet: Some(FORTH), ..Packet::tcp(CLIENT, SERVER, segment) })
}

fn frame(packet: &Packet) -> Frame {
    let mut frame = Vec::new();
    packet.emit(&mut frame).unwrap_or_else(|error| panic!("{error}"));
    frame
}
