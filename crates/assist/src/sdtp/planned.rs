//! A path with the functions of its nodes.

use std::collections::BTreeMap;
use std::net::IpAddr;

use handfast_core::Duration;
use handfast_net::Port;

use super::line::Line;
use super::placement::Functions;

/// A node of a path with its functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Its address.
    pub address: IpAddr,
    /// Whether it caches.
    pub caching: bool,
    /// Whether it asks for retransmissions.
    pub retransmission: bool,
    /// The round trip to the first node of its segment.
    pub round_trip: Duration,
}

impl Placed {
    /// The nodes of a line with their functions. `address`: that of a node by its place.
    pub fn on_line(line: &Line, functions: &[Functions], address: impl Fn(usize) -> IpAddr) -> Vec<Self> {
        let mut placed = Vec::new();
        // To the first node of the segment.
        let mut distance = Duration::ZERO;
        for (place, functions) in functions.iter().enumerate() {
            distance += place.checked_sub(1).map_or(Duration::ZERO, |hop| line.hops()[hop].delay);
            let &Functions { caches: caching, retransmits: retransmission } = functions;
            placed.push(Self { address: address(place), caching, retransmission, round_trip: distance * 2 });
            if retransmission {
                distance = Duration::ZERO;
            }
        }
        placed
    }
}

/// A path from one edge to another as it is to be set up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    /// Its nodes in order, with their functions.
    pub(super) placed: Vec<Placed>,
    /// The ports to the next node, where the path is not the one to which addresses lead.
    pub(super) steered: BTreeMap<IpAddr, Port>,
}
