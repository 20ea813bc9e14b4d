//! Packets to and from the controller.

use bytes::Bytes;

use super::{Action, Match, PortNo};

/// Why a packet came to the controller (§7.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketInReason {
    /// No entry matched but the table-miss entry.
    NoMatch,
    /// An action said so.
    Action,
    /// Its time to live was over.
    InvalidTtl,
}

/// A packet for the controller (§7.4.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketIn {
    /// Where the switch keeps it, or [`super::NO_BUFFER`].
    pub buffer_id: u32,
    /// Bytes of the whole frame.
    pub total_len: u16,
    /// Why.
    pub reason: PacketInReason,
    /// The table whose entry sent it.
    pub table_id: u8,
    /// That entry's mark.
    pub cookie: u64,
    /// What is known besides the frame: the port at which it arrived.
    pub matches: Match,
    /// The frame, or its beginning.
    pub data: Bytes,
}

/// A packet from the controller (§7.3.7).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketOut {
    /// The kept packet that is meant, or [`super::NO_BUFFER`].
    pub buffer_id: u32,
    /// Where it is said to have arrived, or [`PortNo::CONTROLLER`].
    pub in_port: PortNo,
    /// What is done with it.
    pub actions: Vec<Action>,
    /// The frame, if it is not a kept one.
    pub data: Bytes,
}
