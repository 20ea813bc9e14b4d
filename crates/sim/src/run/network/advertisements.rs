//! What stations make of the advertisements of base stations.

use std::net::Ipv4Addr;

use handfast_core::Instant;
use handfast_scenario::NodeId;
use handfast_wire::Advertisement;

use crate::net::packets::Passing;
use crate::run::network::Network;

impl Network {
    /// A packet that goes no further: its way ends at `node`, unless it is for all systems on the link.
    #[cold]
    pub(crate) fn end(&mut self, now: Instant, node: NodeId, passing: Passing) {
        let whole = self.packets.whole(passing.handle).filter(|packet| !packet.corrupted);
        match whole.and_then(Advertisement::parse) {
            Some(advertisement) => {
                self.packets.free(passing.handle);
                self.hear(now, node, advertisement.agent);
            }
            None => self.lose(passing.handle),
        }
    }

    /// RFC 5944 §2.4.2: an advertisement of somebody else than before means that the station has moved. While an old link is
    /// still there (make before break) both are heard: the station's own access point counts.
    fn hear(&mut self, now: Instant, node: NodeId, agent: Ipv4Addr) {
        let sender = self.addresses.node_of(agent.into());
        let mut ports = self.topology.ports(node).iter().filter(|port| Some(port.neighbour) == sender);
        if !ports.any(|port| self.topology.is_in_use(port.out as usize / 2)) {
            return;
        }
        let before = self.hosts.heard.insert(node, agent);
        if before.is_none_or(|before| before == agent) {
            return;
        }
        let concerned: Vec<_> = self.hosts.at(node).collect();
        for id in concerned {
            self.hosts.connections[id].on_handover();
            self.answer(now, id);
        }
    }
}
