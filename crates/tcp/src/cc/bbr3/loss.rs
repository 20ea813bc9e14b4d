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

#[cfg(test)]
mod tests {
    use super::super::state::AckPhase;
    use super::super::testing::{MS, RATE, SMSS, model, round, sample, window};
    use super::*;

    /// The segment that ends at `end`, of 120 in flight, with so many octets lost since it left.
    fn lost(end: u64, lost: u64) -> LostSegment {
        LostSegment { end, size: SMSS, in_flight: 120 * SMSS, lost, app_limited: false }
    }

    /// In a state, getting what a probe tells.
    fn probing(state: State) -> Model {
        let mut model = model(state);
        model.cycle.is_probe_sample = true;
        model
    }

    #[test]
    fn a_probe_may_lose_two_in_a_hundred() {
        // "Handling Loss During PROBE_UP After inflight_longterm is Set".
        let (mut model, window) = (probing(State::Up), window(200));
        model.inflight_longterm = 150 * SMSS;
        model.handle_lost(&window, MS(1100), &lost(1000, 1000));
        model.handle_lost(&window, MS(1100), &lost(3000, 2000));
        assert_eq!((model.state, model.inflight_longterm), (State::Up, 150 * SMSS));
        model.handle_lost(&window, MS(1100), &lost(9000, 3000));
        assert_eq!(model.state, State::Down);
        // Of 119 before it 2380 octets may be lost, and 2000 were: 387 more of what was in flight then.
        assert_eq!(model.inflight_longterm, 119 * SMSS + 387);
        assert!(model.cycle.too_high && !model.cycle.is_probe_sample);
        assert_eq!(model.cycle.ack_phase, AckPhase::ProbeStopping);
        assert_eq!((model.undo.state, model.undo.inflight_longterm), (Some(State::Up), 150 * SMSS));
        // "only react once per bw probe"
        model.handle_lost(&window, MS(1100), &LostSegment { in_flight: 9000, ..lost(11_000, 4000) });
        assert_eq!(model.inflight_longterm, 119 * SMSS + 387);
    }

    #[test]
    fn no_probe_takes_more_than_three_tenths_of_the_path() {
        let (mut model, window) = (probing(State::Up), window(200));
        model.handle_lost(&window, MS(1100), &LostSegment { in_flight: 20 * SMSS, ..lost(1000, 1000) });
        assert_eq!(model.inflight_longterm, 70 * SMSS);
    }

    #[test]
    fn where_the_application_was_the_limit_a_probe_ends_and_its_bound_stays() {
        // "Exiting PROBE_UP on Loss When Application-Limited".
        let (mut model, window) = (probing(State::Up), window(200));
        model.handle_lost(&window, MS(1100), &LostSegment { app_limited: true, ..lost(1000, 3000) });
        assert_eq!((model.state, model.inflight_longterm), (State::Down, UNBOUNDED));
    }

    #[test]
    fn losses_of_what_was_no_probe_leave_the_bound() {
        let (mut model, window) = (model(State::Cruise), window(200));
        model.handle_lost(&window, MS(1100), &lost(1000, 9000));
        assert_eq!((model.state, model.inflight_longterm), (State::Cruise, UNBOUNDED));
        // Refilling is part of a probe, and goes on.
        let mut model = probing(State::Refill);
        model.handle_lost(&window, MS(1100), &lost(1000, 9000));
        assert_eq!((model.state, model.inflight_longterm), (State::Refill, 119 * SMSS));
    }

    #[test]
    fn the_prefix_that_crosses_the_threshold() {
        for (segment, at) in [
            (LostSegment { size: 10_000, ..lost(0, 10_000) }, 110_000 + 2244),
            (lost(0, 1000), 119_000 + 2428),
            (lost(0, 3000), 119_000 + 387),
            (lost(0, 3400), 119_000),
            (LostSegment { in_flight: 500, ..lost(0, 1000) }, 0),
        ] {
            assert_eq!(inflight_at(&segment), at, "{segment:?}");
        }
    }

    #[test]
    fn ranges_that_touch_are_one() {
        let (mut model, window) = (model(State::Startup), window(200));
        for (end, ranges) in [(1000, 1), (2000, 1), (4000, 2), (5000, 2), (9000, 3)] {
            model.handle_lost(&window, MS(1100), &lost(end, 1000));
            assert_eq!(model.loss.ranges, ranges, "{end}");
        }
    }

    #[test]
    fn the_first_loss_of_a_round_begins_one_and_saves_the_state() {
        let (mut model, w) = (model(State::Cruise), window(150));
        model.delivered = 1_200_000;
        model.bw_shortterm = 7;
        model.note_loss(&w);
        assert_eq!((model.loss.seen, model.loss.delivered), (true, 1_200_000));
        assert_eq!((model.undo.bw_shortterm, model.prior_cwnd), (7, 150 * SMSS));
        (model.delivered, model.bw_shortterm) = (1_300_000, 8);
        model.note_loss(&w);
        assert_eq!((model.loss.delivered, model.undo.bw_shortterm), (1_200_000, 7));
    }

    /// A round ends in which something was lost, and half of the bandwidth and of the volume arrived.
    fn end_round(model: &mut Model, rate: u64, delivered: u64) -> (u64, u64) {
        model.loss.seen = true;
        (model.loss.bw_latest, model.loss.inflight_latest) = (0, 0);
        let sample = Sample { delivery_rate: rate, delivered, ..round(MS(1100)) };
        model.update_latest(&sample);
        model.update_congestion(&window(120), &sample);
        (model.bw_shortterm, model.inflight_shortterm)
    }

    #[test]
    fn a_round_with_a_loss_brings_the_bounds_down_to_what_arrives_and_by_three_tenths_at_most() {
        let mut model = model(State::Cruise);
        assert_eq!(end_round(&mut model, RATE * 9 / 10, 90 * SMSS), (RATE * 9 / 10, 90 * SMSS));
        assert!(!model.loss.seen);
        assert_eq!(end_round(&mut model, RATE / 10, 10 * SMSS), (RATE * 63 / 100, 63 * SMSS));
        assert_eq!(end_round(&mut model, 0, 0), (RATE * 441 / 1000, 44_100));
        // The first bound follows from the highest bandwidth and from cwnd.
        let mut model = super::super::testing::model(State::Down);
        assert_eq!(end_round(&mut model, 0, 0), (RATE * 7 / 10, 84 * SMSS));
    }

    #[test]
    fn probes_and_rounds_without_loss_leave_the_bounds() {
        for state in [State::Startup, State::Refill, State::Up] {
            assert_eq!(end_round(&mut model(state), 0, 0), (UNBOUNDED, UNBOUNDED), "{state:?}");
        }
        let mut model = model(State::Cruise);
        model.update_congestion(&window(120), &round(MS(1100)));
        assert_eq!(model.bw_shortterm, UNBOUNDED);
        // Within a round.
        model.loss.seen = true;
        model.update_latest(&Sample { prior_delivered: Some(999_999), ..sample(MS(1100)) });
        model.update_congestion(&window(120), &sample(MS(1100)));
        assert!(model.loss.seen && model.bw_shortterm == UNBOUNDED);
    }

    #[test]
    fn a_mark_is_a_loss_of_too_much() {
        let (mut model, window) = (probing(State::Up), window(200));
        model.handle_mark(&window, &Sample { tx_in_flight: 130 * SMSS, ..sample(MS(1100)) });
        assert_eq!((model.state, model.inflight_longterm), (State::Down, 130 * SMSS));
        let mut model = super::super::testing::model(State::Cruise);
        model.handle_mark(&window, &sample(MS(1100)));
        assert_eq!((model.loss.seen, model.state), (true, State::Cruise));
    }

    #[test]
    fn without_selective_acknowledgements_each_loss_is_too_much_for_a_probe() {
        let (mut model, window) = (probing(State::Up), window(200));
        model.at = MS(1100);
        model.handle_single_loss(&window, 110 * SMSS);
        assert_eq!((model.state, model.cycle.began), (State::Down, MS(1100)));
        assert_eq!(model.inflight_longterm, 110 * SMSS);
        model.loss.seen = true;
        let of = |selective| Sample { selective, ..sample(MS(1100)) };
        assert!(model.is_inflight_too_high(&of(false)) && !model.is_inflight_too_high(&of(true)));
    }
}
