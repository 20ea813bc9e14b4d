//! What is settled before the network is built, and each machine's place in the order of events.

use handfast_core::Instant;
use handfast_plan::timeline::Timeline;
use handfast_plan::topology::Topology;
use handfast_plan::{Paths, Streams};
use handfast_scenario::{AgentKind, NodeId, Scenario, Scheme};

use crate::RunError;
use crate::engine::entry::Rank;

/// What is settled before the network is built.
pub(crate) struct Layout<'a> {
    pub(crate) paths: &'a Paths,
    pub(crate) timeline: &'a Timeline,
    pub(crate) starts: &'a [Instant],
    pub(crate) streams: &'a Streams,
}

/// The first of the ports that connections get, one a connection and node.
const FIRST_PORT: u16 = 5001;

/// Which port each stream of a flow has at both of its nodes, and which machines each node has.
pub(crate) struct Ends {
    /// For each stream that of its sender and that of its receiver.
    pub(crate) ports: Vec<[u16; 2]>,
    /// For each node its connections, in order of port.
    pub(crate) connections_of: Vec<Vec<u32>>,
    /// The same of the ends of flows that do not use TCP.
    pub(crate) transports_of: Vec<Vec<u32>>,
}

impl Ends {
    /// Ports in the order of flows.
    pub(crate) fn assign(scenario: &Scenario) -> Result<Self, RunError> {
        let none = vec![Vec::new(); scenario.nodes.len()];
        let mut this = Self { ports: Vec::new(), connections_of: none.clone(), transports_of: none };
        let (mut connections, mut transports) = (0.., 0..);
        for flow in &scenario.flows {
            for _ in 0..flow.connections {
                let mut ports = [0; 2];
                for (port, node) in ports.iter_mut().zip([flow.from, flow.to]) {
                    *port = this.next_port(node).ok_or_else(|| {
                        let name = &scenario.nodes[node].name;
                        RunError::Scenario(format!("node `{name}` has more connections than ports"))
                    })?;
                    if flow.uses_tcp() {
                        this.connections_of[node].extend(connections.next());
                    } else {
                        this.transports_of[node].extend(transports.next());
                    }
                }
                this.ports.push(ports);
            }
        }
        Ok(this)
    }

    fn next_port(&self, node: NodeId) -> Option<u16> {
        let taken = self.connections_of[node].len() + self.transports_of[node].len();
        u16::try_from(taken).ok()?.checked_add(FIRST_PORT)
    }

    /// How many connections there are, both ends counted.
    pub(crate) fn connections(&self) -> usize {
        self.connections_of.iter().map(Vec::len).sum()
    }
}

/// Every machine's place in the order of events at equal times: node by node; in a node first what it transmits, by
/// port, then its connections and other ends of flows, then its agents, then its medium; after all nodes the notifications, the
/// socket layers, and what moves with its sessions.
pub(crate) struct Ranks {
    pub(crate) channels: Vec<Rank>,
    pub(crate) connections: Vec<Rank>,
    pub(crate) transports: Vec<Rank>,
    /// For each node that of its first agent.
    pub(crate) agents: Vec<Rank>,
    pub(crate) media: Vec<Rank>,
    pub(crate) notifiers: Rank,
    pub(crate) layers: Rank,
    pub(crate) moving: Rank,
    pub(crate) count: Rank,
}

impl Ranks {
    pub(crate) fn assign(topology: &Topology, ends: &Ends, scheme: &Scheme) -> Self {
        let nodes = ends.connections_of.len();
        let mut this = Self {
            channels: vec![0; topology.channels()],
            connections: vec![0; ends.connections()],
            transports: vec![0; ends.transports_of.iter().map(Vec::len).sum()],
            agents: Vec::with_capacity(nodes),
            media: Vec::with_capacity(nodes),
            notifiers: 0,
            layers: 0,
            moving: 0,
            count: 0,
        };
        for node in 0..nodes {
            for attachment in topology.ports(node) {
                this.channels[attachment.out as usize] = next(&mut this.count);
            }
            for &id in &ends.connections_of[node] {
                this.connections[id as usize] = next(&mut this.count);
            }
            for &id in &ends.transports_of[node] {
                this.transports[id as usize] = next(&mut this.count);
            }
            this.agents.push(this.count);
            // The controller has one even where no agent of the scheme sees packets, and so has each node of SDTP.
            let own = scheme.agents.iter().filter(|agent| agent.at.contains(&node)).count() as Rank;
            let sdtp = scheme.agents.iter().any(|agent| matches!(agent.kind, AgentKind::Sdtp(_)));
            this.count += (own + Rank::from(sdtp)).max(1);
            this.media.push(next(&mut this.count));
        }
        this.notifiers = next(&mut this.count);
        this.layers = next(&mut this.count);
        this.moving = next(&mut this.count);
        this
    }
}

fn next(count: &mut Rank) -> Rank {
    *count += 1;
    *count - 1
}
