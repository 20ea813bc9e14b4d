//! What the network counts.

use std::collections::BTreeMap;

use handfast_core::Bytes;

use crate::engine::ids::ConnectionId;
use crate::net::tally::Tally;

/// What queue disciplines have decided about a connection's segments with payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Managed {
    /// Dropped though the queue had room.
    pub(crate) dropped: u64,
    /// Marked "congestion experienced".
    pub(crate) marked: u64,
}

/// The counts of a run.
#[derive(Debug)]
pub(crate) struct Books {
    packets: u64,
    hops: u64,
    byte_hops: u64,
    /// For each connection, segments with payload that it sent and that never arrived.
    lost: Tally,
    /// For each connection or transport, its segments with payload that a queue discipline has dropped or marked. They are few.
    pub(crate) managed: BTreeMap<ConnectionId, Managed>,
}

impl Books {
    /// All of them 0, for so many connections.
    pub(crate) fn new(connections: usize) -> Self {
        Self { packets: 0, hops: 0, byte_hops: 0, lost: Tally::new(connections), managed: BTreeMap::new() }
    }

    /// Makes room for so many more connections.
    pub(crate) fn add_connections(&mut self, more: usize) {
        self.lost.add_connections(more);
    }

    /// A packet has arrived at its destination endpoint.
    #[inline]
    pub(crate) fn count_arrival(&mut self) {
        self.packets += 1;
    }

    /// A packet of so many bytes has passed a link.
    #[inline]
    pub(crate) fn count_hop(&mut self, size: Bytes) {
        self.hops += 1;
        self.byte_hops += size.get();
    }

    /// A segment with payload of a connection has been lost.
    #[inline]
    pub(crate) fn count_loss(&mut self, of: ConnectionId) {
        self.lost.add(of);
    }

    /// Packets that arrived at their destination endpoint, once each.
    pub(crate) fn packets(&self) -> u64 {
        self.packets
    }

    /// Links that packets have passed.
    pub(crate) fn hops(&self) -> u64 {
        self.hops
    }

    /// Bytes of IP packets that have passed links.
    pub(crate) fn byte_hops(&self) -> u64 {
        self.byte_hops
    }

    /// Segments with payload that a connection sent and that never arrived.
    pub(crate) fn lost(&self, of: ConnectionId) -> u64 {
        self.lost.of(of)
    }

    /// What queue disciplines have decided about what came from these.
    pub(crate) fn managed(&self, of: impl Iterator<Item = ConnectionId>) -> Managed {
        let each = of.filter_map(|id| self.managed.get(&id));
        each.fold(Managed::default(), |sum, of| Managed {
            dropped: sum.dropped + of.dropped,
            marked: sum.marked + of.marked,
        })
    }
}
