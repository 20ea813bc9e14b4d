//! What is said how often: a line of one kind about one peer is logged a few times in a while, and then how often more.

use std::collections::BTreeMap;
use std::net::IpAddr;

use handfast_core::{Duration, Instant};

/// So many lines of a kind about a peer…
const MOST: u64 = 5;
/// …in so long.
const WINDOW: Duration = Duration::from_secs(10);
/// Kinds and peers that are remembered. Of more, none is logged until old ones are forgotten.
const KEYS: usize = 1024;

#[derive(Debug)]
struct Seen {
    since: Instant,
    count: u64,
}

/// Which lines were logged of late.
#[derive(Debug, Default)]
pub(crate) struct Often(BTreeMap<(&'static str, IpAddr), Seen>);

impl Often {
    /// Whether a line is to be logged.
    pub(crate) fn may(&mut self, now: Instant, what: &'static str, peer: IpAddr) -> bool {
        let known = self.0.len();
        match self.0.get_mut(&(what, peer)) {
            Some(seen) => {
                seen.count += 1;
                seen.count <= MOST
            }
            None if known >= KEYS => false,
            None => {
                self.0.insert((what, peer), Seen { since: now, count: 1 });
                true
            }
        }
    }

    /// What was left out in windows that are over.
    pub(crate) fn over(&mut self, now: Instant) -> Vec<(&'static str, IpAddr, u64)> {
        let mut left_out = Vec::new();
        self.0.retain(|&(what, peer), seen| {
            let over = seen.since + WINDOW <= now;
            if over && seen.count > MOST {
                left_out.push((what, peer, seen.count - MOST));
            }
            !over
        });
        left_out
    }

    /// When the next window is over.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.0.values().map(|seen| seen.since + WINDOW).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(n: u32) -> IpAddr {
        IpAddr::from(n.to_be_bytes())
    }

    #[test]
    fn a_few_in_a_while_and_then_how_many_more() {
        let mut often = Often::default();
        let at = |s| Instant::ZERO + Duration::from_secs(s);
        let said = (0..20).filter(|_| often.may(at(0), "connected", peer(1))).count();
        assert_eq!(said, 5);
        assert!(often.may(at(1), "closed", peer(1)) && often.may(at(1), "connected", peer(2)));
        assert_eq!(often.deadline(), Some(at(10)));
        assert_eq!(often.over(at(9)), []);
        assert_eq!(often.over(at(10)), [("connected", peer(1), 15)]);
        assert!(often.may(at(10), "connected", peer(1)), "it begins anew");
        assert_eq!(often.over(at(100)), [], "what was said is not left out");
        assert_eq!(often.deadline(), None);
    }

    #[test]
    fn the_memory_is_bounded() {
        let mut often = Often::default();
        let said = (0..2000).filter(|&n| often.may(Instant::ZERO, "connected", peer(n))).count();
        assert_eq!(said, KEYS);
    }
}
