//! What is kept when losses begin, and how it comes back (§5.5.11, §5.6.4.4).

use super::model::Model;
use super::state::{State, UndoState};
use crate::cc::Window;
use crate::phase::Phase;

impl Model {
    /// `SaveCwnd` (§5.6.4.4).
    pub(super) fn save_cwnd(&mut self, window: &Window) {
        self.prior_cwnd = if self.phase == Phase::Open && self.state != State::ProbeRtt {
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
