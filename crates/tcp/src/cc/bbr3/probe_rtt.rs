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

#[cfg(test)]
mod tests {
    use super::super::testing::{MS, SMSS, model, round, sample, window};
    use super::super::units::UNBOUNDED;
    use super::*;

    const RTT: fn(u64) -> Option<Duration> = |ms| Some(Duration::from_millis(ms));

    fn at(ms: u64, rtt: u64) -> Sample {
        Sample { rtt: RTT(rtt), ..sample(MS(ms)) }
    }

    #[test]
    fn the_shortest_round_trip_lasts_ten_seconds_and_what_probes_look_for_five() {
        let mut model = model(State::Cruise);
        for (ms, rtt, expired, delay, least) in [
            (2000, 90, false, 90, 90),
            (2500, 90, false, 90, 90),
            (7000, 95, false, 90, 90),
            (7001, 95, true, 95, 90),
            (7002, 94, false, 94, 90),
            (12_000, 97, false, 94, 90),
            // Ten seconds after the shortest.
            (12_001, 97, false, 94, 94),
        ] {
            model.update_min_rtt(&at(ms, rtt));
            let probe = model.probe_rtt;
            assert_eq!(
                (probe.expired, probe.min_delay, model.min_rtt),
                (expired, RTT(delay), RTT(least)),
                "{ms}"
            );
        }
        assert_eq!(model.min_rtt_at, MS(7002), "as old as its measurement");
        model.update_min_rtt(&Sample { rtt: None, ..sample(MS(12_003)) });
        assert!(model.probe_rtt.expired && model.probe_rtt.min_delay == RTT(94));
    }

    #[test]
    fn half_the_path_for_200_ms_and_a_round() {
        // "Entering and Exiting PROBE_RTT".
        let (mut model, mut w) = (model(State::Cruise), window(200));
        (model.bw_shortterm, model.inflight_shortterm) = (5, 5);
        model.check_probe_rtt(&mut w, &sample(MS(6000)));
        assert_eq!(model.state, State::Cruise);
        model.probe_rtt.expired = true;
        model.check_probe_rtt(&mut w, &sample(MS(6001)));
        assert_eq!((model.state, model.prior_cwnd), (State::ProbeRtt, 200 * SMSS));
        assert_eq!(model.cycle.ack_phase, AckPhase::ProbeStopping);
        // 100 in flight; 200 ms count from when half of them are.
        assert_eq!(model.probe_rtt.until, None);
        w.set_cwnd(50 * SMSS);
        let drained = Sample { inflight: 50 * SMSS, ..sample(MS(6050)) };
        model.check_probe_rtt(&mut w, &Sample { inflight: 50 * SMSS + 1, ..drained });
        assert_eq!(model.probe_rtt.until, None);
        model.check_probe_rtt(&mut w, &drained);
        assert_eq!(model.probe_rtt.until, Some(MS(6250)));
        let mut step = |ms, start| {
            model.rounds.start = start;
            model.check_probe_rtt(&mut w, &Sample { now: MS(ms), ..drained });
            model.state
        };
        assert_eq!(step(6251, false), State::ProbeRtt, "no round has passed");
        assert_eq!(step(6249, true), State::ProbeRtt);
        assert_eq!(step(6250, false), State::ProbeRtt);
        assert_eq!(step(6251, false), State::Cruise);
        assert_eq!(w.cwnd, 200 * SMSS);
        assert_eq!((model.probe_rtt.min_at, model.cycle.began), (MS(6251), MS(6251)));
        assert_eq!((model.bw_shortterm, model.inflight_shortterm), (UNBOUNDED, UNBOUNDED));
    }

    #[test]
    fn before_the_pipe_was_full_startup_goes_on() {
        // "Entering and Exiting PROBE_RTT During STARTUP".
        let (mut model, mut w) = (model(State::Startup), window(200));
        model.probe_rtt.expired = true;
        model.check_probe_rtt(&mut w, &Sample { inflight: 4 * SMSS, ..sample(MS(6001)) });
        model.rounds.start = true;
        model.check_probe_rtt(&mut w, &round(MS(6202)));
        assert_eq!(model.state, State::Startup);
    }

    #[test]
    fn a_pause_is_a_probe() {
        // "Skipping PROBE_RTT Due to Application-Limited Sending".
        let (mut model, mut w) = (model(State::Cruise), window(200));
        model.pacing_rate = 1;
        model.restart(&mut w, MS(7000));
        assert_eq!((model.idle_restart, model.extra_since), (true, MS(7000)));
        assert_eq!(model.pacing_rate, 990_000, "at the bandwidth itself");
        model.probe_rtt.expired = true;
        model.check_probe_rtt(&mut w, &Sample { delivered: 0, ..sample(MS(7100)) });
        assert!(model.idle_restart && model.state == State::Cruise);
        model.check_probe_rtt(&mut w, &sample(MS(7100)));
        assert!(!model.idle_restart && model.state == State::Cruise);
    }

    #[test]
    fn a_pause_within_a_probe_may_end_it() {
        let (mut model, mut w) = (model(State::ProbeRtt), window(50));
        (model.probe_rtt.until, model.prior_cwnd) = (Some(MS(6250)), 200 * SMSS);
        model.restart(&mut w, MS(6250));
        assert_eq!((model.state, w.cwnd), (State::ProbeRtt, 50 * SMSS));
        model.restart(&mut w, MS(6251));
        assert_eq!((model.state, w.cwnd), (State::Cruise, 200 * SMSS));
    }
}
