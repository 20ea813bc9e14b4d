//! SDTP's controller and its nodes: every switch and access point is one, and an edge if a host hangs at it.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use handfast_assist::Sdtp;
use handfast_assist::sdtp::auth::Key;
use handfast_assist::sdtp::detours::{Detours, Placing};
use handfast_assist::sdtp::line::{Hop, Line};
use handfast_assist::sdtp::placement;
use handfast_assist::sdtp::spec::Placement;
use handfast_assist::sdtp::{Config, Controller, Node, Placed, Planner, Sealing};
use handfast_core::{Duration, Stream};
use handfast_net::Port;
use handfast_plan::topology::{ChannelId, channel, reverse};
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
    if let (Some(role), None) = (&spec.hosts, world.edges().next()) {
        return Err(format!("`protected = \"{role}\"`: no host at a switch plays this role"));
    }
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

    /// Whether a host's packets are protected.
    fn is_protected(&self, host: NodeId) -> bool {
        self.spec.hosts.is_none() || self.scenario.nodes[host].role == self.spec.hosts
    }

    fn edges(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.forwarders().filter(|&node| self.hosts(node).any(|(host, _)| self.is_protected(host)))
    }

    /// Of a station with links to several access points the edge is the one with which it begins.
    fn edges_of_hosts(&self) -> BTreeMap<IpAddr, IpAddr> {
        let begins_at =
            |host: NodeId, edge| self.scenario.nodes[host].ap.is_none_or(|access_point| access_point == edge);
        let of = |edge| {
            let here =
                self.hosts(edge).filter(move |&(host, _)| self.is_protected(host) && begins_at(host, edge));
            here.map(move |(host, _)| (self.address(host), self.address(edge)))
        };
        self.edges().flat_map(of).collect()
    }

    fn nodes(&self, controller: NodeId) -> Vec<(NodeId, Link)> {
        let controller = self.address(controller);
        let (config, seals) = (Config::clone(&self.spec.config), self.spec.seal);
        let made = |node| {
            let (ours, others): (Vec<_>, Vec<_>) =
                self.hosts(node).partition(|&(host, _)| self.is_protected(host));
            let hosts: BTreeMap<_, _> =
                ours.into_iter().map(|(host, port)| (self.address(host), port)).collect();
            let others: Vec<_> = others.into_iter().map(|(_, port)| port).collect();
            let (address, config) = (self.address(node), config.clone());
            let make = move |restarts: u64| {
                // Above all that it has used before.
                let sealing = seals.then_some(Sealing { key: KEY, first: restarts << RESTART_BITS });
                Node::new(address, hosts.clone(), Config { sealing, ..config.clone() })
                    .with_strangers_at(others.iter().copied())
            };
            (node, Link::Agent(Box::new(SdtpNode::new(Box::new(make), address, controller))))
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
        Ok(planner.with_detours(self.detours()))
    }

    /// All links between forwarders, for paths around those that are down.
    fn detours(&self) -> Detours {
        let mut detours = Detours::new(self.placing());
        for link in 0..self.scenario.links.len() {
            let there = channel(link, 0);
            let ends = [there, reverse(there)].map(|channel| self.network.topology.departure(channel));
            if ends.iter().all(|&(node, _)| self.forwards(node)) {
                detours.connect(ends.map(|(node, port)| (self.address(node), Port(port))), self.hop(there));
            }
        }
        detours
    }

    fn placing(&self) -> Placing {
        match &self.spec.placement {
            &Placement::By(word, segments) => Placing::By(word, segments, self.interval()),
            Placement::Given { caching, retransmission } => {
                let (caching, retransmission) =
                    (self.playing(caching.as_deref()), self.playing(retransmission.as_deref()));
                Placing::Given { caching, retransmission }
            }
        }
    }

    /// The channels from edge to edge.
    fn path(&self, from: NodeId, to: NodeId) -> Option<Vec<ChannelId>> {
        let path = self.network.topology.path(from, to)?;
        Some(path.into_iter().map(|channel| channel as ChannelId).collect())
    }

    /// The nodes of a path with their functions.
    fn place(&self, path: &[ChannelId]) -> Result<Vec<Placed>, String> {
        let hops = path.iter().map(|&channel| self.hop(channel)).collect();
        let line = Line::new(hops).ok_or("a link between switches loses everything: no path for SDTP")?;
        let nodes: Vec<_> = (0..=line.last()).map(|place| self.address(self.node(path, place))).collect();
        Ok(self.placing().place(&line, &nodes))
    }

    fn hop(&self, channel: ChannelId) -> Hop {
        let direction = |channel: ChannelId| {
            let link = &self.scenario.links[channel / 2];
            if channel.is_multiple_of(2) { &link.forward } else { &link.backward }
        };
        Hop::of(direction(channel), direction(reverse(channel)))
    }

    /// The node of a path by its place.
    fn node(&self, path: &[ChannelId], place: usize) -> NodeId {
        let topology = &self.network.topology;
        path.get(place).map_or_else(
            || topology.departure(reverse(path[place - 1])).0,
            |&next| topology.departure(next).0,
        )
    }

    /// Between packets, if the nodes are told.
    fn interval(&self) -> Duration {
        self.spec.config.thresholds.sending_interval.unwrap_or(placement::INTERVAL)
    }

    /// The nodes that play a role.
    fn playing(&self, role: Option<&str>) -> BTreeSet<IpAddr> {
        let plays = |&node: &NodeId| role.is_some() && self.scenario.nodes[node].role.as_deref() == role;
        self.forwarders().filter(plays).map(|node| self.address(node)).collect()
    }
}

/// A node seals fewer messages than this many bits count before it begins anew.
const RESTART_BITS: u32 = 40;

/// The network's: in a simulation nobody guesses it.
const KEY: Key = Key::new([0x5d; 32]);
