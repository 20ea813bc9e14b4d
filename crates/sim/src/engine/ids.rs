//! What names packets, connections and the ends of other flows: in entries of the event queue, and everywhere else.

/// A packet in the slab of packets.
pub(crate) type Handle = u32;

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

/// One end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TransportId(pub(crate) u32);

/// Set in the origin of packets that a transport has sent.
pub(crate) const IS_TRANSPORT: u32 = 1 << 31;

impl TransportId {
    /// Whether it is the end that sends: each flow has two, that one first.
    pub(crate) fn sends(self) -> bool {
        self.0.is_multiple_of(2)
    }

    /// What its packets name as their origin.
    pub(crate) fn origin(self) -> ConnectionId {
        ConnectionId(IS_TRANSPORT | self.0)
    }

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}
