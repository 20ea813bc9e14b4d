//! When the next held segment may leave.

use handfast_core::{BitRate, Bytes, Duration, Instant};

use super::Release;

/// Bytes of an Ethernet header: links and their rates count IP packets.
const FRAMING: usize = 14;

/// A token bucket, as the time at which it is full again (the "theoretical arrival time" of ITU-T I.371's virtual
/// scheduling): no tokens to add up, no rounding that accumulates.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    limit: Option<(BitRate, Duration)>,
    full: Instant,
}

impl Pace {
    /// A full bucket.
    /// `radio`: what the access point's radio carries, if that is known.
    pub(crate) fn new(release: Release, radio: Option<BitRate>, now: Instant) -> Self {
        let limit = match release {
            Release::Unpaced => None,
            Release::Paced { rate, burst } => {
                let rate = radio.unwrap_or(rate);
                Some((rate, rate.serialisation(burst).map_or(Duration::ZERO, |(time, _)| time)))
            }
        };
        Self { limit, full: now }
    }

    /// From when a frame may leave.
    pub(crate) fn next(&self) -> Instant {
        match self.limit {
            // It may leave while less than a burst is missing.
            Some((_, burst)) => Instant::from_nanos(self.full.as_nanos().saturating_sub(burst.as_nanos())),
            None => Instant::ZERO,
        }
    }

    /// A frame of so many bytes leaves, at `times` the rate.
    pub(crate) fn spend(&mut self, now: Instant, frame: usize, times: u64) {
        if let Some((rate, _)) = self.limit {
            let bytes = Bytes(frame.saturating_sub(FRAMING) as u64);
            self.full = self.full.max(now) + time_of(rate, bytes) / times;
        }
    }
}

/// How long `bytes` take at `rate`; a rate of zero is one that never lets anything pass: a year.
fn time_of(rate: BitRate, bytes: Bytes) -> Duration {
    const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);
    rate.serialisation(bytes).map_or(YEAR, |(time, _)| time.min(YEAR))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaves(release: Release, frames: usize, times: u64) -> Vec<u64> {
        let mut now = Instant::from_millis(5);
        let mut pace = Pace::new(release, None, now);
        let mut left = Vec::new();
        for _ in 0..frames {
            now = now.max(pace.next());
            pace.spend(now, 1514, times);
            left.push(now.since(Instant::from_millis(5)).as_nanos() / 1000);
        }
        left
    }

    #[test]
    fn a_burst_leaves_at_once_and_then_the_rate_counts() {
        // 1,500 bytes are 600 µs at 20 Mbit/s; the Ethernet header does not count.
        let rate = BitRate::from_bps(20_000_000);
        let paced = |burst| Release::Paced { rate, burst: Bytes(burst) };
        assert_eq!(leaves(paced(0), 4, 1), [0, 600, 1200, 1800]);
        assert_eq!(leaves(paced(3000), 5, 1), [0, 0, 0, 600, 1200]);
        assert_eq!(leaves(paced(0), 3, 2), [0, 300, 600]);
        assert_eq!(leaves(Release::Unpaced, 3, 1), [0, 0, 0]);
    }

    #[test]
    fn an_idle_bucket_is_full_and_not_more() {
        let rate = BitRate::from_bps(8_000_000);
        let mut pace = Pace::new(Release::Paced { rate, burst: Bytes(1000) }, None, Instant::ZERO);
        let later = Instant::from_millis(500);
        for _ in 0..3 {
            assert!(pace.next() <= later);
            pace.spend(later, 1014, 1);
            if pace.next() > later {
                break;
            }
        }
        assert_eq!(pace.next(), later + Duration::from_millis(1));
    }

    #[test]
    fn a_rate_of_zero_lets_one_frame_pass() {
        let release = Release::Paced { rate: BitRate::from_bps(8), burst: Bytes(0) };
        let mut pace = Pace::new(release, Some(BitRate::from_bps(0)), Instant::ZERO);
        assert_eq!(pace.next(), Instant::ZERO);
        pace.spend(Instant::ZERO, 100, 1);
        assert!(pace.next() > Instant::ZERO + Duration::from_secs(30_000_000));
    }
}
