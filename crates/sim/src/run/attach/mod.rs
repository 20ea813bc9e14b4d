//! From a scheme's agents to machines at nodes.

mod sdtp;

use std::collections::BTreeMap;
use std::net::IpAddr;

use handfast_assist::spec::Site;
use handfast_assist::spray::Sprayer;
use handfast_core::Stream;
use handfast_net::Port;
use handfast_plan::association::Associations;
use handfast_plan::change::Change;
use handfast_plan::fabric::Fabric;
use handfast_plan::timeline::Timeline;
use handfast_plan::topology::reverse;
use handfast_scenario::{AgentKind, NodeId, NodeKind, Scenario, Scheme, Sdn};

use crate::RunError;
use crate::agents::chain::{Chains, Link};
use crate::agents::controller::Control;
use crate::agents::layer::Layers;
use crate::agents::notify::Notifiers;
use crate::agents::plugin::Plugins;
use crate::engine::entry::{Machine, Rank};
use crate::engine::queue::Timer;
use crate::run::network::{CONTROL, LAYERS, NOTIFIERS, Network};

/// Where agents have their places in the order of events at equal times.
pub(crate) struct Places<'a> {
    /// For each node that of its first agent.
    pub(crate) agents: &'a [Rank],
    /// That of all stations that tell of their access links.
    pub(crate) notifiers: Rank,
    /// That of all socket layers.
    pub(crate) layers: Rank,
}

/// Puts the scheme's agents where they belong.
pub(crate) fn agents(
    network: &mut Network,
    scenario: &Scenario,
    scheme: &Scheme,
    seed: u64,
    plugins: &Plugins,
    timeline: &Timeline,
    places: &Places<'_>,
) -> Result<(), RunError> {
    let wrong = |why: String| RunError::Scenario(format!("scheme `{}`: {why}", scheme.name));
    let mut links = Vec::new();
    for agent in &scheme.agents {
        let kind = agent.kind.name();
        // The routers see packets beside whoever else does.
        if let AgentKind::QuickStart(_) = agent.kind {
            continue;
        }
        if let AgentKind::Sdn(sdn) = &agent.kind {
            let &[node] = &agent.at[..] else {
                return Err(wrong(format!("{} controllers; the simulator has one", agent.at.len())));
            };
            let switches = attach_controller(network, scenario, sdn, timeline, places.agents[node]);
            links.extend(switches.map_err(wrong)?);
            continue;
        }
        if let AgentKind::Sdtp(spec) = &agent.kind {
            let &[node] = &agent.at[..] else {
                return Err(wrong(format!("{} controllers; the simulator has one", agent.at.len())));
            };
            let nodes = sdtp::attach(network, scenario, spec, node, seed, places.agents[node]);
            links.extend(nodes.map_err(wrong)?);
            continue;
        }
        for &node in &agent.at {
            let name = &scenario.nodes[node].name;
            let stream = Stream::new(seed, &format!("agent {kind} {name}"));
            if let AgentKind::Vho(vho) = &agent.kind {
                let timer = Timer::new(places.notifiers, Machine::Agent(NOTIFIERS));
                let all = network.notifiers.get_or_insert_with(|| Box::new(Notifiers::new(timer)));
                all.add(scenario, node, vho, stream).map_err(wrong)?;
                continue;
            }
            if let AgentKind::Iosl(spec) = &agent.kind {
                let timer = Timer::new(places.layers, Machine::Agent(LAYERS));
                let all = || Box::new(Layers::new(timeline.fades.clone(), timer));
                network.layers.get_or_insert_with(all).add(scenario, node, spec, stream).map_err(wrong)?;
                network.attach_layer(node, spec.rules);
                continue;
            }
            if let AgentKind::Spray(_) = agent.kind {
                links.push((node, Link::Agent(Box::new(sprayer(network, scenario, node)))));
                continue;
            }
            let made = if let Some(maker) = plugins.maker(kind) {
                Some(maker(scenario, agent, node, stream))
            } else {
                let radio = helped_ports(network, scenario, node, agent.kind.helped()).map_err(wrong)?;
                let next = next_nodes(network, scenario, node, &agent.at);
                let site = Site { address: network.addresses.ip_of(node), radio, next, stream };
                agent.kind.machine(site).map_err(wrong)?
            };
            let machine =
                made.ok_or_else(|| wrong(format!("the simulator has no agent of kind `{kind}`")))?;
            links.push((node, Link::Agent(machine)));
        }
    }
    for (_, change) in timeline.changes() {
        let Change::Restart(node) = change else { continue };
        let can = |link: &Link| matches!(link, Link::Agent(machine) if machine.can_restart());
        if links.iter().any(|(at, link)| *at == node && !can(link)) {
            let name = &scenario.nodes[node].name;
            return Err(wrong(format!(
                "node `{name}` begins anew, and an agent there cannot: SDTP's nodes can"
            )));
        }
    }
    network.chains = Chains::new(scenario.nodes.len(), links, |node| places.agents[node]);
    network.arm_agents();
    network.arm_layers();
    network.introduce_radios();
    Ok(())
}

/// A switch that sprays what has several shortest paths from there.
fn sprayer(network: &Network, scenario: &Scenario, node: NodeId) -> Sprayer {
    let others = (0..scenario.nodes.len()).filter(|&other| other != node);
    let ports = |other| network.topology.equal_cost(node, other).into_iter().map(Port).collect();
    Sprayer::new(others.map(|other| (network.addresses.ip_of(other), ports(other))))
}

/// The ports of a node that lead to whom its agent helps: to hosts with a role, or else to stations.
fn helped_ports(
    network: &Network,
    scenario: &Scenario,
    node: NodeId,
    role: Option<&str>,
) -> Result<Vec<Port>, String> {
    let Some(role) = role else { return Ok(radio_ports(network, scenario, node)) };
    let plays = |&other: &NodeId| {
        let other = &scenario.nodes[other];
        !other.kind.forwards() && other.role.as_deref() == Some(role)
    };
    let hosts: Vec<_> = (0..scenario.nodes.len()).filter(plays).collect();
    if hosts.is_empty() {
        return Err(format!("`mobiles = \"{role}\"`: no host plays this role"));
    }
    let first = |host| network.topology.path(node, host)?.first().copied();
    let mut ports: Vec<_> = hosts.into_iter().filter_map(first).collect();
    ports.sort_unstable();
    ports.dedup();
    Ok(ports.into_iter().map(|channel| Port(network.topology.departure(channel as usize).1)).collect())
}

/// The ports of an access point that lead to stations.
fn radio_ports(network: &Network, scenario: &Scenario, node: NodeId) -> Vec<Port> {
    let is_station = |neighbour: u32| scenario.nodes[neighbour as usize].kind == NodeKind::Station;
    let ports = (0..).map(Port).zip(network.topology.ports(node));
    ports.filter(|(_, attachment)| is_station(attachment.neighbour)).map(|(port, _)| port).collect()
}

/// For each host the first node of `peers` on the way there from a node, by the paths of the start.
fn next_nodes(
    network: &Network,
    scenario: &Scenario,
    node: NodeId,
    peers: &[NodeId],
) -> BTreeMap<IpAddr, IpAddr> {
    let Network { topology, addresses, .. } = network;
    let is_host = |&other: &NodeId| other != node && !scenario.nodes[other].kind.forwards();
    let next = |host| {
        let path = topology.path(node, host)?;
        let mut behind = path.into_iter().map(|channel| topology.departure(reverse(channel as usize)).0);
        let peer = behind.find(|behind| peers.contains(behind))?;
        Some((addresses.ip_of(host), addresses.ip_of(peer)))
    };
    (0..scenario.nodes.len()).filter(is_host).filter_map(next).collect()
}

/// Every switch obeys the controller.
fn attach_controller(
    network: &mut Network,
    scenario: &Scenario,
    sdn: &Sdn,
    timeline: &Timeline,
    rank: Rank,
) -> Result<Vec<(NodeId, Link)>, String> {
    if timeline.outages.iter().any(|outage| outage.drain) {
        return Err(
            "a controller moves paths when it hears of a roam; `mode = \"drain\"` moves them at once"
                .to_owned(),
        );
    }
    if network.control.is_some() {
        return Err("two controllers; the simulator has one".to_owned());
    }
    let mut fabric = Fabric::new(scenario, &network.topology)?;
    if scenario.subnets {
        // What a switch does by itself leads to the wrong subnet, whoever sends: every switch needs the station's rules.
        fabric.hosts.clear();
    }
    let associations = Associations::new(scenario, timeline);
    let timer = Timer::new(rank, Machine::Agent(CONTROL));
    let ports = |node| network.topology.ports(node).len();
    let mut control = Control::new(sdn, &fabric, ports, &associations, &network.addresses, timer);
    let switches = control.nodes().iter().zip(0..).map(|(&node, number)| (node, Link::Switch(number)));
    let switches = switches.collect();
    let deadline = control.deadline();
    network.queue.arm(&mut control.timer, deadline);
    network.control = Some(Box::new(control));
    Ok(switches)
}
