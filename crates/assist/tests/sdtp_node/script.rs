//! What hosts say in a script: a client at the left end, a server at the right one.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};

use bytes::Bytes;
use handfast_core::SeqNum;
use handfast_wire::tcp::{Flags, Segment, Timestamps};
use handfast_wire::{Body, Packet, Payload};

use crate::world::{Line, Sink, host, ms};

/// The client's first number, and the server's: soon beyond the wrap.
pub(crate) const CLIENT: SeqNum = SeqNum(u32::MAX - 3);
pub(crate) const SERVER: SeqNum = SeqNum(7_000);

/// The client's first byte.
pub(crate) const FIRST: SeqNum = SeqNum(CLIENT.0.wrapping_add(1));

#[derive(Clone, Copy)]
pub(crate) struct Flow {
    pub(crate) client: SocketAddr,
    pub(crate) server: SocketAddr,
}

impl Flow {
    pub(crate) fn between(client: IpAddr, server: IpAddr) -> Self {
        Self { client: SocketAddr::new(client, 5_001), server: SocketAddr::new(server, 80) }
    }

    pub(crate) fn from_port(port: u16) -> Self {
        let flow = Self::between(host(0, 1), host(1, 1));
        Self { client: SocketAddr::new(flow.client.ip(), port), ..flow }
    }

    /// A packet of the client, end 0, or of the server, end 1.
    pub(crate) fn packet(&self, end: usize, segment: Segment) -> Packet {
        let (from, to) = if end == 0 { (self.client, self.server) } else { (self.server, self.client) };
        let segment = Segment { src_port: from.port(), dst_port: to.port(), ..segment };
        Packet::tcp(from.ip(), to.ip(), segment)
    }
}

pub(crate) const FLAT: Segment = Segment { window: 500, ..Segment::EMPTY };

pub(crate) fn syn(seq: SeqNum) -> Segment {
    let timestamps = Some(Timestamps { val: 1, ecr: 0 });
    Segment { seq, flags: Flags::SYN, mss: Some(1_460), timestamps, ..FLAT }
}

pub(crate) fn syn_ack(seq: SeqNum, ack: SeqNum) -> Segment {
    Segment { ack, flags: Flags::SYN | Flags::ACK, ..syn(seq) }
}

pub(crate) fn ack(seq: SeqNum, ack: SeqNum) -> Segment {
    Segment { seq, ack, flags: Flags::ACK, ..FLAT }
}

pub(crate) fn data(seq: SeqNum, number: SeqNum, len: usize) -> Segment {
    let payload = if len == 0 { Payload::EMPTY } else { Payload::Bytes(Bytes::from(vec![b'x'; len])) };
    Segment { payload, flags: Flags::ACK | Flags::PSH, ..ack(seq, number) }
}

pub(crate) fn segment(packet: &Packet) -> &Segment {
    let Body::Tcp(segment) = &packet.body else { panic!("{packet:?}") };
    segment
}

/// The handshake of a flow, whose pure ACK the client's edge drops.
pub(crate) fn open(line: &mut Line<Sink>, flow: &Flow) {
    line.send(0, flow.packet(0, syn(CLIENT)));
    line.run(ms(20));
    assert_eq!(line.got(1).iter().map(|packet| segment(packet).flags).collect::<Vec<_>>(), [Flags::SYN]);
    line.send(1, flow.packet(1, syn_ack(SERVER, FIRST)));
    line.run(ms(20));
    let (client, server) = (line.got(0), line.got(1));
    assert_eq!([&client, &server].map(VecDeque::len), [1, 1]);
    assert_eq!(
        [&client[0], &server[0]].map(|packet| segment(packet).flags),
        [Flags::SYN | Flags::ACK, Flags::ACK]
    );
    line.send(0, flow.packet(0, ack(FIRST, SERVER + 1)));
    line.run(ms(20));
    assert_eq!(line.got(1), []);
}

/// How a packet of one end gets to the other: as it was, after at most 10 ms; and in what between the nodes.
pub(crate) fn passes(line: &mut Line<Sink>, end: usize, packet: &Packet, kind: &str) {
    let before = line.crossed.get(kind).copied().unwrap_or_default();
    line.send(end, packet.clone());
    line.run(ms(10));
    assert_eq!(line.got(1 - end), std::slice::from_ref(packet), "in time and unchanged");
    assert_eq!(line.crossed.get(kind).copied().unwrap_or_default(), before + 2, "as {kind}");
}

/// Data goes both ways.
pub(crate) fn talks(line: &mut Line<Sink>, flow: &Flow, kind: &str) {
    passes(line, 0, &flow.packet(0, data(FIRST, SERVER + 1, 100)), kind);
    passes(line, 1, &flow.packet(1, data(SERVER + 1, FIRST + 100, 50)), kind);
}
