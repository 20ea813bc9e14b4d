//! Applications: what they send, and when. One application a file, and one line in [`App::description`]. One that does not
//! use TCP has its ends in [`crate::transport`].

mod bulk;
mod paced;
mod reconnecting;
mod sink;
mod source;
mod transfer;

use handfast_core::{Bytes, Duration, Instant};

pub use sink::Sink;
pub use source::Source;

use crate::transport::{Transport, datagrams};

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

/// Makes both ends of a transport, the sender first, for an application that starts and stops at these times.
type MakeTransport = Box<dyn Fn(Instant, Option<Instant>) -> [Box<dyn Transport>; 2]>;

/// What is known of an application beforehand. By default it has one TCP connection and always has data.
#[derive(Default)]
struct Description {
    /// What it writes at a time, and how often.
    writes: Option<(Bytes, Duration)>,
    /// Bytes that it sends in all.
    total: Option<Bytes>,
    /// How long after the end of a connection it opens the next.
    reconnects: Option<Duration>,
    /// What carries its data in place of TCP.
    transport: Option<MakeTransport>,
    /// Why it cannot run, as the end of a sentence that begins with the flow.
    problem: Option<String>,
}

impl App {
    fn description(self) -> Description {
        match self {
            Self::Bulk => bulk::description(),
            Self::Transfer(size) => transfer::description(size),
            Self::Paced { size, interval } => paced::description(size, interval),
            Self::Reconnecting { size, after } => reconnecting::description(size, after),
            Self::Datagrams { size, interval } => Description {
                writes: Some((size, interval)),
                transport: Some(Box::new(move |start, stop| datagrams::ends(size, interval, start, stop))),
                problem: datagrams::problem(size, interval),
                ..Description::default()
            },
        }
    }

    /// The same application, but one that opens a new connection after an error; [`None`]: there is none like that.
    pub fn reconnecting(self, after: Duration) -> Option<Self> {
        match self {
            Self::Bulk => Some(Self::Reconnecting { size: None, after }),
            Self::Transfer(size) => Some(Self::Reconnecting { size: Some(size), after }),
            _ => None,
        }
    }

    /// Whether several connections at once can carry its data: it always has data, or sends so many bytes.
    pub fn can_be_shared(self) -> bool {
        let Description { writes, transport, .. } = self.description();
        writes.is_none() && transport.is_none()
    }

    /// What connection number `index` of `connections` at once carries of its data. Of a transfer each carries as many bytes as
    /// the others, the first ones one more where that does not divide.
    #[must_use]
    pub fn share(self, index: u32, connections: u32) -> Self {
        let (index, connections) = (u64::from(index), u64::from(connections));
        let part = |Bytes(size): Bytes| Bytes(size / connections + u64::from(index < size % connections));
        match self {
            Self::Transfer(size) => Self::Transfer(part(size)),
            Self::Reconnecting { size, after } => Self::Reconnecting { size: size.map(part), after },
            Self::Bulk | Self::Paced { .. } | Self::Datagrams { .. } => self,
        }
    }

    /// How long after the end of a connection it opens the next; [`None`]: it has one connection.
    pub fn reconnects(self) -> Option<Duration> {
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
        let again = App::Bulk.reconnecting(Duration::from_secs(1)).unwrap();
        let shared = [App::Bulk, App::Transfer(Bytes(7)), again];
        assert!(shared.into_iter().all(App::can_be_shared));
        let alone =
            [App::Paced { size: Bytes(160), interval }, App::Datagrams { size: Bytes(160), interval }];
        assert!(!alone.into_iter().any(App::can_be_shared));
    }
}
