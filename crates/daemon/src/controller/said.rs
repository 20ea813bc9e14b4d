//! What was said of whom: a warning is said once for each peer, not at each of its attempts.

use std::collections::VecDeque;
use std::net::IpAddr;

/// Peers that are remembered; of more, the one that was warned of first is forgotten, and may be warned of again.
const MOST: usize = 256;

/// Of whom something was said.
#[derive(Debug, Default)]
pub(super) struct Said(VecDeque<IpAddr>);

impl Said {
    /// It is said now; whether it was not before.
    pub(super) fn first(&mut self, peer: IpAddr) -> bool {
        if self.of(peer) {
            return false;
        }
        if self.0.len() == MOST {
            self.0.pop_front();
        }
        self.0.push_back(peer);
        true
    }

    /// Whether it was said.
    pub(super) fn of(&self, peer: IpAddr) -> bool {
        self.0.contains(&peer)
    }

    /// It is over: when it happens again, it is said again.
    pub(super) fn over(&mut self, peer: IpAddr) {
        self.0.retain(|other| *other != peer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(number: usize) -> IpAddr {
        IpAddr::from((number as u32).to_be_bytes())
    }

    #[test]
    fn once_for_each_peer_until_it_is_over() {
        let mut said = Said::default();
        assert_eq!([1, 1, 2, 1].map(|number| said.first(peer(number))), [true, false, true, false]);
        said.over(peer(1));
        assert_eq!([1, 2, 3].map(|number| said.of(peer(number))), [false, true, false]);
        assert!(said.first(peer(1)));
    }

    #[test]
    fn the_memory_is_bounded() {
        let mut said = Said::default();
        for number in 0..=MOST {
            assert!(said.first(peer(number)));
        }
        assert_eq!(said.0.len(), MOST);
        assert!(!said.of(peer(0)) && said.of(peer(1)) && said.of(peer(MOST)));
    }
}
