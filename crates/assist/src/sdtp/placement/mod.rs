//! Which nodes of a connection's way keep packets, and which notice losses (`[sdtp]` §II-C).

mod equalised_loss;
mod every_switch;
mod minimum_delay;
mod model;

use std::ops::Range;

use handfast_core::Duration;

pub use equalised_loss::equalised_loss;
pub use every_switch::every_switch;
pub use minimum_delay::{Choice, minimum_delay, on_map};
pub use model::DelayModel;

/// Between packets, where the sender is not known: a full packet at 10 Mbit/s.
pub const INTERVAL: Duration = Duration::from_millis(1);

/// What a node does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Functions {
    /// It keeps packets.
    pub caches: bool,
    /// It notices losses and requests. It is a cache too (`[sdtp]` §II-C).
    pub retransmits: bool,
}

impl Functions {
    /// Whether it does something.
    pub const fn are_any(self) -> bool {
        self.caches || self.retransmits
    }
}

/// What the nodes of a line do, from the sending edge to the receiving edge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    nodes: Vec<Functions>,
}

impl Placement {
    /// For the nodes 0 to `last`: the sending edge caches, the receiving edge does both (`[sdtp]` §II-C, "basic policy"), as do
    /// the nodes that retransmit; and these cache.
    pub fn new(
        last: usize,
        caching: impl IntoIterator<Item = usize>,
        retransmitting: impl IntoIterator<Item = usize>,
    ) -> Self {
        let mut nodes = vec![Functions::default(); last + 1];
        for node in caching.into_iter().chain([0]) {
            nodes[node].caches = true;
        }
        for node in retransmitting.into_iter().chain([last]) {
            nodes[node] = Functions { caches: true, retransmits: true };
        }
        Self { nodes }
    }

    /// What each node does.
    pub fn nodes(&self) -> &[Functions] {
        &self.nodes
    }

    /// The nodes that cache.
    pub fn caching(&self) -> impl Iterator<Item = usize> {
        self.nodes.iter().enumerate().filter(|(_, node)| node.caches).map(|(at, _)| at)
    }

    /// The nodes that retransmit.
    pub fn retransmitting(&self) -> impl Iterator<Item = usize> {
        self.nodes.iter().enumerate().filter(|(_, node)| node.retransmits).map(|(at, _)| at)
    }

    /// The caching-retransmission segments: from one node that retransmits, or the sending edge, to the next.
    pub fn segments(&self) -> Vec<Range<usize>> {
        let ends: Vec<_> = self.retransmitting().collect();
        let starts = std::iter::once(0).chain(ends.iter().copied());
        starts.zip(&ends).map(|(start, &end)| start..end).collect()
    }

    /// Functions between the edges: a cache is one, and retransmission is one more.
    pub fn functions(&self) -> usize {
        let inner = &self.nodes[1..self.nodes.len() - 1];
        inner.iter().map(|node| usize::from(node.caches) + usize::from(node.retransmits)).sum()
    }
}
