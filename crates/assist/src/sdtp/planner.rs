//! Which nodes of a path have which functions: what the controller sets up.

use std::collections::BTreeMap;
use std::net::IpAddr;

use handfast_core::Duration;

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

/// Paths with their functions, by sending and receiving edge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Planner {
    paths: BTreeMap<(IpAddr, IpAddr), Vec<Placed>>,
}

impl Planner {
    /// Adds a path, from the sending edge to the receiving one.
    pub fn insert(&mut self, from: IpAddr, to: IpAddr, path: Vec<Placed>) {
        self.paths.insert((from, to), path);
    }

    /// The path between two edges; [`None`]: there is none.
    pub(super) fn plan(&self, from: IpAddr, to: IpAddr) -> Option<&[Placed]> {
        self.paths.get(&(from, to)).map(Vec::as_slice)
    }
}
