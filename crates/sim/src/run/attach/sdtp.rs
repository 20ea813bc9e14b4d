//! SDTP's controller and its nodes: every switch and access point is one, and an edge if a host hangs at it.

use std::collections::BTreeMap;
use std::net::IpAddr;

use handfast_assist::Sdtp;
use handfast_assist::sdtp::spec::{Placement, PlacementWord};
use handfast_assist::sdtp::{Controller, Node, Placed, Planner};
use handfast_core::{Duration, Stream};
use handfast_net::Port;
use handfast_plan::topology::reverse;
use handfast_scenario::{NodeId, Scenario};

use crate::agents::chain::Link;
use crate::agents::sdtp::{SdtpControl, SdtpNode};
use crate::engine::entry::{Machine, Rank};
use crate::engine::queue::Timer;
use crate::run::network::{Network, SDTP_CONTROL};

/// Makes the controller, which sits in `at`, and returns the nodes that it commands.
pub(super) fn attach(
    network: &mut Network,
    scenario: &Scenario,
    spec: &Sdtp,
    at: NodeId,
    seed: u64,
    rank: Rank,
) -> Result<Vec<(NodeId, Link)>, String> {
    if network.sdtp.is_some() {
        return Err("two controllers of SDTP; the simulator has one".to_owned());
    }
    let world = World { network, scenario, spec };
    let (nodes, controller) = (world.nodes(at), Controller::new(world.planner()?, world.edges_of_hosts()));
    let address = network.addresses.ip_of(at);
    let stream = Stream::new(seed, "SDTP's control channels");
    let timer = Timer::new(rank, Machine::Agent(SDTP_CONTROL));
    network.sdtp = Some(Box::new(SdtpControl::new(spec, controller, address, stream, timer)));
    Ok(nodes)
}

/// What nodes and controller are made from.
struct World<'a> {
    network: &'a Network,
    scenario: &'a Scenario,
    spec: &'a Sdtp,
}

impl World<'_> {
    fn address(&self, node: NodeId) -> IpAddr {
        self.network.addresses.ip_of(node)
    }

    fn forwards(&self, node: NodeId) -> bool {
        self.scenario.nodes[node].kind.forwards()
    }

    fn forwarders(&self) -> impl Iterator<Item = NodeId> + '_ {
        (0..self.scenario.nodes.len()).filter(|&node| self.forwards(node))
    }

    /// The hosts at a node, each with its port.
    fn hosts(&self, node: NodeId) -> impl Iterator<Item = (NodeId, Port)> + '_ {
        let ports = (0..).map(Port).zip(self.network.topology.ports(node));
        let ports = ports.map(|(port, attachment)| (attachment.neighbour as NodeId, port));
        ports.filter(|&(neighbour, _)| !self.forwards(neighbour))
    }

    fn edges(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.forwarders().filter(|&node| self.hosts(node).next().is_some())
    }

    fn edges_of_hosts(&self) -> BTreeMap<IpAddr, IpAddr> {
        let of = |edge| self.hosts(edge).map(move |(host, _)| (self.address(host), self.address(edge)));
        self.edges().flat_map(of).collect()
    }

    fn nodes(&self, controller: NodeId) -> Vec<(NodeId, Link)> {
        let controller = self.address(controller);
        let made = |node| {
            let hosts = self.hosts(node).map(|(host, port)| (self.address(host), port)).collect();
            let machine = Node::new(self.address(node), hosts, self.spec.config.clone());
            (node, Link::Agent(Box::new(SdtpNode::new(machine, self.address(node), controller))))
        };
        self.forwarders().map(made).collect()
    }

    fn planner(&self) -> Result<Planner, String> {
        let mut planner = Planner::default();
        let edges: Vec<_> = self.edges().collect();
        for (from, to) in edges.iter().flat_map(|&from| edges.iter().map(move |&to| (from, to))) {
            if let Some(path) = self.path(from, to).filter(|_| from != to) {
                planner.insert(self.address(from), self.address(to), self.place(&path)?);
            }
        }
        Ok(planner)
    }

    /// From edge to edge: each node, with the delay of the link that leads to it.
    fn path(&self, from: NodeId, to: NodeId) -> Option<Vec<(NodeId, Duration)>> {
        let (topology, goal) = (&self.network.topology, self.network.topology.goal(to));
        let mut path = vec![(from, Duration::ZERO)];
        while path.last()?.0 != to {
            let channel = topology.towards(path.last()?.0, goal)? as usize;
            let (next, _) = topology.departure(reverse(channel));
            path.push((next, self.network.links[channel].link.delay()));
            if path.len() > self.scenario.nodes.len() {
                return None;
            }
        }
        Some(path)
    }

    fn place(&self, path: &[(NodeId, Duration)]) -> Result<Vec<Placed>, String> {
        let last = path.len() - 1;
        // To the first node of the segment.
        let mut distance = Duration::ZERO;
        let mut placed = Vec::new();
        for (place, &(node, delay)) in path.iter().enumerate() {
            distance += delay;
            let (caching, retransmission) = self.functions(node)?;
            let retransmission = place == last || (place > 0 && retransmission);
            let caching = caching || retransmission || place == 0;
            let address = self.address(node);
            placed.push(Placed { address, caching, retransmission, round_trip: distance * 2 });
            if retransmission {
                distance = Duration::ZERO;
            }
        }
        if self.spec.placement == Placement::By(PlacementWord::Nowhere) {
            placed.clear();
        }
        Ok(placed)
    }

    fn functions(&self, node: NodeId) -> Result<(bool, bool), String> {
        Ok(match &self.spec.placement {
            Placement::By(PlacementWord::EverySwitch) => (true, true),
            Placement::By(PlacementWord::Nowhere) => (false, false),
            Placement::By(_) => (true, false),
            Placement::Given { caching, retransmission } => {
                let plays = |role: &Option<String>| role.is_some() && self.scenario.nodes[node].role == *role;
                (plays(caching), plays(retransmission))
            }
        })
    }
}
