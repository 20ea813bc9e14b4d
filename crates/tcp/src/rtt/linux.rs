//! The variance of round-trip times as the kernel keeps it (Linux, `tcp_rtt_estimator` in `tcp_input.c`; names as there).
//!
//! RFC 6298's variance follows each sample; with many samples a window it forgets a spike within a fraction of a round trip.
//! Linux takes the largest mean deviation of a round trip, lets it rise at once, and lets it fall by a quarter a round trip.
//! A sample far below the mean counts an eighth, so that a sudden drop does not raise the RTO.

use handfast_core::Duration;

use crate::rtt::Position;

/// `srtt_us` is never zero once something was measured; its unit is an eighth of a microsecond.
const LEAST_SRTT: Duration = Duration::from_nanos(125);

/// `mdev_us`, `mdev_max_us` and `rtt_seq`. Units are the kernel's: the deviation is four times the mean deviation.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Deviation {
    /// Microseconds.
    mdev: u32,
    /// The largest of this round trip, microseconds.
    mdev_max: u32,
    /// The round trip ends when this position, modulo 2^32, is acknowledged.
    rtt_seq: u32,
}

impl Deviation {
    /// Takes a sample: updates `srtt` and `rttvar`, which is the RTO's whole variance term. `least`: `tcp_rto_min`.
    pub(crate) fn sample(
        &mut self,
        least: Duration,
        srtt: &mut Duration,
        rttvar: &mut Duration,
        r: Duration,
        at: Position,
    ) {
        let least = micros(least);
        if *srtt == Duration::ZERO {
            self.mdev = micros(r).saturating_mul(2);
            self.mdev_max = self.mdev.max(least);
            *rttvar = in_micros(self.mdev_max);
            *srtt = r.max(LEAST_SRTT);
            self.rtt_seq = at.nxt as u32;
            return;
        }
        self.follow(micros(srtt.abs_diff(r)), r < *srtt);
        let step = srtt.abs_diff(r) / 8;
        *srtt = if r >= *srtt { *srtt + step } else { srtt.saturating_sub(step) }.max(LEAST_SRTT);
        if self.mdev > self.mdev_max {
            self.mdev_max = self.mdev;
            *rttvar = (*rttvar).max(in_micros(self.mdev_max));
        }
        if (at.una as u32).wrapping_sub(self.rtt_seq).cast_signed() > 0 {
            // The round trip is over: the variance falls by a quarter of the difference.
            *rttvar = rttvar.saturating_sub(rttvar.saturating_sub(in_micros(self.mdev_max)) / 4);
            self.rtt_seq = at.nxt as u32;
            self.mdev_max = least;
        }
    }

    /// `mdev += |error| - mdev / 4`, an eighth of that where the sample is smaller than the mean and the deviation would grow.
    fn follow(&mut self, error: u32, below: bool) {
        let quarter = self.mdev / 4;
        if error >= quarter {
            let rise = error - quarter;
            self.mdev = self.mdev.saturating_add(if below { rise / 8 } else { rise });
        } else {
            self.mdev -= quarter - error;
        }
    }
}

fn micros(d: Duration) -> u32 {
    u32::try_from(d.as_nanos() / 1000).unwrap_or(u32::MAX)
}

fn in_micros(n: u32) -> Duration {
    Duration::from_micros(u64::from(n))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[derive(Default)]
    struct Estimate {
        deviation: Deviation,
        srtt: Duration,
        rttvar: Duration,
        una: u64,
    }

    impl Estimate {
        /// A round trip of `count` samples of `ms`; ten segments of it are outstanding.
        fn round(&mut self, ms: u64, count: u64) -> (u64, u64) {
            for _ in 0..count {
                self.una += 1;
                let at = Position { una: self.una, nxt: self.una + count };
                self.deviation.sample(MS(200), &mut self.srtt, &mut self.rttvar, MS(ms), at);
            }
            (self.srtt.as_millis(), self.rttvar.as_millis())
        }
    }

    #[test]
    fn the_first_sample_doubles_as_variance_and_200_ms_are_the_least() {
        assert_eq!(Estimate::default().round(40, 1), (40, 200));
        assert_eq!(Estimate::default().round(300, 1), (300, 600));
    }

    #[test]
    fn a_round_trip_without_time_is_a_sample_too() {
        let mut e = Estimate::default();
        assert_eq!(e.round(0, 1), (0, 200));
        assert_eq!(e.round(80, 1), (10, 200), "an eighth of the next");
    }

    #[test]
    fn a_spike_raises_the_variance_at_once_and_leaves_it_a_quarter_a_round_trip() {
        let mut e = Estimate::default();
        e.round(40, 50);
        let (_, after) = e.round(3040, 1);
        assert!((2990..=3010).contains(&after), "{after}");
        // RFC 6298 with a sample a segment would be back after a few segments.
        let (_, soon) = e.round(40, 10);
        assert!(soon > 2000, "{soon}");
        let variances: Vec<u64> = (0..30).map(|_| e.round(40, 10).1).collect();
        assert!(variances.windows(2).all(|w| w[1] <= w[0]), "{variances:?}");
        assert!((200..205).contains(&variances[29]), "{variances:?}");
    }

    #[test]
    fn a_sudden_drop_counts_an_eighth() {
        let mut e = Estimate::default();
        e.round(1000, 200);
        let before = e.deviation.mdev;
        e.round(200, 1);
        assert!(e.deviation.mdev < before + 110_000, "{} {before}", e.deviation.mdev);
    }

    #[test]
    fn the_deviation_moves_by_the_error_less_a_quarter_of_itself() {
        // "m -= (tp->mdev_us >> 2); tp->mdev_us += m": 80 ms after the first sample, and 100 ms are 80 more than its quarter.
        let mut e = Estimate::default();
        e.round(40, 1);
        e.round(140, 1);
        assert_eq!((e.deviation.mdev, e.rttvar), (160_000, MS(200)));
        // SRTT is 52.5 ms: an error of 10 is 30 less than the quarter.
        e.deviation.follow(10_000, true);
        assert_eq!(e.deviation.mdev, 130_000);
        // 112.5 - 32.5, and an eighth of it from below.
        e.deviation.follow(112_500, true);
        assert_eq!(e.deviation.mdev, 140_000);
    }

    #[test]
    fn a_round_trip_ends_beyond_what_was_outstanding_at_its_beginning() {
        // "if (after(tp->snd_una, tp->rtt_seq))"
        let mut e = Estimate::default();
        let mut sample = |una| {
            let at = Position { una, nxt: 10 + una };
            e.deviation.sample(MS(200), &mut e.srtt, &mut e.rttvar, MS(300), at);
            e.rttvar.as_millis()
        };
        assert_eq!((sample(1), sample(11), sample(12)), (600, 600, 600));
        // The next began at 12, and ends beyond 22; its deviation is 253 ms at most.
        assert_eq!((sample(21), sample(22), sample(23)), (600, 600, 513));
    }

    #[test]
    fn positions_wrap() {
        let mut e = Estimate { una: u64::from(u32::MAX) - 5, ..Estimate::default() };
        e.round(300, 1);
        for _ in 0..20 {
            e.round(300, 4);
        }
        assert!(e.rttvar < MS(250), "{}", e.rttvar.as_millis());
    }
}
