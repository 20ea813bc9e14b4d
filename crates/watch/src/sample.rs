//! What the kernel shows of a connection.

use std::net::SocketAddr;

use handfast_core::Duration;

/// `INET_DIAG_NOCOOKIE`'s opposite: the kernel's number of a socket, which it never gives twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u64);

/// As far as it matters here (RFC 9293 §3.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// SYN-SENT.
    Opening,
    /// ESTABLISHED, CLOSE-WAIT and all states in which a FIN is not acknowledged.
    Open,
}

/// A connection at one moment: `struct tcp_info` of `linux/tcp.h`, and where its ends are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Which one it is.
    pub id: ConnectionId,
    /// This end.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
    /// Whether it is there yet.
    pub state: State,
    /// Payload bytes that the peer has acknowledged.
    pub acknowledged: u64,
    /// Payload bytes that came in order.
    pub received: u64,
    /// Segments sent and not acknowledged.
    pub in_flight: u32,
    /// Bytes that wait to be sent.
    pub not_sent: u32,
    /// Since the last data segment was sent.
    pub since_sent: Duration,
    /// Since the last acknowledgment came.
    pub since_acknowledged: Duration,
    /// Since the last data came.
    pub since_received: Duration,
    /// The smoothed round-trip time.
    pub srtt: Option<Duration>,
    /// The least round-trip time.
    pub min_rtt: Option<Duration>,
    /// The retransmission timeout, with its back-off.
    pub rto: Duration,
    /// How often it has been doubled since the last acknowledgment (RFC 6298 §5.5).
    pub backoff: u8,
    /// Probes of a closed window that no answer came to.
    pub probes: u8,
    /// Segments sent again, in all.
    pub retransmitted: u32,
    /// Segments with payload sent, those sent again included, in all.
    pub data_segments: u32,
    /// Segments that came out of order, in all.
    pub out_of_order: u32,
    /// How long the peer's window was the limit, in all.
    pub window_limited: Duration,
    /// Payload bytes that arrive a second, as the sender measures.
    pub delivery_rate: u64,
}

impl Sample {
    /// Whether it waits for the peer to acknowledge.
    pub(crate) fn awaits_acknowledgment(&self) -> bool {
        self.in_flight > 0 || self.not_sent > 0 || self.state == State::Opening
    }
}
