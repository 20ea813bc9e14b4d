//! How `Startup` finds the pipe full, and `Drain` (§5.3.1, §5.3.2).

use super::model::Model;
use super::sample::Sample;
use super::state::State;
use super::units::{ONE, percent};
use crate::phase::Phase;

/// "three" rounds with "less than 25 percent" more (§5.3.1.2).
const FULL_ROUNDS: u32 = 3;
const GROWTH: u64 = 125;

/// `BBRStartupFullLossCnt` (§5.3.1.3).
const FULL_LOSS_RANGES: u32 = 6;

/// "BBR enters `ProbeBW` after 3 round trips" (§5.3.2).
const DRAIN_ROUNDS: u32 = 3;

impl Model {
    /// `EnterStartup` (§5.3.1.1).
    pub(super) fn enter_startup(&mut self) {
        self.state = State::Startup;
    }

    /// `CheckFullBWReached` (§5.3.1.2).
    pub(super) fn check_full_bw(&mut self, sample: &Sample) {
        let full = &mut self.full;
        if full.now || !self.rounds.start || sample.app_limited || sample.delivery_rate == 0 {
            return;
        }
        if sample.delivery_rate >= percent(full.bw, GROWTH) {
            // "bw is still growing, so reset": "record new baseline bw".
            full.reset(sample.delivery_rate);
            return;
        }
        full.count += 1;
        full.now = full.count >= FULL_ROUNDS;
        full.reached |= full.now;
    }

    /// `CheckStartupDone` (§5.3.1.1).
    pub(super) fn check_startup_done(&mut self, sample: &Sample) {
        if self.state != State::Startup {
            return;
        }
        if !self.full.reached && self.is_startup_lossy(sample) {
            self.leave_lossy_startup();
        }
        if self.full.reached {
            self.state = State::Drain;
            self.drain_start = self.rounds.count;
        }
    }

    /// `CheckStartupHighLoss`, the criteria (§5.3.1.3).
    fn is_startup_lossy(&self, sample: &Sample) -> bool {
        if sample.phase != Phase::Recovery {
            return false;
        }
        if !sample.selective {
            // "if any packet loss is detected during fast recovery"
            return self.loss.ranges > 0;
        }
        // "in fast recovery for at least one full packet-timed round trip"
        let round = sample.prior_delivered.is_some_and(|prior| prior >= self.recovery_at);
        round && self.loss.start && self.loss.ranges >= FULL_LOSS_RANGES && self.is_inflight_too_high(sample)
    }

    /// `CheckStartupHighLoss`, "the following steps" (§5.3.1.3).
    fn leave_lossy_startup(&mut self) {
        self.undo.state = Some(State::Startup);
        self.full.reached = true;
        // Its test cases want this too ("Exiting STARTUP on Loss When Application-Limited").
        self.full.now = true;
        self.inflight_longterm = self.bdp().max(self.loss.inflight_latest);
    }

    /// `CheckDrainDone` (§5.3.2).
    pub(super) fn check_drain_done(&mut self, sample: &Sample) {
        if self.state == State::Drain
            && (sample.inflight <= self.inflight(self.bw, ONE, sample.smss)
                || self.rounds.count > self.drain_start + DRAIN_ROUNDS)
        {
            // `EnterProbeBW` (§5.3.3.9).
            self.start_down(sample.now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::Model;
    use super::super::testing::{MS, RATE, SMSS, model, round, sample, window};
    use super::*;

    fn startup() -> Model {
        let mut model = model(State::Startup);
        model.rounds.start = true;
        model
    }

    #[test]
    fn three_rounds_without_a_quarter_more_fill_the_pipe() {
        // "Exiting STARTUP on Bandwidth Plateau".
        let mut model = startup();
        let mut see = |rate, app_limited, start| {
            model.rounds.start = start;
            model.check_full_bw(&Sample { delivery_rate: rate, app_limited, ..sample(MS(1000)) });
            (model.full.bw, model.full.count, model.full.now)
        };
        assert_eq!(see(RATE, false, true), (RATE, 0, false));
        assert_eq!(see(RATE * 5 / 4, false, true), (RATE * 5 / 4, 0, false), "a quarter more");
        assert_eq!(see(RATE, false, true), (RATE * 5 / 4, 1, false));
        assert_eq!(see(RATE, true, true), (RATE * 5 / 4, 1, false), "the application's limit");
        assert_eq!(see(RATE, false, false), (RATE * 5 / 4, 1, false), "within a round");
        assert_eq!(see(0, false, true), (RATE * 5 / 4, 1, false), "no sample");
        assert_eq!(see(RATE * 3 / 2, false, true), (RATE * 5 / 4, 2, false));
        assert_eq!(see(RATE, false, true), (RATE * 5 / 4, 3, true));
        assert!(model.full.reached);
        model.rounds.count = 7;
        model.check_startup_done(&sample(MS(1000)));
        assert_eq!((model.state, model.drain_start), (State::Drain, 7));
        // Another search does not forget that it ever was.
        model.full.reset(RATE);
        assert_eq!((model.full.reached, model.full.now, model.full.count), (true, false, 0));
    }

    /// Six ranges of the round that ends now are lost, 30 of 1000 octets in flight.
    fn lossy() -> (Model, Sample) {
        let mut model = startup();
        (model.loss.ranges, model.loss.start) = (6, true);
        model.loss.inflight_latest = 120 * SMSS;
        let sample = Sample { phase: Phase::Recovery, lost: 2001, app_limited: true, ..round(MS(1000)) };
        (model, sample)
    }

    #[test]
    fn a_round_of_recovery_with_six_lost_ranges_ends_startup_also_where_the_application_is_the_limit() {
        // "Exiting STARTUP on Loss When Application-Limited".
        let (mut model, sample) = lossy();
        model.check_startup_done(&sample);
        assert_eq!((model.state, model.full.reached, model.full.now), (State::Drain, true, true));
        assert_eq!(model.inflight_longterm, 120 * SMSS, "what was delivered, more than the BDP");
        assert_eq!(model.undo.state, Some(State::Startup));
        let (mut model, sample) = lossy();
        model.loss.inflight_latest = 80 * SMSS;
        model.check_startup_done(&sample);
        assert_eq!(model.inflight_longterm, 100 * SMSS, "the BDP");
    }

    #[test]
    fn each_criterion_of_a_lossy_startup_must_be_met() {
        type Change = fn(&mut Model, &mut Sample);
        let unmet: [(&str, Change); 5] = [
            ("no recovery", |_, s| s.phase = Phase::Open),
            ("recovery is younger than a round", |m, _| m.recovery_at = 1_000_001),
            ("the round goes on", |m, _| m.loss.start = false),
            ("five ranges", |m, _| m.loss.ranges = 5),
            ("2 %", |_, s| s.lost = 2000),
        ];
        for (why, change) in unmet {
            let (mut model, mut sample) = lossy();
            change(&mut model, &mut sample);
            model.check_startup_done(&sample);
            assert_eq!(model.state, State::Startup, "{why}");
        }
    }

    #[test]
    fn without_selective_acknowledgements_one_loss_in_recovery_ends_it() {
        let (mut model, sample) = lossy();
        model.loss.ranges = 0;
        let sample = Sample { selective: false, lost: 0, ..sample };
        model.check_startup_done(&sample);
        assert_eq!(model.state, State::Startup);
        model.loss.ranges = 1;
        model.check_startup_done(&sample);
        assert_eq!(model.state, State::Drain);
    }

    #[test]
    fn drain_ends_with_the_queue_or_after_three_rounds() {
        // "Exiting DRAIN Based on Inflight" and "Based on Time".
        let drain = |inflight, rounds: u32| {
            let mut model = model(State::Drain);
            (model.drain_start, model.rounds.count) = (5, 5 + rounds);
            model.check_drain_done(&Sample { inflight, ..sample(MS(1000)) });
            model.state
        };
        assert_eq!(drain(100 * SMSS + 1, 3), State::Drain);
        assert_eq!(drain(100 * SMSS, 0), State::Down);
        assert_eq!(drain(200 * SMSS, 4), State::Down);
    }

    #[test]
    fn the_first_window_leaves_at_startup_s_gain() {
        // §5.6.2: 10 segments in 100 ms, times 2.77; in a millisecond, where no round trip is known.
        let mut model = Model::new();
        assert_eq!(model.first_rate(&window(10)), 27_700_000);
        model.min_rtt = Some(handfast_core::Duration::from_millis(100));
        assert_eq!(model.first_rate(&window(10)), 277_000);
    }
}
