//! Rate-limits log lines: a line of one kind about one peer is logged a few times in a window, and then how often more.

use std::collections::BTreeMap;
use std::net::IpAddr;

use handfast_core::{Duration, Instant};

/// Lines of a kind about a peer that are logged in a window.
const MOST: u64 = 5;
/// How long a window is.
const WINDOW: Duration = Duration::from_secs(10);
/// Kinds and peers that are remembered. Of more, none is logged until old ones are forgotten.
const KEYS: usize = 1024;

#[derive(Debug)]
struct Seen {
    since: Instant,
    count: u64,
}

/// Counts log lines by kind and peer.
#[derive(Debug, Default)]
pub(crate) struct LogLimiter(BTreeMap<(&'static str, IpAddr), Seen>);

impl LogLimiter {
    /// Whether a line is to be logged.
    pub(crate) fn allows(&mut self, now: Instant, what: &'static str, peer: IpAddr) -> bool {
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

    /// How many lines were left out in windows that are over.
    pub(crate) fn take_left_out(&mut self, now: Instant) -> Vec<(&'static str, IpAddr, u64)> {
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
        let mut limiter = LogLimiter::default();
        let at = |s| Instant::ZERO + Duration::from_secs(s);
        let said = (0..20).filter(|_| limiter.allows(at(0), "connected", peer(1))).count();
        assert_eq!(said, 5);
        assert!(limiter.allows(at(1), "closed", peer(1)) && limiter.allows(at(1), "connected", peer(2)));
        assert_eq!(limiter.deadline(), Some(at(10)));
        assert_eq!(limiter.take_left_out(at(9)), []);
        assert_eq!(limiter.take_left_out(at(10)), [("connected", peer(1), 15)]);
        assert!(limiter.allows(at(10), "connected", peer(1)), "it begins anew");
        assert_eq!(limiter.take_left_out(at(100)), [], "what was logged is not left out");
        assert_eq!(limiter.deadline(), None);
    }

    #[test]
    fn the_memory_is_bounded() {
        let mut limiter = LogLimiter::default();
        let said = (0..2000).filter(|&n| limiter.allows(Instant::ZERO, "connected", peer(n))).count();
        assert_eq!(said, KEYS);
    }
}
