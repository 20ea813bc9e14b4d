//! Addresses, the controller of the line, and how packets come from node to node.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use handfast_assist::sdtp::auth::Key;
use handfast_assist::sdtp::{Controller, Placed, Planner};
use handfast_core::Duration;
use handfast_wire::sdtp::{Carriage, Message};
use handfast_wire::{Body, Checksums, LinkType, Packet};

/// One way over a link between two nodes.
pub(crate) const HOP: Duration = Duration::from_millis(2);

pub(crate) const KEY: Key = Key::new([7; 32]);

pub(crate) const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Host `number` at the left end, 0, or at the right one, 1.
pub(crate) fn host(end: usize, number: u8) -> IpAddr {
    Ipv4Addr::new(192, 0, 2 + end as u8, number).into()
}

/// The same hosts with addresses of the other family.
pub(crate) fn host_v6(end: usize, number: u8) -> IpAddr {
    Ipv6Addr::new(0x2001, 0xdb8, 0, end as u16, 0, 0, 0, number.into()).into()
}

pub(crate) fn node(place: usize) -> IpAddr {
    Ipv4Addr::new(10, 0, 0, 1 + place as u8).into()
}

pub(crate) fn kind(packet: &Packet) -> &'static str {
    let Body::Sdtp(sdtp) = &packet.body else { return "plain" };
    match sdtp.message {
        Message::Data(_) => "data",
        Message::Request(_) => "RR",
        Message::Repeat(_) => "RD",
        Message::Information(_) => "RI",
        Message::Notification(_) => "CN",
        Message::Parity(_) => "PD",
        Message::Congestion(_) => "CM",
    }
}

/// The packet as the next node reads it.
pub(crate) fn through_the_wire(packet: &Packet) -> Packet {
    let mut bytes = Vec::new();
    packet.emit(&mut bytes).unwrap_or_else(|error| panic!("{error}: {packet:?}"));
    let parsed = Packet::parse(LinkType::RawIp, &bytes.into(), Checksums::Verify).expect("it parses");
    let is_in_udp = matches!(&packet.body, Body::Sdtp(sdtp) if sdtp.carriage == Carriage::Udp);
    let back = if is_in_udp { parsed.to_sdtp(Checksums::Verify).expect("it is SDTP") } else { parsed };
    assert_eq!(back, *packet);
    back
}

pub(crate) fn controller(nodes: usize, hosts: &[Vec<IpAddr>; 2]) -> Controller {
    let mut planner = Planner::default();
    let middle = nodes / 2;
    let placed = |place: usize, from_start: usize| {
        let since = if from_start > middle { from_start - middle } else { from_start };
        let retransmission = from_start == nodes - 1 || from_start == middle && from_start > 0;
        Placed { address: node(place), caching: true, retransmission, round_trip: HOP * 2 * since as u64 }
    };
    let there = (0..nodes).map(|place| placed(place, place)).collect();
    let back = (0..nodes).map(|at| placed(nodes - 1 - at, at)).collect();
    planner.insert(node(0), node(nodes - 1), there);
    planner.insert(node(nodes - 1), node(0), back);
    let of = |end: usize, edge| hosts[end].iter().map(move |&host| (host, edge));
    Controller::new(planner, of(0, node(0)).chain(of(1, node(nodes - 1))).collect())
}
