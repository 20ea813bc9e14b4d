//! Packet spraying: a switch sends packets in turn over all shortest paths to their destination, so that packets of one flow
//! overtake each other (RFC 2991 §2 warns of that, and has flows keep to a path).

mod spec;

use std::collections::BTreeMap;
use std::net::IpAddr;

use handfast_core::Instant;
use handfast_net::{Outbox, Port};
use handfast_wire::Packet;

use crate::{Agent, Verdict, View};

pub use spec::Spray;

/// Packet spraying at one switch.
#[derive(Debug)]
pub struct Sprayer {
    /// For each destination the ports on shortest paths, two or more.
    ports: BTreeMap<IpAddr, Vec<Port>>,
    /// Packets so far for each destination.
    sprayed: BTreeMap<IpAddr, u64>,
}

impl Sprayer {
    /// A switch with these ports on shortest paths, by destination.
    pub fn new(ports: impl IntoIterator<Item = (IpAddr, Vec<Port>)>) -> Self {
        let ports = ports.into_iter().filter(|(_, ports)| ports.len() > 1).collect();
        Self { ports, sprayed: BTreeMap::new() }
    }
}

impl Agent for Sprayer {
    fn look(&mut self, _now: Instant, _port: Port, view: &View<'_>, _out: &mut Outbox) -> Verdict {
        if self.ports.contains_key(&view.dst) { Verdict::Take } else { Verdict::Pass }
    }

    fn on_packet(&mut self, _now: Instant, _port: Port, packet: Packet, out: &mut Outbox) {
        let Some(ports) = self.ports.get(&packet.dst) else { return out.forward(packet) };
        let sprayed = self.sprayed.entry(packet.dst).or_default();
        let turn = *sprayed % ports.len() as u64;
        *sprayed += 1;
        out.send(ports[turn as usize], packet);
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![("sprayed", self.sprayed.values().sum())]
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use handfast_net::Forward;
    use handfast_wire::tcp::Segment;

    use super::*;

    fn ip(host: u8) -> IpAddr {
        Ipv4Addr::new(10, 0, 0, host).into()
    }

    /// By which port a packet for a host leaves; [`None`]: where its address leads.
    fn leaves_by(sprayer: &mut Sprayer, to: u8) -> Option<Port> {
        let (packet, mut out) = (Packet::tcp(ip(9), ip(to), Segment::EMPTY), Outbox::default());
        if sprayer.look(Instant::ZERO, Port(0), &View::of(&packet), &mut out) == Verdict::Pass {
            return None;
        }
        sprayer.on_packet(Instant::ZERO, Port(0), packet, &mut out);
        match out.drain().next() {
            Some(Forward::To(port, _)) => Some(port),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn packets_take_the_ports_in_turn_for_each_destination() {
        let (two, three) = (vec![Port(1), Port(4)], vec![Port(2), Port(3), Port(5)]);
        let mut sprayer = Sprayer::new([(ip(1), two), (ip(2), three), (ip(3), vec![Port(1)])]);
        let came: Vec<_> = [1, 2, 1, 2, 1, 2, 2, 3, 4].map(|to| leaves_by(&mut sprayer, to)).into();
        let expected = [Some(1), Some(2), Some(4), Some(3), Some(1), Some(5), Some(2), None, None];
        assert_eq!(came, expected.map(|port| port.map(Port)));
        assert_eq!(sprayer.counters(), [("sprayed", 7)]);
    }
}
