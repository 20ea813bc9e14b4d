//! cwnd: towards what the path holds, and around losses what arrives (`bbr_set_cwnd`).

use super::model::{INITIAL_CWND, Model};
use super::sample::Sample;
use super::state::Mode;
use crate::cc::Window;
use crate::phase::Phase;

/// `bbr_cwnd_min_target`, segments.
pub(super) const LEAST_CWND: u64 = 4;

impl Model {
    /// `bbr_save_cwnd`: "Save "last known good" cwnd so we can restore it after losses or `PROBE_RTT`".
    pub(super) fn save_cwnd(&mut self, window: &Window) {
        let cwnd = window.cwnd / window.smss;
        self.prior_cwnd = if !self.previous.repairs() && self.mode != Mode::ProbeRtt {
            cwnd
        } else {
            self.prior_cwnd.max(cwnd)
        };
    }

    /// `bbr_set_cwnd_to_recover_or_restore`: cwnd, and whether what arrives alone leaves again.
    fn recover_or_restore(&mut self, mut cwnd: u64, sample: &Sample) -> (u64, bool) {
        // "An ACK for P pkts should release at most 2*P packets."
        if sample.losses > 0 {
            cwnd = cwnd.saturating_sub(sample.losses).max(1);
        }
        let conserved = sample.in_flight + sample.acked;
        if sample.phase == Phase::Recovery && self.previous != Phase::Recovery {
            self.conserves = true;
            self.round_end = sample.delivered;
            // "Cut unused cwnd from app behavior, TSQ, or TSO deferral"
            cwnd = conserved;
        } else if self.previous.repairs() && !sample.phase.repairs() {
            cwnd = cwnd.max(self.prior_cwnd);
            self.conserves = false;
        }
        self.previous = sample.phase;
        if self.conserves { (cwnd.max(conserved), true) } else { (cwnd, false) }
    }

    /// `bbr_set_cwnd`.
    pub(super) fn set_cwnd(&mut self, window: &mut Window, sample: &Sample) {
        let mut cwnd = window.cwnd / window.smss;
        if sample.acked > 0 {
            let (found, conserves) = self.recover_or_restore(cwnd, sample);
            cwnd = if conserves { found } else { self.grow(found, sample) };
        }
        window.set_cwnd(cwnd.saturating_mul(window.smss));
        if self.mode == Mode::ProbeRtt {
            window.set_cwnd(window.cwnd.min(LEAST_CWND * window.smss));
        }
    }

    /// "Slow-start up toward target cwnd", "or snap down to target if we're above it."
    fn grow(&self, cwnd: u64, sample: &Sample) -> u64 {
        let wanted = self.bdp(self.bw(), self.cwnd_gain).saturating_add(self.aggregated());
        let target = self.with_budget(wanted, sample.smss);
        // The SYN counts as delivered in the kernel.
        let begins = sample.delivered / sample.smss + 1 < INITIAL_CWND;
        let cwnd = if self.is_full {
            (cwnd + sample.acked).min(target)
        } else if cwnd < target || begins {
            cwnd + sample.acked
        } else {
            cwnd
        };
        cwnd.max(LEAST_CWND)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{MS, SMSS, sample, window};
    use super::super::units::{CWND_GAIN, UNIT};
    use super::*;

    /// A segment a millisecond over 100 ms: with a gain of 2 200 segments, and 6 for bursts.
    fn full() -> Model {
        let mut model = Model {
            is_full: true,
            mode: Mode::ProbeBw,
            phase: 2,
            pacing_rate: 1_000_000,
            ..Model::default()
        };
        model.rates.add(10, 0, UNIT / 1000 + 1);
        (model.min_rtt, model.cwnd_gain) = (Some(99_990), CWND_GAIN);
        model
    }

    fn after(model: &mut Model, segments: u64, sample: &Sample) -> u64 {
        let mut w = window(segments);
        model.set_cwnd(&mut w, sample);
        w.cwnd / SMSS
    }

    fn far(acked: u64) -> Sample {
        Sample { delivered: 1000 * SMSS, ..sample(MS(0), acked) }
    }

    #[test]
    fn it_grows_to_twice_the_pipe_and_falls_to_it_at_once() {
        for (cwnd, acked, expected) in [(100, 3, 103), (205, 3, 206), (400, 1, 206), (1, 1, 4)] {
            assert_eq!(after(&mut full(), cwnd, &far(acked)), expected, "{cwnd}");
        }
    }

    #[test]
    fn until_the_pipe_is_full_it_does_not_fall_and_the_first_ten_always_count() {
        let starting = || Model { is_full: false, mode: Mode::Startup, ..full() };
        assert_eq!(after(&mut starting(), 400, &far(5)), 400);
        assert_eq!(after(&mut starting(), 400, &Sample { delivered: 8 * SMSS, ..far(5) }), 405);
        assert_eq!(after(&mut starting(), 400, &Sample { delivered: 9 * SMSS, ..far(5) }), 400);
    }

    #[test]
    fn the_first_round_of_recovery_conserves_segments_and_its_end_restores_the_window() {
        let mut model = full();
        model.save_cwnd(&window(150));
        let lossy = Sample { phase: Phase::Recovery, in_flight: 90, losses: 3, ..far(2) };
        assert_eq!(after(&mut model, 150, &lossy), 92);
        assert!(model.conserves);
        let more = Sample { losses: 0, in_flight: 91, ..lossy };
        assert_eq!(after(&mut model, 92, &more), 93, "what is in flight and what has arrived");
        // The round is over.
        model.conserves = false;
        assert_eq!(
            after(&mut model, 93, &Sample { losses: 4, ..more }),
            91,
            "less the lost, plus what has arrived"
        );
        assert_eq!(after(&mut model, 91, &far(2)), 152);
    }

    #[test]
    fn the_least_of_losses_leaves_a_segment() {
        let mut model = Model { previous: Phase::Recovery, conserves: true, ..full() };
        let all = Sample { phase: Phase::Recovery, losses: 50, in_flight: 0, ..far(1) };
        assert_eq!(after(&mut model, 20, &all), 1);
    }

    #[test]
    fn a_window_saved_while_it_is_cut_is_the_larger() {
        let mut model = full();
        model.save_cwnd(&window(150));
        model.previous = Phase::Loss;
        model.save_cwnd(&window(20));
        assert_eq!(model.prior_cwnd, 150);
        model.previous = Phase::Open;
        model.save_cwnd(&window(20));
        assert_eq!(model.prior_cwnd, 20);
    }

    #[test]
    fn four_segments_while_the_shortest_round_trip_is_looked_for() {
        let mut model = Model { mode: Mode::ProbeRtt, ..full() };
        assert_eq!(after(&mut model, 200, &far(1)), 4);
    }
}
