//! Does a policer drop what is above its rate? Two intervals in a row that lose much at the same rate say so, and for 48 rounds that
//! rate counts (`bbr_lt_bw_sampling`).

use super::model::Model;
use super::sample::Sample;
use super::state::{LongTerm, Mode};
use super::units::{GAIN, GAIN_SCALE, bytes_per_second, rate};

/// `bbr_lt_intvl_min_rtts`: rounds of an interval; it has four times as many at most.
const LEAST_ROUNDS: u32 = 4;

/// `bbr_lt_loss_thresh`: lost of delivered, in parts of 256.
const LOSS_THRESHOLD: u64 = 50;

/// `bbr_lt_bw_ratio`, in parts of 256, and `bbr_lt_bw_diff`, bytes a second: rates that are as close are the same.
const SAME_RATIO: u64 = GAIN / 8;
const SAME_DIFFERENCE: u64 = 4000 / 8;

/// `bbr_lt_bw_max_rtts`.
const MOST_ROUNDS: u32 = 48;

impl Model {
    /// `bbr_reset_lt_bw_sampling`.
    pub(super) fn forget_long_term(&mut self) {
        self.long_term = LongTerm { lost: self.long_term.lost, ..LongTerm::default() };
        self.begin_interval();
    }

    /// `bbr_reset_lt_bw_sampling_interval`.
    fn begin_interval(&mut self) {
        let lt = &mut self.long_term;
        lt.began = self.last.at;
        lt.delivered_before = self.last.delivered;
        lt.lost_before = lt.lost;
        lt.rounds = 0;
    }

    /// `bbr_lt_bw_sampling`.
    pub(super) fn sample_long_term(&mut self, sample: &Sample) {
        if self.long_term.in_use {
            if self.mode == Mode::ProbeBw && self.round_start {
                self.long_term.rounds += 1;
                if self.long_term.rounds >= MOST_ROUNDS {
                    self.forget_long_term();
                    self.begin_probing();
                }
            }
            return;
        }
        if !self.long_term.sampling {
            // "Wait for the first loss before sampling, to let the policer exhaust its tokens"
            if sample.losses == 0 {
                return;
            }
            self.begin_interval();
            self.long_term.sampling = true;
        }
        // "To avoid underestimates, reset sampling if we run out of data."
        if sample.app_limited {
            self.forget_long_term();
            return;
        }
        if self.round_start {
            self.long_term.rounds += 1;
        }
        if self.long_term.rounds < LEAST_ROUNDS {
            return;
        }
        if self.long_term.rounds > 4 * LEAST_ROUNDS {
            self.forget_long_term();
            return;
        }
        // "End sampling interval when a packet is lost, so we estimate the policer tokens were exhausted."
        if sample.losses > 0 {
            self.judge_interval(sample);
        }
    }

    fn judge_interval(&mut self, sample: &Sample) {
        let lt = &self.long_term;
        let lost = lt.lost - lt.lost_before;
        let delivered = sample.delivered - lt.delivered_before;
        if delivered == 0 || (lost << GAIN_SCALE) < LOSS_THRESHOLD * delivered {
            return;
        }
        let millis = self.last.at.as_nanos() / 1_000_000 - lt.began.as_nanos() / 1_000_000;
        if millis < 1 {
            return;
        }
        if millis >= u64::from(u32::MAX) / 1000 {
            self.forget_long_term();
            return;
        }
        self.end_interval(rate(delivered, millis * 1000, sample.smss), sample.smss);
    }

    /// `bbr_lt_bw_interval_done`.
    fn end_interval(&mut self, bw: u64, smss: u64) {
        let before = self.long_term.bw;
        if before > 0 {
            let diff = bw.abs_diff(before);
            let same =
                diff * GAIN <= SAME_RATIO * before || bytes_per_second(diff, GAIN, smss) <= SAME_DIFFERENCE;
            if same {
                self.long_term.bw = u64::midpoint(bw, before);
                self.long_term.in_use = true;
                self.long_term.rounds = 0;
                // "try to avoid drops"
                self.pacing_gain = GAIN;
                return;
            }
        }
        self.long_term.bw = bw;
        self.begin_interval();
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{MS, SMSS, sample};
    use super::*;

    /// A round of 100 ms that ends at `ms`: 20 segments are delivered, and `lost` are lost.
    fn round(model: &mut Model, n: u64, lost: u64) {
        let now = MS(100 * n);
        let delivered = 20 * SMSS * n;
        let mut s = sample(now, 20);
        (s.delivered, s.losses, s.lost_octets) = (delivered, lost, lost * SMSS);
        model.last = s.last();
        model.long_term.lost += s.lost_octets;
        model.round_start = true;
        model.sample_long_term(&s);
    }

    fn policed(lost: u64, rounds: u64) -> Model {
        let mut model = Model { mode: Mode::ProbeBw, is_full: true, ..Model::default() };
        (1..=rounds).for_each(|n| round(&mut model, n, lost));
        model
    }

    #[test]
    fn two_intervals_that_lose_a_fifth_at_one_rate_are_a_policer_s() {
        assert!(!policed(5, 6).long_term.in_use);
        let model = policed(5, 8);
        assert!(model.long_term.in_use);
        // 20 segments in 100 ms.
        assert_eq!(model.bw(), rate(20 * SMSS, 100_000, SMSS));
        assert!(!policed(3, 30).long_term.in_use, "3 of 20 are 38 of 256");
    }

    #[test]
    fn after_forty_eight_rounds_it_probes_again() {
        let mut model = policed(5, 8);
        let begun = 8;
        for n in begun + 1..=begun + 47 {
            round(&mut model, n, 0);
            assert!(model.long_term.in_use, "{n}");
        }
        round(&mut model, begun + 48, 0);
        assert!(!model.long_term.in_use);
    }

    #[test]
    fn intervals_of_different_rates_are_none() {
        let mut model = policed(5, 5);
        model.long_term.bw *= 2;
        (6..=8).for_each(|n| round(&mut model, n, 5));
        assert!(!model.long_term.in_use);
    }

    #[test]
    fn an_application_that_pauses_ends_the_search() {
        let mut model = policed(5, 5);
        let mut limited = sample(MS(600), 20);
        limited.app_limited = true;
        model.sample_long_term(&limited);
        assert!(!model.long_term.sampling);
    }
}
