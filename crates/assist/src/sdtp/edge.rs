//! An edge switch: it sends handshakes to the controller, converts what its hosts send, and reverts what comes for them.

mod handshakes;
mod hosts;
mod whole;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::ops::Range;

use handfast_core::{Instant, SeqNum};
use handfast_net::Port;
use handfast_wire::sdtp::{Congestion, Content, Data, Expected, Information, Outcome, Stream, Trigger};
use handfast_wire::tcp::{Flags, Segment};
use handfast_wire::{Body, Packet};

use super::config::Config;
use super::connections::Connections;
use super::control::{Instruction, Name, Order, Report};
use super::convert::{self, Outer, Path, Unconverted};
use super::counters::{Kept, NodeCounters};
use super::packet_ins::PacketIns;
use super::resequence::Incoming;
use crate::{ConnectionKey, View};
use hosts::Hosts;
use whole::Whole;

/// How data has come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrived {
    pub(super) sequence: SeqNum,
    pub(super) outer: Outer,
    /// As an RD.
    pub(super) repeat: bool,
}

/// What an edge has for others.
#[derive(Debug, Default)]
pub(super) struct Output {
    /// What the path is told ahead of the packets: which numbers will not come.
    pub(super) skipped: Vec<(Stream, Information)>,
    /// Packets that go where their addresses say.
    pub(super) packets: Vec<Packet>,
    /// What the controller is told.
    pub(super) reports: Vec<Report>,
}

/// The data that an edge sends of a connection.
fn path_of(edge: IpAddr, &Name { peer, slice, connection }: &Name) -> Stream {
    Stream { from: edge, to: peer, slice, connection }
}

/// The edge of a node.
#[derive(Debug)]
pub(super) struct Edge {
    address: IpAddr,
    hosts: Hosts,
    ports: BTreeSet<Port>,
    connections: Connections,
    packet_ins: PacketIns,
    whole: Whole,
    /// Whether the controller is there.
    has_controller: bool,
    /// Whether the node cannot keep up: connections that begin are plain TCP.
    is_overloaded: bool,
}

impl Edge {
    pub(super) fn new(address: IpAddr, hosts: BTreeMap<IpAddr, Port>, config: &Config) -> Self {
        Self {
            address,
            ports: hosts.values().copied().collect(),
            hosts: Hosts::new(hosts),
            connections: Connections::new(config.lifetimes),
            packet_ins: PacketIns::new(config.packet_ins),
            whole: Whole::new(config),
            has_controller: true,
            is_overloaded: false,
        }
    }

    /// These ports lead to hosts of others.
    pub(super) fn distrust(&mut self, ports: impl Iterator<Item = Port>) {
        self.ports.extend(ports);
    }

    /// What it keeps.
    pub(super) fn kept(&self) -> Kept {
        let [one, other] = [self.connections.waiting(), self.whole.receivers().waiting()];
        let (connections, lanes) = (self.connections.len(), self.whole.receivers().len());
        let (waiting, waiting_bytes) = (one.0 + other.0, one.1 + other.1);
        Kept { connections, lanes, waiting, waiting_bytes, ..Kept::default() }
    }

    /// Whether a host is behind it.
    pub(super) fn has_host(&self, address: IpAddr) -> bool {
        self.hosts.has(address)
    }

    /// Whether it converts the connection of a stream.
    pub(super) fn has_stream(&mut self, stream: &Stream) -> bool {
        self.connections.of_stream(stream).is_some()
    }

    /// Without the controller, connections that begin are plain TCP; others go on.
    pub(super) fn set_controller(&mut self, is_there: bool) {
        self.has_controller = is_there;
    }

    /// Another edge was here until now.
    pub(super) fn follow(&mut self, now: Instant) {
        self.whole.follow(now);
    }

    /// Whether the node cannot keep up.
    pub(super) fn set_overloaded(&mut self, is_overloaded: bool) {
        self.is_overloaded = is_overloaded;
    }

    /// Nothing is converted any more, for the edge will end. What others have converted, it reverts.
    pub(super) fn retire(&mut self) {
        self.has_controller = false;
        self.connections.release(None);
    }

    /// Whether a port leads to a host.
    pub(super) fn is_hosts_port(&self, port: Port) -> bool {
        self.ports.contains(&port)
    }

    /// Whether it wants a packet of a host: handshakes of its own hosts, and what it converts.
    pub(super) fn wants(&self, port: Port, view: &View<'_>, segment: &Segment) -> bool {
        self.hosts.is_at(view.src, port)
            && !self.hosts.has(view.dst)
            && (segment.flags.contains(Flags::SYN)
                || self.connections.has_host(&ConnectionKey::of(view, segment)))
    }

    /// A packet that it [`Edge::wants`].
    pub(super) fn on_host_packet(
        &mut self,
        now: Instant,
        packet: Packet,
        config: &Config,
        counters: &mut NodeCounters,
        out: &mut Output,
    ) {
        match convert::convertible(&packet) {
            Ok(segment) if segment.flags.contains(Flags::SYN) => {
                self.on_handshake(now, packet, config, counters, out);
            }
            Ok(_) if !config.fits_core(&packet, self.address.is_ipv6()) => {
                counters.unconverted += 1;
                out.packets.push(packet);
            }
            Ok(_) => self.convert(now, packet, config, counters, out),
            Err(Unconverted::NotTcp) => self.send_whole(now, packet, config, counters, out),
            Err(Unconverted::NoRoom) => {
                counters.unconverted += 1;
                out.packets.push(packet);
            }
        }
    }

    fn convert(
        &mut self,
        now: Instant,
        packet: Packet,
        config: &Config,
        counters: &mut NodeCounters,
        out: &mut Output,
    ) {
        let Some(connection) = self.connections.of_host(&packet) else {
            return self.send_whole(now, packet, config, counters, out);
        };
        let Body::Tcp(segment) = &packet.body else { return };
        let name = connection.name;
        let Some(start) = connection.start else {
            // The server refuses, or answers an older connection: the client's edge does not know this one yet.
            if segment.flags.contains(Flags::RST) {
                self.connections.remove(&name);
                out.reports.push(Report::Closed(name));
            }
            out.packets.push(packet);
            return;
        };
        connection.heard(now, segment, true);
        if let Some(enforced) = &mut connection.enforced {
            enforced.on_answer(now);
            enforced.on_sent(now, segment);
        }
        if connection.redundant.is_some_and(|redundant| redundant.is(segment)) {
            // `[sdtp]` §III-A step 5: "the sending edge switch requires to drop the ACK packet received from end host A directly".
            connection.redundant = None;
            counters.dropped_acks += 1;
            return;
        }
        if connection.released {
            out.packets.push(packet);
            return;
        }
        counters.duplicates_reported += u64::from(segment.duplicate().is_some());
        if let Some(Range { start, end }) = connection.skips(segment) {
            let expected = Expected { start, end: Some(end), start_num: 0 };
            let stream = path_of(self.address, &name);
            let outcome = Outcome::Never;
            out.skipped.push((stream, Information { trigger: Trigger::Count, expected, outcome }));
        }
        let path = Path { carriage: config.carriage, edge: self.address, name, host: connection.host };
        counters.converted += 1;
        out.packets.extend(convert::to_sdtp(&path, start, packet));
        self.connections.rearm(&name);
    }

    /// Data for a host here.
    pub(super) fn on_data(
        &mut self,
        now: Instant,
        stream: &Stream,
        arrived: Arrived,
        data: Data,
        counters: &mut NodeCounters,
        out: &mut Output,
    ) {
        if matches!(data.content, Content::Packet(_)) {
            return self.on_whole(now, stream, arrived, data, counters, out);
        }
        let Some(connection) = self.connections.of_stream(stream) else {
            counters.strangers += 1;
            return;
        };
        let Some(mut packet) = convert::to_tcp(connection.remote, connection.local, arrived.outer, data)
        else {
            counters.unmarkable += 1;
            return;
        };
        let Body::Tcp(segment) = &mut packet.body else { return };
        if let Some(enforced) = &mut connection.enforced {
            enforced.on_ack(now, segment);
        }
        // The client has got the answer: nobody will ask for it again.
        connection.opening = None;
        connection.heard(now, segment, false);
        counters.reverted += 1;
        // A reset is not kept waiting.
        let len = if segment.flags.contains(Flags::RST) { 0 } else { segment.seq_len() };
        let timestamp = segment.timestamps.map(|timestamps| timestamps.val);
        let incoming = Incoming {
            seq: segment.seq,
            len,
            bytes: packet.ip_len() as u32,
            timestamp,
            only: arrived.repeat,
        };
        connection.resequencer.on_data(now, incoming, packet, &mut out.packets);
        let name = connection.name;
        self.connections.rearm(&name);
    }

    /// A node in the path says that data of a host here has met a full queue. Whether that reduces its window.
    pub(super) fn on_congestion(&mut self, stream: &Stream, met: Congestion) -> bool {
        let name = Name { peer: stream.to, slice: stream.slice, connection: stream.connection };
        let enforced = self.connections.get_mut(&name).and_then(|known| known.enforced.as_mut());
        enforced.is_some_and(|enforced| enforced.on_congestion(met))
    }

    /// What a node in the path says of packets for a host here.
    pub(super) fn on_information(&mut self, stream: &Stream, information: &Information, out: &mut Output) {
        let Some(connection) = self.connections.of_stream(stream) else {
            return self.whole.on_information(stream, information, &mut out.packets);
        };
        if let (Outcome::Never, Some(end)) = (information.outcome, information.expected.end) {
            connection.resequencer.on_never(information.expected.start, end, &mut out.packets);
        }
        let name = connection.name;
        self.connections.rearm(&name);
    }

    /// The controller has sent something for the edge.
    pub(super) fn on_instruction(
        &mut self,
        now: Instant,
        instruction: Instruction,
        config: &Config,
        counters: &mut NodeCounters,
        out: &mut Output,
    ) {
        let Instruction { order, packet } = instruction;
        match (order, packet) {
            (Some(Order::Admit(admission)), Some(packet)) => {
                self.admit(now, &admission, packet, config, counters, out);
            }
            (Some(Order::Route(location)), packet) => {
                out.packets.extend(packet);
                self.whole.learn(now, &location);
            }
            (Some(Order::Forget(name)), packet) => {
                out.packets.extend(packet);
                self.forget(&name, out);
            }
            (Some(Order::Approve(name)), packet) => {
                out.packets.extend(packet);
                self.approve(&name, counters, out);
            }
            (Some(Order::Release(peer)), packet) => {
                self.connections.release(Some(peer));
                out.packets.extend(packet);
            }
            (Some(Order::ForgetEdge(peer)), packet) => {
                for name in self.connections.with_peer(peer) {
                    self.forget(&name, out);
                }
                out.packets.extend(packet);
            }
            (_, packet) => {
                // The controller sends a handshake back: plain TCP.
                if let Some(packet) = packet {
                    self.forget_host_of(&packet);
                    out.packets.push(packet);
                }
            }
        }
    }

    /// A connection is plain TCP from now on. What waits for its place goes on.
    fn forget(&mut self, name: &Name, out: &mut Output) {
        if let Some(mut over) = self.connections.remove(name) {
            over.resequencer.flush(&mut out.packets);
            // Whether the client has got it is not known, and the server will not send it again.
            out.packets.extend(over.opening.and_then(|opening| opening.into_answer()));
        }
    }

    pub(super) fn on_timer(&mut self, now: Instant, out: &mut Output) {
        self.whole.on_timer(now, &mut out.packets);
        for over in self.connections.on_timer(now, &mut out.packets) {
            out.reports.push(Report::Closed(over.name));
        }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        [self.connections.deadline(), self.whole.deadline()].into_iter().flatten().min()
    }
}
