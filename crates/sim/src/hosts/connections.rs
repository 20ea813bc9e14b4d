//! All connections of a run, as the hosts at both ends see them: which is whose peer, and which flow has which.
//!
//! A flow has one or several streams ([`Streams`]). One connection at a time carries a stream; where an application reconnects,
//! several do in turn.

use std::ops::{Index, IndexMut, Range};

use handfast_host::session::is_fin_acknowledged;
use handfast_plan::{StreamId, Streams};
use handfast_scenario::FlowId;
use smallvec::{SmallVec, smallvec};

use crate::engine::fast_path::pages::large_vec;
use crate::engine::ids::ConnectionId;
use crate::hosts::connection::Connection;

/// Both ends of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) sender: ConnectionId,
    pub(crate) receiver: ConnectionId,
}

/// What is known of a connection without touching it: its peer, and in the lowest bit whether it sends. Packets name their
/// sender; with thousands of flows its receiver must be found without a cache miss.
#[derive(Clone, Copy, Debug)]
struct Known(u32);

/// The connections by their ids, and those of each stream.
pub(crate) struct Connections {
    list: Vec<Connection>,
    known: Vec<Known>,
    streams: Streams,
    /// In the order in which they were opened; the last one carries the stream.
    of_stream: Vec<SmallVec<[Pair; 1]>>,
}

impl Connections {
    /// None yet.
    pub(crate) fn new(streams: Streams) -> Self {
        let (ends, of_stream) = (2 * streams.count(), vec![smallvec![]; streams.count()]);
        Self { list: large_vec(ends), known: Vec::with_capacity(ends), streams, of_stream }
    }

    /// The ids that the next connection will have.
    pub(crate) fn next(&self) -> Pair {
        let next = self.list.len() as u32;
        Pair { sender: ConnectionId(next), receiver: ConnectionId(next + 1) }
    }

    /// Adds a connection that carries a stream: both ends of it.
    pub(crate) fn open(&mut self, stream: StreamId, sender: Connection, receiver: Connection) {
        let pair = self.next();
        assert!(pair.receiver.0 < 1 << 31, "no run has 2^30 connections");
        // One by one: an array of both would be a copy of three kilobytes.
        self.list.push(sender);
        self.list.push(receiver);
        self.known.extend([Known(pair.receiver.0 << 1 | 1), Known(pair.sender.0 << 1)]);
        self.of_stream[stream as usize].push(pair);
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

    /// The streams of a flow.
    pub(crate) fn streams(&self, flow: FlowId) -> Range<StreamId> {
        self.streams.of_flow(flow)
    }

    /// All streams.
    pub(crate) fn all_streams(&self) -> Range<StreamId> {
        0..self.of_stream.len() as StreamId
    }

    /// The flow that a stream is of.
    pub(crate) fn flow(&self, stream: StreamId) -> FlowId {
        self.streams.flow(stream)
    }

    /// The connections that have carried a stream, the last one last.
    pub(crate) fn of_stream(&self, stream: StreamId) -> &[Pair] {
        &self.of_stream[stream as usize]
    }

    /// Whether a connection of a stream has died, and the next one is not opened yet.
    fn is_between(&self, stream: StreamId) -> bool {
        self.of_stream(stream).len() > 1
            && self.ends(stream).is_some_and(|(sender, _)| sender.endpoint().is_none())
    }

    /// Whether there is something of a stream to get across, also between two connections.
    pub(crate) fn is_active(&self, stream: StreamId) -> bool {
        let sender = self.ends(stream).filter(|(sender, _)| !sender.is_unheard());
        let sender = sender.and_then(|(sender, _)| sender.endpoint());
        self.is_between(stream) || sender.is_some_and(|endpoint| !is_fin_acknowledged(endpoint.state()))
    }

    /// Both ends of the connection that carries a stream.
    pub(crate) fn ends(&self, stream: StreamId) -> Option<(&Connection, &Connection)> {
        let &Pair { sender, receiver } = self.of_stream(stream).last()?;
        Some((&self[sender], &self[receiver]))
    }

    /// Both ends of each connection that carries a stream of a flow; none of a flow without TCP.
    pub(crate) fn of_flow(&self, flow: FlowId) -> impl Iterator<Item = (&Connection, &Connection)> {
        self.streams(flow).filter_map(|stream| self.ends(stream))
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
    fn a_connection_has_a_peer_and_a_stream_several_connections() {
        let addresses = Addresses::new(8);
        let mut connections = Connections::new(Streams::new([1, 1]));
        for stream in [1, 0, 1] {
            connections.open(stream, receiver(&addresses), receiver(&addresses));
        }
        let pair = |first| Pair { sender: ConnectionId(first), receiver: ConnectionId(first + 1) };
        assert_eq!(
            (connections.of_stream(0), connections.of_stream(1)),
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

    #[test]
    fn a_flow_has_the_connections_of_all_its_streams() {
        let addresses = Addresses::new(8);
        let mut connections = Connections::new(Streams::new([1, 3, 1]));
        for stream in [0, 1, 2, 3, 2] {
            connections.open(stream, receiver(&addresses), receiver(&addresses));
        }
        assert_eq!([0, 1, 2].map(|flow| connections.of_flow(flow).count()), [1, 3, 0]);
        assert_eq!((connections.streams(1), connections.flow(2)), (1..4, 1));
        assert_eq!(connections.of_stream(2).len(), 2);
    }
}
