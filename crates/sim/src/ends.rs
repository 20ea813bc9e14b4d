//! The ends of flows: what arrives for an endpoint, and what it sends.

use std::net::{IpAddr, Ipv4Addr};

use handfast_core::Instant;
use handfast_net::Port;
use handfast_scenario::NodeId;
use handfast_tcp::{Received, Transmit};
use handfast_wire::tcp::Segment;
use handfast_wire::{Body, IpFacts, Packet};

use crate::network::{FIRST_PORT, Network, assert_later};
use crate::packets::{Handle, Passing};
use crate::side::{Path, SideId};

/// All simulated nodes have addresses of one kind.
const ANY_ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

impl Network {
    /// The entry of an end of a flow has come up.
    pub(crate) fn wake_side(&mut self, now: Instant, id: SideId) {
        if self.queue.is_due(id, now) {
            self.expire(now, id);
        }
        self.queue.clear_front();
        if !self.fits_cache {
            self.get_next_timer_ready();
        }
    }

    /// A timer of its endpoint or application has.
    #[inline]
    fn expire(&mut self, now: Instant, id: SideId) {
        if !self.fits_cache {
            self.get_way_ready(id);
        }
        let side = &mut self.sides[id];
        if side.deadline().is_some_and(|due| due <= now) {
            side.on_timer(now);
            self.pump(now, id);
        }
        let side = &self.sides[id];
        let deadline = side.deadline();
        assert_later(now, deadline.unwrap_or(Instant::MAX), "an endpoint or application");
        self.queue.arm_side(id, side.key, deadline);
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
        let id = origin as usize ^ 1;
        let side = &mut self.sides[id];
        let ports = (side.path.remote_port, side.path.local_port);
        side.on_segment(now, &Received::plain(&self.packets.segment(handle, ports)));
        self.delivered(now, id, handle);
    }

    /// A packet of which only the packet itself says whom it is for.
    #[cold]
    fn deliver_whole(&mut self, now: Instant, node: NodeId, handle: Handle) {
        if self.notifiers.is_some() {
            self.tell_of_start(now, node, handle);
        }
        let Some((packet, segment)) = self.packets.whole(handle).and_then(|packet| match &packet.body {
            Body::Tcp(segment) => Some((packet, segment)),
            Body::Udp(_) | Body::Other { .. } => None,
        }) else {
            return self.notified(now, node, handle);
        };
        let index = usize::from(segment.dst_port.wrapping_sub(FIRST_PORT));
        let id = self.ports[node].get(index).map(|&id| id as usize);
        let Some(id) = id.filter(|&id| self.sides[id].expects(packet.src, segment)) else {
            return self.lose(handle);
        };
        self.sides[id].on_segment(now, &Received { segment, ip: packet.ip_facts() });
        self.delivered(now, id, handle);
    }

    /// A side has taken its segment in, and answers.
    #[inline]
    fn delivered(&mut self, now: Instant, id: SideId, handle: Handle) {
        self.books.packets += 1;
        self.packets.free(handle);
        self.answer(now, id);
    }

    /// Sends what a side has to send after something has come for it.
    #[inline]
    pub(crate) fn answer(&mut self, now: Instant, id: SideId) {
        self.pump(now, id);
        let side = &mut self.sides[id];
        let deadline = side.deadline();
        self.queue.arm_side(id, side.key, deadline);
    }

    /// Sends all that a side has to send now.
    fn pump(&mut self, now: Instant, id: SideId) {
        loop {
            while let Some(Transmit { segment, ip }) = self.sides[id].poll_transmit(now) {
                self.originate(now, id, segment, ip);
            }
            if !self.sides[id].take_stock(now) {
                return;
            }
        }
    }

    /// A segment of one of the node's own endpoints.
    #[inline]
    fn originate(&mut self, now: Instant, id: SideId, segment: Segment, ip: IpFacts) {
        // What is not plain travels as a whole packet.
        if self.looks_closer || !ip.is_plain() {
            return self.originate_closer(now, id, segment, ip);
        }
        let passing = self.admit_own(id, segment);
        self.emerge(now, id, passing);
    }

    /// Takes in a segment of one of the node's own endpoints.
    #[inline]
    pub(crate) fn admit_own(&mut self, id: SideId, segment: Segment) -> Passing {
        let side = &self.sides[id];
        let goal = side.path.goal;
        if side.addresses(&segment) {
            let len = Packet::tcp_len(ANY_ADDRESS, &segment);
            self.packets.insert(segment, len, id as u32, goal, |segment| side.packet(segment))
        } else {
            // The ports that its endpoint was told by an agent in the path.
            self.packets.insert_whole(side.packet(segment), id as u32, goal)
        }
    }

    /// A packet of one of the node's own endpoints leaves it.
    #[inline]
    pub(crate) fn emerge(&mut self, now: Instant, id: SideId, passing: Passing) {
        let Path { node, out, .. } = self.sides[id].path;
        match self.helper_at(node as usize) {
            Some(helper) => self.consult(now, helper, Port::LOCAL, passing),
            None => self.transmit(now, out as usize, passing),
        }
    }
}
