//! What a caching node is told, and what it counts.

use handfast_core::{Bytes, Duration};

/// What packets may cost: their bytes on the wire and [`PACKET_COST`](super::PACKET_COST) for each.
///
/// At a bound the oldest packet goes, the one with the lowest number: of the connection that is full; or, where a host, a slice or
/// the node is full, of one that keeps no less than the others there do on average: a slice of the node, a host of the slice, a
/// connection of the host. So nobody can take the place of those who keep little, with however many connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quotas {
    /// One direction of a connection.
    pub per_connection: Bytes,
    /// What a host sends in a slice. What no single one has sent, as in lanes, only the slice bounds.
    pub per_host: Bytes,
    /// One direction of a slice: a pair of edges.
    pub per_slice: Bytes,
    /// The node.
    pub total: Bytes,
}

/// What becomes of a packet that the node's own queue has dropped, when it is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Congestion {
    /// It is sent again with the mark CE, or an RI says that it will not come: the sender learns of the congestion.
    #[default]
    Signal,
    /// It is sent again as if it was lost (`[sdtp]`).
    Mask,
    /// It is not lost: it waits in the node for room, and the sending edge slows its sender down. What there is no room for here
    /// either is as with `Signal`.
    Cache,
}

/// Bounds and times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// What packets may cost.
    pub quotas: Quotas,
    /// Connections known at most, each direction by itself. Of the others the one that was silent longest is forgotten.
    pub connections: usize,
    /// A connection of which nothing was heard for longer is forgotten.
    pub idle: Duration,
    /// A CN follows a change by so much, and another CN comes no sooner.
    pub notify: Duration,
    /// So often a CN is repeated: it may be lost.
    pub repetitions: u32,
    /// A hole that lasts longer is given up, so that the node upstream can release what it keeps. It must be longer than
    /// retransmission nodes persist.
    pub patience: Duration,
    /// So often a packet is sent again at most.
    pub copies: u32,
    /// So many packets answer one request at most.
    pub burst: u32,
    /// What becomes of what the own queue has dropped.
    pub congestion: Congestion,
    /// Whether what is sent again goes with parity over it and what came after it.
    pub parity: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            quotas: Quotas {
                per_connection: Bytes(4_000_000),
                per_host: Bytes(16_000_000),
                per_slice: Bytes(64_000_000),
                total: Bytes(256_000_000),
            },
            connections: 10_000,
            idle: Duration::from_secs(60),
            notify: Duration::from_millis(50),
            repetitions: 2,
            patience: Duration::from_secs(1),
            copies: 16,
            burst: 256,
            congestion: Congestion::Signal,
            parity: false,
        }
    }
}

/// What became of packets and requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets kept.
    pub kept: u64,
    /// Packets released because the node downstream has them.
    pub released: u64,
    /// Packets that went because a quota was full.
    pub overflowed: u64,
    /// Requests.
    pub requests: u64,
    /// Requests of which nothing was here.
    pub missed: u64,
    /// Requests that make no sense.
    pub invalid: u64,
    /// Packets sent again: RD.
    pub repeated: u64,
    /// Of those, the ones that say that they met congestion here.
    pub marked: u64,
    /// Packets not sent again because a request of the same trigger was answered before.
    pub suppressed: u64,
    /// Packets not sent again because of [`Config::copies`] or [`Config::burst`].
    pub refused: u64,
    /// Parity that went with packets sent again.
    pub parities: u64,
    /// RIs that say that packets will not come.
    pub never: u64,
    /// Packets that the node's own queue has dropped.
    pub own_drops: u64,
    /// CNs.
    pub notifications: u64,
    /// Connections forgotten for others.
    pub evicted: u64,
    /// Connections forgotten because nothing was heard of them.
    pub expired: u64,
}
