//! Where the ends of a flow's connections are.

use handfast_plan::StreamId;
use handfast_scenario::{FlowId, Scenario};

use crate::hosts::connection::{Local, Remote, SocketAddress};
use crate::run::layout::{Ends, Layout};
use crate::run::network::Network;

/// Where the sender of a stream of a flow is and where its peer, and the same of its receiver.
pub(crate) fn places_of(
    network: &Network,
    scenario: &Scenario,
    layout: &Layout<'_>,
    ends: &Ends,
    id: FlowId,
    stream: StreamId,
) -> [(Local, Remote); 2] {
    let flow = &scenario.flows[id];
    let nodes = [flow.from, flow.to];
    let outs = [&layout.paths.forward[id], &layout.paths.backward[id]].map(|path| path[0]);
    let socket = |end: usize| SocketAddress {
        address: network.addresses.first(nodes[end]),
        port: ends.ports[stream as usize][end],
    };
    [0, 1].map(|end| {
        let local = Local { node: nodes[end] as u32, out: outs[end], socket: socket(end) };
        (local, Remote { goal: network.topology.goal(nodes[1 - end]), socket: socket(1 - end) })
    })
}
