//! The shape of every machine that helps at a node: it sees the packets there, hears of links and drops, and has a timer.

use std::net::IpAddr;

use handfast_core::Instant;
use handfast_net::{Cause, Forwarder, Outbox, Port};
use handfast_wire::sdtp::Sdtp;
use handfast_wire::tcp::Segment;
use handfast_wire::{Body, Ecn, Packet, Payload};

use crate::sdtp::Repairs;

/// A packet that an agent looks at, without a copy of it.
///
/// A driver that keeps packets in a form of its own, as the simulator does, makes the segment of the packet at once and the rest
/// only for an agent that asks for it ([`View::to_packet`]).
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// Source address.
    pub src: IpAddr,
    /// Destination address.
    pub dst: IpAddr,
    /// The TCP segment that it carries, if it carries one.
    pub tcp: Option<&'a Segment>,
    /// Bytes of the IP packet.
    pub ip_len: usize,
    /// Bit errors that a checksum would reveal. Agents that read beyond the IP header verify checksums.
    pub corrupted: bool,
    /// The packet, where the driver has one. Otherwise it is what [`Packet::tcp`] makes of the fields above.
    packet: Option<&'a Packet>,
}

impl<'a> View<'a> {
    /// A packet that a driver has as a whole.
    pub fn of(packet: &'a Packet) -> Self {
        let tcp = match &packet.body {
            Body::Tcp(segment) => Some(segment),
            Body::Udp(_) | Body::Sdtp(_) | Body::Other { .. } => None,
        };
        let &Packet { src, dst, corrupted, .. } = packet;
        Self { src, dst, tcp, ip_len: packet.ip_len(), corrupted, packet: Some(packet) }
    }

    /// The packet that [`Packet::tcp`] makes of a segment. `ip_len` is its [`Packet::ip_len`], which the driver knows.
    #[inline]
    pub fn of_segment(
        src: IpAddr,
        dst: IpAddr,
        segment: &'a Segment,
        ip_len: usize,
        corrupted: bool,
    ) -> Self {
        Self { src, dst, tcp: Some(segment), ip_len, corrupted, packet: None }
    }

    /// The SDTP packet that it carries, if it carries one.
    #[inline]
    pub fn sdtp(&self) -> Option<&'a Sdtp> {
        match &self.packet?.body {
            Body::Sdtp(sdtp) => Some(sdtp),
            Body::Tcp(_) | Body::Udp(_) | Body::Other { .. } => None,
        }
    }

    /// The payload of another protocol, if it carries that.
    #[inline]
    pub fn other(&self, protocol: u8) -> Option<&'a Payload> {
        match &self.packet?.body {
            Body::Other { protocol: found, payload } if *found == protocol => Some(payload),
            _ => None,
        }
    }

    /// Appends to `out` what the seal of the SDTP packet covers, as [`Packet::sealed_bytes`]; false: there is none.
    pub fn sealed_bytes(&self, out: &mut Vec<u8>) -> bool {
        self.packet.is_some_and(|packet| packet.sealed_bytes(out).is_ok())
    }

    /// The congestion marks with which it has come so far.
    #[inline]
    pub fn ecn(&self) -> Ecn {
        self.packet.map_or(Ecn::NotCapable, Packet::ecn)
    }

    /// The segment, if there is one and its checksum is right.
    #[inline]
    pub fn intact(&self) -> Option<&'a Segment> {
        self.tcp.filter(|_| !self.corrupted)
    }

    /// The packet with another segment in it.
    #[inline]
    pub fn with_segment(&self, segment: Segment) -> Packet {
        match self.packet {
            None => Packet { corrupted: self.corrupted, ..Packet::tcp(self.src, self.dst, segment) },
            Some(packet) => Packet { body: Body::Tcp(segment), ..packet.clone() },
        }
    }

    /// A copy of the packet.
    #[inline]
    pub fn to_packet(&self) -> Packet {
        match (self.packet, self.tcp) {
            (None, Some(segment)) => {
                Packet { corrupted: self.corrupted, ..Packet::tcp(self.src, self.dst, segment.clone()) }
            }
            (Some(packet), _) => packet.clone(),
            // Nobody makes a view of nothing.
            (None, None) => Packet::tcp(self.src, self.dst, Segment::EMPTY),
        }
    }
}

/// What becomes of a packet that an agent has looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It goes on as it is, and nothing is copied.
    Pass,
    /// The agent wants it by value: [`Agent::on_packet`] comes next.
    Take,
    /// It ends here, and counts as lost.
    Drop,
}

/// What happens to a link of the agent's node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkEvent {
    /// It carries packets from now on: an outage is over, or a station has associated.
    Up,
    /// It carries none until further notice.
    Down,
}

/// A machine at a node that sees the packets which pass there. It owns no clock: after each call the driver asks for the
/// deadline.
///
/// A node may have several agents. A packet passes them in the order in which the scheme lists them; what an agent puts into
/// the outbox goes on with the next one, ahead of the packet that the agent looks at.
pub trait Agent: Send {
    /// A packet comes by `port`.
    fn look(&mut self, now: Instant, port: Port, view: &View<'_>, out: &mut Outbox) -> Verdict;

    /// The packet that [`Verdict::Take`] asked for. What is not put into the outbox is the agent's.
    fn on_packet(&mut self, _now: Instant, _port: Port, packet: Packet, out: &mut Outbox) {
        out.forward(packet);
    }

    /// Something has happened to the link at `port`.
    fn on_link_event(&mut self, _now: Instant, _port: Port, _event: LinkEvent, _out: &mut Outbox) {}

    /// A packet on its way out by `port` was dropped at this node: the queue was full ([`Cause::QueueFull`]), the queue
    /// discipline dropped it ([`Cause::Aqm`]), or the radio has given it up ([`Cause::Loss`]). There are no other causes: a node
    /// does not know what a link loses on the way or in an outage.
    fn on_drop(&mut self, _now: Instant, _port: Port, _view: &View<'_>, _cause: Cause) {}

    /// The deadline has come; afterwards it is in the future.
    fn on_timer(&mut self, _now: Instant, _out: &mut Outbox) {}

    /// When [`Agent::on_timer`] is due; [`None`]: not before something else happens.
    fn deadline(&self) -> Option<Instant> {
        None
    }

    /// Whether [`Agent::restart`] does what it says.
    fn can_restart(&self) -> bool {
        false
    }

    /// Its node begins anew: what it knows and keeps is gone, and what it has counted stays.
    fn restart(&mut self, _now: Instant, _out: &mut Outbox) {}

    /// What became of losses in the segments of a path that end here, by the segment's edges, the sending one first.
    fn repairs(&self) -> Vec<((IpAddr, IpAddr), Repairs)> {
        Vec::new()
    }

    /// What it has counted, for the result of a run.
    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

/// A forwarder takes every packet whole. Plug-ins are written against that smaller trait.
impl<F: Forwarder> Agent for F {
    fn look(&mut self, _now: Instant, _port: Port, _view: &View<'_>, _out: &mut Outbox) -> Verdict {
        Verdict::Take
    }

    fn on_packet(&mut self, now: Instant, port: Port, packet: Packet, out: &mut Outbox) {
        Forwarder::on_packet(self, now, port, packet, out);
    }

    fn on_timer(&mut self, now: Instant, out: &mut Outbox) {
        Forwarder::on_timer(self, now, out);
    }

    fn deadline(&self) -> Option<Instant> {
        Forwarder::deadline(self)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn a_view_of_a_segment_is_one_of_the_packet_that_it_makes() {
        let [src, dst] = [1, 2].map(|host| IpAddr::from(Ipv4Addr::new(10, 0, 0, host)));
        let payload = Payload::Synthetic { stream: 3, offset: 4, len: 500 };
        let segment = Segment { src_port: 7, payload, ..Segment::EMPTY };
        for corrupted in [false, true] {
            let packet = Packet { corrupted, ..Packet::tcp(src, dst, segment.clone()) };
            let view = View::of_segment(src, dst, &segment, packet.ip_len(), corrupted);
            assert_eq!(view.to_packet(), packet);
            let whole = View::of(&packet);
            assert_eq!((view.src, view.dst, view.tcp), (whole.src, whole.dst, whole.tcp));
            assert_eq!((view.ip_len, view.corrupted), (whole.ip_len, whole.corrupted));
            assert_eq!(view.intact().is_some(), !corrupted);
        }
    }
}
