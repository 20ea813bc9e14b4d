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

#[cfg(test)]
mod tests {
    use super::super::state::State;
    use super::super::testing::{MS, SMSS, model, sample, window};
    use super::*;

    #[test]
    fn a_wait_is_drawn_between_two_and_three_seconds_and_a_round_trip() {
        let mut model = model(State::Cruise);
        let waits: Vec<(u64, Duration)> = (0..200)
            .map(|_| {
                model.pick_probe_wait();
                (model.rounds.since_probe_up, model.cycle.wait)
            })
            .collect();
        let range = Duration::from_secs(2)..Duration::from_secs(3);
        assert!(waits.iter().all(|(round, wait)| *round < 2 && range.contains(wait)));
        assert!(waits.iter().any(|(_, wait)| *wait < Duration::from_millis(2100)));
        assert!(waits.iter().any(|(_, wait)| *wait > Duration::from_millis(2900)));
        let ones = waits.iter().filter(|(round, _)| *round == 1).count();
        assert!((70..130).contains(&ones), "{ones}");
        // Another connection draws others, the same one the same.
        let drawn = |seed| {
            model.random = Model::stream(seed);
            model.pick_probe_wait();
            model.cycle.wait
        };
        let [first, other, again] = [1, 2, 1].map(drawn);
        assert!(first != other && first == again);
    }

    #[test]
    fn as_many_rounds_as_segments_fill_the_path_are_reno_s_and_63_at_most() {
        let mut model = model(State::Cruise);
        let mut is_time = |rounds, segments| {
            model.rounds.since_probe_up = rounds;
            model.is_time_to_probe(&window(segments), &sample(MS(1100)))
        };
        // A cwnd of 40 segments below a BDP of 100.
        assert_eq!([39, 40].map(|rounds| is_time(rounds, 40)), [false, true]);
        assert_eq!([62, 63].map(|rounds| is_time(rounds, 200)), [false, true]);
        model.min_rtt = Some(Duration::from_millis(20));
        assert_eq!(model.target_inflight(&window(200)), 20 * SMSS);
        model.rounds.since_probe_up = 20;
        assert!(model.is_time_to_probe(&window(200), &sample(MS(1100))));
    }
}
