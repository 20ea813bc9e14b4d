//! An edge switch: it sends handshakes to the controller, converts what its hosts send, and reverts what comes for them.

mod whole;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::ops::Range;

use handfast_core::{Instant, SeqNum};
use handfast_net::Port;
use handfast_wire::sdtp::{Content, Data, Expected, Information, Outcome, Stream, Trigger};
use handfast_wire::tcp::{Flags, Segment};
use handfast_wire::{Body, Packet};

use super::config::Config;
use super::connections::{Connection, Connections, connection_key};
use super::control::{Admission, Instruction, Name, Order, Report};
use super::convert::{self, Outer, Path, Unconverted};
use super::counters::{Kept, NodeCounters};
use super::enforced::Enforced;
use super::handshake::{Opening, Redundant, only_the_client_answers};
use super::packet_ins::PacketIns;
use super::resequence::Incoming;
use crate::{ConnectionKey, View};
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
    /// The hosts behind it, each at its port: what comes from another port with their address is not theirs.
    hosts: BTreeMap<IpAddr, Port>,
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
            hosts,
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
        self.hosts.contains_key(&address)
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

    /// A handshake passes that went past the controller: an earlier connection of the same ends is over, and must not lend the
    /// new one its number, which the other edge may not know any more.
    pub(super) fn see_handshake(&mut self, view: &View<'_>, segment: &Segment) {
        if !segment.flags.contains(Flags::SYN) {
            return;
        }
        let sent = ConnectionKey::of(view, segment);
        let ConnectionKey { src, dst, src_port, dst_port } = sent;
        let came = ConnectionKey { src: dst, dst: src, src_port: dst_port, dst_port: src_port };
        self.connections.forget_host(if self.has_host(src) { &sent } else { &came });
    }

    /// Whether a port leads to a host.
    pub(super) fn is_hosts_port(&self, port: Port) -> bool {
        self.ports.contains(&port)
    }

    /// Whether it wants a packet of a host: handshakes of its own hosts, and what it converts.
    pub(super) fn wants(&self, port: Port, view: &View<'_>, segment: &Segment) -> bool {
        self.hosts.get(&view.src) == Some(&port)
            && !self.hosts.contains_key(&view.dst)
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

    /// `[sdtp]` §III-A steps 1 and 2, and the server's answer in step 4.
    fn on_handshake(
        &mut self,
        now: Instant,
        mut packet: Packet,
        config: &Config,
        counters: &mut NodeCounters,
        out: &mut Output,
    ) {
        let Body::Tcp(segment) = &mut packet.body else { return };
        let answers = segment.flags.contains(Flags::ACK);
        convert::clamp_mss(segment, config.most_mss(packet.src.is_ipv6(), self.address.is_ipv6()));
        if answers && !self.on_syn_ack(now, &packet, config, out) {
            // It answers a SYN that did not come through the controller.
            out.packets.push(packet);
            return;
        }
        if !self.has_controller {
            counters.offline += 1;
            return self.go_without(packet, out);
        }
        // What has begun with a SYN before goes on.
        if self.is_overloaded && !answers || !self.packet_ins.allow(now, packet.src) {
            // Fail open: this connection is plain TCP. A flood costs the controller nothing, and the server keeps its SYN cookies.
            counters.packet_ins_refused += 1;
            if !answers {
                self.go_without(packet, out);
            }
            return;
        }
        counters.packet_ins += 1;
        out.reports.push(Report::Handshake(packet));
    }

    /// A handshake goes on as plain TCP. An answer to one that is approved has been answered here.
    fn go_without(&mut self, packet: Packet, out: &mut Output) {
        let opening = self.connections.of_host(&packet).and_then(|known| known.opening.as_ref());
        if opening.is_some_and(|opening| opening.has_answered()) {
            return;
        }
        self.forget_host_of(&packet);
        out.packets.push(packet);
    }

    fn forget_host_of(&mut self, packet: &Packet) {
        if let Some(name) = self.connections.of_host(packet).map(|known| known.name) {
            self.connections.remove(&name);
        }
    }

    /// Whether it is of a connection that opens here.
    fn on_syn_ack(&mut self, now: Instant, packet: &Packet, config: &Config, out: &mut Output) -> bool {
        let Body::Tcp(segment) = &packet.body else { return false };
        let Some(connection) = self.connections.of_host(packet) else { return false };
        let Some(opening) = &mut connection.opening else { return false };
        connection.start = Some(segment.seq + 1);
        if connection.enforced.is_none() {
            connection.enforced = opening.enforces(connection.heard, segment, config);
        }
        connection.enforced.iter_mut().for_each(|enforced| enforced.on_answer(now));
        out.packets.extend(opening.on_syn_ack(packet));
        true
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
        if let Some(Range { start, end }) = connection.skips(segment) {
            let expected = Expected { start, end: Some(end), start_num: 0 };
            let stream = path_of(self.address, &name);
            let outcome = Outcome::Never;
            out.skipped.push((stream, Information { trigger: Trigger::Count, expected, outcome }));
        }
        let path = Path { carriage: config.carriage, edge: self.address, name };
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

    /// A node in the path says that data of a host here, up to this number, has met a full queue. Whether that reduces its window.
    pub(super) fn on_congestion(&mut self, stream: &Stream, until: SeqNum) -> bool {
        let name = Name { peer: stream.to, slice: stream.slice, connection: stream.connection };
        let enforced = self.connections.get_mut(&name).and_then(|known| known.enforced.as_mut());
        enforced.is_some_and(|enforced| enforced.on_congestion(until))
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

    /// A SYN comes to the server's edge, or the answer to the client's.
    fn admit(
        &mut self,
        now: Instant,
        &Admission { name, client, server }: &Admission,
        packet: Packet,
        config: &Config,
        counters: &mut NodeCounters,
        out: &mut Output,
    ) {
        let Body::Tcp(segment) = &packet.body else { return };
        let answers = segment.flags.contains(Flags::ACK);
        if !answers && let Some(answer) = self.answered(&name, &packet) {
            out.reports.push(Report::Handshake(answer));
            return;
        }
        // The client's edge holds the client's end.
        let ends = if answers { (client, server) } else { (server, client) };
        if let Some(known) = self.connections.get_mut(&name).filter(|known| known.began_with(ends, segment)) {
            // It was repeated: what has begun goes on.
            if let Some(opening) = known.opening.as_mut().filter(|_| !answers) {
                opening.on_syn(&packet);
            }
            out.packets.push(packet);
            return;
        }
        if self.connections.len() >= config.connections && !self.connections.has_host(&connection_key(ends)) {
            counters.connections_refused += 1;
            out.reports.push(Report::Closed(name));
            out.packets.push(packet);
            return;
        }
        let mut connection = Connection::new(now, name, ends, segment, config.resequencing);
        if answers {
            connection.start = Some(segment.ack);
            connection.redundant = (!only_the_client_answers(segment)).then(|| Redundant::answer_to(segment));
            connection.enforced =
                config.enforces().then(|| Box::new(Enforced::new(now, segment, segment, segment.ack)));
        } else {
            connection.opening = Some(Box::new(Opening::new(packet.clone())));
        }
        self.connections.insert(connection);
        counters.connections += 1;
        out.packets.push(packet);
    }

    /// The server's answer to a SYN that has come again.
    fn answered(&mut self, name: &Name, syn: &Packet) -> Option<Packet> {
        self.connections.get_mut(name)?.opening.as_ref()?.answer_again(syn).cloned()
    }

    /// `[sdtp]` §III-A step 5.
    fn approve(&mut self, name: &Name, counters: &mut NodeCounters, out: &mut Output) {
        let opening = self.connections.get_mut(name).and_then(|known| known.opening.as_mut());
        if let Some(ack) = opening.and_then(|opening| opening.approve()) {
            counters.closing_acks += 1;
            out.packets.push(ack);
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
