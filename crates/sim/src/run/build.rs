//! From a scenario and a scheme to a network at time 0.

use handfast_core::{Instant, SeqNum, Stream};
use handfast_net::Outbox;
use handfast_plan::Paths;
use handfast_plan::address::Addresses;
use handfast_plan::timeline::Timeline;
use handfast_plan::topology::{ChannelId, Topology};
use handfast_scenario::{FlowId, NodeId, Scenario, Scheme};

use crate::agents::attach;
use crate::agents::chain::Chains;
use crate::agents::plugin::Plugins;
use crate::engine::entry::{Key, Machine, Rank};
use crate::engine::fast_path::ready::fits_cache;
use crate::engine::pages::large_vec;
use crate::engine::queue::{EventQueue, Timer};
use crate::hosts::advertisements::Heard;
use crate::hosts::app::{Sink, Source};
use crate::hosts::side::{Path, Side, SideId};
use crate::net::capture::Taps;
use crate::net::medium::{Air, OnAir};
use crate::net::network::{Books, Channel, FIRST_PORT, Network};
use crate::net::packets::Packets;
use crate::net::quick_start::Routers;
use crate::net::tally::Tally;
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
    let ranks = Ranks::assign(&topology, &ends.of_node, scheme);
    let taps = match &options.capture_dir {
        Some(dir) => Taps::new(scenario, &topology, dir)?,
        None => Taps::default(),
    };
    let quick_start = Routers::new(scheme, options.seed);
    let mut network = Network {
        queue: EventQueue::new(ranks.count as usize, ends.ports.len()),
        packets: Packets::default(),
        channels: channels(scenario, options.seed, &ranks),
        ways: Vec::new(),
        airs: Vec::new(),
        control: None,
        notifiers: None,
        chains: Chains::default(),
        ports: Vec::new(),
        sides: large_vec(ends.ports.len()),
        books: Books { lost: Tally::new(ends.ports.len()), ..Books::default() },
        taps,
        heard: Heard::default(),
        outbox: Outbox::default(),
        verify_wire: options.verify_wire,
        looks_closer: options.verify_wire || quick_start.is_some(),
        quick_start,
        subnets: scenario.subnets,
        fits_cache: fits_cache(ends.ports.len(), scenario.links.len() * 2),
        end: Instant::MAX,
        addresses: Addresses::of(scenario),
        failed: None,
        topology,
    };
    for id in 0..ends.ports.len() {
        let key = Key::new(ranks.sides[id], Machine::Side(id as u32));
        let path = ends.path(scenario, &network.topology, layout.paths, id);
        let side = side(scenario, scheme, layout.starts, options.seed, path, key, id);
        let deadline = side.deadline();
        network.queue.arm_side(id, side.key, deadline);
        network.sides.push(side);
    }
    network.ports = ends.of_node;
    attach_media(&mut network, scenario, options.seed, &ranks).map_err(RunError::Scenario)?;
    let places = attach::Places { agents: &ranks.agents, notifiers: ranks.notifiers };
    attach::agents(&mut network, scenario, scheme, options.seed, plugins, layout.timeline, &places)?;
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
/// port, then its ends of flows, then its agents, then its medium; after all nodes the notifications.
struct Ranks {
    channels: Vec<Rank>,
    sides: Vec<Rank>,
    /// For each node that of its first agent.
    agents: Vec<Rank>,
    media: Vec<Rank>,
    notifiers: Rank,
    count: Rank,
}

impl Ranks {
    fn assign(topology: &Topology, sides_of: &[Vec<u32>], scheme: &Scheme) -> Self {
        let (channels, sides) = (topology.channels(), sides_of.iter().map(Vec::len).sum());
        let agents = Vec::with_capacity(sides_of.len());
        let media = Vec::with_capacity(sides_of.len());
        let mut this = Self {
            channels: vec![0; channels],
            sides: vec![0; sides],
            agents,
            media,
            notifiers: 0,
            count: 0,
        };
        for (node, sides) in sides_of.iter().enumerate() {
            for attachment in topology.ports(node) {
                this.channels[attachment.out as usize] = next(&mut this.count);
            }
            for &side in sides {
                this.sides[side as usize] = next(&mut this.count);
            }
            this.agents.push(this.count);
            // The controller has one even where no agent of the scheme sees packets.
            this.count +=
                (scheme.agents.iter().filter(|agent| agent.at.contains(&node)).count() as Rank).max(1);
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
        let (ap, id) = (shared.ap, network.airs.len());
        let air = Air::new(shared, Timer::new(ranks.media[ap], Machine::Air(id as u32)));
        for (lane, &channel) in air.channels().iter().enumerate() {
            let medium = u16::try_from(id).ok().filter(|&medium| medium < OnAir::MOST);
            let (Some(medium), Ok(lane)) = (medium, u16::try_from(lane)) else {
                return Err("more than 65,535 media, or links on the air of one access point".to_owned());
            };
            network.channels[channel].on_air = OnAir { medium, lane };
        }
        network.airs.push(air);
    }
    Ok(())
}

fn side(
    scenario: &Scenario,
    scheme: &Scheme,
    starts: &[Instant],
    seed: u64,
    path: Path,
    key: Key,
    id: SideId,
) -> Side {
    let flow_id: FlowId = id / 2;
    let flow = &scenario.flows[flow_id];
    let own = flow.tcp.as_ref().and_then(|name| scenario.scheme(name).ok());
    let scheme = own.unwrap_or(scheme);
    let iss = SeqNum(Stream::new(seed, &format!("flow {} iss {}", flow.name, id % 2)).bits() as u32);
    if id.is_multiple_of(2) {
        let source = Source::new(flow, flow_id as u32, starts[flow_id]);
        Side::sender(path, key, source, starts[flow_id], scheme.sender.clone(), iss)
    } else {
        Side::receiver(path, key, Sink::new(flow, flow_id as u32), scheme.receiver.clone(), iss)
    }
}
