//! How late frames leave: the lab's own error.

use handfast_core::Duration;
use hdrhistogram::Histogram;

/// A run counts only if 99 of 100 frames left no later than this after their nominal time.
pub const BOUND: Duration = Duration::from_millis(1);

/// The largest lateness told from larger ones.
const MOST: u64 = 60_000_000_000;

/// Nominal to actual time of sending, of every frame.
#[derive(Clone, Debug)]
pub struct Lateness(Histogram<u64>);

impl Default for Lateness {
    fn default() -> Self {
        // Three digits: 0.1 % of the value.
        let histogram = Histogram::new_with_bounds(1, MOST, 3);
        Self(histogram.unwrap_or_else(|_| unreachable!("the bounds are right")))
    }
}

impl Lateness {
    /// A frame left so late.
    pub fn record(&mut self, late: Duration) {
        self.0.saturating_record(late.as_nanos());
    }

    /// Frames recorded.
    pub fn frames(&self) -> u64 {
        self.0.len()
    }

    /// What so many per cent of the frames did not exceed; zero where there are none.
    pub fn percentile(&self, percent: f64) -> Duration {
        Duration::from_nanos(self.0.value_at_percentile(percent))
    }

    /// The largest; zero where there are none.
    pub fn max(&self) -> Duration {
        Duration::from_nanos(self.0.max())
    }

    /// Whether a run that was so late counts.
    pub fn is_within_bound(&self) -> bool {
        self.percentile(99.0) <= BOUND
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_frame_in_a_hundred_may_be_late() {
        let mut lateness = Lateness::default();
        assert!(lateness.is_within_bound() && lateness.frames() == 0);
        for micros in [50; 99] {
            lateness.record(Duration::from_micros(micros));
        }
        lateness.record(Duration::from_secs(100));
        assert!(lateness.is_within_bound());
        assert_eq!(lateness.percentile(50.0).as_nanos() / 1_000, 50);
        assert!(lateness.max() >= Duration::from_secs(59), "too late to tell, but recorded");
        lateness.record(Duration::from_millis(2));
        assert!(!lateness.is_within_bound());
    }
}
