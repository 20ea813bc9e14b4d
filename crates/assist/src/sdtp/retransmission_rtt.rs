//! The retransmission RTT: from an RR until its RD comes (`[sdtp]` §III-C 2, equation (3)).

use handfast_core::Duration;

/// RFC 6298 §2.3, G, where the paper takes its estimate from: a steady round trip has no deviation, and the timeout must not
/// expire at the moment at which the RD is due.
const GRANULARITY: Duration = Duration::from_millis(1);

/// A request for the same hole beyond so many waits twice as long as the one before (RFC 6298 §5.5).
const STEADY_REQUESTS: u32 = 4;

/// The estimate of the retransmission RTT.
#[derive(Clone, Copy, Debug)]
pub(super) struct RetransmissionRtt {
    segment: Duration,
    /// `R_v` and `R_m`, once there is a sample.
    estimate: Option<(Duration, Duration)>,
}

impl RetransmissionRtt {
    /// On a segment with this round trip.
    pub(super) fn new(segment: Duration) -> Self {
        Self { segment, estimate: None }
    }

    /// Equation (3), with ξ = 1/8 and δ = 1/4. `R_v(0) = R(1)` and `R_m(0) = 0`: so the first sample leaves them there.
    pub(super) fn sample(&mut self, r: Duration) {
        let (r_v, r_m) = self.estimate.unwrap_or((r, Duration::ZERO));
        // R_m first: it uses the R_v before this sample.
        let r_m = (r_m * 3 + r.abs_diff(r_v)) / 4;
        self.estimate = Some(((r_v * 7 + r) / 8, r_m));
    }

    /// `R_k` of equation (2): the expected retransmission RTT; before the first sample the segment's round trip.
    pub(super) fn expected(&self) -> Duration {
        self.estimate.map_or(self.segment, |(r_v, _)| r_v)
    }

    /// `R_th`, φ = 4; at least the segment's round trip, and three of them before the first sample.
    fn threshold(&self) -> Duration {
        let Some((r_v, r_m)) = self.estimate else { return (self.segment * 3).max(GRANULARITY) };
        (r_v + (r_m * 4).max(GRANULARITY)).max(self.segment)
    }

    /// How long the RD is waited for that answers the `count`th request for a hole.
    pub(super) fn timeout(&self, count: u32) -> Duration {
        let doublings = count.saturating_sub(STEADY_REQUESTS).min(16);
        self.threshold() * (1 << doublings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn before_the_first_sample_it_is_three_round_trips_of_the_segment() {
        let estimate = RetransmissionRtt::new(ms(10));
        assert_eq!((estimate.expected(), estimate.timeout(1)), (ms(10), ms(30)));
        assert_eq!(RetransmissionRtt::new(Duration::ZERO).timeout(1), ms(1));
    }

    #[test]
    fn equation_3() {
        let mut estimate = RetransmissionRtt::new(ms(10));
        estimate.sample(ms(16));
        // R_v = 16, R_m = 0.
        assert_eq!((estimate.expected(), estimate.timeout(1)), (ms(16), ms(17)));
        estimate.sample(ms(24));
        // R_m = 0.25 * 8, R_v = 0.875 * 16 + 0.125 * 24.
        assert_eq!((estimate.expected(), estimate.timeout(1)), (ms(17), ms(25)));
        estimate.sample(ms(17));
        // R_m = 0.75 * 2, R_v as it was.
        assert_eq!((estimate.expected(), estimate.timeout(1)), (ms(17), ms(23)));
    }

    #[test]
    fn the_floor_is_a_round_trip_of_the_segment() {
        let mut estimate = RetransmissionRtt::new(ms(10));
        estimate.sample(ms(2));
        assert_eq!((estimate.expected(), estimate.timeout(1)), (ms(2), ms(10)));
    }

    #[test]
    fn from_the_fifth_request_on_each_waits_twice_as_long() {
        let estimate = RetransmissionRtt::new(ms(1));
        let timeouts = [1, 4, 5, 6, 20, 21, u32::MAX].map(|count| estimate.timeout(count).as_millis() / 3);
        assert_eq!(timeouts, [1, 1, 2, 4, 1 << 16, 1 << 16, 1 << 16]);
    }
}
