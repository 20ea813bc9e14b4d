//! `ProbeBW`: down, cruise, refill, up (§5.3.3.9).

use handfast_core::Instant;

use super::model::Model;
use super::sample::Sample;
use super::state::{AckPhase, State};
use super::units::{ONE, UNBOUNDED, percent};
use crate::cc::Window;

/// `BBR.Headroom`, hundredths (§2.8).
const HEADROOM: u64 = 15;

impl Model {
    /// `StartProbeBW_DOWN`.
    pub(super) fn start_down(&mut self, now: Instant) {
        self.reset_congestion_signals();
        // "not growing BBR.inflight_longterm"
        self.cycle.acked_per_step = UNBOUNDED;
        self.pick_probe_wait();
        self.cycle.began = now;
        self.cycle.ack_phase = AckPhase::ProbeStopping;
        self.start_round();
        self.state = State::Down;
    }

    /// `StartProbeBW_CRUISE`.
    pub(super) fn start_cruise(&mut self) {
        self.state = State::Cruise;
    }

    /// `StartProbeBW_REFILL`.
    pub(super) fn start_refill(&mut self) {
        self.reset_shortterm();
        self.cycle.up_rounds = 0;
        self.cycle.up_acked = 0;
        self.cycle.precautionary = false;
        self.cycle.ack_phase = AckPhase::Refilling;
        self.start_round();
        self.state = State::Refill;
    }

    /// `StartProbeBW_UP`.
    fn start_up(&mut self, window: &Window, sample: &Sample) {
        self.cycle.ack_phase = AckPhase::ProbeStarting;
        self.start_round();
        self.full.reset(sample.delivery_rate);
        self.state = State::Up;
        self.raise_slope(window);
    }

    /// `UpdateProbeBWCyclePhase`.
    pub(super) fn update_cycle(&mut self, window: &Window, sample: &Sample) {
        if !self.full.reached || sample.newly_acked == 0 || self.adapt_longterm(window, sample) {
            return;
        }
        match self.state {
            State::Down if self.is_time_to_probe(window, sample) => self.start_refill(),
            State::Down if self.is_time_to_cruise(sample) => self.start_cruise(),
            State::Cruise if self.is_time_to_probe(window, sample) => self.start_refill(),
            // "After one round of REFILL, start UP"
            State::Refill if self.rounds.start => {
                self.cycle.is_probe_sample = true;
                self.start_up(window, sample);
            }
            State::Up => self.check_up(window, sample),
            _ => {}
        }
    }

    fn check_up(&mut self, window: &Window, sample: &Sample) {
        if self.is_time_to_go_down(window, sample) {
            // "no high loss (yet)"
            self.cycle.too_high = false;
            self.start_down(sample.now);
        }
    }

    /// `IsTimeToCruise`.
    fn is_time_to_cruise(&self, sample: &Sample) -> bool {
        sample.inflight <= self.inflight_with_headroom(sample.smss)
            && sample.inflight <= self.inflight(self.max_bw(), ONE, sample.smss)
    }

    /// `IsTimeToGoDown`.
    fn is_time_to_go_down(&mut self, window: &Window, sample: &Sample) -> bool {
        // "Precautionary Bandwidth Probing: Deceleration" (§5.3.3.6).
        if self.cycle.too_high && sample.inflight >= self.inflight_longterm {
            self.cycle.precautionary = true;
            return true;
        }
        if sample.cwnd_limited && window.cwnd >= self.inflight_longterm {
            // "bw is limited by BBR.inflight_longterm"
            self.full.reset(sample.delivery_rate);
            return false;
        }
        self.full.now
    }

    /// `InflightWithHeadroom`.
    pub(super) fn inflight_with_headroom(&self, smss: u64) -> u64 {
        if self.inflight_longterm == UNBOUNDED {
            return UNBOUNDED;
        }
        let headroom = percent(self.inflight_longterm, HEADROOM).max(smss);
        self.inflight_longterm.saturating_sub(headroom).max(super::target::least_cwnd(smss))
    }

    /// `AdaptLongTermModel`: whether it has decided a transition.
    fn adapt_longterm(&mut self, window: &Window, sample: &Sample) -> bool {
        if self.rounds.start && self.follow_probe(sample) {
            return true;
        }
        if self.is_inflight_too_high(sample) || self.inflight_longterm == UNBOUNDED {
            return false;
        }
        // "Loss rate is safe. Adjust upper bounds upward."
        self.inflight_longterm = self.inflight_longterm.max(sample.tx_in_flight);
        if self.state == State::Up {
            self.probe_upward(window, sample);
        }
        false
    }

    /// A round of it has passed; whether the next probe begins at once.
    fn follow_probe(&mut self, sample: &Sample) -> bool {
        match self.cycle.ack_phase {
            // "starting to get bw probing samples"
            AckPhase::ProbeStarting => self.cycle.ack_phase = AckPhase::ProbeFeedback,
            // "end of samples from bw probing phase"
            AckPhase::ProbeStopping => return self.end_probe(sample),
            _ => {}
        }
        false
    }

    fn end_probe(&mut self, sample: &Sample) -> bool {
        self.cycle.is_probe_sample = false;
        self.cycle.ack_phase = AckPhase::Init;
        if !self.state.is_probe_bw() {
            return false;
        }
        if !sample.app_limited {
            self.advance_max_bw();
        }
        // "Precautionary Bandwidth Probing: Acceleration" (§5.3.3.6).
        let again = self.cycle.precautionary && !self.cycle.too_high;
        if again {
            self.start_refill();
        }
        again
    }

    /// `RaiseInflightLongtermSlope`.
    fn raise_slope(&mut self, window: &Window) {
        let growth = 1 << self.cycle.up_rounds;
        self.cycle.up_rounds = (self.cycle.up_rounds + 1).min(30);
        self.cycle.acked_per_step = (window.cwnd / growth).max(window.smss);
    }

    /// `ProbeInflightLongtermUpward`.
    fn probe_upward(&mut self, window: &Window, sample: &Sample) {
        if !sample.cwnd_limited || window.cwnd < self.inflight_longterm {
            // "not fully using BBR.inflight_longterm, so don't grow it"
            return;
        }
        let cycle = &mut self.cycle;
        cycle.up_acked += sample.newly_acked;
        let steps = cycle.up_acked / cycle.acked_per_step;
        cycle.up_acked -= steps * cycle.acked_per_step;
        self.inflight_longterm = self.inflight_longterm.saturating_add(steps * sample.smss);
        if self.rounds.start {
            self.raise_slope(window);
        }
    }
}
