//! Packets that machines have made or held: how they come under way.

use handfast_plan::topology::Goal;
use handfast_wire::tcp::Segment;
use handfast_wire::{Body, Packet};

use crate::engine::ids::ConnectionId;
use crate::net::packets::Passing;
use crate::run::network::Network;

impl Network {
    /// Takes a packet from an agent. Its loss would be that of the connection that has its addresses and ports.
    pub(crate) fn admit(&mut self, packet: Packet) -> Passing {
        self.admit_for(packet, ConnectionId::NONE)
    }

    /// The same of a packet that an agent has made of one from connection `taken`.
    pub(crate) fn admit_for(&mut self, mut packet: Packet, taken: ConnectionId) -> Passing {
        let origin = self.origin(&packet, taken).unwrap_or(ConnectionId::NONE);
        let goal = self.addresses.node_of(packet.dst);
        let goal = goal.map_or(Goal::nowhere(), |node| self.topology.goal(node as usize));
        let len = packet.ip_len();
        let body = std::mem::replace(&mut packet.body, Body::Tcp(Segment::EMPTY));
        match (self.hosts.connections.get(origin), body) {
            (Some(connection), Body::Tcp(segment))
                if !self.hosts.is_measured(origin)
                    && connection.addresses(&segment)
                    && packet == connection.packet(&self.addresses, Segment::EMPTY) =>
            {
                let around = |segment| connection.packet(&self.addresses, segment);
                self.packets.insert(segment, len, origin, goal, around)
            }
            (_, body) => self.packets.insert_whole(Packet { body, ..packet }, origin, goal),
        }
    }

    /// Whose packet it is, as far as its addresses and ports say.
    fn origin(&mut self, packet: &Packet, taken: ConnectionId) -> Option<ConnectionId> {
        match &packet.body {
            Body::Tcp(segment) => {
                let (src, dst) = self.sockets(packet, (segment.src_port, segment.dst_port))?;
                self.hosts.bound(self.addresses.node(src.address) as usize, (src, dst))
            }
            Body::Udp(datagram) => {
                let pair = self.sockets(packet, (datagram.src_port, datagram.dst_port))?;
                self.hosts.transports.origin(pair)
            }
            // It has the ports of a slice, which say nothing of the hosts.
            Body::Sdtp(sdtp) => match sdtp.inner() {
                Some(inner) => self.origin(inner, taken),
                None => self.sdtp.as_mut()?.origin(&sdtp.stream(packet.src, packet.dst), taken),
            },
            Body::Other { .. } => None,
        }
    }
}
