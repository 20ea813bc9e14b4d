//! Which connections have a queue, the oldest first.

use std::collections::VecDeque;

use super::{ConnectionKey, StationId};

/// The order of handshakes. Entries of connections that were forgotten since stay until they are met.
#[derive(Debug, Default)]
pub(crate) struct Tracking {
    order: VecDeque<(StationId, ConnectionKey)>,
    connections: usize,
}

impl Tracking {
    /// Connections that have a queue.
    pub(crate) fn connections(&self) -> usize {
        self.connections
    }

    /// A queue was made.
    pub(crate) fn opened(&mut self, station: StationId, key: ConnectionKey) {
        self.order.push_back((station, key));
        self.connections += 1;
    }

    /// So many queues are gone.
    pub(crate) fn closed(&mut self, count: usize) {
        self.connections -= count;
    }

    /// Whether one more queue fits, and nothing is to be tidied up.
    pub(crate) fn has_room(&self, most: usize) -> bool {
        self.connections < most && !self.is_stale(most)
    }

    /// Whether there are more entries than a bound on connections explains.
    pub(crate) fn is_stale(&self, most: usize) -> bool {
        self.order.len() > 2 * most.max(16)
    }

    /// Keeps the entries of connections that are known.
    pub(crate) fn retain(&mut self, mut known: impl FnMut(&StationId, &ConnectionKey) -> bool) {
        self.order.retain(|(station, key)| known(station, key));
    }

    /// The oldest entry.
    pub(crate) fn oldest(&mut self) -> Option<(StationId, ConnectionKey)> {
        self.order.pop_front()
    }

    /// An entry that was met, but of which something is held: it counts as new.
    pub(crate) fn keep(&mut self, station: StationId, key: ConnectionKey) {
        self.order.push_back((station, key));
    }

    /// Entries.
    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }
}
