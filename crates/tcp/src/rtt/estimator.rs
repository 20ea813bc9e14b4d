//! The retransmission timeout (RFC 6298).

use handfast_core::Duration;

use super::linux::Deviation;
use super::timer_wheel;
use crate::{Config, RttEstimation};

/// Where the connection stands when a sample is taken.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Position {
    /// SND.UNA.
    pub(crate) una: u64,
    /// SND.NXT.
    pub(crate) nxt: u64,
}

/// Round-trip time estimate and the timeout that follows from it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RttEstimator {
    srtt: Duration,
    rttvar: Duration,
    /// What Linux keeps besides.
    deviation: Deviation,
    /// Timeout before backoff.
    base: Duration,
    /// Lower bound besides those of the configuration.
    floor: Duration,
    /// Doublings since the last valid sample (RFC 6298 §5.5).
    backoff: u8,
}

impl RttEstimator {
    pub(crate) fn new(config: &Config) -> Self {
        // RFC 6298 §2.1: until a sample is there, RTO is a constant.
        Self {
            srtt: Duration::ZERO,
            rttvar: Duration::ZERO,
            deviation: Deviation::default(),
            base: config.rto_initial,
            floor: Duration::ZERO,
            backoff: 0,
        }
    }

    /// Takes a sample. `expected` is how many samples a window of data yields: with timestamps every ACK gives one, and
    /// the gains shrink so that the memory of the filter is a number of round trips (RFC 7323 appendix G).
    pub(crate) fn sample(&mut self, config: &Config, r: Duration, expected: u64, at: Position) {
        if config.rtt_estimation == RttEstimation::Linux {
            self.deviation.sample(config.rto_variance_min, &mut self.srtt, &mut self.rttvar, r, at);
        } else if self.srtt == Duration::ZERO {
            // RFC 6298 §2.2
            self.srtt = r;
            self.rttvar = r / 2;
        } else {
            // RFC 6298 §2.3: RTTVAR first, it uses the SRTT before the update; alpha 1/8, beta 1/4.
            let n = expected.max(1);
            self.rttvar = weigh(self.rttvar, self.srtt.abs_diff(r), 4 * n);
            self.srtt = weigh(self.srtt, r, 8 * n);
        }
        self.restart(config);
    }

    fn restart(&mut self, config: &Config) {
        // RFC 6298 §2.3: RTO = SRTT + max (G, K*RTTVAR), K = 4; §2.4 and §2.5 bound it.
        // Linux keeps 4*RTTVAR as its variance, with the same bound.
        let factor = if config.rtt_estimation == RttEstimation::Linux { 1 } else { 4 };
        let variance = (self.rttvar * factor).max(config.clock_granularity).max(config.rto_variance_min);
        let rto = self.srtt + variance;
        // Linux keeps the RTO in jiffies, and doubles those.
        let rto = timer_wheel::in_ticks(rto.max(config.rto_min), config.timer_tick);
        self.base = rto.max(self.floor).min(config.rto_max);
        // RFC 6298 §5: a new sample collapses the backoff.
        self.backoff = 0;
    }

    /// RFC 6298 §5.7: a SYN that had to be repeated leaves no sample; the data phase begins with 3 s.
    pub(crate) fn after_lost_syn(&mut self, config: &Config) {
        if self.srtt == Duration::ZERO {
            self.base = self.base.max(Duration::from_secs(3)).min(config.rto_max);
            self.backoff = 0;
        }
    }

    /// From now on the timeout is at least this, backoff aside. What it was before with another bound stays until the next sample.
    pub(crate) fn set_floor(&mut self, config: &Config, floor: Duration) {
        self.floor = floor;
        self.base = self.base.max(floor).min(config.rto_max);
    }

    /// RFC 6298 §5.5: the timer expired.
    pub(crate) fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(63);
    }

    /// How often it has doubled.
    pub(crate) fn backoff(&self) -> u8 {
        self.backoff
    }

    /// RFC 6069 §4.1 step (2): the last doubling is taken back, if there was one.
    pub(crate) fn revert_back_off(&mut self) -> bool {
        let was = self.backoff > 0;
        self.backoff = self.backoff.saturating_sub(1);
        was
    }

    /// The path is another one, and answers: what the old one left unanswered says nothing of it.
    pub(crate) fn forget_backoff(&mut self) {
        self.backoff = 0;
    }

    /// The timeout in force.
    pub(crate) fn rto(&self, config: &Config) -> Duration {
        self.base.saturating_mul(1 << self.backoff).min(config.rto_max)
    }

    pub(crate) fn srtt(&self) -> Duration {
        self.srtt
    }

    /// Two round trips; while none has been measured the timeout before backoff, which is never zero.
    pub(crate) fn two_round_trips(&self) -> Duration {
        if self.srtt == Duration::ZERO { self.base } else { self.srtt * 2 }
    }

    pub(crate) fn rttvar(&self) -> Duration {
        self.rttvar
    }

    /// RFC 4015 §3 step 9: the estimate after a spurious timeout, from the state before it and the first sample since.
    pub(crate) fn after_spurious(&mut self, config: &Config, before: (Duration, Duration), sample: Duration) {
        self.srtt = before.0.max(sample);
        self.rttvar = before.1.max(sample / 2);
        self.restart(config);
    }
}

/// The exponentially weighted mean with gain `1 / divisor`.
fn weigh(mean: Duration, sample: Duration, divisor: u64) -> Duration {
    let step = mean.abs_diff(sample) / divisor;
    if sample >= mean { mean + step } else { mean.saturating_sub(step) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    /// No floor under the variance term.
    fn rfc6298() -> Config {
        Config { rto_variance_min: Duration::ZERO, ..Config::default() }
    }

    fn estimator(samples: &[u64]) -> RttEstimator {
        let config = rfc6298();
        let mut e = RttEstimator::new(&config);
        for &s in samples {
            e.sample(&config, MS(s), 1, Position::default());
        }
        e
    }

    #[test]
    fn before_a_sample_the_initial_rto_holds() {
        assert_eq!(estimator(&[]).rto(&rfc6298()), MS(1000));
    }

    #[test]
    fn the_first_sample_sets_srtt_and_half_as_rttvar() {
        let e = estimator(&[100]);
        assert_eq!((e.srtt(), e.rttvar()), (MS(100), MS(50)));
        assert_eq!(e.rto(&rfc6298()), MS(300));
    }

    #[test]
    fn later_samples_weigh_an_eighth_and_a_quarter() {
        let e = estimator(&[100, 180]);
        // |100 - 180| = 80: RTTVAR = 3/4 * 50 + 1/4 * 80 = 57.5; SRTT = 7/8 * 100 + 1/8 * 180 = 110.
        assert_eq!((e.srtt(), e.rttvar()), (MS(110), Duration::from_micros(57_500)));
        let e = estimator(&[100, 20]);
        assert_eq!((e.srtt(), e.rttvar()), (MS(90), Duration::from_micros(57_500)));
    }

    #[test]
    fn bounds_hold_with_and_without_backoff() {
        let config = rfc6298();
        let mut e = estimator(&[1, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
        assert_eq!(e.rto(&config), config.rto_min);
        e.back_off();
        assert_eq!(e.rto(&config), config.rto_min * 2);
        for _ in 0..100 {
            e.back_off();
        }
        assert_eq!(e.rto(&config), config.rto_max);
        e.sample(&config, MS(1), 1, Position::default());
        assert_eq!(e.rto(&config), config.rto_min);
    }

    #[test]
    fn the_granularity_is_a_floor_of_the_variance_term() {
        let config = Config { rto_min: Duration::ZERO, clock_granularity: MS(10), ..rfc6298() };
        let mut e = RttEstimator::new(&config);
        for _ in 0..100 {
            e.sample(&config, MS(100), 1, Position::default());
        }
        assert_eq!(e.rto(&config), MS(110));
    }

    #[test]
    fn many_samples_a_window_weigh_less_each() {
        let config = rfc6298();
        let mut e = estimator(&[100]);
        e.sample(&config, MS(180), 10, Position::default());
        assert_eq!(e.srtt(), MS(101));
    }

    #[test]
    fn a_lost_syn_leaves_three_seconds() {
        let config = rfc6298();
        let mut e = RttEstimator::new(&config);
        e.back_off();
        e.after_lost_syn(&config);
        assert_eq!(e.rto(&config), MS(3000));
        let mut sampled = estimator(&[100]);
        sampled.after_lost_syn(&config);
        assert_eq!(sampled.rto(&config), MS(300));
    }

    #[test]
    fn a_spurious_timeout_takes_the_larger_of_before_and_after() {
        let config = rfc6298();
        let mut e = estimator(&[100]);
        e.after_spurious(&config, (MS(102), MS(50)), MS(3000));
        assert_eq!((e.srtt(), e.rttvar()), (MS(3000), MS(1500)));
        e.after_spurious(&config, (MS(102), MS(50)), MS(40));
        assert_eq!((e.srtt(), e.rttvar()), (MS(102), MS(50)));
    }

    #[test]
    fn linux_keeps_the_rto_a_fixed_span_above_srtt() {
        let config = Config::default();
        let mut e = RttEstimator::new(&config);
        for _ in 0..100 {
            e.sample(&config, MS(80), 1, Position::default());
        }
        assert_eq!(e.rto(&config), MS(280));
        e.sample(&config, MS(480), 1, Position::default());
        // RTTVAR = 400 / 4: the measured variance counts where it is larger; SRTT = 80 + 400 / 8.
        assert_eq!(e.rto(&config).as_millis(), 130 + 400);
    }
}
