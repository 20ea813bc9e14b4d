//! Peers that were warned of: a warning is logged once for each peer, not at each of its attempts.

use std::collections::VecDeque;
use std::net::IpAddr;

/// Peers that are remembered; of more, the one that was warned of first is forgotten, and may be warned of again.
const MOST: usize = 256;

/// Peers that a warning was logged of.
#[derive(Debug, Default)]
pub(super) struct WarnedPeers(VecDeque<IpAddr>);

impl WarnedPeers {
    /// A warning is logged now; whether none was before.
    pub(super) fn insert(&mut self, peer: IpAddr) -> bool {
        if self.contains(peer) {
            return false;
        }
        if self.0.len() == MOST {
            self.0.pop_front();
        }
        self.0.push_back(peer);
        true
    }

    /// Whether a warning was logged.
    pub(super) fn contains(&self, peer: IpAddr) -> bool {
        self.0.contains(&peer)
    }

    /// The reason is gone: if it comes back, the warning is logged again.
    pub(super) fn remove(&mut self, peer: IpAddr) {
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
    fn once_for_each_peer_until_it_is_removed() {
        let mut warned = WarnedPeers::default();
        assert_eq!([1, 1, 2, 1].map(|number| warned.insert(peer(number))), [true, false, true, false]);
        warned.remove(peer(1));
        assert_eq!([1, 2, 3].map(|number| warned.contains(peer(number))), [false, true, false]);
        assert!(warned.insert(peer(1)));
    }

    #[test]
    fn the_memory_is_bounded() {
        let mut warned = WarnedPeers::default();
        for number in 0..=MOST {
            assert!(warned.insert(peer(number)));
        }
        assert_eq!(warned.0.len(), MOST);
        assert!(!warned.contains(peer(0)) && warned.contains(peer(1)) && warned.contains(peer(MOST)));
    }
}
