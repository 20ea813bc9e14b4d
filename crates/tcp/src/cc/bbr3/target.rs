//! What is sent: the pacing rate, the quantum, cwnd (§5.6).

use handfast_core::Duration;

use super::model::Model;
use super::sample::Sample;
use super::state::State;
use super::units::{UNBOUNDED, percent, rate, volume};
use crate::cc::Window;
use crate::phase::Phase;

/// What `BBR.PacingMarginPercent` (§2.5) leaves of the bandwidth.
const PACED_PERCENT: u64 = 100 - 1;

/// "64 `KBytes`" (§5.6.3).
const MOST_QUANTUM: u64 = 65_536;

/// `BBR.MinPipeCwnd` (§2.8).
pub(super) const fn least_cwnd(smss: u64) -> u64 {
    4 * smss
}

impl Model {
    /// `InitPacingRate` (§5.6.2): "1ms" where no round trip is known.
    pub(super) fn first_rate(&self, window: &Window) -> u64 {
        let rtt = self.min_rtt.filter(|&rtt| rtt > Duration::ZERO).unwrap_or(Duration::from_millis(1));
        let initial_cwnd = if self.initial_cwnd == 0 { window.cwnd } else { self.initial_cwnd };
        percent(rate(initial_cwnd, rtt), State::Startup.pacing_gain())
    }

    /// `SetPacingRateWithGain` (§5.6.2). Without a bandwidth, as where losses have ended the start-up before the first sample, the rate
    /// stays the first: none would hold what waits for ever.
    pub(super) fn set_pacing_rate(&mut self, gain: u64) {
        if self.bw == 0 {
            return;
        }
        let rate = percent(percent(self.bw, gain), PACED_PERCENT);
        if self.full.reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// `SetSendQuantum` (§5.6.3).
    pub(super) fn quantum(&self, smss: u64) -> u64 {
        volume(self.pacing_rate, Duration::from_millis(1)).min(MOST_QUANTUM).max(2 * smss)
    }

    /// `QuantizationBudget` (§5.6.4.2).
    fn with_budget(&self, cap: u64, smss: u64) -> u64 {
        // `UpdateOffloadBudget` (§5.5.8.1): 3 * C.send_quantum.
        let cap = cap.max(3 * self.quantum(smss)).max(least_cwnd(smss));
        if self.state == State::Up { cap.saturating_add(2 * smss) } else { cap }
    }

    /// `Inflight` (§5.6.4.2) of a rate.
    pub(super) fn inflight(&self, bw: u64, gain: u64, smss: u64) -> u64 {
        self.with_budget(self.bdp_of(bw, gain), smss)
    }

    /// `UpdateMaxInflight` (§5.6.4.2).
    fn max_inflight(&self, smss: u64) -> u64 {
        let cap = self.bdp_of(self.bw, self.state.cwnd_gain());
        self.with_budget(cap.saturating_add(self.extra_acked.get()), smss)
    }

    /// `ProbeRTTCwnd` (§5.6.4.5).
    pub(super) fn probe_rtt_cwnd(&self, smss: u64) -> u64 {
        self.bdp_of(self.bw, State::ProbeRtt.cwnd_gain()).max(least_cwnd(smss))
    }

    /// `SetCwnd` (§5.6.4.6).
    pub(super) fn set_cwnd(&self, window: &mut Window, sample: &Sample) {
        let (smss, max_inflight) = (sample.smss, self.max_inflight(sample.smss));
        let grown = window.cwnd.saturating_add(sample.newly_acked);
        let cwnd = if self.full.reached {
            grown.min(max_inflight)
        } else if window.cwnd < max_inflight || sample.total < self.initial_cwnd {
            grown
        } else {
            window.cwnd
        };
        let cwnd = cwnd.max(least_cwnd(smss));
        // `BoundCwndForProbeRTT` (§5.6.4.5).
        let cap = if self.state == State::ProbeRtt { self.probe_rtt_cwnd(smss) } else { UNBOUNDED };
        window.set_cwnd(cwnd.min(cap).min(self.model_cap(smss)));
    }

    /// `BoundCwndForModel` (§5.6.4.7): the bound.
    fn model_cap(&self, smss: u64) -> u64 {
        let cap = match self.state {
            State::Down | State::Refill | State::Up => self.inflight_longterm,
            State::ProbeRtt | State::Cruise => self.inflight_with_headroom(smss),
            State::Startup | State::Drain => UNBOUNDED,
        };
        // "apply BBR.inflight_shortterm (possibly infinite)"
        cap.min(self.inflight_shortterm).max(least_cwnd(smss))
    }

    /// "When BBR exits loss recovery it restores C.cwnd" (§5.6.4.4); and where fast recovery begins, a round trip of it does.
    pub(super) fn follow_recovery(&mut self, window: &mut Window, phase: Phase) {
        if !phase.repairs() && self.phase.repairs() {
            self.restore_cwnd(window);
        } else if phase == Phase::Recovery && self.phase != Phase::Recovery {
            self.recovery_at = self.delivered;
        }
        self.phase = phase;
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{MS, RATE, SMSS, model, sample, window};
    use super::*;

    #[test]
    fn the_pacing_rate_is_a_hundredth_below_the_bandwidth_and_falls_only_once_the_pipe_was_full() {
        let mut model = model(State::Startup);
        model.set_pacing_rate(277);
        assert_eq!(model.pacing_rate, 2_742_300);
        model.set_pacing_rate(100);
        assert_eq!(model.pacing_rate, 2_742_300);
        model.full.reached = true;
        model.set_pacing_rate(90);
        assert_eq!(model.pacing_rate, 891_000);
        model.bw = 0;
        model.set_pacing_rate(90);
        assert_eq!(model.pacing_rate, 891_000, "no bandwidth is known");
    }

    #[test]
    fn a_quantum_is_a_millisecond_of_it_two_segments_at_least_and_64_kilobytes_at_most() {
        let mut model = model(State::Cruise);
        for (rate, quantum) in [(RATE, 2000), (5 * RATE, 5000), (90 * RATE, 65_536)] {
            model.pacing_rate = rate;
            assert_eq!(model.quantum(SMSS), quantum);
        }
    }

    #[test]
    fn volumes_have_room_for_three_quanta_four_segments_and_two_more_when_probing() {
        let mut model = model(State::Cruise);
        assert_eq!(model.inflight(RATE, 100, SMSS), 100 * SMSS);
        // "Correctly Managing Sub-Packet BDPs".
        assert_eq!(model.inflight(RATE / 1000, 100, SMSS), 6 * SMSS);
        assert_eq!(model.probe_rtt_cwnd(SMSS), 50 * SMSS);
        model.bw = 1;
        assert_eq!(model.probe_rtt_cwnd(SMSS), 4 * SMSS);
        model.pacing_rate = 50 * RATE;
        assert_eq!(model.inflight(RATE, 100, SMSS), 150 * SMSS);
        model.state = State::Up;
        assert_eq!(model.inflight(RATE, 100, SMSS), 152 * SMSS);
    }

    /// cwnd in segments after an acknowledgement of ten of them.
    fn grown(model: &Model, segments: u64) -> u64 {
        let mut w = window(segments);
        model.set_cwnd(&mut w, &Sample { newly_acked: 10 * SMSS, ..sample(MS(1100)) });
        w.cwnd / SMSS
    }

    #[test]
    fn cwnd_grows_by_what_is_acknowledged_to_twice_the_path_and_falls_to_it_at_once() {
        let mut model = model(State::Down);
        assert_eq!([100, 195, 300].map(|w| grown(&model, w)), [110, 200, 200]);
        model.extra_acked.add(10, 0, 7 * SMSS);
        assert_eq!(grown(&model, 300), 207);
        model.state = State::Up;
        assert_eq!(grown(&model, 300), 234, "2.25 times, what is aggregated, two segments");
        model.bw = 1;
        assert_eq!(grown(&model, 300), 9, "the quanta, and what else");
    }

    #[test]
    fn in_startup_cwnd_does_not_fall_and_grows_while_little_has_arrived() {
        let mut model = model(State::Startup);
        assert_eq!([195, 200, 300].map(|w| grown(&model, w)), [205, 200, 300]);
        model.initial_cwnd = 1_000_001;
        assert_eq!(grown(&model, 300), 310);
        model.bw = 1;
        (model.initial_cwnd, model.pacing_rate) = (0, 1);
        assert_eq!(grown(&model, 1), 11);
    }

    #[test]
    fn bounds_of_the_volume_are_those_of_the_draft_s_table() {
        for (state, segments) in [
            (State::Startup, 110),
            (State::Drain, 110),
            (State::Down, 100),
            (State::Refill, 100),
            (State::Up, 100),
            (State::Cruise, 85),
            (State::ProbeRtt, 50),
        ] {
            let mut model = model(state);
            model.inflight_longterm = 100 * SMSS;
            assert_eq!(grown(&model, 100), segments, "{state:?}");
            model.inflight_shortterm = 40 * SMSS;
            assert_eq!(grown(&model, 100), 40, "{state:?}");
            model.inflight_shortterm = 1;
            assert_eq!(grown(&model, 100), 4, "{state:?}");
        }
    }

    #[test]
    fn recovery_s_end_brings_the_window_back() {
        let (mut model, mut w) = (model(State::Cruise), window(20));
        model.prior_cwnd = 90 * SMSS;
        for (phase, segments) in [(Phase::Recovery, 20), (Phase::Recovery, 20), (Phase::Open, 90)] {
            model.follow_recovery(&mut w, phase);
            assert_eq!(w.cwnd, segments * SMSS, "{phase:?}");
            model.delivered += 1000;
        }
        assert_eq!(model.recovery_at, 1_000_000, "when it began");
        let mut w = window(20);
        model.follow_recovery(&mut w, Phase::Open);
        assert_eq!(w.cwnd, 20 * SMSS);
    }
}
