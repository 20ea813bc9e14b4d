//! What is done with a packet (§7.2.4, §7.2.5).

use bytes::Bytes;

use super::PortNo;

/// An action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Out by a port.
    Output {
        /// Which.
        port: PortNo,
        /// To the controller: how many bytes of the packet.
        max_len: u16,
    },
    /// An action that is not known here, kept.
    Other {
        /// `OFPAT_*`.
        kind: u16,
        /// All after type and length.
        body: Bytes,
    },
}

/// An instruction of a flow entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Instruction {
    /// Goes on in a later table.
    GotoTable(u8),
    /// Adds to the actions done at the end of the pipeline.
    WriteActions(Vec<Action>),
    /// Acts at once.
    ApplyActions(Vec<Action>),
    /// Forgets the actions written so far.
    ClearActions,
    /// An instruction that is not known here, kept.
    Other {
        /// `OFPIT_*`.
        kind: u16,
        /// All after type and length.
        body: Bytes,
    },
}
