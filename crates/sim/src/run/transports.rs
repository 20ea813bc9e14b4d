//! Opens flows that do not use TCP.

use handfast_host::sctp;
use handfast_host::transport::Transport;
use handfast_plan::address::Addresses;
use handfast_scenario::{FlowId, Scenario, Scheme};

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
        sctp::ends(&of, sctp::config(scheme.receiver.receive_buffer), &hosts)
    });
    for end in network.hosts.transports.open(id, machines, ways, ranks) {
        network.arm_transport(end);
    }
}

/// A host as its peer's association knows it.
fn host(addresses: &Addresses, ways: &[Way]) -> sctp::Host {
    let mut own: Vec<_> = ways.iter().map(|(local, _)| local.socket).collect();
    own.dedup();
    let port = own.first().map_or(0, |socket| socket.port);
    sctp::Host { addresses: own.into_iter().map(|socket| addresses.ip(socket.address)).collect(), port }
}
