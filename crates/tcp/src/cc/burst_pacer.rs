//! When bursts of segments may leave, as Linux paces a socket without the queueing discipline `fq`: what leaves together is one
//! buffer (`tcp_write_xmit`, `tcp_tso_segs`), and the next waits for as long as that takes at the pacing rate
//! (`tcp_update_skb_after_send`, `tcp_pacing_check`).

use handfast_core::{BitRate, Bytes, Duration, Instant};

/// `tcp_update_skb_after_send`: "Original `sch_fq` does not pace first 10 MSS".
const UNPACED: u32 = 10;

/// Lets bursts leave at a rate, which may change from segment to segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BurstPacer {
    /// `tcp_wstamp_ns`: when the next burst may begin.
    due: Instant,
    /// When the burst at hand began, how late that was, and how long what has left of it takes.
    began: Instant,
    late: Duration,
    took: Duration,
    /// Segments that it still has room for.
    left: u32,
    /// Segments that have left, as far as that matters.
    sent: u32,
}

impl BurstPacer {
    /// The first segments may leave at once.
    pub(crate) fn new(now: Instant) -> Self {
        Self { due: now, began: now, late: Duration::ZERO, took: Duration::ZERO, left: 0, sent: 0 }
    }

    /// When the next burst may begin.
    pub(crate) fn due(&self) -> Instant {
        self.due
    }

    /// When the next segment may leave, as seen `now`: what belongs to the burst at hand leaves with it.
    pub(crate) fn next(&self, now: Instant) -> Instant {
        if self.left > 0 && now == self.began { now } else { self.due }
    }

    /// A segment of `size` bytes leaves, in a burst of no more than `most` segments.
    pub(crate) fn sent(&mut self, now: Instant, rate: BitRate, size: Bytes, most: u32) {
        if self.left == 0 || now != self.began {
            self.began = now;
            self.late = now.since(self.due);
            self.took = Duration::ZERO;
            self.left = most.max(1);
        }
        self.left -= 1;
        self.sent = (self.sent + 1).min(UNPACED);
        self.took += rate.serialisation(size).map_or(Duration::ZERO, |(took, _)| took);
        // "take into account OS jitter": what is late is made up for by half of a burst's time at most.
        let wait = if self.sent < UNPACED {
            Duration::ZERO
        } else {
            self.took.saturating_sub(self.late.min(self.took / 2))
        };
        self.due = now + wait;
    }

    /// The next burst may begin at `latest` at the latest.
    pub(crate) fn bound(&mut self, latest: Instant) {
        self.due = self.due.min(latest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1000 bytes take a millisecond.
    const RATE: BitRate = BitRate::from_bps(8_000_000);
    const MS: fn(u64) -> Instant = Instant::from_millis;

    /// After the segments that are not paced, the last of which left at 10 ms.
    fn started() -> BurstPacer {
        let mut pacer = BurstPacer::new(Instant::ZERO);
        (0..9).for_each(|_| pacer.sent(MS(10), RATE, Bytes(1000), 1));
        assert_eq!(pacer.next(MS(10)), MS(10));
        pacer
    }

    #[test]
    fn the_tenth_segment_is_the_first_that_others_wait_for() {
        let mut pacer = started();
        pacer.sent(MS(10), RATE, Bytes(1000), 1);
        assert_eq!(pacer.next(MS(10)), MS(11));
        // `skb->len` of all that leaves with it.
        let mut pacer = BurstPacer::new(Instant::ZERO);
        (0..10).for_each(|_| pacer.sent(MS(10), RATE, Bytes(1000), 2));
        assert_eq!(pacer.next(MS(10)), MS(12));
    }

    #[test]
    fn a_burst_leaves_together_and_the_next_waits_for_all_of_it() {
        let mut pacer = started();
        for (left, next) in [(2, 10), (1, 10), (0, 13)] {
            pacer.sent(MS(10), RATE, Bytes(1000), 3);
            assert_eq!((pacer.left, pacer.next(MS(10))), (left, MS(next)));
        }
        // Whatever it still had room for: later is another burst.
        let mut pacer = started();
        pacer.sent(MS(10), RATE, Bytes(1000), 3);
        assert_eq!(pacer.next(MS(10) + Duration::from_nanos(1)), MS(11));
        assert_eq!(pacer.due(), MS(11));
    }

    #[test]
    fn half_of_a_burst_s_time_makes_up_for_what_is_late() {
        let micros = |n| Duration::from_micros(n);
        for (late, wait) in [(0, 2000), (300, 1700), (1000, 1000), (5000, 1000)] {
            let mut pacer = started();
            pacer.sent(MS(10), RATE, Bytes(1000), 1);
            let now = MS(11) + micros(late);
            (0..2).for_each(|_| pacer.sent(now, RATE, Bytes(1000), 2));
            assert_eq!(pacer.next(now), now + micros(wait), "{late} us late");
        }
    }

    #[test]
    fn without_a_rate_nothing_waits() {
        // `rate && tp->data_segs_out >= 10`.
        let mut pacer = started();
        (0..9).for_each(|_| pacer.sent(MS(10), BitRate::from_bps(0), Bytes(1000), 1));
        assert_eq!(pacer.next(MS(10)), MS(10));
    }
}
