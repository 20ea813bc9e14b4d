//! The round trip between base station and mobile, and the local timer that follows from it.

use handfast_core::Duration;

/// Before the first sample (ns-2: `srtt_` 0.1 s, `rttvar_` 0.25 s).
const INITIAL: Estimate = Estimate { srtt: Duration::from_millis(100), rttvar: Duration::from_millis(250) };

/// Smoothed round trip and deviation, with the gains of RFC 6298 §2.3.
#[derive(Clone, Copy, Debug)]
pub(super) struct Estimate {
    srtt: Duration,
    rttvar: Duration,
}

impl Default for Estimate {
    fn default() -> Self {
        INITIAL
    }
}

impl Estimate {
    /// A segment that was sent once was acknowledged after `took`.
    pub(super) fn sample(&mut self, took: Duration) {
        self.rttvar = (self.rttvar * 3 + self.srtt.abs_diff(took)) / 4;
        self.srtt = (self.srtt * 7 + took) / 8;
    }

    /// How long an acknowledgment is waited for.
    pub(super) fn timer(&self, least: Duration) -> Duration {
        (self.srtt + self.rttvar * 4).max(least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: Duration = Duration::from_millis(100);

    #[test]
    fn the_timer_begins_at_1100_ms_and_comes_down_to_its_floor() {
        let mut estimate = Estimate::default();
        assert_eq!(estimate.timer(LEAST), Duration::from_millis(1_100));
        estimate.sample(Duration::from_millis(20));
        // RTTVAR (3 * 250 + 80) / 4 = 207.5, SRTT (7 * 100 + 20) / 8 = 90.
        assert_eq!(estimate.timer(LEAST), Duration::from_millis(920));
        for _ in 0..100 {
            estimate.sample(Duration::from_millis(20));
        }
        assert_eq!(estimate.timer(LEAST), LEAST);
        assert!(estimate.timer(Duration::ZERO) < Duration::from_millis(25));
    }
}
