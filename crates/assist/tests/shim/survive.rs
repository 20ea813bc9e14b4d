//! What holds for any packets of a peer, shared by the property tests and the fuzz target.

use std::net::IpAddr;

use bytes::Bytes;
use handfast_assist::spec::{Site, Spec};
use handfast_assist::{Agent, Verdict, View, duplicate, fec, link_arq};
use handfast_core::{Duration, Instant, Stream};
use handfast_document::Located;
use handfast_net::{Outbox, Port};
use handfast_wire::shim::PROTOCOL;
use handfast_wire::tcp::Segment;
use handfast_wire::{Body, Packet, Payload};

fn ip(number: u8) -> IpAddr {
    IpAddr::from([10, 0, 0, number])
}

/// As a scenario makes it that gives no key.
fn machine<S: Spec>(site: Site) -> Box<dyn Agent>
where
    S::Table: Default,
{
    let kind = Located { value: String::new(), span: 0..0 };
    S::read(&S::Table::default(), &kind)
        .ok()
        .and_then(|spec| spec.machine(site).ok().flatten())
        .expect("an agent")
}
/// The agent of a node with one peer, by the defaults.
fn agent(kind: u8) -> Box<dyn Agent> {
    let site = Site {
        address: ip(11),
        radio: Vec::new(),
        next: [(ip(2), ip(12))].into(),
        stream: Stream::new(1, "survive"),
    };
    match kind % 3 {
        0 => machine::<duplicate::DuplicateSpec>(site),
        1 => machine::<fec::FecSpec>(site),
        _ => machine::<link_arq::LinkArqSpec>(site),
    }
}

/// The first byte says which agent. Then packets, each a byte of length before it; of length 0: one of a host instead. An odd
/// length: the checksum is made right, since a fuzzer does not find it by chance.
pub(crate) fn survive_input(data: &[u8]) {
    let Some((&kind, mut rest)) = data.split_first() else { return };
    let (mut agent, mut now, mut out) = (agent(kind), Instant::ZERO, Outbox::default());
    while let Some((&len, more)) = rest.split_first() {
        let (bytes, after) = more.split_at(more.len().min(len.into()));
        rest = after;
        let packet =
            if len == 0 { Packet::tcp(ip(1), ip(2), Segment::EMPTY) } else { of_peer(bytes, len % 2 == 1) };
        if agent.look(now, Port(0), &View::of(&packet), &mut out) == Verdict::Take {
            agent.on_packet(now, Port(0), packet, &mut out);
        }
        now += Duration::from_millis(3);
        if agent.deadline().is_some_and(|due| due <= now) {
            agent.on_timer(now, &mut out);
        }
        assert!(agent.deadline().is_none_or(|due| due > now), "the deadline is in the future");
        // What one packet sets free is bounded: a window of frames, or what waits to be put in order.
        assert!(out.drain().count() <= 6_000);
    }
}

fn of_peer(bytes: &[u8], right: bool) -> Packet {
    let mut bytes = bytes.to_vec();
    if right && bytes.len() >= 8 {
        bytes[2..4].fill(0);
        let sum: u32 =
            bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0))).sum();
        let folded = (sum & 0xffff) + (sum >> 16);
        let checksum = !((folded & 0xffff) + (folded >> 16)) as u16;
        bytes[2..4].copy_from_slice(&checksum.to_be_bytes());
    }
    let body = Body::Other { protocol: PROTOCOL, payload: Payload::Bytes(Bytes::from(bytes)) };
    Packet { body, ..Packet::tcp(ip(12), ip(11), Segment::EMPTY) }
}
