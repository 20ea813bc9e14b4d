//! How far acknowledgements come in bunches: cwnd has room for what was acknowledged beyond the rate (§5.5.9).

use super::model::Model;
use super::sample::Sample;
use super::units::volume;
use crate::cc::Window;

/// `BBR.ExtraAckedFilterLen`, and "in Startup, just remember 1 round".
const ROUNDS: u32 = 10;
const STARTUP_ROUNDS: u32 = 1;

impl Model {
    /// `UpdateACKAggregation`.
    pub(super) fn update_aggregation(&mut self, window: &Window, sample: &Sample) {
        let mut expected = volume(self.bw, sample.now.since(self.extra_since));
        // "Reset interval if ACK rate is below expected rate"
        if self.extra_delivered <= expected {
            self.extra_delivered = 0;
            self.extra_since = sample.now;
            expected = 0;
        }
        self.extra_delivered += sample.newly_acked;
        let extra = (self.extra_delivered - expected).min(window.cwnd);
        let rounds = if self.full.reached { ROUNDS } else { STARTUP_ROUNDS };
        self.extra_acked.add(rounds, self.rounds.count, extra);
    }
}

#[cfg(test)]
mod tests {
    use super::super::state::State;
    use super::super::testing::{MS, SMSS, model, sample, window};
    use super::*;

    #[test]
    fn what_is_acknowledged_beyond_the_rate_is_aggregation() {
        // Bunches of segments, where the rate brings one a millisecond.
        let (mut model, window) = (model(State::Cruise), window(200));
        let bunch = |ms, segments| Sample { newly_acked: segments * SMSS, ..sample(MS(ms)) };
        let mut extra = |ms, segments| {
            model.update_aggregation(&window, &bunch(ms, segments));
            model.extra_acked.get() / SMSS
        };
        assert_eq!(extra(1010, 10), 10, "an interval begins with it");
        assert_eq!(extra(1015, 15), 20, "25 of which 5 were expected");
        // 25 were expected within 25 ms: it begins anew, and ten rounds later what was is forgotten.
        assert_eq!(extra(1035, 4), 20);
        model.rounds.count += 10;
        model.update_aggregation(&window, &bunch(1200, 6));
        assert_eq!(model.extra_acked.get(), 20 * SMSS);
        model.rounds.count += 1;
        model.update_aggregation(&window, &bunch(1300, 6));
        assert_eq!(model.extra_acked.get(), 6 * SMSS);
        model.update_aggregation(&super::super::testing::window(5), &bunch(1300, 90));
        assert_eq!(model.extra_acked.get(), 6 * SMSS, "no more than cwnd: 5");
    }

    #[test]
    fn in_startup_aggregation_is_of_one_round() {
        let (mut model, window) = (model(State::Startup), window(200));
        model.update_aggregation(&window, &Sample { newly_acked: 9000, ..sample(MS(1010)) });
        model.rounds.count += 2;
        model.update_aggregation(&window, &sample(MS(1200)));
        assert_eq!(model.extra_acked.get(), SMSS);
    }
}
