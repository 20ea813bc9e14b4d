//! A host's TCP and UDP on Ethernet, without sockets or clock: frames in, frames out, many connections.

use std::collections::VecDeque;
use std::hash::RandomState;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;
use handfast_core::Instant;
use handfast_host::stack::Pair;
use handfast_tcp::{Config, Endpoint, Received, Transmit};
use handfast_wire::tcp::Segment;
use handfast_wire::{
    Announcement, Body, Checksums, Datagram, Ethernet, LinkType, Packet, Payload, Solicitation,
};

pub use handfast_host::stack::ConnectionId;

use super::neighbours::Neighbours;

/// Frames besides connections' own (neighbour messages, datagrams) that wait to be sent; more are dropped.
const MOST_ANSWERS: usize = 256;
/// Datagrams that wait to be taken; more are dropped.
const MOST_DATAGRAMS: usize = 1024;

/// Who a host is on its link.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Its Ethernet address.
    pub mac: [u8; 6],
    /// Its addresses, IPv4 and IPv6.
    pub addresses: Vec<IpAddr>,
}

/// What a stack dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Segments and datagrams whose checksum was wrong.
    pub corrupted: u64,
    /// Packets that came before their destination's Ethernet address was known; the last one of each was sent later.
    pub no_neighbour: u64,
    /// Connections refused for want of room.
    pub no_room: u64,
}

/// A host's TCP as a machine. After every call that may change what there is to send, the driver calls
/// [`Stack::poll_frame`] until it gives nothing, then waits for a frame or [`Stack::deadline`].
pub struct Stack {
    mac: [u8; 6],
    neighbours: Neighbours,
    tcp: handfast_host::stack::Stack,
    answers: VecDeque<Vec<u8>>,
    /// Datagrams that have come, each with its local and remote address.
    datagrams: VecDeque<(Pair, Bytes)>,
    dropped: Dropped,
}

impl Stack {
    /// A host without connections. `neighbours`: Ethernet addresses that need not be learnt.
    pub fn new(identity: Identity, neighbours: impl IntoIterator<Item = (IpAddr, [u8; 6])>) -> Self {
        Self {
            mac: identity.mac,
            neighbours: Neighbours::new(neighbours),
            tcp: handfast_host::stack::Stack::new(identity.addresses, RandomState::new()),
            answers: VecDeque::new(),
            datagrams: VecDeque::new(),
            dropped: Dropped::default(),
        }
    }

    /// Accepts connections to `port`, each with that behaviour.
    pub fn listen(&mut self, port: u16, config: Arc<Config>) {
        self.tcp.listen(port, config);
    }

    /// The next connection to `port`, its handshake perhaps not done.
    pub fn accept(&mut self, port: u16) -> Option<ConnectionId> {
        self.tcp.accept(port)
    }

    /// Opens a connection from the host's address of the same family. [`None`]: there is no such address, or no room.
    pub fn connect(
        &mut self,
        now: Instant,
        config: &Arc<Config>,
        remote: SocketAddr,
    ) -> Option<ConnectionId> {
        self.tcp.connect(now, config, remote)
    }

    /// Opens a connection from that local address. [`None`]: such a connection exists, or there is no room.
    pub fn connect_from(&mut self, now: Instant, config: &Arc<Config>, pair: Pair) -> Option<ConnectionId> {
        self.tcp.connect_from(now, config, pair)
    }

    /// A connection, to look at.
    pub fn endpoint(&self, id: ConnectionId) -> Option<&Endpoint> {
        self.tcp.endpoint(id)
    }

    /// A connection, to read from it, write to it or close it.
    pub fn endpoint_mut(&mut self, id: ConnectionId) -> Option<&mut Endpoint> {
        self.tcp.endpoint_mut(id)
    }

    /// Local and remote address of a connection.
    pub fn addresses(&self, id: ConnectionId) -> Option<Pair> {
        self.tcp.addresses(id)
    }

    /// The application is done with a connection; it is closed if it is not yet, and remembered until TIME-WAIT is over.
    pub fn release(&mut self, now: Instant, id: ConnectionId) {
        self.tcp.release(now, id);
    }

    /// Sends what a UDP datagram carries from a local to a remote address.
    pub fn send_datagram(&mut self, (local, remote): Pair, data: Bytes) {
        let (src_port, dst_port, payload) = (local.port(), remote.port(), Payload::Bytes(data));
        let body = Body::Udp(Datagram { src_port, dst_port, payload });
        let packet = Packet { body, ..Packet::tcp(local.ip(), remote.ip(), Segment::EMPTY) };
        let mut frame = Vec::new();
        if self.emit(packet, &mut frame) {
            self.answer(frame);
        }
    }

    /// What the next datagram has carried that has come for one of the host's addresses, and between which.
    pub fn poll_datagram(&mut self) -> Option<(Pair, Bytes)> {
        self.datagrams.pop_front()
    }

    /// What was dropped so far.
    pub fn dropped(&self) -> Dropped {
        Dropped { no_room: self.tcp.no_room(), ..self.dropped }
    }

    /// A frame has come in. `checksums`: whether its sender has written them; a kernel leaves that to a network card, which
    /// between veths there is not.
    pub fn on_frame(&mut self, now: Instant, frame: &[u8], checksums: Checksums) {
        let is_for_us = frame.first_chunk::<6>().is_some_and(|dst| *dst == self.mac || dst[0] & 1 == 1);
        if !is_for_us {
            return;
        }
        let frame = Bytes::copy_from_slice(frame);
        if let Some(asked) = Solicitation::parse(&frame) {
            return self.on_solicitation(asked);
        }
        if let Some(Announcement { address, mac }) = Announcement::parse(&frame) {
            return self.learn(address, mac);
        }
        let Ok(packet) = Packet::parse(LinkType::Ethernet, &frame, checksums) else { return };
        if !self.tcp.owns(packet.dst) || matches!(packet.body, Body::Sdtp(_) | Body::Other { .. }) {
            return;
        }
        if packet.corrupted {
            // RFC 9293 §3.1: discarded in silence.
            self.dropped.corrupted += 1;
            return;
        }
        if let Some(ethernet) = packet.ethernet {
            self.learn(packet.src, ethernet.src);
        }
        let pair = |dst_port, src_port| {
            (SocketAddr::new(packet.dst, dst_port), SocketAddr::new(packet.src, src_port))
        };
        match &packet.body {
            Body::Tcp(segment) => {
                let received = Received { segment, ip: packet.ip_facts() };
                self.tcp.on_segment(now, pair(segment.dst_port, segment.src_port), &received);
            }
            Body::Udp(datagram) if self.datagrams.len() < MOST_DATAGRAMS => {
                let pair = pair(datagram.dst_port, datagram.src_port);
                self.datagrams.push_back((pair, datagram.payload.to_bytes()));
            }
            Body::Udp(_) | Body::Sdtp(_) | Body::Other { .. } => {}
        }
    }

    fn on_solicitation(&mut self, asked: Solicitation) {
        if self.tcp.owns(asked.target) {
            self.learn(asked.asker, asked.asker_mac);
            self.answer(asked.answer(self.mac));
        }
    }

    fn learn(&mut self, ip: IpAddr, mac: [u8; 6]) {
        if let Some(frame) = self.neighbours.learn(ip, mac) {
            self.answer(frame);
        }
    }

    fn answer(&mut self, frame: Vec<u8>) {
        if self.answers.len() < MOST_ANSWERS {
            self.answers.push_back(frame);
        }
    }

    /// When [`Stack::on_timer`] must be called at the latest.
    pub fn deadline(&self) -> Option<Instant> {
        self.tcp.deadline()
    }

    /// Does what is due.
    pub fn on_timer(&mut self, now: Instant) {
        self.tcp.on_timer(now);
    }

    /// Puts the next frame to send into `frame`; false: there is none.
    pub fn poll_frame(&mut self, now: Instant, frame: &mut Vec<u8>) -> bool {
        loop {
            if let Some(answer) = self.answers.pop_front() {
                *frame = answer;
                return true;
            }
            let Some((pair, transmit)) = self.tcp.poll_transmit(now) else { return false };
            if self.frame(pair, transmit, frame) {
                return true;
            }
            // Not known where to: a question goes out in its place.
        }
    }

    /// Writes the frame that carries a segment; false: it has to wait until it is known where it should go.
    fn frame(&mut self, (local, remote): Pair, transmit: Transmit, frame: &mut Vec<u8>) -> bool {
        let Transmit { segment, ip } = transmit;
        // In IPv6 it is a hop-by-hop option, which is not built.
        let ip = ip.with_quick_start(ip.quick_start().filter(|_| local.is_ipv4()));
        self.emit(Packet::tcp_with(local.ip(), remote.ip(), segment, ip), frame)
    }

    /// Writes the frame that carries a packet; false: it has to wait until it is known where it should go.
    fn emit(&mut self, packet: Packet, frame: &mut Vec<u8>) -> bool {
        let (local, remote) = (packet.src, packet.dst);
        let known = self.neighbours.of(remote);
        let ethernet = Some(Ethernet { dst: known.unwrap_or_default(), src: self.mac, vlan: None });
        frame.clear();
        let written = Packet { ethernet, ..packet }.emit(frame).is_ok();
        if known.is_none() {
            self.dropped.no_neighbour += 1;
            self.neighbours.await_answer(remote, std::mem::take(frame));
            self.answer(Solicitation { asker: local, asker_mac: self.mac, target: remote }.ask());
        }
        written && known.is_some()
    }
}

#[cfg(test)]
mod tests;
