//! `HyStart`: leaving slow start before the queue overflows (Ha and Rhee, "Taming the elephants", 2011), with the constants and
//! the two rules of Linux's `tcp_cubic.c` (names as there).

use handfast_core::{Duration, Instant};

/// `hystart_low_window`, segments: below it slow start goes on whatever the signs.
const LOW_WINDOW: u64 = 16;

/// `HYSTART_MIN_SAMPLES`: the delay of a round is the least of so many.
const MIN_SAMPLES: u8 = 8;

/// `HYSTART_DELAY_MIN` and `HYSTART_DELAY_MAX`: bounds of the rise in delay that ends slow start.
const DELAY_MIN: Duration = Duration::from_millis(4);
const DELAY_MAX: Duration = Duration::from_millis(16);

/// `hystart_ack_delta_us`: acknowledgements closer than this are one train.
const ACK_DELTA: Duration = Duration::from_millis(2);

/// `hystart_ack_delay`: what aggregation may add, 1 ms at any rate below 262 MB/s.
const ACK_DELAY: Duration = Duration::from_millis(1);

/// What `HyStart` knows of the connection and of the current round.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HyStart {
    /// The round ends when this position is acknowledged.
    round_end: u64,
    round_start: Instant,
    /// The last acknowledgement of the train.
    last_ack: Instant,
    /// The least delay of this round; [`None`] before a sample.
    current: Option<Duration>,
    samples: u8,
    /// The least delay of the connection; [`None`] before a sample.
    delay_min: Option<Duration>,
    found: bool,
}

/// What an acknowledgement with a round-trip sample shows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) now: Instant,
    pub(crate) delay: Duration,
    /// SND.UNA after it, and SND.NXT.
    pub(crate) una: u64,
    pub(crate) nxt: u64,
    /// cwnd, segments.
    pub(crate) cwnd: u64,
    pub(crate) in_slow_start: bool,
}

impl HyStart {
    /// `cubictcp_acked` and `hystart_update`: whether slow start must end here.
    pub(crate) fn on_sample(&mut self, sample: &Sample) -> bool {
        let least = self.delay_min.map_or(sample.delay, |d| d.min(sample.delay));
        self.delay_min = Some(least);
        if self.found || !sample.in_slow_start {
            return false;
        }
        if sample.una > self.round_end {
            self.begin_round(sample);
        }
        if sample.cwnd < LOW_WINDOW {
            return false;
        }
        self.found = self.train_is_long(sample.now, least) | self.delay_has_risen(sample.delay, least);
        self.found
    }

    /// `bictcp_hystart_reset`.
    fn begin_round(&mut self, sample: &Sample) {
        self.round_start = sample.now;
        self.last_ack = sample.now;
        self.round_end = sample.nxt;
        self.current = None;
        self.samples = 0;
    }

    /// `HYSTART_ACK_TRAIN`: closely spaced acknowledgements for half of the minimum delay. Half, as nothing is paced.
    fn train_is_long(&mut self, now: Instant, least: Duration) -> bool {
        if now.since(self.last_ack) > ACK_DELTA {
            return false;
        }
        self.last_ack = now;
        now.since(self.round_start) > (least + ACK_DELAY) / 2
    }

    /// `HYSTART_DELAY`: the least of the round's first samples lies above the minimum by an eighth, within bounds.
    fn delay_has_risen(&mut self, delay: Duration, least: Duration) -> bool {
        let current = self.current.map_or(delay, |d| d.min(delay));
        self.current = Some(current);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
            return false;
        }
        current > least + (least / 8).clamp(DELAY_MIN, DELAY_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    /// A sample at `at_us` in the round that begins with position 1000.
    fn sample(at_us: u64, delay_ms: u64, cwnd: u64) -> Sample {
        Sample {
            now: Instant::from_nanos(at_us * 1000),
            delay: MS(delay_ms),
            una: 1,
            nxt: 1000,
            cwnd,
            in_slow_start: true,
        }
    }

    /// The index of the acknowledgement that ends slow start.
    fn ends(count: u64, mut at: impl FnMut(u64) -> Sample) -> Option<u64> {
        let mut hystart = HyStart::default();
        (0..count).find(|&k| hystart.on_sample(&at(k)))
    }

    #[test]
    fn a_long_train_ends_it() {
        // 40 ms: trains longer than (40 + 1) / 2 ms, here of one ACK a millisecond.
        assert_eq!(ends(100, |k| sample(k * 1000, 40, 20)), Some(21));
    }

    #[test]
    fn a_train_s_bounds_are_the_kernel_s() {
        // "(s32)(now - ca->last_ack) <= hystart_ack_delta_us": 2 ms are no gap.
        assert_eq!(ends(100, |k| sample(k * 2000, 40, 20)), Some(11));
        assert_eq!(ends(100, |k| sample(k * 2001, 40, 20)), None);
        // "(s32)(now - ca->round_start) > threshold": 20.5 ms are not long enough.
        assert_eq!(ends(100, |k| sample(k * 500, 40, 20)), Some(42));
        // "tcp_snd_cwnd(tp) < hystart_low_window": 16 segments are enough.
        assert_eq!(ends(100, |k| sample(k * 1000, 40, 16)), Some(21));
    }

    #[test]
    fn a_round_ends_beyond_its_last_segment() {
        // "after(tp->snd_una, ca->end_seq)": the acknowledgement of 1000 itself, at 20 ms, still belongs to it.
        let at = |una: u64| {
            move |k: u64| Sample { una: if k == 20 { una } else { 1 }, ..sample(k * 1000, 40, 20) }
        };
        assert_eq!((ends(40, at(1000)), ends(40, at(1001))), (Some(21), None));
    }

    #[test]
    fn both_signs_at_once_end_it_too() {
        // The second round's ninth sample comes 16 ms into its train, and (30 + 1) / 2 ms are the bound.
        let at = |k: u64| match k {
            0 => sample(0, 30, 20),
            _ => Sample { una: 1001, nxt: 100_000, ..sample(k * 2000, 40, 20) },
        };
        assert_eq!(ends(100, at), Some(9));
    }

    #[test]
    fn a_gap_breaks_the_train() {
        assert_eq!(ends(100, |k| sample(k * 1000 + if k >= 10 { 1001 } else { 0 }, 40, 20)), None);
    }

    #[test]
    fn a_risen_delay_ends_it_at_the_ninth_sample() {
        let risen = |by: u64| {
            move |k: u64| {
                if k == 0 {
                    sample(0, 40, 20)
                } else {
                    Sample { una: 1001 + k, ..sample(k * 5000, 40 + by, 20) }
                }
            }
        };
        // An eighth of 40 ms is 5 ms.
        assert_eq!(ends(100, |k| Sample { nxt: if k == 0 { 1000 } else { 1_000_000 }, ..risen(5)(k) }), None);
        // Round 1 is the first sample; the second lasts.
        let long = |k: u64| Sample { nxt: if k == 0 { 1000 } else { 1_000_000 }, ..risen(6)(k) };
        assert_eq!(ends(100, long), Some(9));
    }

    #[test]
    fn small_windows_and_congestion_avoidance_are_left_alone() {
        assert_eq!(ends(100, |k| sample(k * 1000, 40, 15)), None);
        assert_eq!(ends(100, |k| Sample { in_slow_start: false, ..sample(k * 1000, 40, 20) }), None);
    }

    #[test]
    fn a_new_round_forgets_the_old_one() {
        // Rounds of 20 ms.
        let round =
            |k: u64| Sample { una: k * 100 + 1, nxt: k / 20 * 2000 + 1999, ..sample(k * 1000, 40, 20) };
        assert_eq!(ends(1000, round), None);
    }
}
