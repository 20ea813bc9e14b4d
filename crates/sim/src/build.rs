//! From a scenario and a scheme to a network at time 0.

use std::collections::BTreeMap;

use handfast_core::{Instant, SeqNum, Stream};
use handfast_measure::plan::{self, Paths};
use handfast_measure::topology::{ChannelId, Topology};
use handfast_net::Outbox;
use handfast_scenario::{FlowId, NodeId, Scenario, Scheme};

use crate::app::{Sink, Source};
use crate::capture::Taps;
use crate::network::{Books, Channel, FIRST_PORT, Network, Plugin, fits_cache};
use crate::packets::Packets;
use crate::pages::large_vec;
use crate::plugin::Plugins;
use crate::queue::{EventQueue, Machine, Rank, Timer};
use crate::side::{Path, Side, SideId};
use crate::{Options, RunError};

/// The network at time 0.
pub(crate) fn network(
    scenario: &Scenario,
    scheme: &Scheme,
    topology: Topology,
    paths: &Paths,
    starts: &[Instant],
    options: &Options,
    plugins: &Plugins,
) -> Result<Network, RunError> {
    let ends = Ends::assign(scenario)?;
    let ranks = Ranks::assign(&topology, &ends.of_node);
    let taps = match &options.capture_dir {
        Some(dir) => Taps::new(scenario, &topology, dir)?,
        None => Taps::default(),
    };
    let mut network = Network {
        queue: EventQueue::new(ranks.count as usize),
        packets: Packets::default(),
        channels: channels(scenario, options.seed, &ranks),
        plugins: Vec::new(),
        plugin_of: BTreeMap::new(),
        ports: Vec::new(),
        sides: large_vec(ends.ports.len()),
        books: Books { lost: vec![0; ends.ports.len()], ..Books::default() },
        taps,
        outbox: Outbox::default(),
        verify_wire: options.verify_wire,
        fits_cache: fits_cache(ends.ports.len(), scenario.links.len() * 2),
        failed: None,
        topology,
    };
    for id in 0..ends.ports.len() {
        let timer = Timer::new(ranks.sides[id], Machine::Side(id as u32));
        let path = ends.path(scenario, &network.topology, paths, id);
        let mut side = side(scenario, scheme, starts, options.seed, path, timer, id);
        let deadline = side.deadline();
        network.queue.arm(&mut side.timer, deadline);
        network.sides.push(side);
    }
    network.ports = ends.of_node;
    attach_agents(&mut network, scenario, scheme, options.seed, plugins, &ranks)?;
    Ok(network)
}

/// Which port each end of a flow has.
struct Ends {
    /// For each side its local port.
    ports: Vec<u16>,
    /// For each node its sides, in order of port.
    of_node: Vec<Vec<u32>>,
}

impl Ends {
    fn assign(scenario: &Scenario) -> Result<Self, RunError> {
        let mut of_node = vec![Vec::new(); scenario.nodes.len()];
        let mut ports = Vec::with_capacity(scenario.flows.len() * 2);
        for (id, node) in (0_u32..).zip(scenario.flows.iter().flat_map(|flow| [flow.from, flow.to])) {
            let index = u16::try_from(of_node[node].len()).ok();
            let port = index.and_then(|index| index.checked_add(FIRST_PORT)).ok_or_else(|| {
                RunError::Scenario(format!("node `{}` has more flows than ports", scenario.nodes[node].name))
            })?;
            of_node[node].push(id);
            ports.push(port);
        }
        Ok(Self { ports, of_node })
    }

    fn path(&self, scenario: &Scenario, topology: &Topology, paths: &Paths, id: SideId) -> Path {
        let flow = &scenario.flows[id / 2];
        let ways = [(flow.from, &paths.forward[id / 2]), (flow.to, &paths.backward[id / 2])];
        let [(node, way), (far, _)] = if id.is_multiple_of(2) { ways } else { [ways[1], ways[0]] };
        Path {
            node: node as u32,
            out: way[0],
            goal: topology.goal(far),
            local_port: self.ports[id],
            remote_port: self.ports[id ^ 1],
        }
    }
}

/// Every machine's place in the order of events at equal times: node by node; in a node first what it transmits, by
/// port, then its ends of flows, then its agent.
struct Ranks {
    channels: Vec<Rank>,
    sides: Vec<Rank>,
    agents: Vec<Rank>,
    count: Rank,
}

impl Ranks {
    fn assign(topology: &Topology, sides_of: &[Vec<u32>]) -> Self {
        let (channels, sides) = (topology.channels(), sides_of.iter().map(Vec::len).sum());
        let agents = Vec::with_capacity(sides_of.len());
        let mut this = Self { channels: vec![0; channels], sides: vec![0; sides], agents, count: 0 };
        for (node, sides) in sides_of.iter().enumerate() {
            for attachment in topology.ports(node) {
                this.channels[attachment.out as usize] = next(&mut this.count);
            }
            for &side in sides {
                this.sides[side as usize] = next(&mut this.count);
            }
            this.agents.push(next(&mut this.count));
        }
        this
    }
}

fn next(count: &mut Rank) -> Rank {
    *count += 1;
    *count - 1
}

fn channels(scenario: &Scenario, seed: u64, ranks: &Ranks) -> Vec<Channel> {
    let ends = scenario.links.iter().flat_map(|link| [link.between[1], link.between[0]]);
    let machines = plan::links(scenario, seed).into_iter().zip(ends).enumerate();
    let channel = |(id, (link, to)): (ChannelId, (_, NodeId))| {
        let timer = Timer::new(ranks.channels[id], Machine::Channel(id as u32));
        Channel { link, timer, to: to as u32 }
    };
    let mut channels = large_vec(scenario.links.len() * 2);
    channels.extend(machines.map(channel));
    channels
}

/// Puts the scheme's agents where they belong.
fn attach_agents(
    network: &mut Network,
    scenario: &Scenario,
    scheme: &Scheme,
    seed: u64,
    plugins: &Plugins,
    ranks: &Ranks,
) -> Result<(), RunError> {
    for agent in &scheme.agents {
        let kind = agent.kind.name();
        let maker = plugins.maker(kind).ok_or_else(|| {
            RunError::Scenario(format!(
                "scheme `{}`: the simulator has no agent of kind `{kind}`",
                scheme.name
            ))
        })?;
        for &node in &agent.at {
            let name = &scenario.nodes[node].name;
            let id = network.plugins.len() as u32;
            if network.plugin_of.insert(node as u32, id).is_some() {
                let why = format!("scheme `{}` attaches two agents to node `{name}`", scheme.name);
                return Err(RunError::Scenario(why));
            }
            let stream = Stream::new(seed, &format!("agent {kind} {name}"));
            let machine = maker(scenario, agent, node, stream);
            let mut timer = Timer::new(ranks.agents[node], Machine::Agent(id));
            network.queue.arm(&mut timer, machine.deadline());
            network.plugins.push(Plugin { machine, node, timer });
        }
    }
    Ok(())
}

fn side(
    scenario: &Scenario,
    scheme: &Scheme,
    starts: &[Instant],
    seed: u64,
    path: Path,
    timer: Timer,
    id: SideId,
) -> Side {
    let flow_id: FlowId = id / 2;
    let flow = &scenario.flows[flow_id];
    let iss = SeqNum(Stream::new(seed, &format!("flow {} iss {}", flow.name, id % 2)).bits() as u32);
    if id.is_multiple_of(2) {
        let source = Source::new(flow, flow_id as u32, starts[flow_id]);
        Side::sender(path, timer, source, starts[flow_id], scheme.sender.clone(), iss)
    } else {
        Side::receiver(path, timer, Sink::new(flow, flow_id as u32), scheme.receiver.clone(), iss)
    }
}
