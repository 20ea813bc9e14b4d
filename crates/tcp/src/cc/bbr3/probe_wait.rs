//! When to probe again: after 2 to 3 s, or as many round trips as Reno would take (§5.3.3.8).

use handfast_core::Duration;

use super::model::Model;
use super::sample::Sample;
use crate::cc::Window;

/// `T_bbr`: "uniformly randomly distributed between 2 and 3 secs" (§5.3.3.8.2).
const LEAST_WAIT: Duration = Duration::from_secs(2);
const RANDOM_WAIT: Duration = Duration::from_secs(1);

/// `T_reno_bound`, one round trip more or less (§5.3.3.8.2).
const RENO_ROUNDS: u64 = 63;

impl Model {
    /// `PickProbeWait` (§5.3.3.8.3).
    pub(super) fn pick_probe_wait(&mut self) {
        self.rounds.since_probe_up = self.random.below(2);
        self.cycle.wait = LEAST_WAIT + Duration::from_nanos(self.random.below(RANDOM_WAIT.as_nanos()));
    }

    /// `IsTimeToProbeBW` (§5.3.3.8.3).
    pub(super) fn is_time_to_probe(&self, window: &Window, sample: &Sample) -> bool {
        // `HasElapsedInPhase` (§5.3.3.9).
        sample.now > self.cycle.began + self.cycle.wait || self.is_reno_s_turn(window)
    }

    /// `IsRenoCoexistenceProbeTime` (§5.3.3.8.3): Reno's window grows by a segment a round trip, so the volume counts in segments.
    fn is_reno_s_turn(&self, window: &Window) -> bool {
        let rounds = self.target_inflight(window) / window.smss;
        self.rounds.since_probe_up >= rounds.min(RENO_ROUNDS)
    }
}
