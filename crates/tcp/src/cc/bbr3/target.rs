//! What is sent: the pacing rate, the quantum, cwnd (§5.6).

use handfast_core::{Duration, Instant};

use super::model::Model;
use super::sample::Sample;
use super::state::State;
use super::units::{ONE, UNBOUNDED, percent, rate, volume};
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
        percent(rate(window.cwnd, rtt), State::Startup.pacing_gain())
    }

    /// `SetPacingRateWithGain` (§5.6.2).
    pub(super) fn set_pacing_rate(&mut self, gain: u64) {
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
        if phase == Phase::Open && self.phase != Phase::Open {
            self.restore_cwnd(window);
        } else if phase == Phase::Recovery && self.phase != Phase::Recovery {
            self.recovery_at = self.delivered;
        }
        self.phase = phase;
    }

    /// `HandleRestartFromIdle` (§5.4.1).
    pub(super) fn restart(&mut self, window: &mut Window, now: Instant) {
        self.idle_restart = true;
        self.extra_since = now;
        if self.state.is_probe_bw() {
            self.set_pacing_rate(ONE);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(window, now);
        }
    }
}
