//! What a connection tells its owner, and what it counts.

use std::net::IpAddr;

use handfast_core::Duration;

/// A sub-flow of a connection: numbers rise and do not come again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SubflowId(pub u32);

/// Where a connection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The first sub-flow's handshake.
    Opening,
    /// It carries data over any number of sub-flows.
    Multipath,
    /// It is a plain TCP connection: the peer, or something on the way, does not speak Multipath TCP (RFC 8684 §3.7).
    Plain,
    /// It has ended.
    Closed,
}

/// Why a connection ended other than by both ends closing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The only sub-flow there may be has died so.
    Tcp(handfast_tcp::Death),
    /// `MP_FASTCLOSE` came (§3.5).
    FastClose,
    /// No sub-flow was there for too long.
    NoPath,
    /// We aborted it.
    Aborted,
}

/// Something a connection reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The first sub-flow is established.
    Connected,
    /// The connection is a plain TCP connection.
    FellBack,
    /// A sub-flow may carry data.
    SubflowUp(SubflowId),
    /// A sub-flow is gone.
    SubflowDown {
        /// Which.
        id: SubflowId,
        /// The reason of `MP_TCPRST`, if there was one.
        reason: Option<u8>,
    },
    /// A sub-flow's retransmission timer has expired: its data go by another one.
    SubflowSilent(SubflowId),
    /// The peer has another address (§3.4.1): its owner may open a sub-flow to it.
    AddressAdded {
        /// Its ID.
        id: u8,
        /// It.
        address: IpAddr,
        /// Its port, if it is another one.
        port: Option<u16>,
    },
    /// The peer has lost an address (§3.4.2).
    AddressRemoved(u8),
    /// Everything up to the peer's `DATA_FIN` has come.
    PeerClosed,
    /// Both ends have closed.
    Closed,
    /// It has failed.
    Failed(Failure),
}

/// Events kept for an owner that does not ask for them.
pub(crate) const MAX_EVENTS: usize = 64;

/// What a connection counts, from its birth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Octets of data that left by another sub-flow than before.
    pub reinjected_bytes: u64,
    /// Octets of data that came twice.
    pub duplicate_bytes: u64,
    /// Expiries of the timer for `DATA_ACK`.
    pub data_timeouts: u64,
    /// Mappings whose checksum was wrong.
    pub checksum_failures: u64,
    /// Octets of data that came and found no room.
    pub bytes_without_room: u64,
    /// Sub-flows that were opened or accepted.
    pub subflows: u32,
}

/// How a sub-flow is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubflowStatus {
    /// Which.
    pub id: SubflowId,
    /// Whether it may carry data.
    pub established: bool,
    /// Whether it is to carry data only while no other serves, by either end's word.
    pub backup: bool,
    /// Whether its retransmission timer expired and nothing was acknowledged since.
    pub silent: bool,
    /// Whether a layer has suspended it.
    pub suspended: bool,
    /// Its sender's variables.
    pub tcp: handfast_tcp::Snapshot,
    /// Smoothed round-trip time; zero before the first sample.
    pub srtt: Duration,
}

/// What a peer makes a connection remember.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Octets of data that wait for their predecessors or to be read.
    pub data: u64,
    /// Mappings of octets that have not come.
    pub mappings: usize,
    /// Sub-flows.
    pub subflows: usize,
}
