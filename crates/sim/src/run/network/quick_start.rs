//! What the network does for Quick-Start: it shows each request to the routers on its path, and each that takes part judges its
//! output link. `net/quick_start.rs` holds the routers.

use handfast_core::Instant;
use handfast_scenario::NodeId;
use handfast_wire::IpFacts;
use handfast_wire::tcp::Segment;

use crate::engine::ids::ConnectionId;
use crate::net::packets::Passing;
use crate::run::network::Network;

impl Network {
    /// A packet has come to a node, which will send it on; a request leaves it as the node has judged.
    pub(crate) fn show_router(&mut self, now: Instant, node: NodeId, passing: Passing) -> Passing {
        if passing.goal.node as usize == node {
            return passing;
        }
        let Some(out) = self.topology.towards(node, passing.goal) else { return passing };
        let (out, rate) = (out as usize, self.links[out as usize].link.mean_rate());
        let Some(routers) = self.inspection.routers() else { return passing };
        let link = routers.link(node, out);
        let Some(packet) = self.packets.whole(passing.handle).filter(|packet| packet.quick_start.is_some())
        else {
            if let Some(link) = link {
                link.on_departure(now, passing.size());
            }
            return passing;
        };
        let mut packet = packet.clone();
        // RFC 791: every router decrements it. No packet comes by 64 of them here, and it says nothing elsewhere.
        packet.hop_limit = packet.hop_limit.saturating_sub(1);
        if let Some(link) = link {
            link.on_packet(now, rate, &mut packet);
            link.on_departure(now, passing.size());
        }
        self.packets.replace(passing.handle, packet)
    }

    /// A segment of one of the node's own endpoints, perhaps measured, perhaps with an option. RFC 4782 §3.1 counts the IP layer
    /// at the sender among the routers.
    #[cold]
    pub(crate) fn originate_closer(&mut self, now: Instant, id: ConnectionId, segment: Segment, ip: IpFacts) {
        let connection = &self.hosts.connections[id];
        let (node, out) = (connection.local.node as usize, connection.local.out as usize);
        let (rate, goal) = (self.links[out].link.mean_rate(), connection.remote.goal);
        let passing = if self.hosts.note_departure(now, id, &segment) && ip.is_plain() {
            self.packets.insert_whole(connection.packet(&self.addresses, segment), id, goal)
        } else if ip.is_plain() {
            self.admit_own(id, segment)
        } else {
            let mut packet = connection.packet_with(&self.addresses, segment, ip);
            if let Some(link) = self.inspection.routers().and_then(|routers| routers.link(node, out)) {
                packet.hop_limit -= 1;
                link.on_packet(now, rate, &mut packet);
            }
            self.packets.insert_whole(packet, id, goal)
        };
        if let Some(link) = self.inspection.routers().and_then(|routers| routers.link(node, out)) {
            link.on_departure(now, passing.size());
        }
        self.emerge(now, id, passing);
    }
}
