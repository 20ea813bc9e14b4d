//! What agents share that protect packets between two nodes: the near end puts each into a packet of its own to the far end, with
//! a number (`wire/src/shim.rs`), and the far end takes it out again.
//!
//! Not an agent: `duplicate/`, `fec/` and `link_arq/` are. Each is a [`Protection`], a machine for one peer; here is what
//! makes an [`Agent`] of it. The packets inside are real bytes, so that a code over them is one.

pub(crate) mod order;
#[cfg(test)]
pub(crate) mod testing;

use std::collections::BTreeMap;
use std::net::IpAddr;

use bytes::Bytes;
use handfast_core::Instant;
use handfast_net::{Cause, Outbox, Port};
use handfast_wire::shim::{PROTOCOL, Shim};
use handfast_wire::{Ecn, Packet};

use crate::spec::Site;
use crate::{Agent, Verdict, View};

/// What goes to the peer, with the traffic class of the packet inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outgoing {
    pub(crate) shim: Shim,
    /// RFC 6040 §4.1, normal mode: the outer header has the inner one's marks.
    pub(crate) class: u8,
}

/// Where a [`Protection`] puts what it makes.
#[derive(Debug, Default)]
pub(crate) struct Made {
    /// For the peer.
    pub(crate) out: Vec<Outgoing>,
    /// From the peer, out of the shim.
    pub(crate) delivered: Vec<Packet>,
}

/// What is done for the packets between this node and one other, in both directions.
pub(crate) trait Protection: Send {
    /// The bytes of a packet are to go to the peer.
    fn send(&mut self, now: Instant, packet: Bytes, class: u8, made: &mut Made);

    /// The peer has sent this, which had these marks on its way. False: it is of another kind, and nobody's here.
    fn receive(&mut self, now: Instant, shim: &Shim, marks: Ecn, made: &mut Made) -> bool;

    /// What was to go to the peer was dropped by this node's own queue.
    fn on_drop(&mut self, _shim: &Shim) {}

    fn on_timer(&mut self, now: Instant, made: &mut Made);

    fn deadline(&self) -> Option<Instant>;

    /// What it has counted.
    fn counters(&self) -> Vec<(&'static str, u64)>;
}

/// The packet whose bytes have come, with the marks of the packet around it; [`None`]: the bytes are no packet, or RFC 6040 §4.2
/// drops it.
pub(crate) fn opened(bytes: &Bytes, marks: Ecn) -> Option<Packet> {
    Packet::of_ip_bytes(bytes)?.out_of(marks)
}

/// The IP header around a shim, and its longest header: a packet with them has to be an IP packet still.
const MOST_PACKET: usize = 65_535 - 40 - 12;

/// An agent that protects what goes from its node to others of its kind.
pub(crate) struct Protected<P> {
    address: IpAddr,
    /// By host the peer on the way there.
    next: BTreeMap<IpAddr, IpAddr>,
    /// What is done, by peer: those that the network has, and no more.
    peers: BTreeMap<IpAddr, P>,
    made: Made,
    /// Of peers, with bit errors.
    refused: u64,
    /// Bytes of IP packets that went to peers, and of what they protect.
    bytes: [u64; 2],
}

impl<P: Protection> Protected<P> {
    /// At a node, with a machine for each peer.
    pub(crate) fn new(site: Site, mut machine: impl FnMut() -> P) -> Self {
        let peers = site.next.values().map(|&peer| (peer, machine())).collect();
        let Site { address, next, .. } = site;
        Self { address, next, peers, made: Made::default(), refused: 0, bytes: [0; 2] }
    }

    /// Sends what a peer's machine has made, and passes on what it delivers: perhaps to the next peer.
    fn flush(&mut self, now: Instant, peer: IpAddr, out: &mut Outbox) {
        let Made { out: outgoing, delivered } = &mut self.made;
        for Outgoing { shim, class } in outgoing.drain(..) {
            let packet = Packet { traffic_class: class, ..shim.between(self.address, peer) };
            self.bytes[0] += packet.ip_len() as u64;
            out.forward(packet);
        }
        for packet in std::mem::take(delivered) {
            self.pass_on(now, packet, out);
        }
    }

    fn pass_on(&mut self, now: Instant, packet: Packet, out: &mut Outbox) {
        let peer = self.next.get(&packet.dst).copied();
        let (Some(peer), Ok(bytes)) = (peer, packet.ip_bytes()) else { return out.forward(packet) };
        let Some(machine) = self.peers.get_mut(&peer).filter(|_| bytes.len() <= MOST_PACKET) else {
            return out.forward(packet);
        };
        self.bytes[1] += bytes.len() as u64;
        machine.send(now, bytes, packet.traffic_class, &mut self.made);
        self.flush(now, peer, out);
    }

    fn receive(&mut self, now: Instant, packet: Packet, out: &mut Outbox) {
        let (peer, marks) = (packet.src, packet.ecn());
        // Another agent at this node may have other peers, and other kinds.
        let Some(machine) = self.peers.get_mut(&peer) else { return out.forward(packet) };
        let Some(shim) = Shim::of(&packet) else {
            self.refused += 1;
            return out.discard(packet);
        };
        if machine.receive(now, &shim, marks, &mut self.made) {
            self.flush(now, peer, out);
        } else {
            out.forward(packet);
        }
    }
}

impl<P: Protection> Agent for Protected<P> {
    fn look(&mut self, _now: Instant, _port: Port, view: &View<'_>, _out: &mut Outbox) -> Verdict {
        let is_shim = view.other(PROTOCOL).is_some();
        let takes = if view.dst == self.address {
            is_shim
        } else {
            // What another agent protects already is on its way to that one's peer. A packet with bit errors goes as it is.
            !is_shim && !view.corrupted && self.next.contains_key(&view.dst)
        };
        if takes { Verdict::Take } else { Verdict::Pass }
    }

    fn on_packet(&mut self, now: Instant, _port: Port, packet: Packet, out: &mut Outbox) {
        if packet.dst == self.address {
            self.receive(now, packet, out);
        } else {
            self.pass_on(now, packet, out);
        }
    }

    fn on_drop(&mut self, _now: Instant, _port: Port, view: &View<'_>, _cause: Cause) {
        let ours = (view.src == self.address).then(|| view.other(PROTOCOL)).flatten();
        if let Some((shim, machine)) =
            ours.and_then(|payload| Shim::parse(&payload.to_bytes())).zip(self.peers.get_mut(&view.dst))
        {
            machine.on_drop(&shim);
        }
    }

    fn on_timer(&mut self, now: Instant, out: &mut Outbox) {
        let due = |(_, machine): &(&IpAddr, &P)| machine.deadline().is_some_and(|at| at <= now);
        let due: Vec<_> = self.peers.iter().filter(due).map(|(&peer, _)| peer).collect();
        for peer in due {
            if let Some(machine) = self.peers.get_mut(&peer) {
                machine.on_timer(now, &mut self.made);
                self.flush(now, peer, out);
            }
        }
    }

    fn deadline(&self) -> Option<Instant> {
        self.peers.values().filter_map(Protection::deadline).min()
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let own = [
            ("shim_refused", self.refused),
            ("shim_bytes", self.bytes[0]),
            ("protected_bytes", self.bytes[1]),
        ];
        own.into_iter().chain(self.peers.values().flat_map(Protection::counters)).collect()
    }
}

#[cfg(test)]
mod tests;
