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
            State::Down | State::Cruise if self.is_time_to_probe(window, sample) => self.start_refill(),
            State::Down if self.is_time_to_cruise(sample) => self.start_cruise(),
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

#[cfg(test)]
mod tests {
    use super::super::testing::{MS, RATE, SMSS, model, round, sample, window};
    use super::*;

    /// One acknowledgement, with its round.
    fn step(model: &mut Model, window: &Window, sample: &Sample) -> State {
        model.update_max_bw(sample);
        model.update_cycle(window, sample);
        model.state
    }

    #[test]
    fn down_ends_once_there_is_headroom_and_no_queue() {
        // "Exiting PROBE_DOWN on Inflight".
        let (mut model, window) = (model(State::Down), window(200));
        let at = |inflight| Sample { inflight, ..sample(MS(1100)) };
        assert_eq!(step(&mut model, &window, &at(100 * SMSS + 1)), State::Down, "a queue");
        model.inflight_longterm = 110 * SMSS;
        assert_eq!(step(&mut model, &window, &at(93 * SMSS + 501)), State::Down, "85 of a hundred");
        assert_eq!(step(&mut model, &window, &at(93 * SMSS + 500)), State::Cruise);
        assert_eq!(model.inflight_longterm, 110 * SMSS);
    }

    #[test]
    fn headroom_is_a_segment_at_least_and_leaves_four() {
        let mut model = model(State::Cruise);
        for (longterm, left) in [(UNBOUNDED, UNBOUNDED), (100_000, 85_000), (6000, 5000), (4500, 4000)] {
            model.inflight_longterm = longterm;
            assert_eq!(model.inflight_with_headroom(SMSS), left);
        }
    }

    #[test]
    fn a_cycle_waits_then_refills_for_a_round_then_goes_up() {
        for state in [State::Down, State::Cruise] {
            // From DOWN too: "Exiting PROBE_DOWN After Max Time".
            let (mut model, window) = (model(state), window(200));
            model.bw_shortterm = RATE / 2;
            model.inflight_shortterm = 50 * SMSS;
            (model.cycle.up_rounds, model.cycle.up_acked, model.cycle.precautionary) = (3, 9, true);
            let long = Sample { inflight: 150 * SMSS, ..sample(MS(3000)) };
            assert_eq!(step(&mut model, &window, &long), state);
            let long = Sample { now: MS(3001), ..long };
            assert_eq!(step(&mut model, &window, &long), State::Refill);
            assert_eq!((model.bw_shortterm, model.inflight_shortterm), (UNBOUNDED, UNBOUNDED));
            assert_eq!(model.cycle.ack_phase, AckPhase::Refilling);
            assert_eq!(
                (model.cycle.up_rounds, model.cycle.up_acked, model.cycle.precautionary),
                (0, 0, false)
            );
            assert_eq!(step(&mut model, &window, &sample(MS(3050))), State::Refill);
            assert!(!model.cycle.is_probe_sample);
            model.full.now = true;
            assert_eq!(step(&mut model, &window, &round(MS(3101))), State::Up);
            assert_eq!(model.cycle.ack_phase, AckPhase::ProbeStarting);
            assert!(model.cycle.is_probe_sample && !model.full.now && model.full.bw == RATE);
            assert_eq!((model.cycle.up_rounds, model.cycle.acked_per_step), (1, 200 * SMSS));
        }
    }

    #[test]
    fn before_the_pipe_was_ever_full_nothing_cycles() {
        let (mut model, window) = (model(State::Cruise), window(200));
        model.full.reached = false;
        assert_eq!(step(&mut model, &window, &sample(MS(9000))), State::Cruise);
        model.full.reached = true;
        let nothing = Sample { newly_acked: 0, ..sample(MS(9000)) };
        assert_eq!(step(&mut model, &window, &nothing), State::Cruise);
    }

    #[test]
    fn up_ends_when_the_bandwidth_grows_no_more() {
        // "Exiting PROBE_UP on Bandwidth Plateau".
        let (mut model, window) = (model(State::Up), window(200));
        model.cycle.too_high = true;
        assert_eq!(step(&mut model, &window, &sample(MS(1100))), State::Up);
        model.full.now = true;
        assert_eq!(step(&mut model, &window, &sample(MS(1100))), State::Down);
        assert!(!model.cycle.too_high);
        assert_eq!(model.cycle.ack_phase, AckPhase::ProbeStopping);
        assert_eq!(model.cycle.acked_per_step, UNBOUNDED);
        assert_eq!((model.cycle.began, model.rounds.next_delivered), (MS(1100), 1_000_000));
    }

    #[test]
    fn a_probe_that_its_bound_limits_begins_its_search_anew_and_raises_the_bound() {
        let (mut model, window) = (model(State::Up), window(110));
        model.inflight_longterm = 110 * SMSS;
        model.full.now = true;
        model.cycle.acked_per_step = 2 * SMSS;
        let limited = Sample { cwnd_limited: true, ..sample(MS(1100)) };
        assert_eq!(step(&mut model, &window, &limited), State::Up);
        assert!(!model.full.now && model.full.bw == RATE);
        assert_eq!((model.inflight_longterm, model.cycle.up_acked), (110 * SMSS, SMSS));
        step(&mut model, &window, &limited);
        assert_eq!((model.inflight_longterm, model.cycle.up_acked), (111 * SMSS, 0));
        // cwnd is no longer at it, nor is what is not limited by cwnd.
        step(&mut model, &window, &limited);
        assert_eq!(model.cycle.up_acked, 0);
        step(&mut model, &super::super::testing::window(111), &sample(MS(1100)));
        assert_eq!(model.cycle.up_acked, 0);
    }

    #[test]
    fn the_bound_rises_twice_as_fast_each_round() {
        // "Increasing Bandwidth 10x": "the step size added to BBR.inflight_longterm doubles each round trip".
        let (mut model, window) = (model(State::Up), window(160));
        let mut slopes = [(); 9].map(|()| {
            model.raise_slope(&window);
            model.cycle.acked_per_step / SMSS
        });
        assert_eq!(slopes, [160, 80, 40, 20, 10, 5, 2, 1, 1]);
        (0..40).for_each(|_| model.raise_slope(&window));
        slopes.fill(model.cycle.acked_per_step / SMSS);
        assert_eq!((slopes[0], model.cycle.up_rounds), (1, 30));
        // A round that ends raises it.
        model.inflight_longterm = 160 * SMSS;
        (model.cycle.up_rounds, model.state) = (1, State::Up);
        model.cycle.acked_per_step = 160 * SMSS;
        step(&mut model, &window, &Sample { cwnd_limited: true, ..round(MS(1100)) });
        assert_eq!(model.cycle.acked_per_step, 80 * SMSS);
    }

    #[test]
    fn what_arrived_of_more_raises_the_bound_unless_too_much_of_it_was_lost() {
        let (mut model, window) = (model(State::Cruise), window(200));
        let seen = |lost| Sample { tx_in_flight: 130 * SMSS, lost, ..sample(MS(1100)) };
        step(&mut model, &window, &seen(0));
        assert_eq!(model.inflight_longterm, UNBOUNDED);
        model.inflight_longterm = 120 * SMSS;
        step(&mut model, &window, &seen(2601));
        assert_eq!(model.inflight_longterm, 120 * SMSS);
        step(&mut model, &window, &seen(2600));
        assert_eq!(model.inflight_longterm, 130 * SMSS);
    }

    #[test]
    fn after_a_probe_that_was_too_much_the_next_one_turns_back_at_the_bound_and_then_goes_beyond() {
        let (mut model, window) = (model(State::Up), window(200));
        (model.inflight_longterm, model.cycle.too_high) = (120 * SMSS, true);
        model.cycle.ack_phase = AckPhase::ProbeFeedback;
        let at = |inflight| Sample { inflight, ..sample(MS(1100)) };
        assert_eq!(step(&mut model, &window, &at(120 * SMSS - 1)), State::Up);
        assert_eq!(step(&mut model, &window, &at(120 * SMSS)), State::Down);
        assert!(model.cycle.precautionary && !model.cycle.too_high);
        // A round of feedback without too many losses, and it probes again at once.
        model.bandwidths = [RATE, RATE + 1];
        model.cycle.is_probe_sample = true;
        assert_eq!(step(&mut model, &window, &round(MS(1200))), State::Refill);
        assert!(!model.cycle.is_probe_sample && !model.cycle.precautionary);
        assert_eq!(model.bandwidths, [RATE + 1, 0], "a cycle has passed");
    }

    #[test]
    fn a_probe_that_ends_too_high_or_in_another_state_does_not_begin_again() {
        for (state, too_high, app_limited, advances) in [
            (State::Down, true, false, true),
            (State::Down, true, true, false),
            (State::ProbeRtt, false, false, false),
        ] {
            let (mut model, window) = (model(state), window(200));
            model.cycle.ack_phase = AckPhase::ProbeStopping;
            (model.cycle.precautionary, model.cycle.too_high) = (true, too_high);
            let sample = Sample { inflight: 150 * SMSS, app_limited, ..round(MS(1200)) };
            assert_eq!(step(&mut model, &window, &sample), state);
            assert_eq!(model.cycle.ack_phase, AckPhase::Init);
            assert_eq!(model.bandwidths[1] == 0, advances, "{state:?}");
        }
    }

    #[test]
    fn a_probe_s_feedback_begins_a_round_after_it() {
        let (mut model, window) = (model(State::Up), window(200));
        model.cycle.ack_phase = AckPhase::ProbeStarting;
        step(&mut model, &window, &sample(MS(1100)));
        assert_eq!(model.cycle.ack_phase, AckPhase::ProbeStarting);
        step(&mut model, &window, &round(MS(1100)));
        assert_eq!(model.cycle.ack_phase, AckPhase::ProbeFeedback);
    }
}
