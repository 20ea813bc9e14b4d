//! From a scenario and a scheme to a network at time 0.

use std::collections::BTreeMap;
use std::net::IpAddr;

use handfast_assist::eln::{self, BaseStation};
use handfast_assist::snoop::{self, Snoop};
use handfast_core::{Duration, Instant, Stream};
use handfast_net::{Forwarder, Outbox, Port};
use handfast_plan::Paths;
use handfast_plan::address::Addresses;
use handfast_plan::association::Associations;
use handfast_plan::fabric::Fabric;
use handfast_plan::timeline::Timeline;
use handfast_plan::topology::{ChannelId, Topology};
use handfast_scenario::{AgentKind, NodeId, NodeKind, Scenario, Scheme, Sdn};

use crate::agents::controller::Control;
use crate::agents::helpers::{Helper, Plugin};
use crate::agents::notify::Notifiers;
use crate::agents::plugin::Plugins;
use crate::engine::entry::{Machine, Rank};
use crate::engine::fast_path::ready::fits_cache;
use crate::engine::pages::large_vec;
use crate::engine::queue::{EventQueue, Timer};
use crate::hosts::Hosts;
use crate::hosts::open::{Ends, open};
use crate::net::books::Books;
use crate::net::capture::Taps;
use crate::net::inspection::Inspection;
use crate::net::links::{Channel, Links};
use crate::net::medium::{Air, OnAir};
use crate::net::network::{CONTROL, NOTIFIERS, Network};
use crate::net::packets::Packets;
use crate::net::quick_start::Routers;
use crate::{Options, RunError};

/// What was settled before.
pub(crate) struct Layout<'a> {
    pub(crate) paths: &'a Paths,
    pub(crate) timeline: &'a Timeline,
    pub(crate) starts: &'a [Instant],
}

/// The network at time 0.
pub(crate) fn network(
    scenario: &Scenario,
    scheme: &Scheme,
    topology: Topology,
    layout: &Layout<'_>,
    options: &Options,
    plugins: &Plugins,
) -> Result<Network, RunError> {
    let ends = Ends::assign(scenario)?;
    let connections = ends.connections();
    let ranks = Ranks::assign(&topology, &ends);
    let taps = match &options.capture_dir {
        Some(dir) => Taps::new(scenario, &topology, dir)?,
        None => Taps::default(),
    };
    let mut network = Network {
        queue: EventQueue::new(ranks.count as usize, connections),
        packets: Packets::default(),
        links: Links::new(channels(scenario, options.seed, &ranks)),
        plugins: Vec::new(),
        control: None,
        notifiers: None,
        helper_of: BTreeMap::new(),
        hosts: Hosts::new(scenario.nodes.len(), scenario.flows.len()),
        books: Books::new(connections),
        inspection: Inspection::new(taps, options.verify_wire, Routers::new(scheme, options.seed)),
        outbox: Outbox::default(),
        subnets: scenario.subnets,
        fits_cache: fits_cache(connections, scenario.links.len() * 2),
        end: Instant::MAX,
        addresses: Addresses::of(scenario),
        failed: None,
        topology,
    };
    open(&mut network, scenario, scheme, layout, &ends, &ranks, options.seed);
    attach_media(&mut network, scenario, options.seed, &ranks).map_err(RunError::Scenario)?;
    attach_agents(&mut network, scenario, scheme, options.seed, plugins, layout.timeline, &ranks)?;
    Ok(network)
}

/// Every machine's place in the order of events at equal times: node by node; in a node first what it transmits, by
/// port, then its connections and other ends of flows, then its agent, then its medium; after all nodes the notifications.
pub(crate) struct Ranks {
    channels: Vec<Rank>,
    pub(crate) connections: Vec<Rank>,
    pub(crate) transports: Vec<Rank>,
    agents: Vec<Rank>,
    media: Vec<Rank>,
    notifiers: Rank,
    count: Rank,
}

impl Ranks {
    fn assign(topology: &Topology, ends: &Ends) -> Self {
        let nodes = ends.connections_of.len();
        let mut this = Self {
            channels: vec![0; topology.channels()],
            connections: vec![0; ends.connections()],
            transports: vec![0; ends.transports_of.iter().map(Vec::len).sum()],
            agents: Vec::with_capacity(nodes),
            media: Vec::with_capacity(nodes),
            notifiers: 0,
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
            this.agents.push(next(&mut this.count));
            this.media.push(next(&mut this.count));
        }
        this.notifiers = next(&mut this.count);
        this
    }
}

fn next(count: &mut Rank) -> Rank {
    *count += 1;
    *count - 1
}

fn channels(scenario: &Scenario, seed: u64, ranks: &Ranks) -> Vec<Channel> {
    let ends = scenario.links.iter().flat_map(|link| [link.between[1], link.between[0]]);
    let machines = handfast_plan::links(scenario, seed).into_iter().zip(ends).enumerate();
    let channel = |(id, (link, to)): (ChannelId, (_, NodeId))| {
        let timer = Timer::new(ranks.channels[id], Machine::Channel(id as u32));
        Channel { link, timer, to: to as u32, on_air: OnAir::NOWHERE }
    };
    let mut channels = large_vec(scenario.links.len() * 2);
    channels.extend(machines.map(channel));
    channels
}

/// Puts a medium at each access point with links on the air.
fn attach_media(network: &mut Network, scenario: &Scenario, seed: u64, ranks: &Ranks) -> Result<(), String> {
    for shared in handfast_plan::media(scenario, seed) {
        let (ap, id) = (shared.ap, network.links.airs());
        let air = Air::new(shared, Timer::new(ranks.media[ap], Machine::Air(id as u32)));
        for (lane, &channel) in air.channels().iter().enumerate() {
            let medium = u16::try_from(id).ok().filter(|&medium| medium < OnAir::MOST);
            let (Some(medium), Ok(lane)) = (medium, u16::try_from(lane)) else {
                return Err("more than 65,535 media, or links on the air of one access point".to_owned());
            };
            network.links[channel].on_air = OnAir { medium, lane };
        }
        network.links.add_air(air);
    }
    Ok(())
}

/// Puts the scheme's agents where they belong.
fn attach_agents(
    network: &mut Network,
    scenario: &Scenario,
    scheme: &Scheme,
    seed: u64,
    plugins: &Plugins,
    timeline: &Timeline,
    ranks: &Ranks,
) -> Result<(), RunError> {
    let wrong = |why: String| RunError::Scenario(format!("scheme `{}`: {why}", scheme.name));
    for agent in &scheme.agents {
        let kind = agent.kind.name();
        if let AgentKind::QuickStart(_) = agent.kind {
            // The routers see packets beside whoever else does.
            continue;
        }
        if let AgentKind::Sdn(sdn) = &agent.kind {
            let &[node] = &agent.at[..] else {
                return Err(wrong(format!("{} controllers; the simulator has one", agent.at.len())));
            };
            attach_controller(network, scenario, sdn, timeline, ranks.agents[node]).map_err(wrong)?;
            continue;
        }
        for &node in &agent.at {
            let name = &scenario.nodes[node].name;
            if let AgentKind::Vho(vho) = &agent.kind {
                let timer = Timer::new(ranks.notifiers, Machine::Agent(NOTIFIERS));
                let all = network.notifiers.get_or_insert_with(|| Box::new(Notifiers::new(timer)));
                let stream = Stream::new(seed, &format!("agent {kind} {name}"));
                all.add(scenario, node, vho, stream).map_err(wrong)?;
                continue;
            }
            let id = network.plugins.len() as u32;
            help(network, node, Helper::Plugin(id), name).map_err(wrong)?;
            let stream = Stream::new(seed, &format!("agent {kind} {name}"));
            let machine = match (&agent.kind, plugins.maker(kind)) {
                (AgentKind::Snoop(given), _) => snoop(*given, radio_ports(network, scenario, node)),
                (AgentKind::Eln(given), _) => {
                    let radio = radio_ports(network, scenario, node);
                    base_station(*given, radio, network.addresses.ip_of(node), stream).map_err(wrong)?
                }
                (_, Some(maker)) => maker(scenario, agent, node, stream),
                (_, None) => return Err(wrong(format!("the simulator has no agent of kind `{kind}`"))),
            };
            let mut timer = Timer::new(ranks.agents[node], Machine::Agent(id));
            network.queue.arm(&mut timer, machine.deadline());
            network.plugins.push(Plugin { machine, node, timer });
        }
    }
    Ok(())
}

/// The ports of an access point that lead to stations.
fn radio_ports(network: &Network, scenario: &Scenario, node: NodeId) -> Vec<Port> {
    let is_station = |neighbour: u32| scenario.nodes[neighbour as usize].kind == NodeKind::Station;
    let ports = (0..).map(Port).zip(network.topology.ports(node));
    ports.filter(|(_, attachment)| is_station(attachment.neighbour)).map(|(port, _)| port).collect()
}

fn snoop(given: handfast_scenario::Snoop, radio: Vec<Port>) -> Box<dyn Forwarder> {
    let config = snoop::Config {
        per_connection: given.cache,
        timer_min: given.local_timer,
        ..snoop::Config::default()
    };
    Box::new(Snoop::new(config, radio))
}

/// A base station of [eln]. Those of one network do not advertise in step: each begins at a moment of its own.
fn base_station(
    given: handfast_scenario::Eln,
    radio: Vec<Port>,
    address: IpAddr,
    mut stream: Stream,
) -> Result<Box<dyn Forwarder>, String> {
    let IpAddr::V4(address) = address else { return Err("advertisements are of IPv4".to_owned()) };
    let first = Instant::ZERO + Duration::from_nanos(1 + stream.below(given.advertisement.as_nanos()));
    let config = eln::Config { advertisement: given.advertisement, ..eln::Config::default() };
    Ok(Box::new(BaseStation::new(config, address, radio, first)))
}

fn help(network: &mut Network, node: NodeId, helper: Helper, name: &str) -> Result<(), String> {
    match network.helper_of.insert(node as u32, helper) {
        Some(_) => Err(format!("two agents see the packets of node `{name}`")),
        None => Ok(()),
    }
}

/// Every switch obeys the controller.
fn attach_controller(
    network: &mut Network,
    scenario: &Scenario,
    sdn: &Sdn,
    timeline: &Timeline,
    rank: Rank,
) -> Result<(), String> {
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
    for (id, &node) in control.nodes().iter().enumerate() {
        help(network, node, Helper::Switch(id as u32), &scenario.nodes[node].name)?;
    }
    let deadline = control.deadline();
    network.queue.arm(&mut control.timer, deadline);
    network.control = Some(Box::new(control));
    Ok(())
}
