//! BBR version 3 (draft-ietf-ccwg-bbr; names and sections as there): a model of the path, its bandwidth, its round trip, and what in
//! flight it bears with little loss. It probes for more now and then, and answers what is lost otherwise by what still arrives.
//!
//! `units` and `sample` are what it counts in and what an acknowledgement says; `state` has the states and their gains, `model` what is
//! known of the path, `aggregation` how it bunches acknowledgements. `startup`, `probe_bw` (when: `probe_wait`) and `probe_rtt` go from state to state, `loss` is the response to
//! losses, `undo` takes it back, `target` sets rate and window.

mod aggregation;
mod loss;
mod model;
mod probe_bw;
mod probe_rtt;
mod probe_wait;
mod sample;
mod startup;
mod state;
mod target;
#[cfg(test)]
mod testing;
mod undo;
mod units;

use handfast_core::{BitRate, Duration, Instant};

use super::{AckSample, Controller, LostSegment, Needs, Pacing, Request, Timeout, Undo, UndoRule, Window};
use crate::Config;
use crate::phase::Phase;
use model::Model;
use sample::Sample;
use state::State;

/// In a box, so that other algorithms' connections do not grow by it.
#[derive(Clone, Debug)]
pub(crate) struct Bbr3(Box<Model>);

impl Controller for Bbr3 {
    fn new(_config: &Config) -> Self {
        Self(Box::new(Model::new()))
    }

    fn needs() -> Needs {
        Needs { path_samples: true, losses: true, pacing: Pacing::Bursts, ..Needs::default() }
    }

    fn seed(&mut self, bits: u64) {
        self.0.random = Model::stream(bits);
    }

    /// `OnInit` (§5.2.1): "`BBR.min_rtt` = C.srtt".
    fn on_handshake(&mut self, delay: Duration) {
        self.0.min_rtt = Some(delay);
    }

    fn on_total(&mut self, delivered: u64) {
        self.0.delivered = delivered;
    }

    /// `UpdateOnACK` (§5.2.3).
    fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        let Some(sample) = Sample::of(window, ack) else { return };
        let model = &mut *self.0;
        model.begin(window, &sample);
        model.delivered = sample.total;
        model.at = sample.now;
        model.selective = sample.selective;
        model.follow_recovery(window, sample.phase);
        if sample.ecn_echo {
            model.handle_mark(window, &sample);
        }
        model.update(window, &sample);
        model.set_pacing_rate(model.state.pacing_gain());
        model.set_cwnd(window, &sample);
    }

    /// `HandleLostPacket` (§5.2.4).
    fn on_lost(&mut self, window: &mut Window, now: Instant, lost: &LostSegment) {
        self.0.handle_lost(window, now, lost);
    }

    /// `OnEnterFastRecovery` (§5.6.4.4); also a tail loss probe's repair, and a mark of congestion: "This applies generally" (§5.5.10.3).
    fn on_loss(&mut self, window: &mut Window, flight: u64) {
        let model = &mut *self.0;
        model.save_upon_loss(window);
        if model.selective {
            model.note_loss(window);
        } else {
            model.handle_single_loss(window, flight);
        }
    }

    fn ssthresh(&mut self, window: &Window, _flight: u64) -> u64 {
        window.ssthresh
    }

    /// `OnEnterRTO` (§5.6.4.4).
    fn on_timeout(&mut self, window: &mut Window, timeout: &Timeout) {
        let model = &mut *self.0;
        model.note_initial_cwnd(window);
        if timeout.is_new {
            model.save_upon_loss(window);
        } else {
            model.save_cwnd(window);
        }
        model.note_loss(window);
        model.phase = Phase::Loss;
        window.set_cwnd(timeout.in_flight + window.smss);
    }

    /// `HandleSpuriousLossDetection` (§5.2.5). A handoff that lost nothing has its own window.
    fn on_spurious(&mut self, window: &mut Window, _before: &Self, undo: &Undo) {
        if undo.rule == UndoRule::Handoff {
            window.set_cwnd(undo.cwnd);
        }
        window.ssthresh = undo.ssthresh;
        self.0.handle_spurious(window);
    }

    /// `OnTransmit` (§5.2.2).
    fn on_restart(&mut self, window: &mut Window, now: Instant, app_limited: bool) {
        if app_limited {
            self.0.restart(window, now);
        }
    }

    fn on_request(&mut self, window: &mut Window, request: Request) {
        if !request.presumes_losses_govern() {
            window.apply(request);
        }
    }

    fn pacing_rate(&self, window: &Window, _srtt: Duration) -> Option<BitRate> {
        let model = &*self.0;
        let octets = if model.has_begun { model.pacing_rate } else { model.first_rate(window) };
        Some(BitRate::from_bps(octets.saturating_mul(8).max(1)))
    }

    /// `C.send_quantum` (§5.6.3).
    fn burst(&self, window: &Window) -> u32 {
        u32::try_from(self.0.quantum(window.smss) / window.smss).unwrap_or(u32::MAX)
    }

    /// "Ignore low rate samples during `ProbeRTT`" (§5.3.4.3).
    fn is_limiting(&self) -> bool {
        self.0.state == State::ProbeRtt
    }
}

impl Model {
    /// `UpdateModelAndState` (§5.2.3).
    fn update(&mut self, window: &mut Window, sample: &Sample) {
        self.update_latest(sample);
        self.update_congestion(window, sample);
        self.update_aggregation(window, sample);
        self.check_full_bw(sample);
        self.check_startup_done(sample);
        self.check_drain_done(sample);
        self.update_cycle(window, sample);
        self.update_min_rtt(sample);
        self.check_probe_rtt(window, sample);
        self.advance_latest(sample);
        self.bound_bw();
    }

    /// `HandleRestartFromIdle` (§5.4.1).
    pub(super) fn restart(&mut self, window: &mut Window, now: Instant) {
        self.idle_restart = true;
        self.extra_since = now;
        if self.state.is_probe_bw() {
            self.set_pacing_rate(units::ONE);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(window, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use handfast_core::SeqNum;

    use super::testing::{MS, SMSS, model, sample, window};
    use super::*;
    use crate::send::sender::Sender;

    #[test]
    fn a_connection_draws_numbers_by_its_initial_sequence_number() {
        let config = Config { congestion_control: crate::CongestionControl::Bbr3, ..Config::default() };
        let drawn = |iss| {
            let mut bbr = Sender::new(&config, SeqNum(iss)).cc.bbr3();
            bbr.0.pick_probe_wait();
            bbr.0.cycle.wait
        };
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1), drawn(2));
    }

    #[test]
    fn a_timeout_leaves_a_segment_more_than_is_in_flight_and_recovery_s_end_brings_the_window_back() {
        let (mut bbr, mut w) = (Bbr3(Box::new(model(State::Cruise))), window(90));
        let timeout = Timeout { is_new: true, flight: 90 * SMSS, in_recovery: false, in_flight: 2 * SMSS };
        bbr.on_timeout(&mut w, &timeout);
        assert_eq!((w.cwnd, bbr.0.prior_cwnd), (3 * SMSS, 90 * SMSS));
        assert_eq!((bbr.0.loss.seen, bbr.0.undo.inflight_longterm), (true, u64::MAX));
        // The next one in a row forgets nothing of before.
        bbr.0.inflight_longterm = 9;
        bbr.on_timeout(&mut w, &Timeout { is_new: false, in_flight: 0, ..timeout });
        assert_eq!((w.cwnd, bbr.0.prior_cwnd, bbr.0.undo.inflight_longterm), (SMSS, 90 * SMSS, u64::MAX));
        bbr.0.follow_recovery(&mut w, Phase::Open);
        assert_eq!(w.cwnd, 90 * SMSS);
    }

    #[test]
    fn the_initial_window_is_the_one_before_a_timeout_of_the_first_flight() {
        let (mut bbr, mut w) = (Bbr3(Box::new(Model::new())), window(10));
        bbr.on_handshake(Duration::from_millis(100));
        let rate = bbr.pacing_rate(&w, Duration::ZERO);
        bbr.on_timeout(
            &mut w,
            &Timeout { is_new: true, flight: 10 * SMSS, in_recovery: false, in_flight: 0 },
        );
        assert_eq!((w.cwnd, bbr.pacing_rate(&w, Duration::ZERO)), (SMSS, rate));
        bbr.0.begin(&w, &sample(MS(1000)));
        assert_eq!((bbr.0.initial_cwnd, bbr.pacing_rate(&w, Duration::ZERO)), (10 * SMSS, rate));
    }

    #[test]
    fn recovery_begins_with_the_window_as_it_is() {
        let (mut bbr, mut w) = (Bbr3(Box::new(model(State::Up))), window(90));
        bbr.0.undo.state = Some(State::Startup);
        bbr.on_loss(&mut w, 80 * SMSS);
        assert_eq!((w.cwnd, bbr.0.prior_cwnd, bbr.0.undo.state), (90 * SMSS, 90 * SMSS, None));
        assert!(bbr.0.loss.seen && bbr.0.loss.ranges == 0, "what is lost is told");
        (bbr.0.selective, bbr.0.cycle.is_probe_sample) = (false, true);
        bbr.on_loss(&mut w, 80 * SMSS);
        assert_eq!((bbr.0.loss.ranges, bbr.0.state, bbr.0.inflight_longterm), (1, State::Down, 80 * SMSS));
    }

    #[test]
    fn what_others_ask_for_loss_based_windows_it_does_not_hear() {
        let (mut bbr, mut w) = (Bbr3(Box::new(model(State::Cruise))), window(20));
        for request in
            [Request::ToSsthresh, Request::Proportional { cwnd: 3000 }, Request::Unused { used: 1000 }]
        {
            bbr.on_request(&mut w, request);
            assert_eq!(w.cwnd, 20 * SMSS, "{request:?}");
        }
        bbr.on_request(&mut w, Request::OneSegment);
        assert_eq!(w.cwnd, SMSS);
    }

    #[test]
    fn an_undo_brings_cwnd_back_whichever_rule_found_it_and_a_handoff_says_what_it_was() {
        for (rule, before, after) in
            [(UndoRule::Linux, 60, 60), (UndoRule::Rfc4015, 60, 60), (UndoRule::Handoff, 60, 70)]
        {
            let (mut bbr, mut w) = (Bbr3(Box::new(model(State::Cruise))), window(5));
            bbr.0.prior_cwnd = before * SMSS;
            let undo = Undo { rule, cwnd: 70 * SMSS, ssthresh: 9 };
            bbr.on_spurious(&mut w, &Bbr3::new(&Config::default()), &undo);
            assert_eq!((w.cwnd, w.ssthresh), (after * SMSS, 9), "{rule:?}");
        }
    }

    #[test]
    fn a_pause_counts_where_the_application_made_it() {
        let (mut bbr, mut w) = (Bbr3(Box::new(model(State::Cruise))), window(5));
        bbr.on_restart(&mut w, MS(2000), false);
        assert!(!bbr.0.idle_restart);
        bbr.on_restart(&mut w, MS(2000), true);
        assert!(bbr.0.idle_restart);
    }

    #[test]
    fn it_is_the_limit_itself_where_it_looks_for_the_shortest_round_trip() {
        assert!(Bbr3(Box::new(model(State::ProbeRtt))).is_limiting());
        assert!(!Bbr3(Box::new(model(State::Cruise))).is_limiting());
        assert_eq!(Bbr3(Box::new(model(State::Cruise))).burst(&window(5)), 2);
    }
}
