//! Which nodes of a path have which functions: what the controller sets up.

use std::collections::BTreeMap;
use std::net::IpAddr;

use handfast_net::Port;

use super::detours::Detours;
use super::planned::{Placed, Plan};

/// Paths with their functions, by sending and receiving edge.
#[derive(Clone, Debug, Default)]
pub struct Planner {
    paths: BTreeMap<(IpAddr, IpAddr), Vec<Placed>>,
    detours: Option<Detours>,
}

impl Planner {
    /// Adds a path, from the sending edge to the receiving one.
    pub fn insert(&mut self, from: IpAddr, to: IpAddr, path: Vec<Placed>) {
        self.paths.insert((from, to), path);
    }

    /// The same with ways around links that are down.
    #[must_use]
    pub fn with_detours(self, detours: Detours) -> Self {
        Self { detours: Some(detours), ..self }
    }

    /// Whether there is a path between two edges when every link is up.
    pub(super) fn has_path(&self, from: IpAddr, to: IpAddr) -> bool {
        self.paths.contains_key(&(from, to))
    }

    /// A node says whether the link at a port is up. Whether paths may have changed.
    pub(super) fn set_link(&mut self, node: IpAddr, port: Port, is_up: bool) -> bool {
        self.detours.as_mut().is_some_and(|detours| detours.set_link(node, port, is_up))
    }

    /// The path between two edges now; [`None`]: there is none. With no link up that leads there, the path of before is kept:
    /// where nothing arrives, no other one is better.
    pub(super) fn plan(&self, from: IpAddr, to: IpAddr) -> Option<Plan> {
        let placed = self.paths.get(&(from, to))?;
        let steered = self.detours.as_ref().and_then(|detours| match self.way_there(from, to, placed) {
            Some(back) => detours.along(&back).or_else(|| detours.around(from, to)),
            None if detours.is_open(placed) => None,
            None => detours.around(from, to),
        });
        Some(steered.unwrap_or_else(|| Plan { placed: placed.clone(), steered: BTreeMap::new() }))
    }

    /// Of two planned paths that are as long, both directions take that of the smaller address: requests climb the caches that the
    /// data has passed. The nodes of that one, if it is not this direction's, in this direction's order.
    fn way_there(&self, from: IpAddr, to: IpAddr, placed: &[Placed]) -> Option<Vec<IpAddr>> {
        let there = self.paths.get(&(to, from)).filter(|there| to < from && there.len() == placed.len())?;
        let back: Vec<IpAddr> = there.iter().rev().map(|node| node.address).collect();
        let is_other = placed.iter().zip(&back).any(|(own, other)| own.address != *other);
        is_other.then_some(back)
    }
}
