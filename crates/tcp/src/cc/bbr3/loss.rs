//! What losses say of the path: how much in flight was too much for it, and what it delivers now (§5.5.10).

use handfast_core::Instant;

use super::model::Model;
use super::sample::Sample;
use super::state::State;
use super::units::{UNBOUNDED, percent};
use crate::cc::{LostSegment, Window};

/// `BBR.LossThresh` and `BBR.Beta`, hundredths (§2.8).
const LOSS_THRESH: u64 = 2;
const BETA: u64 = 70;

/// Whether so much lost of so much in flight is more than a probe may lose.
fn is_above_thresh(lost: u64, in_flight: u64) -> bool {
    u128::from(lost) * 100 > u128::from(in_flight) * u128::from(LOSS_THRESH)
}

impl Model {
    /// `IsInflightTooHigh` (§5.5.10.2). Where losses are not found one by one, any of this round counts.
    pub(super) fn is_inflight_too_high(&self, sample: &Sample) -> bool {
        is_above_thresh(sample.lost, sample.tx_in_flight) || (!sample.selective && self.loss.seen)
    }

    /// `HandleInflightTooHigh` (§5.5.10.2).
    pub(super) fn handle_inflight_too_high(
        &mut self,
        window: &Window,
        now: Instant,
        in_flight: u64,
        app_limited: bool,
    ) {
        self.cycle.too_high = true;
        // "only react once per bw probe"
        self.cycle.is_probe_sample = false;
        if !app_limited {
            self.inflight_longterm = in_flight.max(percent(self.target_inflight(window), BETA));
        }
        if self.state == State::Up {
            self.undo.state = Some(State::Up);
            self.start_down(now);
        }
    }

    /// `NoteLoss` (§5.5.10.2).
    pub(super) fn note_loss(&mut self, window: &Window) {
        if !self.loss.seen {
            self.loss.delivered = self.delivered;
            self.save_upon_loss(window);
        }
        self.loss.seen = true;
    }

    /// `HandleLostPacket` (§5.5.10.2).
    pub(super) fn handle_lost(&mut self, window: &Window, now: Instant, lost: &LostSegment) {
        self.note_loss(window);
        if self.loss.ranges == 0 || lost.end - lost.size != self.loss.last_end {
            self.loss.ranges += 1;
        }
        self.loss.last_end = lost.end;
        if self.cycle.is_probe_sample && is_above_thresh(lost.lost, lost.in_flight) {
            self.handle_inflight_too_high(window, now, inflight_at(lost), lost.app_limited);
        }
    }

    /// The same where losses are not found one by one: `flight` octets were outstanding.
    pub(super) fn handle_single_loss(&mut self, window: &Window, flight: u64) {
        self.note_loss(window);
        self.loss.ranges += 1;
        if self.cycle.is_probe_sample {
            self.handle_inflight_too_high(window, self.at, flight, false);
        }
    }

    /// §3.7: "the congestion controller response MUST treat any CE marks as congestion": as a loss of more than a probe may lose.
    pub(super) fn handle_mark(&mut self, window: &Window, sample: &Sample) {
        self.note_loss(window);
        if self.cycle.is_probe_sample {
            self.handle_inflight_too_high(window, sample.now, sample.tx_in_flight, sample.app_limited);
        }
    }

    /// `UpdateCongestionSignals` (§5.5.10.3).
    pub(super) fn update_congestion(&mut self, window: &Window, sample: &Sample) {
        self.update_max_bw(sample);
        if self.loss.start {
            self.adapt_shortterm(window);
            self.loss.seen = false;
        }
    }

    /// `AdaptLowerBoundsFromCongestion`, `InitLowerBounds` and `LossLowerBounds` (§5.5.10.3).
    fn adapt_shortterm(&mut self, window: &Window) {
        if self.state.is_probing() || !self.loss.seen {
            return;
        }
        let or = |bound, first| if bound == UNBOUNDED { first } else { bound };
        let bw = or(self.bw_shortterm, self.max_bw());
        let inflight = or(self.inflight_shortterm, window.cwnd);
        self.bw_shortterm = self.loss.bw_latest.max(percent(bw, BETA));
        self.inflight_shortterm = self.loss.inflight_latest.max(percent(inflight, BETA));
    }

    /// `ResetCongestionSignals` (§5.5.10.3).
    pub(super) fn reset_congestion_signals(&mut self) {
        self.loss.seen = false;
        self.loss.bw_latest = 0;
        self.loss.inflight_latest = 0;
    }

    /// `ResetShortTermModel` (§5.5.10.3).
    pub(super) fn reset_shortterm(&mut self) {
        self.bw_shortterm = UNBOUNDED;
        self.inflight_shortterm = UNBOUNDED;
    }
}

/// `InflightAtLoss` (§5.5.10.2): "At what prefix of packet did losses exceed `BBR.LossThresh`?" Where they had before it, at none.
fn inflight_at(lost: &LostSegment) -> u64 {
    let before = lost.in_flight.saturating_sub(lost.size);
    let lost_before = lost.lost - lost.size;
    let budget = u128::from(before) * u128::from(LOSS_THRESH);
    let prefix = budget.saturating_sub(u128::from(lost_before) * 100) / u128::from(100 - LOSS_THRESH);
    before.saturating_add(u64::try_from(prefix).unwrap_or(u64::MAX))
}
