//! Quick-Start in the network: requests go from router to router, and each that takes part judges its output link.

use std::collections::BTreeMap;

use handfast_core::{Instant, Stream};
use handfast_net::QuickStartLink;
use handfast_plan::topology::ChannelId;
use handfast_scenario::{AgentKind, NodeId, Scheme};
use handfast_tcp::{Config, QuickStartRequest};
use handfast_wire::IpFacts;
use handfast_wire::tcp::Segment;

use crate::hosts::connections::ConnectionId;
use crate::net::network::Network;
use crate::net::packets::Passing;

/// Who takes part, and the links of which something is known.
#[derive(Debug)]
pub(crate) struct Routers {
    seed: u64,
    /// For each node that takes part its threshold, in thousandths of a link's rate.
    taking_part: BTreeMap<NodeId, u16>,
    links: BTreeMap<ChannelId, QuickStartLink>,
}

impl Routers {
    /// [`None`]: the scheme knows nothing of Quick-Start.
    pub(crate) fn new(scheme: &Scheme, seed: u64) -> Option<Box<Self>> {
        let mut taking_part = BTreeMap::new();
        for agent in &scheme.agents {
            if let AgentKind::QuickStart(given) = agent.kind {
                taking_part.extend(agent.at.iter().map(|&node| (node, given.threshold_permille)));
            }
        }
        let asks = |tcp: &Config| tcp.quick_start != QuickStartRequest::Off;
        let any = asks(&scheme.sender) || asks(&scheme.receiver) || !taking_part.is_empty();
        any.then(|| Box::new(Self { seed, taking_part, links: BTreeMap::new() }))
    }

    /// The output link of a node that takes part.
    fn link(&mut self, node: NodeId, out: ChannelId) -> Option<&mut QuickStartLink> {
        let threshold = *self.taking_part.get(&node)?;
        let random = || Stream::new(self.seed, &format!("quick-start link {out}"));
        Some(self.links.entry(out).or_insert_with(|| QuickStartLink::new(threshold, random())))
    }
}

impl Network {
    /// A packet has come to a node, which will send it on; a request leaves it as the node has judged.
    pub(crate) fn show_router(&mut self, now: Instant, node: NodeId, passing: Passing) -> Passing {
        if passing.goal.node as usize == node {
            return passing;
        }
        let Some(out) = self.topology.towards(node, passing.goal) else { return passing };
        let (out, rate) = (out as usize, self.links[out as usize].link.rate());
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

    /// A segment of one of the node's own endpoints, perhaps with an option. RFC 4782 §3.1 counts
    /// the IP layer at the sender among the routers.
    #[cold]
    pub(crate) fn originate_closer(&mut self, now: Instant, id: ConnectionId, segment: Segment, ip: IpFacts) {
        let connection = &self.hosts.connections[id];
        let (node, out) = (connection.local.node as usize, connection.local.out as usize);
        let (rate, goal) = (self.links[out].link.rate(), connection.remote.goal);
        let passing = if ip.is_plain() {
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
