//! All connections of a run, as the hosts at both ends see them: which is whose peer, and which flow has which.

use std::ops::{Index, IndexMut};

use handfast_scenario::FlowId;

use crate::engine::pages::large_vec;
use crate::hosts::connection::Connection;

/// A connection as one host sees it. Its peer, the same connection at the other host, has an id of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ConnectionId(pub(crate) u32);

impl ConnectionId {
    /// No connection has it.
    pub(crate) const NONE: Self = Self(u32::MAX);

    #[inline]
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Both ends of one of a flow's connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) sender: ConnectionId,
    pub(crate) receiver: ConnectionId,
}

/// What is known of a connection without touching it: its peer, and in the lowest bit whether it sends. Packets name their
/// sender; with thousands of flows the way from there to the receiver must not lead through memory that is far.
#[derive(Clone, Copy, Debug)]
struct Known(u32);

/// The connections by their ids, and those of each flow.
pub(crate) struct Connections {
    list: Vec<Connection>,
    known: Vec<Known>,
    /// In the order in which they were opened; the last one carries the flow.
    of_flow: Vec<Vec<Pair>>,
}

impl Connections {
    /// None yet, for so many flows.
    pub(crate) fn new(flows: usize) -> Self {
        let ends = 2 * flows;
        Self { list: large_vec(ends), known: Vec::with_capacity(ends), of_flow: vec![Vec::new(); flows] }
    }

    /// The ids that the next connection of a flow will have.
    pub(crate) fn next(&self) -> Pair {
        let next = self.list.len() as u32;
        Pair { sender: ConnectionId(next), receiver: ConnectionId(next + 1) }
    }

    /// Adds a connection of a flow: both ends of it.
    pub(crate) fn open(&mut self, flow: FlowId, sender: Connection, receiver: Connection) {
        let pair = self.next();
        assert!(pair.receiver.0 < 1 << 31, "no run has 2^30 connections");
        self.list.extend([sender, receiver]);
        self.known.extend([Known(pair.receiver.0 << 1 | 1), Known(pair.sender.0 << 1)]);
        self.of_flow[flow].push(pair);
    }

    /// The other end of a connection; [`ConnectionId::NONE`] of what is none.
    #[inline]
    pub(crate) fn peer(&self, id: ConnectionId) -> ConnectionId {
        self.known.get(id.index()).map_or(ConnectionId::NONE, |known| ConnectionId(known.0 >> 1))
    }

    /// Whether it sends a flow's data.
    #[inline]
    pub(crate) fn sends(&self, id: ConnectionId) -> bool {
        self.known.get(id.index()).is_some_and(|known| known.0 & 1 == 1)
    }

    #[inline]
    pub(crate) fn get(&self, id: ConnectionId) -> Option<&Connection> {
        self.list.get(id.index())
    }

    /// The connections that a flow has had, the last one last.
    pub(crate) fn of_flow(&self, flow: FlowId) -> &[Pair] {
        &self.of_flow[flow]
    }

    /// Whether a connection of a flow has died, and the next one is not opened yet.
    pub(crate) fn is_between(&self, flow: FlowId) -> bool {
        self.of_flow[flow].len() > 1 && self.ends(flow).is_some_and(|(sender, _)| sender.endpoint().is_none())
    }

    /// Both ends of the connection that carries a flow.
    pub(crate) fn ends(&self, flow: FlowId) -> Option<(&Connection, &Connection)> {
        let &Pair { sender, receiver } = self.of_flow[flow].last()?;
        Some((&self[sender], &self[receiver]))
    }
}

impl Index<ConnectionId> for Connections {
    type Output = Connection;

    #[inline]
    fn index(&self, id: ConnectionId) -> &Connection {
        &self.list[id.index()]
    }
}

impl IndexMut<ConnectionId> for Connections {
    #[inline]
    fn index_mut(&mut self, id: ConnectionId) -> &mut Connection {
        &mut self.list[id.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::connection::tests::receiver;
    use handfast_plan::address::Addresses;

    #[test]
    fn a_connection_has_a_peer_and_a_flow_several_connections() {
        let addresses = Addresses::new(8);
        let mut connections = Connections::new(2);
        for flow in [1, 0, 1] {
            connections.open(flow, receiver(&addresses), receiver(&addresses));
        }
        let pair = |first| Pair { sender: ConnectionId(first), receiver: ConnectionId(first + 1) };
        assert_eq!(
            (connections.of_flow(0), connections.of_flow(1)),
            (&[pair(2)][..], &[pair(0), pair(4)][..])
        );
        for Pair { sender, receiver } in [0, 2, 4].map(pair) {
            assert_eq!((connections.peer(sender), connections.peer(receiver)), (receiver, sender));
            assert!(connections.sends(sender) && !connections.sends(receiver));
        }
        for none in [ConnectionId(6), ConnectionId::NONE] {
            assert_eq!((connections.peer(none), connections.sends(none)), (ConnectionId::NONE, false));
        }
    }
}
