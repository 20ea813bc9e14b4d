//! What is known of each rate.

use handfast_core::Duration;

use crate::airtime::Mcs;

/// The part of the average that stays at each update: "EWMA", 75 %.
const KEPT: f64 = 0.75;
/// Below this probability a rate carries nothing, above the second one is as good as another: so that a fast rate with some
/// losses is not taken for a slow one without.
const HOPELESS: f64 = 0.1;
const SURE: f64 = 0.9;

/// One rate.
#[derive(Clone, Debug)]
pub(super) struct Stats {
    pub(super) mcs: Mcs,
    /// MPDUs since the last update.
    sent: u32,
    acknowledged: u32,
    /// The average probability of success; [`None`]: never tried.
    probability: Option<f64>,
    /// What an MPDU takes, its part of the exchange included.
    airtime: Duration,
}

impl Stats {
    pub(super) const fn new(mcs: Mcs) -> Self {
        Self { mcs, sent: 0, acknowledged: 0, probability: None, airtime: Duration::from_nanos(1) }
    }

    pub(super) const fn count(&mut self, sent: u32, acknowledged: u32) {
        self.sent += sent;
        self.acknowledged += acknowledged;
    }

    /// An interval has passed, in which an MPDU takes so long at this rate.
    pub(super) fn update(&mut self, airtime: Duration) {
        self.airtime = airtime;
        if self.sent == 0 {
            return;
        }
        let now = f64::from(self.acknowledged) / f64::from(self.sent);
        self.probability = Some(self.probability.map_or(now, |before| KEPT * before + (1.0 - KEPT) * now));
        (self.sent, self.acknowledged) = (0, 0);
    }

    pub(super) fn probability(&self) -> f64 {
        self.probability.unwrap_or(0.0)
    }

    /// MPDUs a second.
    pub(super) fn throughput(&self) -> f64 {
        let probability = self.probability();
        if probability < HOPELESS {
            return 0.0;
        }
        probability.min(SURE) / self.airtime.as_secs_f64()
    }

    /// What it would carry if all arrived.
    pub(super) const fn airtime(&self) -> Duration {
        self.airtime
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::airtime::{Format, Guard, McsSet, Width};

    fn stats() -> Stats {
        let set = McsSet { format: Format::Vht, width: Width::Mhz80, guard: Guard::Ns400, streams: 1 };
        Stats::new(set.slowest())
    }

    #[test]
    fn the_average_moves_by_a_quarter() {
        let (mut stats, airtime) = (stats(), Duration::from_micros(100));
        assert!(stats.throughput().abs() < 1e-9);
        stats.count(10, 8);
        stats.update(airtime);
        assert!((stats.probability() - 0.8).abs() < 1e-12);
        stats.count(10, 0);
        stats.update(airtime);
        assert!((stats.probability() - 0.6).abs() < 1e-12);
        // An interval without any says nothing.
        stats.update(airtime);
        assert!((stats.probability() - 0.6).abs() < 1e-12);
        assert!((stats.throughput() - 6_000.0).abs() < 1e-6);
    }

    #[test]
    fn hopeless_rates_carry_nothing_and_sure_ones_are_alike() {
        let with = |acknowledged| {
            let mut stats = stats();
            stats.count(100, acknowledged);
            stats.update(Duration::from_micros(100));
            stats.throughput()
        };
        assert!(with(9).abs() < 1e-9 && with(10) > 0.0);
        assert!((with(90) - with(100)).abs() < 1e-9 && with(89) < with(90));
    }
}
