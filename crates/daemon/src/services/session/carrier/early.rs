//! Whether the first message of a path goes with the SYN of its connection (RFC 7413): it saves a round trip.
//!
//! Some firewalls drop such a SYN. The kernel sends the next one without data, a second later; where that has happened again and
//! again, those that follow go without from the beginning.

use handfast_core::{Duration, Instant};

/// A connection that takes longer has lost its first SYN: the kernel sends another one after a second.
const LOST_AFTER: Duration = Duration::from_millis(900);

/// So many in a row: one may have been lost for other reasons.
const TOO_MANY: u32 = 2;

/// Then none carries data for so long.
const PAUSE: Duration = Duration::from_secs(600);

#[derive(Debug, Default)]
pub(super) struct Early {
    lost: u32,
    not_before: Instant,
}

impl Early {
    pub(super) fn may_try(&self, now: Instant) -> bool {
        self.not_before <= now
    }

    /// A connection whose SYN had carried data is there, after so long.
    pub(super) fn on_connected(&mut self, now: Instant, after: Duration) {
        self.lost = if after < LOST_AFTER { 0 } else { self.lost + 1 };
        if self.lost >= TOO_MANY {
            (self.lost, self.not_before) = (0, now + PAUSE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_such_syns_are_lost_the_next_ones_go_without_for_a_while() {
        let (mut early, now) = (Early::default(), Instant::from_millis(1_000));
        let (soon, late) = (Duration::from_millis(40), Duration::from_millis(1_020));
        for after in [late, soon, late] {
            early.on_connected(now, after);
            assert!(early.may_try(now), "one may have been lost for other reasons");
        }
        early.on_connected(now, late);
        assert!(!early.may_try(now) && !early.may_try(now + PAUSE - soon) && early.may_try(now + PAUSE));
        early.on_connected(now + PAUSE, late);
        assert!(early.may_try(now + PAUSE));
    }
}
