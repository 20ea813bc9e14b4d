//! Opens flows that do not use TCP.

use std::net::SocketAddr;

use handfast_assist::iosl::ids::Id;
use handfast_host::transport::Transport;
use handfast_host::{mptcp, sctp};
use handfast_plan::address::Addresses;
use handfast_scenario::{AgentKind, FlowId, Protocol, Scenario, Scheme};

use crate::engine::entry::Rank;
use crate::hosts::ways::{self, Way, ways};
use crate::run::layout::{Ends, Layout};
use crate::run::network::Network;

/// Opens both ends of a flow at its start.
pub(crate) fn open(
    network: &mut Network,
    scenario: &Scenario,
    scheme: &Scheme,
    layout: &Layout<'_>,
    ends: &Ends,
    ranks: &[Rank],
    (id, seed): (FlowId, u64),
) {
    let flow = &scenario.flows[id];
    let stream = network.hosts.connections.streams(id).start;
    let both = ways::Ends {
        nodes: [flow.from, flow.to],
        ports: ends.ports[stream as usize],
        outs: [&layout.paths.forward[id], &layout.paths.backward[id]].map(|path| path[0]),
    };
    let ways = ways(scenario, &network.topology, &network.addresses, both);
    let start = layout.starts[id];
    let of = sctp::Flow { name: &flow.name, stream, app: flow.app, start, stop: flow.stop, seed };
    let machines: [Box<dyn Transport>; 2] = flow.app.transport(start, flow.stop).unwrap_or_else(|| {
        let hosts = [0, 1].map(|end| host(&network.addresses, &ways[end]));
        let layers = layers(network, scenario, scheme, id, &hosts, seed);
        if flow.transport == Protocol::Mptcp {
            return mptcp::ends(&of, [&scheme.sender, &scheme.receiver], &hosts, layers);
        }
        let config = scheme.sctp.applied_to(sctp::config(scheme.receiver.receive_buffer));
        sctp::ends(&of, config, &hosts, layers)
    });
    for end in network.hosts.transports.open(id, machines, ways, ranks) {
        network.arm_transport(end);
    }
}

/// The layers at both ends of a flow: that of a station, and that of its peer where the station's agent says that it has one. Each has an
/// ID for the association.
fn layers(
    network: &mut Network,
    scenario: &Scenario,
    scheme: &Scheme,
    id: FlowId,
    hosts: &[sctp::Host; 2],
    seed: u64,
) -> [Option<sctp::Rules>; 2] {
    let flow = &scenario.flows[id];
    let nodes = [flow.from, flow.to];
    let mut layers = [None; 2];
    for agent in &scheme.agents {
        let AgentKind::Iosl(spec) = &agent.kind else { continue };
        let Some(own) = [0, 1].into_iter().find(|&end| agent.at.contains(&nodes[end])) else { continue };
        let role = |end: usize| scenario.nodes[nodes[end]].role.as_ref();
        let has_peer = spec.peers.is_some() && spec.peers.as_ref() == role(1 - own);
        for end in std::iter::once(own).chain(has_peer.then_some(1 - own)) {
            let ends =
                [&hosts[end], &hosts[1 - end]].map(|host| SocketAddr::new(host.addresses[0], host.port));
            let ids = network.hosts.transports.ids(nodes[end], seed);
            layers[end] = ids.open(id, ends).map(|Id(id)| sctp::Rules {
                id,
                tells: end == own && has_peer,
                restores: spec.restore,
                mu_permille: spec.rules.mu_permille,
            });
        }
    }
    layers
}

/// A host as its peer's association knows it.
fn host(addresses: &Addresses, ways: &[Way]) -> sctp::Host {
    let mut own: Vec<_> = ways.iter().map(|(local, _)| local.socket).collect();
    own.dedup();
    let port = own.first().map_or(0, |socket| socket.port);
    sctp::Host { addresses: own.into_iter().map(|socket| addresses.ip(socket.address)).collect(), port }
}
