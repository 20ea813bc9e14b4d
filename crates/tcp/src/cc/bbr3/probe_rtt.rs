//! `ProbeRTT`, and the shortest round trip of ten seconds (§5.3.4).

use handfast_core::{Duration, Instant};

use super::model::Model;
use super::sample::Sample;
use super::state::{AckPhase, State};
use crate::cc::Window;

/// `BBR.MinRTTFilterLen` (§2.16.1), `BBR.ProbeRTTInterval` and `BBR.ProbeRTTDuration` (§2.16.2).
const LIFETIME: Duration = Duration::from_secs(10);
const INTERVAL: Duration = Duration::from_secs(5);
const LASTS: Duration = Duration::from_millis(200);

impl Model {
    /// `UpdateMinRTT` (§5.3.4.3).
    pub(super) fn update_min_rtt(&mut self, sample: &Sample) {
        let probe = &mut self.probe_rtt;
        probe.expired = sample.now > probe.min_at + INTERVAL;
        if let Some(rtt) = sample.rtt
            && (probe.min_delay.is_none_or(|least| rtt < least) || probe.expired)
        {
            probe.min_delay = Some(rtt);
            probe.min_at = sample.now;
        }
        let expired = sample.now > self.min_rtt_at + LIFETIME;
        let Some(delay) = probe.min_delay else { return };
        if self.min_rtt.is_none_or(|least| delay < least) || expired {
            self.min_rtt = Some(delay);
            self.min_rtt_at = probe.min_at;
        }
    }

    /// `CheckProbeRTT` (§5.3.4.3).
    pub(super) fn check_probe_rtt(&mut self, window: &mut Window, sample: &Sample) {
        if self.state != State::ProbeRtt && self.probe_rtt.expired && !self.idle_restart {
            self.state = State::ProbeRtt;
            self.save_cwnd(window);
            self.probe_rtt.until = None;
            self.cycle.ack_phase = AckPhase::ProbeStopping;
            self.start_round();
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(window, sample);
        }
        if sample.delivered > 0 {
            self.idle_restart = false;
        }
    }

    /// `HandleProbeRTT` (§5.3.4.3). `MarkConnectionAppLimited` follows from [`super::Bbr3::is_limiting`].
    fn handle_probe_rtt(&mut self, window: &mut Window, sample: &Sample) {
        if self.probe_rtt.until.is_some() {
            self.probe_rtt.round_done |= self.rounds.start;
            if self.probe_rtt.round_done {
                self.check_probe_rtt_done(window, sample.now);
            }
        } else if sample.inflight <= self.probe_rtt_cwnd(sample.smss) {
            self.probe_rtt.until = Some(sample.now + LASTS);
            self.probe_rtt.round_done = false;
            self.start_round();
        }
    }

    /// `CheckProbeRTTDone` (§5.3.4.3).
    pub(super) fn check_probe_rtt_done(&mut self, window: &mut Window, now: Instant) {
        if self.probe_rtt.until.is_some_and(|until| now > until) {
            // "schedule next ProbeRTT"
            self.probe_rtt.min_at = now;
            self.restore_cwnd(window);
            self.exit_probe_rtt(now);
        }
    }

    /// `ExitProbeRTT` (§5.3.4.4).
    fn exit_probe_rtt(&mut self, now: Instant) {
        self.reset_shortterm();
        if self.full.reached {
            self.start_down(now);
            self.start_cruise();
        } else {
            self.enter_startup();
        }
    }
}
