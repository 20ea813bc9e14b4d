//! From a scenario and a scheme to a network at time 0.

use handfast_core::Instant;
use handfast_net::Outbox;
use handfast_plan::address::Addresses;
use handfast_plan::topology::{ChannelId, Topology};
use handfast_scenario::{NodeId, Scenario, Scheme};

use crate::agents::chain::Chains;
use crate::agents::plugin::Plugins;
use crate::engine::entry::Machine;
use crate::engine::fast_path::pages::large_vec;
use crate::engine::queue::{EventQueue, Timer};
use crate::hosts::Hosts;
use crate::net::books::Books;
use crate::net::capture::Taps;
use crate::net::inspection::Inspection;
use crate::net::links::{Channel, Links};
use crate::net::medium::{Air, OnAir};
use crate::net::packets::Packets;
use crate::net::quick_start::Routers;
use crate::run::attach;
use crate::run::layout::{Ends, Layout, Ranks};
use crate::run::network::Network;
use crate::run::network::prefetch::fits_cache;
use crate::run::open::open;
use crate::{Options, RunError};

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
    let routers = Routers::new(scheme, options.seed);
    let measures = scenario.flows.iter().any(|flow| flow.measure.any());
    let mut network = Network {
        queue: EventQueue::new(ranks.count as usize, connections),
        packets: Packets::default(),
        links: Links::new(channels(scenario, options.seed, &ranks)),
        control: None,
        sdtp: None,
        notifiers: None,
        layers: None,
        moving: None,
        chains: Chains::default(),
        hosts: Hosts::new(scenario.nodes.len(), layout.streams.clone()),
        books: Books::new(connections),
        inspection: Inspection::new(taps, options.verify_wire, routers, measures),
        outbox: Outbox::default(),
        subnets: scenario.subnets,
        fits_cache: fits_cache(connections, scenario.links.len() * 2),
        end: Instant::MAX,
        addresses: Addresses::of(scenario),
        failed: None,
        topology,
    };
    open(&mut network, scenario, scheme, layout, &ends, &ranks, options.seed)?;
    attach_media(&mut network, scenario, options.seed, &ranks).map_err(RunError::Scenario)?;
    let places = attach::Places { agents: &ranks.agents, notifiers: ranks.notifiers, layers: ranks.layers };
    attach::agents(&mut network, scenario, scheme, options.seed, plugins, layout.timeline, &places)?;
    Ok(network)
}

fn channels(scenario: &Scenario, seed: u64, ranks: &Ranks) -> Vec<Channel> {
    let ends = scenario.links.iter().flat_map(|link| [link.between[1], link.between[0]]);
    let machines = handfast_plan::links(scenario, seed).zip(ends).enumerate();
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
