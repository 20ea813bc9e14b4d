//! Connections in the network: what arrives for an endpoint, and what it sends.

use std::net::{IpAddr, Ipv4Addr};

use handfast_core::Instant;
use handfast_host::app::Sink;
use handfast_host::session::Next;
use handfast_net::Port;
use handfast_scenario::NodeId;
use handfast_tcp::{Received, Transmit};
use handfast_wire::tcp::Segment;
use handfast_wire::{Body, IpFacts, Packet};

use crate::agents::chain::{Course, Leave};
use crate::engine::ids::ConnectionId;
use crate::engine::ids::Handle;
use crate::hosts::connection::{Local, SocketAddress};
use crate::hosts::connections::Pair;
use crate::net::packets::Passing;
use crate::run::network::{Network, assert_later};

/// All simulated nodes have addresses of one kind.
const ANY_ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

impl Network {
    /// The entry of a connection has come up.
    pub(crate) fn wake_connection(&mut self, now: Instant, id: ConnectionId) {
        if self.queue.is_due(id, now) {
            self.expire(now, id);
        }
        self.queue.clear_front();
        if !self.fits_cache {
            self.prefetch_next_timer();
        }
    }

    /// A timer of its endpoint or application has.
    #[inline]
    fn expire(&mut self, now: Instant, id: ConnectionId) {
        if !self.fits_cache {
            self.prefetch_departure(id);
        }
        let connection = &mut self.hosts.connections[id];
        if connection.deadline().is_some_and(|due| due <= now) {
            connection.on_timer(now);
            self.pump(now, id);
        }
        let connection = &self.hosts.connections[id];
        let deadline = connection.deadline();
        assert_later(now, deadline.unwrap_or(Instant::MAX), "an endpoint or application");
        self.queue.arm_connection(id, connection.key, deadline);
    }

    /// A packet has reached the node it is addressed to.
    pub(crate) fn deliver(&mut self, now: Instant, node: NodeId, handle: Handle) {
        let label = self.packets.label(handle);
        let origin = label.origin;
        if label.corrupted {
            // A host verifies checksums: a corrupted segment never reaches an endpoint (RFC 9293 §3.1).
            return self.lose(handle);
        }
        if label.whole {
            return self.deliver_whole(now, node, handle);
        }
        let id = self.hosts.connections.peer(origin);
        let connection = &mut self.hosts.connections[id];
        let ports = (connection.remote.socket.port, connection.local.socket.port);
        connection.on_segment(now, &Received::plain(&self.packets.segment(handle, ports)));
        self.delivered(now, id, handle);
    }

    /// The addresses of a packet with these ports, its source first; [`None`]: not both are a node's.
    pub(crate) fn sockets(
        &self,
        packet: &Packet,
        ports: (u16, u16),
    ) -> Option<(SocketAddress, SocketAddress)> {
        let socket = |ip, port| Some(SocketAddress { address: self.addresses.find(ip)?, port });
        socket(packet.src, ports.0).zip(socket(packet.dst, ports.1))
    }

    /// A packet of which only the packet itself says whom it is for.
    #[cold]
    fn deliver_whole(&mut self, now: Instant, node: NodeId, handle: Handle) {
        if self.notifiers.is_some() {
            self.tell_of_start(now, node, handle);
        }
        let packet = self.packets.whole(handle);
        let Some(packet @ Packet { body: Body::Tcp(segment), .. }) = packet else {
            if !self.deliver_datagram(now, handle) {
                self.notified(now, node, handle);
            }
            return;
        };
        let ends = self.sockets(packet, (segment.src_port, segment.dst_port));
        let Some(id) = ends.and_then(|(src, dst)| self.hosts.bound(node, (dst, src))) else {
            if !self.deliver_segment(now, handle) {
                self.lose(handle);
            }
            return;
        };
        let connection = &mut self.hosts.connections[id];
        connection.on_segment(now, &Received { segment, ip: packet.ip_facts() });
        self.hosts.note_arrival(now, id, segment);
        self.delivered(now, id, handle);
    }

    /// A connection has taken its segment in, and answers.
    #[inline]
    fn delivered(&mut self, now: Instant, id: ConnectionId, handle: Handle) {
        self.books.count_arrival();
        self.packets.free(handle);
        self.answer(now, id);
    }

    /// Sends what a connection has to send after something has come for it.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "with each segment; the other callers are rare")]
    pub(crate) fn answer(&mut self, now: Instant, id: ConnectionId) {
        self.pump(now, id);
        let connection = &mut self.hosts.connections[id];
        let deadline = connection.deadline();
        self.queue.arm_connection(id, connection.key, deadline);
    }

    /// Sends all that a connection has to send now.
    #[inline(never)]
    fn pump(&mut self, now: Instant, id: ConnectionId) {
        if !self.hosts.connections[id].is_open() {
            return;
        }
        if self.hosts.connections[id].is_path() {
            return self.pump_path(now, id);
        }
        loop {
            loop {
                let connection = &mut self.hosts.connections[id];
                let Some(Transmit { segment, ip }) = connection.poll_transmit(now) else { break };
                let is_last = connection.ends_turn(now);
                self.originate(now, id, segment, ip);
                if is_last {
                    break;
                }
            }
            match self.hosts.connections[id].take_stock(now) {
                Next::Wait => return,
                Next::Send => {}
                Next::Reconnect => self.reconnect(now, id),
                Next::Siblings => self.wake_siblings(now, id),
            }
        }
    }

    /// A client has something to do at other connections than this one.
    #[cold]
    fn wake_siblings(&mut self, now: Instant, id: ConnectionId) {
        let connections = &self.hosts.connections;
        let Some(stream) = connections[id].sink().map(Sink::stream) else { return };
        let streams = connections.streams(connections.flow(stream));
        for stream in streams {
            let Some(&Pair { receiver, .. }) = self.hosts.connections.of_stream(stream).last() else {
                continue;
            };
            if receiver == id {
                continue;
            }
            let connection = &mut self.hosts.connections[receiver];
            if connection.is_open() {
                self.answer(now, receiver);
            } else if connection.open_if_wanted(now) {
                self.queue.arm_connection(receiver, connection.key, connection.deadline());
            }
        }
    }

    /// A segment of one of the node's own endpoints.
    #[inline]
    pub(crate) fn originate(&mut self, now: Instant, id: ConnectionId, segment: Segment, ip: IpFacts) {
        // What is not plain, or measured, travels as a whole packet.
        if self.inspection.looks_at_departures() || !ip.is_plain() {
            return self.originate_closer(now, id, segment, ip);
        }
        let passing = self.admit_own(id, segment);
        self.emerge(now, id, passing);
    }

    /// Takes in a segment of one of the node's own endpoints.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "with each segment; the second caller is rare")]
    pub(crate) fn admit_own(&mut self, id: ConnectionId, segment: Segment) -> Passing {
        let connection = &self.hosts.connections[id];
        let goal = connection.remote.goal;
        if connection.addresses(&segment) {
            let len = Packet::tcp_len(ANY_ADDRESS, &segment);
            self.packets.insert(segment, len, id, goal, |segment| connection.packet(&self.addresses, segment))
        } else {
            // The ports that its endpoint was told by an agent in the path.
            self.packets.insert_whole(connection.packet(&self.addresses, segment), id, goal)
        }
    }

    /// A packet of one of the node's own endpoints leaves it.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "with each segment; the second caller is rare")]
    pub(crate) fn emerge(&mut self, now: Instant, id: ConnectionId, passing: Passing) {
        self.leave_host(now, self.hosts.connections[id].local, passing);
    }

    /// A packet leaves its host.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "with each segment; the other callers are rare")]
    pub(crate) fn leave_host(&mut self, now: Instant, Local { node, out, .. }: Local, passing: Passing) {
        let node = node as usize;
        let rest = self.chains.at(node);
        if rest.is_empty() {
            return self.transmit(now, out as usize, passing);
        }
        self.consult(now, Course { node, rest, port: Port::LOCAL, leave: Leave::Routed }, passing);
    }
}
