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
