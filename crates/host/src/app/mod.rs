//! Applications: what they send, and when. One application a file, and one line of each `match` here.

mod bulk;
mod datagrams;
mod paced;
mod reconnecting;
mod sink;
mod source;
mod transfer;

use handfast_core::{Bytes, Duration, Instant};

pub use sink::Sink;
use source::Allowance;

use crate::transport::Transport;
pub use source::Source;

/// What an application does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum App {
    /// Always has data.
    Bulk,
    /// Sends so many bytes, then closes.
    Transfer(Bytes),
    /// Writes `size` bytes every `interval`.
    Paced {
        /// Bytes a write.
        size: Bytes,
        /// Between writes.
        interval: Duration,
    },
    /// Sends so many bytes, or always has data, and opens a new connection after an error.
    Reconnecting {
        /// Bytes in all; [`None`]: it always has data.
        size: Option<Bytes>,
        /// From the end of a connection to the opening of the next.
        after: Duration,
    },
    /// Sends a datagram of `size` bytes every `interval`, without TCP.
    Datagrams {
        /// Bytes a datagram.
        size: Bytes,
        /// Between datagrams.
        interval: Duration,
    },
}

impl App {
    /// What it may write at its start, and how that grows.
    fn allowance(self, start: Instant) -> Allowance {
        match self {
            Self::Bulk => bulk::allowance(),
            Self::Transfer(size) => transfer::allowance(size),
            Self::Paced { size, interval } => paced::allowance(size, interval, start),
            Self::Reconnecting { size, .. } => reconnecting::allowance(size),
            // Nothing of it goes over TCP.
            Self::Datagrams { .. } => transfer::allowance(Bytes(0)),
        }
    }

    /// The same application, but one that opens a new connection after an error; [`None`]: there is none like that.
    pub fn reconnecting(self, after: Duration) -> Option<Self> {
        let size = match self {
            Self::Bulk => None,
            Self::Transfer(size) => Some(size),
            _ => return None,
        };
        Some(Self::Reconnecting { size, after })
    }

    /// How long after the end of a connection it opens the next; [`None`]: it has one connection.
    pub fn reconnects(self) -> Option<Duration> {
        if let Self::Reconnecting { after, .. } = self { Some(after) } else { None }
    }

    /// What it writes at a time, and how often; [`None`]: as much as there is room for.
    pub fn writes(self) -> Option<(Bytes, Duration)> {
        match self {
            Self::Bulk | Self::Transfer(_) | Self::Reconnecting { .. } => None,
            Self::Paced { size, interval } | Self::Datagrams { size, interval } => Some((size, interval)),
        }
    }

    /// Bytes that it sends in all, if that is known beforehand.
    pub fn total(self) -> Option<Bytes> {
        match self {
            Self::Transfer(size) => Some(size),
            Self::Reconnecting { size, .. } => size,
            Self::Bulk | Self::Paced { .. } | Self::Datagrams { .. } => None,
        }
    }

    /// The ends of its transport, the sender first; [`None`]: it uses TCP.
    pub fn transport(self, start: Instant, stop: Option<Instant>) -> Option<[Box<dyn Transport>; 2]> {
        match self {
            Self::Datagrams { size, interval } => Some(datagrams::transport(size, interval, start, stop)),
            _ => None,
        }
    }

    /// Whether it uses TCP.
    pub fn uses_tcp(self) -> bool {
        match self {
            Self::Bulk | Self::Transfer(_) | Self::Paced { .. } | Self::Reconnecting { .. } => true,
            Self::Datagrams { .. } => false,
        }
    }

    /// What of it only the simulator can do, as the end of a sentence that begins with the flow; [`None`]: nothing.
    pub fn only_simulated(self) -> Option<&'static str> {
        match self {
            Self::Bulk | Self::Transfer(_) | Self::Paced { .. } => None,
            Self::Reconnecting { .. } => Some("reconnects"),
            Self::Datagrams { .. } => Some("sends datagrams"),
        }
    }

    /// Whether a host can run it.
    ///
    /// # Errors
    /// Why not, as the end of a sentence that begins with the flow.
    pub fn check(self) -> Result<(), String> {
        match self {
            Self::Bulk | Self::Transfer(_) => Ok(()),
            Self::Paced { size, interval } => paced::check(size, interval),
            Self::Reconnecting { after, .. } => reconnecting::check(after),
            Self::Datagrams { size, interval } => datagrams::check(size, interval),
        }
    }
}
