//! Applications: what they send, and when. One application a file, and one line in [`App::description`]. One that does not
//! use TCP is a [`transport::Kind`].

mod bulk;
pub mod dialogues;
mod draw;
mod paced;
pub mod page;
mod reconnecting;
mod silent;
mod sink;
mod source;
pub mod terminal;
mod transfer;
pub mod video;

use std::fmt;

use handfast_core::{Bytes, Duration, Instant};

pub use reconnecting::{Notice, Reconnect};
pub use sink::Sink;
pub use source::Source;

use crate::transport::{self, Transport};

/// What an application does.
#[derive(Clone, Copy, PartialEq, Eq)]
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
    /// Opens its connection and sends nothing.
    Silent,
    /// Sends so many bytes, or always has data, and opens a new connection after an error.
    Reconnecting {
        /// Bytes in all; [`None`]: it always has data.
        size: Option<Bytes>,
        /// When, and with what.
        how: Reconnect,
    },
    /// Sends by another transport than TCP.
    Over(transport::Kind),
    /// Asks, and is answered.
    Dialogue(dialogues::Kind),
}

/// The hash of a scenario is of this text. That of a transport stands alone, as when each was a variant here.
impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bulk => f.write_str("Bulk"),
            Self::Silent => f.write_str("Silent"),
            Self::Transfer(size) => f.debug_tuple("Transfer").field(size).finish(),
            Self::Paced { size, interval } => {
                f.debug_struct("Paced").field("size", size).field("interval", interval).finish()
            }
            Self::Reconnecting { size, how } => {
                f.debug_struct("Reconnecting").field("size", size).field("after", how).finish()
            }
            Self::Over(kind) => kind.fmt(f),
            Self::Dialogue(kind) => kind.fmt(f),
        }
    }
}

/// What is known of an application beforehand. By default it has one TCP connection and always has data.
#[derive(Default)]
struct Description {
    /// What it writes at a time, and how often.
    writes: Option<(Bytes, Duration)>,
    /// Bytes that it sends in all.
    total: Option<Bytes>,
    /// Whether it keeps its connection open after the last of them.
    stays: bool,
    /// How it opens its next connection.
    reconnects: Option<Reconnect>,
    /// What carries its data in place of TCP.
    transport: Option<transport::MakeEnds>,
    /// Why it cannot run, as the end of a sentence that begins with the flow.
    problem: Option<String>,
}

impl App {
    fn description(self) -> Description {
        match self {
            Self::Bulk => bulk::description(),
            Self::Silent => silent::description(),
            Self::Transfer(size) => transfer::description(size),
            Self::Paced { size, interval } => paced::description(size, interval),
            Self::Reconnecting { size, how } => reconnecting::description(size, how),
            Self::Over(kind) => {
                let transport::Description { writes, ends, problem } = kind.description();
                Description { writes, transport: Some(ends), problem, ..Description::default() }
            }
            Self::Dialogue(kind) => {
                Description { problem: kind.description().problem, ..Description::default() }
            }
        }
    }

    /// The same application, but one that opens a new connection after an error; [`None`]: there is none like that.
    pub fn reconnecting(self, how: Reconnect) -> Option<Self> {
        match self {
            Self::Bulk => Some(Self::Reconnecting { size: None, how }),
            Self::Transfer(size) => Some(Self::Reconnecting { size: Some(size), how }),
            _ => None,
        }
    }

    /// Whether several connections at once can carry its data: it always has data, or sends so many bytes.
    pub fn can_be_shared(self) -> bool {
        let Description { writes, transport, .. } = self.description();
        writes.is_none() && transport.is_none() && self.dialogue().is_none()
    }

    /// What connection number `index` of `connections` at once carries of its data. Of a transfer each carries as many bytes as
    /// the others, the first ones one more where that does not divide.
    #[must_use]
    pub fn share(self, index: u32, connections: u32) -> Self {
        let (index, connections) = (u64::from(index), u64::from(connections));
        let part = |Bytes(size): Bytes| Bytes(size / connections + u64::from(index < size % connections));
        match self {
            Self::Transfer(size) => Self::Transfer(part(size)),
            Self::Reconnecting { size, how } => Self::Reconnecting { size: size.map(part), how },
            Self::Bulk | Self::Silent | Self::Paced { .. } | Self::Over(_) | Self::Dialogue(_) => self,
        }
    }

    /// How it opens its next connection; [`None`]: it has one connection.
    pub fn reconnects(self) -> Option<Reconnect> {
        self.description().reconnects
    }

    /// What it writes at a time, and how often; [`None`]: as much as there is room for.
    pub fn writes(self) -> Option<(Bytes, Duration)> {
        self.description().writes
    }

    /// Bytes that it sends in all, if that is known beforehand.
    pub fn total(self) -> Option<Bytes> {
        self.description().total
    }

    /// The ends of its transport, the sender first; [`None`]: it uses TCP.
    pub fn transport(self, start: Instant, stop: Option<Instant>) -> Option<[Box<dyn Transport>; 2]> {
        self.description().transport.map(|make| make(start, stop))
    }

    /// How its ends talk, if one asks and the other answers.
    pub fn dialogue(self) -> Option<dialogues::Kind> {
        match self {
            Self::Dialogue(kind) => Some(kind),
            _ => None,
        }
    }

    /// Whether it uses TCP.
    pub fn uses_tcp(self) -> bool {
        self.description().transport.is_none()
    }

    /// Whether a host can run it.
    ///
    /// # Errors
    /// Why not, as the end of a sentence that begins with the flow.
    pub fn check(self) -> Result<(), String> {
        self.description().problem.map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_shares_of_a_transfer_are_the_whole(size in 0_u64..10_000_000, connections in 1_u32..=128) {
            let shares: Vec<_> = (0..connections)
                .map(|index| App::Transfer(Bytes(size)).share(index, connections).total().unwrap().get())
                .collect();
            prop_assert_eq!(shares.iter().sum::<u64>(), size);
            prop_assert!(shares.is_sorted_by(|a, b| a == b || *a == b + 1));
        }
    }

    #[test]
    fn only_what_has_no_set_times_can_be_shared() {
        let interval = Duration::from_millis(20);
        let again = App::Bulk.reconnecting(Reconnect::after(Duration::from_secs(1))).unwrap();
        let shared = [App::Bulk, App::Transfer(Bytes(7)), App::Silent, again];
        assert!(shared.into_iter().all(App::can_be_shared));
        let datagrams = App::Over(transport::Kind::Datagrams { size: Bytes(160), interval });
        let alone = [App::Paced { size: Bytes(160), interval }, datagrams];
        assert!(!alone.into_iter().any(App::can_be_shared));
    }

    #[test]
    fn the_text_of_which_hashes_are_made_stays() {
        let (size, interval) = (Bytes(160), Duration::from_millis(20));
        let texts = [
            (App::Bulk, "Bulk"),
            (App::Silent, "Silent"),
            (App::Transfer(size), "Transfer(Bytes(160))"),
            (App::Paced { size, interval }, "Paced { size: Bytes(160), interval: Duration(20000000) }"),
            (
                App::Reconnecting { size: None, how: Reconnect::after(interval) },
                "Reconnecting { size: None, after: Duration(20000000) }",
            ),
            (
                App::Over(transport::Kind::Datagrams { size, interval }),
                "Datagrams { size: Bytes(160), interval: Duration(20000000) }",
            ),
        ];
        for (app, text) in texts {
            assert_eq!(format!("{app:?}"), text);
        }
    }
}
