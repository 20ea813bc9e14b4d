//! What is kept when losses begin, and how it comes back (§5.5.11, §5.6.4.4).

use super::model::Model;
use super::state::{State, UndoState};
use crate::cc::Window;

impl Model {
    /// `SaveCwnd` (§5.6.4.4).
    pub(super) fn save_cwnd(&mut self, window: &Window) {
        self.prior_cwnd = if !self.phase.repairs() && self.state != State::ProbeRtt {
            window.cwnd
        } else {
            self.prior_cwnd.max(window.cwnd)
        };
    }

    /// `RestoreCwnd` (§5.6.4.4).
    pub(super) fn restore_cwnd(&self, window: &mut Window) {
        window.set_cwnd(window.cwnd.max(self.prior_cwnd));
    }

    /// `SaveStateUponLoss` (§5.5.11.1).
    pub(super) fn save_upon_loss(&mut self, window: &Window) {
        self.save_cwnd(window);
        self.undo = UndoState {
            state: None,
            bw_shortterm: self.bw_shortterm,
            inflight_shortterm: self.inflight_shortterm,
            inflight_longterm: self.inflight_longterm,
        };
    }

    /// `HandleSpuriousLossDetection` (§5.5.11.2).
    pub(super) fn handle_spurious(&mut self, window: &mut Window) {
        self.restore_cwnd(window);
        self.loss.seen = false;
        self.full.reset(0);
        self.bw_shortterm = self.bw_shortterm.max(self.undo.bw_shortterm);
        self.inflight_shortterm = self.inflight_shortterm.max(self.undo.inflight_shortterm);
        self.inflight_longterm = self.inflight_longterm.max(self.undo.inflight_longterm);
        let before = self.undo.state.take();
        // "If flow was probing bandwidth, return to that state"
        if before == Some(State::Startup) && self.state != State::Startup {
            self.full.reached = false;
            if self.state != State::ProbeRtt {
                self.enter_startup();
            }
        } else if before == Some(State::Up) && !matches!(self.state, State::Up | State::ProbeRtt) {
            self.start_refill();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{MS, RATE, SMSS, model, window};
    use super::*;
    use crate::cc::LostSegment;
    use crate::phase::Phase;

    #[test]
    fn the_window_to_come_back_to_is_the_last_one_that_nothing_had_reduced() {
        let mut model = model(State::Cruise);
        for (phase, state, segments, prior) in [
            (Phase::Open, State::Cruise, 90, 90),
            (Phase::Open, State::Cruise, 80, 80),
            (Phase::Recovery, State::Cruise, 70, 80),
            (Phase::Loss, State::Cruise, 85, 85),
            (Phase::Open, State::ProbeRtt, 50, 85),
        ] {
            (model.phase, model.state) = (phase, state);
            model.save_cwnd(&window(segments));
            assert_eq!(model.prior_cwnd, prior * SMSS);
        }
        let mut w = window(10);
        model.restore_cwnd(&mut w);
        assert_eq!(w.cwnd, 85 * SMSS);
        let mut w = window(100);
        model.restore_cwnd(&mut w);
        assert_eq!(w.cwnd, 100 * SMSS);
    }

    #[test]
    fn a_spurious_recovery_gives_back_what_it_took_and_probes_again() {
        // "Handling Spurious Fast Recovery".
        let (mut model, mut w) = (model(State::Up), window(150));
        (model.inflight_longterm, model.cycle.is_probe_sample) = (140 * SMSS, true);
        let lost =
            LostSegment { end: SMSS, size: SMSS, in_flight: 120 * SMSS, lost: 3000, app_limited: false };
        model.handle_lost(&w, MS(1100), &lost);
        assert_eq!(model.state, State::Down);
        (model.bw_shortterm, model.inflight_shortterm) = (RATE / 2, 60 * SMSS);
        (model.full.count, model.loss.seen) = (2, true);
        w.set_cwnd(60 * SMSS);
        model.handle_spurious(&mut w);
        assert_eq!((w.cwnd, model.state), (150 * SMSS, State::Refill));
        assert_eq!(model.inflight_longterm, 140 * SMSS);
        assert_eq!((model.bw_shortterm, model.inflight_shortterm), (u64::MAX, u64::MAX));
        assert_eq!((model.loss.seen, model.full.count, model.undo.state), (false, 0, None));
    }

    #[test]
    fn bounds_that_have_risen_meanwhile_stay() {
        let (mut model, mut w) = (model(State::Cruise), window(50));
        (model.bw_shortterm, model.inflight_shortterm, model.inflight_longterm) = (10, 20, 30);
        model.save_upon_loss(&w);
        (model.bw_shortterm, model.inflight_shortterm, model.inflight_longterm) = (9, 21, 29);
        model.handle_spurious(&mut w);
        let bounds = (model.bw_shortterm, model.inflight_shortterm, model.inflight_longterm);
        assert_eq!((bounds, model.state), ((10, 21, 30), State::Cruise));
    }

    #[test]
    fn a_startup_that_ended_for_nothing_goes_on() {
        for (state, after) in [(State::Drain, State::Startup), (State::ProbeRtt, State::ProbeRtt)] {
            let (mut model, mut w) = (model(state), window(50));
            model.undo.state = Some(State::Startup);
            model.handle_spurious(&mut w);
            assert_eq!((model.state, model.full.reached), (after, false));
        }
        let (mut model, mut w) = (model(State::ProbeRtt), window(50));
        model.undo.state = Some(State::Up);
        model.handle_spurious(&mut w);
        assert_eq!((model.state, model.full.reached), (State::ProbeRtt, true));
    }
}
