//! When segments may leave, to the nanosecond: at a rate, or at the moments of a list.

use handfast_core::{BitRate, Bytes, Duration, Instant};

/// So many hundredths of a window a round trip; [`None`]: no round trip has been measured.
pub(crate) fn window_rate(octets: u64, percent: u128, srtt: Duration) -> Option<BitRate> {
    let bits = u128::from(octets) * 8 * percent / 100;
    let rate = (bits * 1_000_000_000).checked_div(u128::from(srtt.as_nanos()))?;
    Some(BitRate::from_bps(u64::try_from(rate).unwrap_or(u64::MAX).max(1)))
}

/// Lets segments leave at a rate, which may change from segment to segment. What is late is not made up for: gaps are never
/// shorter than they should be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pacer {
    /// When the next segment may leave.
    due: Instant,
    /// By how much `due` was rounded up, in units of `1 / rate` nanoseconds: carried on, so that the rate is exact.
    early: u64,
}

impl Pacer {
    /// The first segment may leave at once.
    pub(crate) fn new(now: Instant) -> Self {
        Self { due: now, early: 0 }
    }

    /// When the next segment may leave.
    pub(crate) fn due(&self) -> Instant {
        self.due
    }

    /// A segment of `size` bytes leaves; the next may once that has taken its time at `rate`.
    pub(crate) fn sent(&mut self, now: Instant, rate: BitRate, size: Bytes) -> Instant {
        if now > self.due {
            self.early = 0;
        }
        self.due = now + interval(rate, size, &mut self.early);
        self.due
    }

    /// The next segment may leave at `latest` at the latest.
    pub(crate) fn bound(&mut self, latest: Instant) {
        self.due = self.due.min(latest);
    }
}

/// A schedule of departures.
#[derive(Clone, Debug)]
pub(crate) enum Schedule {
    /// Segments of one size at a constant rate.
    Rate { pacer: Pacer, rate: BitRate, size: Bytes },
    /// One segment for each offset.
    Train {
        /// From the departure of the first segment, which is at zero.
        offsets: Box<[Duration]>,
        sent: usize,
        start: Instant,
        /// When the next segment may leave.
        due: Instant,
    },
}

impl Schedule {
    /// Segments of `size` bytes at `rate`, headers included, from now on.
    pub(crate) fn at_rate(now: Instant, rate: BitRate, size: Bytes) -> Self {
        Self::Rate { pacer: Pacer::new(now), rate, size }
    }

    /// One segment for each offset, the first at once.
    pub(crate) fn train(now: Instant, offsets: Box<[Duration]>) -> Self {
        Self::Train { offsets, sent: 0, start: now, due: now }
    }

    /// When the next segment may leave.
    pub(crate) fn due(&self) -> Instant {
        match self {
            Self::Rate { pacer, .. } => pacer.due(),
            Self::Train { due, .. } => *due,
        }
    }

    /// A segment leaves; when the next may, unless it was the last of the schedule.
    pub(crate) fn sent(&mut self, now: Instant) -> Option<Instant> {
        match self {
            Self::Rate { pacer, rate, size } => Some(pacer.sent(now, *rate, *size)),
            Self::Train { offsets, sent, start, due } => {
                *start += now.since(*due);
                *sent += 1;
                *due = *start + *offsets.get(*sent)?;
                Some(*due)
            }
        }
    }

    /// Segments that have left by a list of departures.
    pub(crate) fn departed(&self) -> usize {
        if let Self::Train { sent, .. } = self { *sent } else { 0 }
    }
}

fn interval(rate: BitRate, size: Bytes, early: &mut u64) -> Duration {
    let (took, rounded) = rate.serialisation(size).unwrap_or_default();
    *early += rounded;
    if *early < rate.as_bps() {
        return took;
    }
    *early -= rate.as_bps();
    took.saturating_sub(Duration::from_nanos(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Instant = Instant::from_millis(7);

    fn nanos(at: Instant) -> u64 {
        at.since(START).as_nanos()
    }

    #[test]
    fn a_constant_rate_is_exact_over_any_number_of_segments() {
        // 1 byte at 3 Gbit/s takes 2.666… ns: three of them 8 ns. At 7 Gbit/s 1.142… ns.
        for (gigabits, expected) in [(3, [3, 6, 8, 11, 14, 16, 19]), (7, [2, 3, 4, 5, 6, 7, 8])] {
            let mut pace = Schedule::at_rate(START, BitRate::from_bps(gigabits * 1_000_000_000), Bytes(1));
            let mut at = START;
            let due = [(); 7].map(|()| {
                at = pace.sent(at).unwrap();
                nanos(at)
            });
            assert_eq!(due, expected, "{gigabits} Gbit/s");
        }
    }

    #[test]
    fn what_is_late_is_not_made_up_for() {
        let mut pace = Schedule::at_rate(START, BitRate::from_bps(8_000_000), Bytes(1000));
        pace.sent(START);
        let late = START + Duration::from_millis(5);
        assert_eq!(pace.sent(late), Some(late + Duration::from_millis(1)));

        // Nor is what the gap before was rounded up by: 2.666… ns twice, from the late one on, are 6 ns.
        let mut pace = Schedule::at_rate(START, BitRate::from_bps(3_000_000_000), Bytes(1));
        pace.sent(START);
        let next = pace.sent(late).unwrap();
        assert_eq!(pace.sent(next), Some(late + Duration::from_nanos(6)));
    }

    #[test]
    fn a_train_leaves_by_its_list_and_ends_with_it() {
        let offsets: Box<[Duration]> = [0, 5, 8].map(Duration::from_nanos).into();
        let mut pace = Schedule::train(START, offsets.clone());
        assert_eq!(pace.due(), START);
        assert_eq!(pace.sent(START).map(nanos), Some(5));
        assert_eq!(pace.sent(pace.due()).map(nanos), Some(8));
        assert_eq!((pace.sent(pace.due()), pace.departed()), (None, 3));
        // A gap stays what it is where the segment before left late.
        let mut pace = Schedule::train(START, offsets);
        pace.sent(START);
        let late = START + Duration::from_nanos(9);
        assert_eq!(pace.sent(late).map(nanos), Some(12));
    }

    #[test]
    fn a_new_rate_counts_from_the_next_segment() {
        let mut pacer = Pacer::new(START);
        let [slow, fast] = [8_000_000, 16_000_000].map(BitRate::from_bps);
        assert_eq!(nanos(pacer.sent(START, slow, Bytes(1000))), 1_000_000);
        assert_eq!(nanos(pacer.sent(pacer.due(), fast, Bytes(1000))), 1_500_000);
        assert_eq!(nanos(pacer.sent(pacer.due(), fast, Bytes(500))), 1_750_000);
    }
}
