//! The shortest round trip of ten seconds; where none has been as short for so long, four segments for 200 ms drain the queue, so
//! that it shows.

use handfast_core::{Duration, Instant};

use super::model::Model;
use super::sample::Sample;
use super::state::{Mode, ProbeRtt};
use super::target::LEAST_CWND;
use crate::cc::Window;

/// `bbr_min_rtt_win_sec` and `bbr_probe_rtt_mode_ms`.
const LIFETIME: Duration = Duration::from_secs(10);
const DRAINED: Duration = Duration::from_millis(200);

impl Model {
    /// `bbr_update_min_rtt`.
    pub(super) fn update_min_rtt(&mut self, window: &mut Window, sample: &Sample) {
        let expired = sample.now > self.min_rtt_at + LIFETIME;
        if let Some(rtt) = sample.rtt {
            self.lowest_rtt = Some(self.lowest_rtt.map_or(rtt, |lowest| lowest.min(rtt)));
            if self.min_rtt.is_none_or(|least| rtt <= least) || (expired && !sample.is_delayed) {
                self.min_rtt = Some(rtt);
                self.min_rtt_at = sample.now;
            }
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd(window);
            self.probe_rtt.until = None;
        }
        if self.mode == Mode::ProbeRtt {
            self.drain(window, sample);
        }
        if sample.octets > 0 {
            self.idle_restart = false;
        }
    }

    /// "Maintain min packets in flight for max(200 ms, 1 round)."
    fn drain(&mut self, window: &mut Window, sample: &Sample) {
        if self.probe_rtt.until.is_some() {
            self.probe_rtt.round_done |= self.round_start;
            if self.probe_rtt.round_done {
                self.check_probe_rtt_done(window, sample.now);
            }
        } else if sample.in_flight <= LEAST_CWND {
            self.probe_rtt = ProbeRtt { until: Some(sample.now + DRAINED), round_done: false };
            self.round_end = sample.delivered;
        }
    }

    /// `bbr_check_probe_rtt_done`.
    pub(super) fn check_probe_rtt_done(&mut self, window: &mut Window, now: Instant) {
        if self.probe_rtt.until.is_none_or(|until| now <= until) {
            return;
        }
        self.min_rtt_at = now;
        window.set_cwnd(window.cwnd.max(self.prior_cwnd * window.smss));
        self.reset_mode();
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{MS, SMSS, sample, window};
    use super::*;

    /// Its shortest round trip, 40 ms, is from 1 s.
    fn model() -> Model {
        Model {
            min_rtt: Some(40_000),
            min_rtt_at: MS(1000),
            is_full: true,
            mode: Mode::ProbeBw,
            ..Model::default()
        }
    }

    fn at(ms: u64, rtt: u32) -> Sample {
        Sample { rtt: Some(rtt), in_flight: 50, ..sample(MS(ms), 1) }
    }

    #[test]
    fn a_shorter_round_trip_counts_at_once_and_a_longer_after_ten_seconds() {
        let (mut model, mut w) = (model(), window(50));
        for (ms, rtt, least) in [(2000, 41_000, 40_000), (3000, 39_000, 39_000), (12_999, 60_000, 39_000)] {
            model.update_min_rtt(&mut w, &at(ms, rtt));
            assert_eq!((model.min_rtt, model.mode), (Some(least), Mode::ProbeBw), "{ms} ms");
        }
        model.update_min_rtt(&mut w, &at(13_001, 60_000));
        assert_eq!((model.min_rtt, model.mode), (Some(60_000), Mode::ProbeRtt));
        assert_eq!(model.lowest_rtt, Some(39_000));
    }

    #[test]
    fn a_delayed_acknowledgement_is_no_shortest_round_trip() {
        let mut model = model();
        let delayed = Sample { is_delayed: true, ..at(12_000, 80_000) };
        model.update_min_rtt(&mut window(50), &delayed);
        assert_eq!(model.min_rtt, Some(40_000));
    }

    #[test]
    fn four_segments_for_a_fifth_of_a_second_and_a_round() {
        let (mut model, mut w) = (model(), window(50));
        model.update_min_rtt(&mut w, &at(12_000, 60_000));
        assert_eq!((model.mode, model.prior_cwnd), (Mode::ProbeRtt, 50));
        w.set_cwnd(4 * SMSS);
        let few = |ms| Sample { in_flight: 4, ..at(ms, 41_000) };
        model.update_min_rtt(&mut w, &few(12_100));
        model.round_start = true;
        model.update_min_rtt(&mut w, &few(12_300));
        assert_eq!((model.mode, w.cwnd), (Mode::ProbeRtt, 4 * SMSS), "not longer than 200 ms");
        model.round_start = false;
        model.update_min_rtt(&mut w, &few(12_301));
        assert_eq!((model.mode, w.cwnd), (Mode::ProbeBw, 50 * SMSS));
        assert_eq!(model.min_rtt_at, MS(12_301), "the next is ten seconds away");
    }

    #[test]
    fn it_lasts_a_round_however_long_that_is() {
        let (mut model, mut w) = (model(), window(50));
        let few = |ms| Sample { in_flight: 4, ..at(ms, 400_000) };
        model.update_min_rtt(&mut w, &few(12_000));
        model.update_min_rtt(&mut w, &few(12_300));
        assert_eq!(model.mode, Mode::ProbeRtt);
        model.round_start = true;
        model.update_min_rtt(&mut w, &few(12_400));
        assert_eq!(model.mode, Mode::ProbeBw);
    }

    #[test]
    fn after_a_pause_the_old_round_trip_is_replaced_and_nothing_is_drained() {
        let mut model = Model { idle_restart: true, ..model() };
        model.update_min_rtt(&mut window(50), &at(30_000, 60_000));
        assert_eq!((model.mode, model.min_rtt), (Mode::ProbeBw, Some(60_000)));
        assert!(!model.idle_restart, "something has arrived");
    }

    #[test]
    fn start_up_goes_on_where_the_pipe_was_not_full() {
        let mut model = Model { is_full: false, mode: Mode::ProbeRtt, ..model() };
        model.probe_rtt.until = Some(MS(0));
        model.check_probe_rtt_done(&mut window(4), MS(1));
        assert_eq!(model.mode, Mode::Startup);
    }
}
