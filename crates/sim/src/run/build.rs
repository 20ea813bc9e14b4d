//! From a scenario and a scheme to a network at time 0.

use handfast_core::Instant;
use handfast_net::Outbox;
use handfast_plan::Paths;
use handfast_plan::address::Addresses;
use handfast_plan::timeline::Timeline;
use handfast_plan::topology::{ChannelId, Topology};
use handfast_scenario::{NodeId, Scenario, Scheme};

use crate::agents::attach;
use crate::agents::chain::Chains;
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
use crate::net::network::Network;
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
    let ranks = Ranks::assign(&topology, &ends, scheme);
    let taps = match &options.capture_dir {
        Some(dir) => Taps::new(scenario, &topology, dir)?,
        None => Taps::default(),
    };
    let mut network = Network {
        queue: EventQueue::new(ranks.count as usize, connections),
        packets: Packets::default(),
        links: Links::new(channels(scenario, options.seed, &ranks)),
        control: None,
        notifiers: None,
        chains: Chains::default(),
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
    let places = attach::Places { agents: &ranks.agents, notifiers: ranks.notifiers };
    attach::agents(&mut network, scenario, scheme, options.seed, plugins, layout.timeline, &places)?;
    Ok(network)
}

/// Every machine's place in the order of events at equal times: node by node; in a node first what it transmits, by
/// port, then its connections and other ends of flows, then its agents, then its medium; after all nodes the notifications.
pub(crate) struct Ranks {
    channels: Vec<Rank>,
    pub(crate) connections: Vec<Rank>,
    pub(crate) transports: Vec<Rank>,
    /// For each node that of its first agent.
    agents: Vec<Rank>,
    media: Vec<Rank>,
    notifiers: Rank,
    count: Rank,
}

impl Ranks {
    fn assign(topology: &Topology, ends: &Ends, scheme: &Scheme) -> Self {
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
        let (ap, id) = (shared.ap, network.links.airs());
        let air = Air::new(shared, Timer::new(ranks.media[ap], Machine::Air(id as u32)));
        for (tx_queue, &channel) in air.channels().iter().enumerate() {
            let medium = u16::try_from(id).ok().filter(|&medium| medium < OnAir::MOST);
            let (Some(medium), Ok(tx_queue)) = (medium, u16::try_from(tx_queue)) else {
                return Err("more than 65,535 media, or links on the air of one access point".to_owned());
            };
            network.links[channel].on_air = OnAir { medium, tx_queue };
        }
        network.links.add_air(air);
    }
    Ok(())
}
