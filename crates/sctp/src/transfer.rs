//! What an association gets and gives.

use std::error::Error;
use std::fmt;
use std::net::IpAddr;

use bytes::Bytes;
use handfast_wire::sctp::Packet;

/// A packet that has arrived.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    /// The packet; its checksum is right.
    pub packet: &'a Packet,
    /// Who sent it.
    pub from: IpAddr,
    /// To which of our addresses.
    pub to: IpAddr,
}

/// A packet that leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// The packet.
    pub packet: Packet,
    /// From which of our addresses.
    pub from: IpAddr,
    /// To whom.
    pub to: IpAddr,
}

/// A message of an application.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// The stream.
    pub stream: u16,
    /// The payload protocol identifier: nothing to SCTP.
    pub ppid: u32,
    /// Whether it is delivered as soon as it is there, in no order.
    pub unordered: bool,
    /// What it says; never empty.
    pub data: Bytes,
}

/// Why a message is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteError {
    /// The send buffer has no room for it now.
    Full,
    /// The send buffer never has room for it.
    TooLong,
    /// It says nothing (§3.3.1: a DATA chunk has user data).
    Empty,
    /// There is no such stream.
    Stream,
    /// The association is closed, or closes.
    Closed,
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "the send buffer is full",
            Self::TooLong => "the message is longer than the send buffer",
            Self::Empty => "a message has at least one byte",
            Self::Stream => "the association has no such outbound stream",
            Self::Closed => "the association takes no more messages",
        })
    }
}

impl Error for WriteError {}
