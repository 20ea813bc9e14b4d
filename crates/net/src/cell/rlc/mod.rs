//! RLC in acknowledged mode (TS 36.322, TS 38.322): what HARQ has given up is found missing by the receiver, reported, and
//! sent again.
//!
//! A PDU is a transport block: LTE concatenates so (TS 36.322 §6.2.2.1), and what MAC multiplexes in NR (TS 38.321 §6.1)
//! has one fate as well. Sequence numbers do not wrap, and status reports are not lost.

mod receiver;
mod transmitter;

pub(super) use receiver::Receiver;
pub(super) use transmitter::{Block, Transmitter};

/// A STATUS PDU (TS 36.322 §6.2.1.6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Status {
    /// `ACK_SN`: all below it have been received, but for those in `nacks`.
    pub(super) ack: u64,
    /// Each `NACK_SN`.
    pub(super) nacks: Vec<u64>,
}
