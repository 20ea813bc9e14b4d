//! Whether the queue at the bottleneck seems to mark as RFC 3168 says: RFC 9331 §4.3 demands that a scalable control monitors for it. By
//! B. Briscoe and A. S. Ahmed, "TCP Prague Fall-back on Detection of a Classic ECN AQM" (arXiv:1911.00710), with the constants of
//! Linux's `tcp_prague.c` of the L4S team.
//!
//! The queue of a scalable control is shallow and steady. One that marks as RFC 3168 says is deeper, and its delay swings with the
//! windows of those who reduce by a half. So the round trip tells them apart: by how much it varies, and how far it is above its minimum.

use handfast_core::Duration;

use super::ONE;

/// `PRAGUE_MAX_SRTT_BITS`: the smallest gain of SRTT is 2 to the power of minus this. It is that before the first reduction.
const MAX_SHIFT: u32 = 18;

/// Longer round trips count as this, 4.9 hours: with the gain they fit 64 bits.
const LONGEST: Duration = Duration::from_nanos(1 << 44);

/// Where MDEV begins. A smaller one counts as this, as Linux's logarithm of less than a microsecond is that of one.
const LEAST_DEVIATION: Duration = Duration::from_micros(1);

/// V0 and D0 (`V0_LG`, `D0_LG`): a queue whose delay varies less is taken for one of L4S; one that is deeper for a classic one.
const STEADY: Duration = Duration::from_micros(750);
const SHALLOW: Duration = Duration::from_millis(2);

/// `L_STICKY`: up to this score it is Prague alone that answers marks.
const L_STICKY: u64 = 8 * ONE;

/// `CLASSIC_ECN`: from this score on it falls back as far as it does.
const CLASSIC_ECN: u64 = L_STICKY + ONE;

/// `C_STICKY`: the highest score. It takes as much evidence to leave a classic queue as it took to find it.
const C_STICKY: u64 = CLASSIC_ECN + L_STICKY;

/// The monitor of one connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClassicQueue {
    /// `g_srtt_shift`: the gain of SRTT is 2 to the power of minus this, that of MDEV half as much (`g_mdev_shift`).
    shift: u32,
    /// `srtt_pace_us` and `mdev_pace_us`, each over its gain; nanoseconds. SRTT is zero before the first sample.
    srtt: u64,
    mdev: u64,
    /// `classic_ecn`, in units of alpha: the higher, the more likely it is a classic queue.
    score: u64,
}

impl Default for ClassicQueue {
    fn default() -> Self {
        Self { shift: MAX_SHIFT, srtt: 0, mdev: 0, score: 0 }
    }
}

/// `V * lg(delay / V0)`, and so with D, both weights being a half; in units of alpha.
fn half_log(nanos: u64, reference: Duration) -> i64 {
    (libm::log2(nanos as f64 / reference.as_nanos() as f64) * (ONE / 2) as f64) as i64
}

impl ClassicQueue {
    /// `prague_rtt_estimator`: SRTT and the mean absolute deviation, with gains so low that they see past what a moment brings.
    pub(super) fn on_rtt(&mut self, delay: Duration) {
        let sample = delay.min(LONGEST).as_nanos();
        if self.srtt == 0 {
            (self.srtt, self.mdev) = (sample << self.shift, LEAST_DEVIATION.as_nanos() << (self.shift + 1));
            return;
        }
        let error = sample.abs_diff(self.srtt());
        self.srtt = self.srtt - self.srtt() + sample;
        self.mdev = self.mdev - self.mdev() + error;
    }

    /// `prague_update_rtt_scaling`: a reduction has set ssthresh to so many segments. A sawtooth of a larger window takes more round
    /// trips, of more samples each: the averages are to span some of its teeth.
    pub(super) fn on_reduction(&mut self, ssthresh: u64) {
        let log = ssthresh.max(1).ilog2();
        let shift = (log + log / 2 + 1).min(MAX_SHIFT);
        (self.srtt, self.mdev) = (self.srtt() << shift, self.mdev() << (shift + 1));
        self.shift = shift;
    }

    /// `prague_classic_ecn_detection`, once a round trip, from the first mark on: V lg(mdev / V0) + D lg(max(depth / D0, 1)). The
    /// third term of the paper, of flows that limit themselves, is left out, as in Linux.
    pub(super) fn end_round(&mut self, min_rtt: Option<Duration>) {
        let Some(min_rtt) = min_rtt.filter(|_| self.srtt > 0) else { return };
        let variation = half_log(self.mdev().max(LEAST_DEVIATION.as_nanos()), STEADY);
        let depth = self.srtt().saturating_sub(min_rtt.as_nanos());
        // "queue build-up can only bring classic_ecn toward more classic"
        let depth = half_log(depth.max(SHALLOW.as_nanos()), SHALLOW);
        self.score = self.score.saturating_add_signed(variation + depth).min(C_STICKY);
    }

    /// `prague_classic_ecn_fallback`: the least alpha to reduce by, so as to coexist with Reno and CUBIC. It rises with the score to 0.625,
    /// a reduction by 31 %.
    pub(super) fn floor(&self) -> u64 {
        self.score.min(CLASSIC_ECN).saturating_sub(L_STICKY) * 5 / 8
    }

    /// `classic_ecn`, in units of alpha.
    pub(super) fn score(&self) -> u64 {
        self.score
    }

    fn srtt(&self) -> u64 {
        self.srtt >> self.shift
    }

    fn mdev(&self) -> u64 {
        self.mdev >> (self.shift + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: fn(u64) -> Duration = Duration::from_micros;
    const MS: fn(u64) -> Duration = Duration::from_millis;

    /// With these averages after a reduction to 16 segments, whose gains are 1/128 and 1/256.
    fn with(srtt: Duration, mdev: Duration) -> ClassicQueue {
        let [srtt, mdev] = [srtt, mdev].map(Duration::as_nanos);
        ClassicQueue { shift: 7, srtt: srtt << 7, mdev: mdev << 8, score: 0 }
    }

    /// By how much a round changes a score of 4, in sixteenths of alpha's 1.
    fn change(srtt: Duration, mdev: Duration, min_rtt: Duration) -> i64 {
        let mut queue = ClassicQueue { score: 4 * ONE, ..with(srtt, mdev) };
        queue.end_round(Some(min_rtt));
        (queue.score as i64 - 4 * ONE as i64) * 16 / ONE as i64
    }

    /// The score after so many rounds of 64 samples, of a round trip of 20 ms and `queue`, which is given the round and the sample.
    fn after(rounds: u64, queue: impl Fn(u64, u64) -> Duration) -> u64 {
        let mut monitor = ClassicQueue::default();
        monitor.on_rtt(MS(20));
        monitor.on_reduction(64);
        for round in 0..rounds {
            (0..64).for_each(|sample| monitor.on_rtt(MS(20) + queue(round, sample)));
            monitor.end_round(Some(MS(20)));
        }
        monitor.score()
    }

    #[test]
    fn the_first_sample_is_srtt_and_the_deviation_begins_with_a_microsecond() {
        let mut queue = ClassicQueue::default();
        queue.on_rtt(MS(40));
        assert_eq!((queue.srtt(), queue.mdev()), (40_000_000, 1_000));
        assert_eq!((queue.srtt, queue.mdev), (40_000_000 << 18, 1_000 << 19), "the smallest gains");
    }

    #[test]
    fn the_gain_of_srtt_is_twice_that_of_the_deviation() {
        let mut queue = with(MS(40), MS(1));
        queue.on_rtt(MS(40) + US(1_280));
        assert_eq!(queue.srtt(), 40_010_000, "1/128 of 1.28 ms more");
        assert_eq!(queue.mdev(), 1_001_093, "1/256 of what it is above 1 ms");
        // The error counts by its size, before SRTT follows.
        queue.on_rtt(US(40_010 - 1_280));
        assert_eq!((queue.srtt(), queue.mdev()), (40_000_000, 1_002_183));
    }

    #[test]
    fn gains_follow_ssthresh_and_leave_the_averages() {
        let table = [(0, 1), (1, 1), (2, 2), (4, 4), (15, 5), (16, 7), (64, 10), (1_000, 14), (4_096, 18)];
        for (ssthresh, shift) in table.into_iter().chain([(1 << 40, 18)]) {
            let mut queue = with(MS(40), MS(1));
            queue.on_reduction(ssthresh);
            assert_eq!(queue.shift, shift, "{ssthresh}");
            assert_eq!((queue.srtt(), queue.mdev()), (40_000_000, 1_000_000), "{ssthresh}");
        }
    }

    #[test]
    fn a_round_trip_of_any_length_fits() {
        let mut queue = ClassicQueue::default();
        (0..3).for_each(|_| queue.on_rtt(Duration::MAX));
        assert_eq!(queue.srtt(), 1 << 44);
        (0..3).for_each(|_| queue.end_round(Some(MS(1))));
        assert!(queue.score() > 0);
    }

    #[test]
    fn the_score_goes_by_half_the_logarithm_of_the_variation() {
        for (mdev, sixteenths) in [(750, 0), (3_000, 16), (12_000, 32), (375, -8), (47, -31)] {
            assert_eq!(change(MS(40), US(mdev), MS(40)), sixteenths, "{mdev} us");
        }
    }

    #[test]
    fn a_deep_queue_adds_half_the_logarithm_and_a_shallow_one_takes_nothing() {
        for (above, sixteenths) in [(0, 0), (1, 0), (2, 0), (4, 8), (8, 16), (32, 32)] {
            assert_eq!(change(MS(40) + MS(above), US(750), MS(40)), sixteenths, "{above} ms");
        }
        assert_eq!(change(MS(40), US(750), MS(41)), 0, "SRTT below the minimum");
    }

    #[test]
    fn a_deviation_below_a_microsecond_counts_as_one() {
        let change = |mdev| change(MS(40), Duration::from_nanos(mdev), MS(40));
        // Half of log2(750) is 4.78.
        assert!(change(0) == -64 && change(1_000) == -64, "no less than no score");
        let mut queue = ClassicQueue { score: C_STICKY, ..with(MS(40), Duration::ZERO) };
        queue.end_round(Some(MS(40)));
        assert_eq!((C_STICKY - queue.score()) * 100 / ONE, 477);
    }

    #[test]
    fn the_score_stays_within_its_bounds() {
        let mut queue = with(MS(40), MS(12));
        (0..3).for_each(|_| queue.end_round(Some(MS(38))));
        assert_eq!(queue.score(), 6 * ONE);
        (0..9).for_each(|_| queue.end_round(Some(MS(38))));
        assert_eq!(queue.score(), 17 * ONE);
        queue = ClassicQueue { score: ONE / 4, ..with(MS(40), US(375)) };
        queue.end_round(Some(MS(40)));
        assert_eq!(queue.score(), 0);
    }

    #[test]
    fn without_a_sample_or_a_minimum_nothing_is_judged() {
        let mut queue = with(MS(40), MS(12));
        queue.end_round(None);
        assert_eq!(queue.score(), 0);
        queue = ClassicQueue { srtt: 0, ..queue };
        queue.end_round(Some(MS(1)));
        assert_eq!(queue.score(), 0);
    }

    #[test]
    fn a_shallow_queue_that_is_steady_has_no_score() {
        // As DualPI2's: below a millisecond, whatever the pattern.
        assert_eq!(after(400, |_, sample| US(100 * (sample % 9))), 0);
        assert_eq!(after(400, |_, _| Duration::ZERO), 0);
    }

    #[test]
    fn a_deep_queue_with_a_sawtooth_has_the_highest_score() {
        // From 5 ms to 20 ms within 15 rounds.
        let sawtooth = |round, _| MS(5 + round % 16);
        assert_eq!(after(400, sawtooth), C_STICKY);
        assert!(after(4, sawtooth) < L_STICKY, "it takes its time");
    }

    #[test]
    fn the_floor_rises_between_an_l4s_queue_and_a_classic_one() {
        let floor = |score| ClassicQueue { score, ..ClassicQueue::default() }.floor();
        assert_eq!([0, 4 * ONE, 8 * ONE].map(floor), [0; 3]);
        assert_eq!(floor(8 * ONE + ONE / 2), ONE * 5 / 16);
        assert_eq!([9 * ONE, 10 * ONE, 17 * ONE].map(floor), [ONE * 5 / 8; 3]);
    }
}
