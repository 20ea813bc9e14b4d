//! What becomes of a program's datagrams to one target.

use std::collections::VecDeque;

use handfast_assist::iosl::ids::Socket;
use handfast_core::Instant;

use super::port::Port;

/// Octets that wait for a session to open. The oldest give way.
const MOST_EARLY: usize = 16 << 10;

/// What one of them costs beside its octets, so that empty ones have an end too.
const EACH: usize = 64;

/// Where they go.
#[derive(Debug)]
pub(super) enum Route {
    /// They wait: the session is not open yet. `by`: until then they wait for a peer.
    Opening { session: Socket, early: Early, by: Option<Instant> },
    /// They go by a session. `unsure`: nobody knows whether the peer leads to the target, and these go straight if it does not.
    Open { session: Socket, unsure: Option<Early> },
    /// They go straight.
    Straight(Port),
    /// They go nowhere, until it is tried again.
    Refused(Instant),
}

impl Route {
    /// The session that they use, or will.
    pub(super) fn session(&self) -> Option<Socket> {
        match self {
            Self::Opening { session, .. } | Self::Open { session, .. } => Some(*session),
            Self::Straight(_) | Self::Refused(_) => None,
        }
    }

    /// What may be sent again another way, once it is known that the session is none.
    pub(super) fn into_early(self) -> Early {
        match self {
            Self::Opening { early, .. } | Self::Open { unsure: Some(early), .. } => early,
            _ => Early::default(),
        }
    }
}

/// Datagrams that a program has sent early.
#[derive(Clone, Debug, Default)]
pub(super) struct Early {
    waiting: VecDeque<Vec<u8>>,
    octets: usize,
}

impl Early {
    /// One.
    pub(super) fn of(datagram: &[u8]) -> Self {
        let mut early = Self::default();
        early.push(datagram);
        early
    }

    /// Keeps one: how many gave way to it.
    pub(super) fn push(&mut self, datagram: &[u8]) -> u64 {
        self.octets += datagram.len() + EACH;
        self.waiting.push_back(datagram.to_vec());
        let before = self.waiting.len();
        while self.octets > MOST_EARLY && self.waiting.len() > 1 {
            self.octets -= self.waiting.pop_front().map_or(0, |oldest| oldest.len() + EACH);
        }
        (before - self.waiting.len()) as u64
    }

    /// They, the oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.waiting.iter().map(Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_give_way_and_the_last_one_stays() {
        let mut early = Early::default();
        assert_eq!((0..3).map(|n| early.push(&[n; 5_000])).sum::<u64>(), 0);
        assert_eq!(early.push(&[3; 5_000]), 1);
        assert_eq!(early.iter().map(|datagram| datagram[0]).collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(early.push(&vec![4; 60_000]), 3, "one that is longer than all may be");
        assert_eq!(early.iter().count(), 1);
        let empty = (0..1_000).map(|_| early.push(&[])).sum::<u64>();
        assert!(empty > 700, "{empty} of those that have no octets");
    }
}
