//! What no connection of SDTP has, such as QUIC, ESP, or TCP that began before its edges did: an edge sends each packet whole, as
//! data of a lane, and numbers the packets of a lane. `[sdtp]` repairs TCP alone.
//!
//! A lane is a stream under a number that no connection has. The packets of one flow share a lane, so that they keep their order
//! and a loss delays the packets of its lane alone.

mod receivers;
mod routes;

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::IpAddr;

use handfast_core::{Instant, SeqNum};
use handfast_wire::{Body, Packet};

use super::control::Name;
pub(super) use receivers::Receivers;
pub(super) use routes::{Known, Route, Routes};

/// Lanes between two edges in one direction.
const LANES: u16 = 64;

/// Sets of lanes: an edge that begins anew takes another one. Under the old numbers its first packets would pass for old ones.
const EPOCHS: u16 = 16;

/// The first number that is a lane's; those below are connections'.
pub(super) const FIRST: u16 = u16::MAX - LANES * EPOCHS + 1;

/// The packets that an edge has sent.
#[derive(Debug, Default)]
pub(super) struct Senders {
    /// Of each lane. Only edges that the controller has named have lanes.
    sent: BTreeMap<Name, u32>,
    epoch: Option<u16>,
}

/// A packet's place in its lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Numbered {
    pub(super) name: Name,
    /// Lanes begin with 0.
    pub(super) sequence: SeqNum,
}

impl Senders {
    /// The next number of the lane that this packet takes.
    pub(super) fn number(&mut self, now: Instant, (peer, slice): Route, packet: &Packet) -> Numbered {
        // Two starts in one second, or 16 seconds apart, share an epoch: until the count has passed the old one nothing is repaired.
        let epoch =
            *self.epoch.get_or_insert_with(|| (now.as_nanos() / 1_000_000_000 % u64::from(EPOCHS)) as u16);
        let connection = FIRST + epoch * LANES + lane(packet);
        let name = Name { peer, slice, connection };
        let sent = self.sent.entry(name).or_insert(0);
        let numbered = Numbered { name, sequence: SeqNum(*sent) };
        *sent = sent.wrapping_add(1);
        numbered
    }
}

/// The lane of a flow: by addresses, protocol and ports.
fn lane(packet: &Packet) -> u16 {
    let flow: (u8, u16, u16) = match &packet.body {
        Body::Tcp(segment) => (6, segment.src_port, segment.dst_port),
        Body::Udp(datagram) => (17, datagram.src_port, datagram.dst_port),
        Body::Sdtp(_) => (0, 0, 0),
        Body::Other { protocol, .. } => (*protocol, 0, 0),
    };
    let ends: (IpAddr, IpAddr) = (packet.src, packet.dst);
    let mut hasher = DefaultHasher::new();
    (ends, flow).hash(&mut hasher);
    (hasher.finish() % u64::from(LANES)) as u16
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use handfast_wire::tcp::Segment;
    use handfast_wire::{Datagram, Payload};

    use super::*;

    const EDGE: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 9));

    fn datagram(src_port: u16) -> Packet {
        let [src, dst] = [1, 2].map(|host| IpAddr::from(Ipv4Addr::new(192, 0, 2, host)));
        let body = Body::Udp(Datagram { src_port, dst_port: 443, payload: Payload::EMPTY });
        Packet { body, ..Packet::tcp(src, dst, Segment::EMPTY) }
    }

    #[test]
    fn packets_of_a_flow_have_consecutive_numbers_of_one_lane() {
        let mut senders = Senders::default();
        let mut number = |port| senders.number(Instant::ZERO, (EDGE, 3), &datagram(port));
        let [first, second] = [number(7), number(7)];
        assert_eq!(first.name, second.name);
        assert_eq!((first.name.peer, first.name.slice), (EDGE, 3));
        assert_eq!([first, second].map(|one| one.sequence.0), [0, 1]);
    }

    #[test]
    fn flows_spread_over_the_lanes_and_no_lane_has_a_number_of_connections() {
        let mut senders = Senders::default();
        let used: std::collections::BTreeSet<u16> = (0..1000)
            .map(|port| senders.number(Instant::ZERO, (EDGE, 3), &datagram(port)).name.connection)
            .collect();
        assert_eq!(used.len(), usize::from(LANES));
        assert!(used.iter().all(|&connection| connection >= FIRST), "{used:?}");
    }

    #[test]
    fn an_edge_that_begins_anew_takes_other_lanes() {
        let of = |seconds: u64| {
            let now = Instant::from_millis(seconds * 1000);
            Senders::default().number(now, (EDGE, 3), &datagram(7)).name.connection
        };
        assert_ne!(of(100), of(101));
        assert_eq!(of(115) - of(112), 3 * LANES, "epochs 3 and 0 of a round of 16");
        assert!(of(111) > u16::MAX - LANES, "the last epoch ends with the last number");
    }
}
