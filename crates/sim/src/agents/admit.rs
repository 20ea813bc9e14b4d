//! Packets that machines have made or held: how they come under way.

use handfast_plan::topology::Goal;
use handfast_wire::tcp::Segment;
use handfast_wire::{Body, Packet};

use crate::net::network::{FIRST_PORT, Network};
use crate::net::packets::Passing;

/// The origin of packets from no flow's address.
const NO_ORIGIN: u32 = u32::MAX;

impl Network {
    /// Takes a packet from an agent. Its loss would be that of the side that has its source address and port.
    pub(crate) fn admit(&mut self, mut packet: Packet) -> Passing {
        let sides = self.addresses.node_of(packet.src).and_then(|node| self.ports.get(node as usize));
        let origin = match (&packet.body, sides) {
            (Body::Tcp(segment), Some(sides)) => {
                sides.get(usize::from(segment.src_port.wrapping_sub(FIRST_PORT)))
            }
            _ => None,
        };
        let origin = origin.copied().unwrap_or(NO_ORIGIN);
        let goal = self
            .addresses
            .node_of(packet.dst)
            .map_or(Goal::nowhere(), |node| self.topology.goal(node as usize));
        let len = packet.ip_len();
        match (
            self.sides.get(origin as usize),
            std::mem::replace(&mut packet.body, Body::Tcp(Segment::EMPTY)),
        ) {
            (Some(side), Body::Tcp(segment))
                if side.addresses(&segment) && packet == side.packet(&self.addresses, Segment::EMPTY) =>
            {
                self.packets
                    .insert(segment, len, origin, goal, |segment| side.packet(&self.addresses, segment))
            }
            (_, body) => self.packets.insert_whole(Packet { body, ..packet }, origin, goal),
        }
    }
}
