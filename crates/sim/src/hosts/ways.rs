//! Ways between two hosts that have several addresses each: for transports that use them at the same time.

use handfast_plan::address::Addresses;
use handfast_plan::interfaces::{Interface, interfaces};
use handfast_plan::topology::Topology;
use handfast_scenario::{NodeId, Scenario};

use crate::hosts::connection::{Local, Remote, SocketAddress};

/// From an address of a host to one of its peer.
pub(crate) type Way = (Local, Remote);

/// Both ends of a flow, the sender first: where each is, and its port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends {
    pub(crate) nodes: [NodeId; 2],
    pub(crate) ports: [u16; 2],
    /// The channels by which they send where an interface names none.
    pub(crate) outs: [u32; 2],
}

/// The ways of both ends: from each address of a host to each of its peer, the primary ones first. Where neither end has several there
/// is one.
pub(crate) fn ways(
    scenario: &Scenario,
    topology: &Topology,
    addresses: &Addresses,
    ends: Ends,
) -> [Vec<Way>; 2] {
    let all = ends.nodes.map(|node| interfaces(scenario, topology, addresses, node));
    let socket = |end: usize, of: &Interface| SocketAddress { address: of.address, port: ends.ports[end] };
    [0, 1].map(|end| {
        let local = |of: &Interface| Local {
            node: ends.nodes[end] as u32,
            out: of.out.unwrap_or(ends.outs[end]),
            socket: socket(end, of),
        };
        let remote = |of: &Interface| Remote { goal: of.goal, socket: socket(1 - end, of) };
        let from = |own| all[1 - end].iter().map(move |other| (local(own), remote(other)));
        all[end].iter().flat_map(from).collect()
    })
}
