//! What an association tells its driver, and what it counts.

use handfast_core::Duration;

/// States (§4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are RFC 9260's")]
pub enum State {
    Closed,
    CookieWait,
    CookieEchoed,
    Established,
    ShutdownPending,
    ShutdownSent,
    ShutdownReceived,
    ShutdownAckSent,
}

impl State {
    /// Whether DATA may leave (§6, §9.2).
    pub(crate) const fn sends_data(self) -> bool {
        matches!(self, Self::Established | Self::ShutdownPending | Self::ShutdownReceived)
    }

    /// Whether DATA is taken (§6, §9.2).
    pub(crate) const fn takes_data(self) -> bool {
        matches!(self, Self::Established | Self::ShutdownPending | Self::ShutdownSent)
    }
}

/// Why an association ended other than by a shutdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// No answer to INIT or COOKIE ECHO within Max.Init.Retransmits (§4).
    Handshake,
    /// The peer has left more than Association.Max.Retrans in a row without an answer (§8.1).
    Unreachable,
    /// The peer sent ABORT, with this cause first; 0: with none.
    Aborted {
        /// Its code.
        cause: u16,
    },
    /// We aborted it.
    LocalAbort,
    /// We aborted it for what the peer sent, with this cause.
    Refused {
        /// Its code.
        cause: u16,
    },
    /// T5-shutdown-guard expired (§9.2).
    ShutdownGuard,
}

/// Something an association reports; rare ones only, never one a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The handshake is done.
    Connected,
    /// The peer has begun anew (§5.2.4.1, action A): what was unacknowledged is lost.
    Restarted,
    /// The peer takes no more messages (SHUTDOWN).
    PeerClosed,
    /// Both sides have closed: all that was written has arrived.
    Closed,
    /// The association is dead.
    Failed(Failure),
    /// A path has more errors in a row than Path.Max.Retrans (§8.2).
    PathDown {
        /// Which.
        path: usize,
    },
    /// A path that was down, or had never been used, answers (§5.4, §8.3).
    PathUp {
        /// Which.
        path: usize,
    },
    /// T3-rtx expired.
    Timeout {
        /// On which path.
        path: usize,
        /// The RTO that expired.
        rto: Duration,
    },
    /// The peer has reported an error with this cause; the association goes on.
    PeerError {
        /// Its code.
        cause: u16,
    },
}

/// Events kept for a driver that does not ask for them; beyond it the oldest is dropped.
pub(crate) const MAX_EVENTS: usize = 64;

/// How much a peer has made an association remember.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// User data that waits for the rest of its message, for its turn or for a reader.
    pub received_bytes: u64,
    /// Fragments and messages of it.
    pub received_items: usize,
    /// Ranges of TSNs beyond the cumulative TSN ack point.
    pub gaps: usize,
    /// TSNs that the next SACK reports as duplicates.
    pub duplicates: usize,
    /// Control chunks that wait to leave.
    pub control_chunks: usize,
}

/// What an association counts, from its birth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets sent.
    pub packets_sent: u64,
    /// Packets that were ours: right ports and tag.
    pub packets_received: u64,
    /// DATA chunks sent, repeated ones included.
    pub data_chunks_sent: u64,
    /// Of those, the repeated ones.
    pub retransmitted_chunks: u64,
    /// DATA chunks received, of any kind.
    pub data_chunks_received: u64,
    /// Of those, the ones that were there already.
    pub duplicate_chunks_received: u64,
    /// DATA chunks dropped because the receive buffer had no room.
    pub chunks_without_room: u64,
    /// Expiries of T3-rtx.
    pub timeouts: u64,
    /// Entries into fast recovery.
    pub fast_recoveries: u64,
    /// HEARTBEATs sent.
    pub heartbeats_sent: u64,
}
