//! What the event queue keeps of a packet in flight; `run/network/flight.rs` sends and lands packets.

use crate::engine::ids::ConnectionId;

/// Where a packet lands, and what it will need there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flight {
    /// The channel that it enters next; [`Flight::HOME`]: it is at the node it is addressed to; [`Flight::NODE`]: what becomes
    /// of it is found out when it lands.
    pub(crate) next: u32,
    /// What to prefetch: a connection, and a channel. [`Flight::NOTHING`]: none. Of [`Flight::NODE`] the channel is
    /// the one by which it comes.
    pub(crate) connection: ConnectionId,
    pub(crate) channel: u32,
}

impl Flight {
    pub(crate) const HOME: u32 = u32::MAX;
    pub(crate) const NODE: u32 = u32::MAX - 1;
    pub(crate) const NOTHING: u32 = u32::MAX;
    /// Stands for an entry that is not a packet.
    pub(crate) const NONE: Self =
        Self { next: Self::HOME, connection: ConnectionId::NONE, channel: Self::NOTHING };
}
