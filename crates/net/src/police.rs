//! A policer: it drops what exceeds a rate, and queues nothing.

use handfast_core::{BitRate, Bytes, Instant};

use crate::line::NANOBITS_PER_BYTE;

/// The committed bucket of RFC 2697 §3 alone: tokens come at `CIR` up to `CBS`, and what finds too few is red, and dropped.
#[derive(Debug)]
pub(crate) struct Policer {
    rate: BitRate,
    /// `CBS`, nanobits.
    burst: u128,
    /// `Tc`, nanobits.
    tokens: u128,
    /// When that was true.
    at: Instant,
}

impl Policer {
    /// "The token buckets C and E are initially (at time 0) full".
    pub(crate) fn new(rate: BitRate, burst: Bytes) -> Self {
        let burst = u128::from(burst.get()) * u128::from(NANOBITS_PER_BYTE);
        Self { rate, burst, tokens: burst, at: Instant::ZERO }
    }

    /// Whether a packet of so many bytes conforms; it takes its tokens then.
    pub(crate) fn conforms(&mut self, now: Instant, size: u32) -> bool {
        let come = u128::from(now.since(self.at).as_nanos()) * u128::from(self.rate.as_bps());
        self.tokens = self.burst.min(self.tokens + come);
        self.at = self.at.max(now);
        let needs = u128::from(size) * u128::from(NANOBITS_PER_BYTE);
        let conforms = self.tokens >= needs;
        if conforms {
            self.tokens -= needs;
        }
        conforms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Instant = Instant::from_millis;

    /// 8 Mbit/s: a packet of 1000 bytes a millisecond; a burst of three.
    fn policer() -> Policer {
        Policer::new(BitRate::from_bps(8_000_000), Bytes(3000))
    }

    #[test]
    fn a_full_bucket_lets_a_burst_through_and_no_more() {
        let mut policer = policer();
        assert_eq!([1, 2, 3, 4].map(|_| policer.conforms(MS(5), 1000)), [true, true, true, false]);
        assert!(policer.conforms(MS(6), 1000) && !policer.conforms(MS(6), 1));
        // However long nothing comes.
        assert_eq!([1, 2, 3, 4].map(|_| policer.conforms(MS(900), 1000)), [true, true, true, false]);
    }

    #[test]
    fn what_is_dropped_takes_no_tokens() {
        let mut policer = policer();
        assert!(policer.conforms(MS(0), 2500));
        assert!(!policer.conforms(MS(0), 1000));
        assert!(policer.conforms(MS(0), 500));
    }

    #[test]
    fn in_the_long_run_the_rate_passes() {
        let mut policer = policer();
        // Two packets a millisecond.
        let passed = (0..20_000).filter(|n| policer.conforms(MS(n / 2), 1000)).count();
        assert!((10_000..=10_003).contains(&passed), "{passed}");
    }
}
