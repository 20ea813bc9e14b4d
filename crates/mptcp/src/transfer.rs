//! What a connection gets and gives.

use std::net::SocketAddr;

/// The addresses and ports of a sub-flow, as one end sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Ours.
    pub local: SocketAddr,
    /// The peer's.
    pub remote: SocketAddr,
}

/// A segment that has arrived.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    /// From where to where.
    pub flow: Flow,
    /// It.
    pub tcp: handfast_tcp::Received<'a>,
}

/// A segment that leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// From where to where.
    pub flow: Flow,
    /// It.
    pub tcp: handfast_tcp::Transmit,
}
