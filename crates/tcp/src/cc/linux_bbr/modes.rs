//! From start-up to probing: when the pipe is full, when its queue is drained, and how fast each phase of a cycle is.

use super::model::Model;
use super::sample::Sample;
use super::state::Mode;
use super::units::{CWND_GAIN, CYCLE, DRAIN_GAIN, GAIN, GAIN_SCALE, HIGH_GAIN};
use crate::cc::Window;

/// `bbr_full_bw_thresh`: a rate that has grown by a quarter may grow further; and `bbr_full_bw_cnt`, rounds in which it has not.
const FULL_THRESHOLD: u64 = GAIN * 5 / 4;
const FULL_ROUNDS: u32 = 3;

/// `bbr_cycle_rand`: a cycle begins with any of its phases but the one that drains.
const FIRST_PHASES: u64 = 7;

impl Model {
    /// `bbr_check_full_bw_reached`.
    pub(super) fn check_full_bw(&mut self, sample: &Sample) {
        if self.is_full || !self.round_start || sample.app_limited {
            return;
        }
        let bw = self.max_bw();
        if bw >= (self.full_bw * FULL_THRESHOLD) >> GAIN_SCALE {
            self.full_bw = bw;
            self.full_bw_rounds = 0;
            return;
        }
        self.full_bw_rounds += 1;
        self.is_full = self.full_bw_rounds >= FULL_ROUNDS;
    }

    /// `bbr_check_drain`.
    pub(super) fn check_drain(&mut self, window: &mut Window, sample: &Sample) {
        let pipe = self.inflight(self.max_bw(), GAIN, window.smss);
        if self.mode == Mode::Startup && self.is_full {
            self.mode = Mode::Drain;
            window.ssthresh = pipe.saturating_mul(window.smss);
        }
        if self.mode == Mode::Drain && self.in_net_at_departure(sample, sample.in_flight) <= pipe {
            self.begin_probing();
        }
    }

    /// `bbr_reset_mode`.
    pub(super) fn reset_mode(&mut self) {
        if self.is_full {
            self.begin_probing();
        } else {
            self.mode = Mode::Startup;
        }
    }

    /// `bbr_reset_probe_bw_mode`.
    pub(super) fn begin_probing(&mut self) {
        self.mode = Mode::ProbeBw;
        self.phase = CYCLE.len() - 1 - self.random.below(FIRST_PHASES) as usize;
        self.begin_phase();
    }

    /// `bbr_advance_cycle_phase`.
    fn begin_phase(&mut self) {
        self.phase = (self.phase + 1) % CYCLE.len();
        self.phase_at = self.last.at;
    }

    /// `bbr_update_cycle_phase`.
    pub(super) fn update_cycle(&mut self, smss: u64, sample: &Sample) {
        if self.mode == Mode::ProbeBw && self.has_phase_ended(smss, sample) {
            self.begin_phase();
        }
    }

    /// `bbr_is_next_cycle_phase`.
    fn has_phase_ended(&self, smss: u64, sample: &Sample) -> bool {
        let took = sample.now.since(self.phase_at).as_nanos() / 1000;
        let is_full_length = self.min_rtt.is_some_and(|rtt| took > u64::from(rtt));
        if self.pacing_gain == GAIN {
            return is_full_length;
        }
        let in_net = self.in_net_at_departure(sample, sample.prior_in_flight);
        let bw = self.max_bw();
        if self.pacing_gain > GAIN {
            // "We do not persist if packets are lost, since a path with small buffers may not hold that much."
            is_full_length && (sample.losses > 0 || in_net >= self.inflight(bw, self.pacing_gain, smss))
        } else {
            is_full_length || in_net <= self.inflight(bw, GAIN, smss)
        }
    }

    /// `bbr_update_gains`.
    pub(super) fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.long_term.in_use => (GAIN, CWND_GAIN),
            Mode::ProbeBw => (CYCLE[self.phase], CWND_GAIN),
            Mode::ProbeRtt => (GAIN, GAIN),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{MS, SMSS, sample, window};
    use super::super::units::UNIT;
    use super::*;
    /// A segment a millisecond over a path of 100 ms: 100 segments, and 3 * 2 for bursts.
    fn probing(phase: usize) -> Model {
        let mut model =
            Model { mode: Mode::ProbeBw, is_full: true, pacing_rate: 1_000_000, phase, ..Model::default() };
        model.rates.add(10, 0, UNIT / 1000);
        model.min_rtt = Some(100_000);
        model.update_gains();
        model
    }

    #[test]
    fn the_pipe_is_full_after_three_rounds_without_a_quarter_more() {
        let mut model = Model { round_start: true, ..Model::default() };
        let s = sample(MS(0), 1);
        let mut rounds = |bws: &[u64]| {
            for &bw in bws {
                model.rates.add(10, 0, bw);
                model.check_full_bw(&s);
            }
            (model.is_full, model.full_bw, model.full_bw_rounds)
        };
        assert_eq!(rounds(&[1000, 1250, 1500, 1561]), (false, 1250, 2), "a quarter more is enough");
        assert_eq!(rounds(&[1561]), (true, 1250, 3));
    }

    #[test]
    fn rounds_that_the_application_limits_do_not_count() {
        let mut model = Model { round_start: true, full_bw: 1000, ..Model::default() };
        let mut s = sample(MS(0), 1);
        s.app_limited = true;
        model.check_full_bw(&s);
        assert_eq!(model.full_bw_rounds, 0);
        (s.app_limited, model.round_start) = (false, false);
        model.check_full_bw(&s);
        assert_eq!(model.full_bw_rounds, 0, "nor anything but a round's start");
    }

    #[test]
    fn a_full_pipe_is_drained_before_it_is_probed() {
        let mut model = Model { mode: Mode::Startup, ..probing(0) };
        let mut s = sample(MS(0), 1);
        let mut w = window(300);
        s.in_flight = 200;
        model.check_drain(&mut w, &s);
        model.update_gains();
        assert_eq!((model.mode, model.pacing_gain, model.cwnd_gain), (Mode::Drain, DRAIN_GAIN, HIGH_GAIN));
        assert_eq!(w.ssthresh, 106 * SMSS);
        s.in_flight = 107;
        model.check_drain(&mut w, &s);
        assert_eq!(model.mode, Mode::Drain);
        s.in_flight = 106;
        model.check_drain(&mut w, &s);
        assert_eq!(model.mode, Mode::ProbeBw);
        // What leaves before the next burst counts as gone.
        let mut model = Model { mode: Mode::Drain, ..probing(0) };
        model.update_gains();
        (s.in_flight, s.wait) = (108, 2100);
        model.check_drain(&mut w, &s);
        assert_eq!(model.mode, Mode::ProbeBw);
    }

    #[test]
    fn a_cycle_begins_with_any_phase_but_the_one_that_drains() {
        let mut model = probing(0);
        let mut seen = [0; CYCLE.len()];
        for seed in 0..700 {
            model.random = Model::stream(seed);
            model.begin_probing();
            seen[model.phase] += 1;
        }
        assert_eq!(seen[1], 0);
        assert!(seen.iter().enumerate().all(|(phase, &n)| phase == 1 || (50..150).contains(&n)), "{seen:?}");
    }

    #[test]
    fn phases_end_by_the_shortest_round_trip_and_by_what_is_in_flight() {
        let ends = |phase, ms, prior_in_flight, losses| {
            let mut s = sample(MS(ms), 1);
            (s.prior_in_flight, s.losses) = (prior_in_flight, losses);
            probing(phase).has_phase_ended(SMSS, &s)
        };
        assert_eq!([100, 101].map(|ms| ends(2, ms, 0, 0)), [false, true], "cruising: the time alone");
        // 125 segments of the pipe, 6 for bursts, the next even number, and 2; of which the burst that leaves next is 2.
        assert_eq!([131, 132].map(|n| ends(0, 101, n, 0)), [false, true], "probing: as much is in flight");
        assert!(!ends(0, 100, 200, 1) && ends(0, 101, 0, 1), "or something is lost");
        assert_eq!([107, 106].map(|n| ends(1, 50, n, 0)), [false, true], "draining: no more is in flight");
        assert!(ends(1, 101, 200, 0), "or the time is up");
    }

    #[test]
    fn a_policed_rate_is_not_probed() {
        let mut model = probing(0);
        assert_eq!(model.pacing_gain, CYCLE[0]);
        model.long_term.in_use = true;
        model.update_gains();
        assert_eq!((model.pacing_gain, model.cwnd_gain), (GAIN, CWND_GAIN));
    }
}
