//! How far acknowledgements come in bunches: cwnd has room for what was acknowledged beyond the rate (`bbr_update_ack_aggregation`).

use super::model::Model;
use super::sample::Sample;
use super::units::{micros, segments_in};
use crate::cc::Window;

/// `bbr_extra_acked_win_rtts`.
const WINDOW_ROUNDS: u32 = 5;

/// `bbr_ack_epoch_acked_reset_thresh`, segments.
const LONGEST_EPOCH: u64 = 1 << 20;

/// `bbr_extra_acked_max_us`: no more than the rate brings in 100 ms.
const MOST_MICROS: u64 = 100_000;

impl Model {
    /// `bbr_update_ack_aggregation`.
    pub(super) fn update_aggregation(&mut self, window: &Window, sample: &Sample) {
        if sample.octets == 0 || sample.rate.is_none() {
            return;
        }
        let (bw, round_start) = (self.bw(), self.round_start);
        let a = &mut self.aggregation;
        if round_start {
            a.rounds += 1;
            if a.rounds >= WINDOW_ROUNDS {
                a.rounds = 0;
                a.at ^= 1;
                a.extra[a.at] = 0;
            }
        }
        let epoch = u64::from(micros(sample.now.since(a.began)));
        let mut expected = segments_in(bw, epoch).saturating_mul(sample.smss);
        // "Reset the aggregation epoch if ACK rate is below expected rate or significantly large"
        if a.acked <= expected || a.acked + sample.octets >= LONGEST_EPOCH * sample.smss {
            a.begin(sample.now);
            expected = 0;
        }
        a.acked += sample.octets;
        let extra = (a.acked - expected).div_ceil(sample.smss).min(window.cwnd / sample.smss);
        a.extra[a.at] = a.extra[a.at].max(extra);
    }

    /// `bbr_ack_aggregation_cwnd`: segments.
    pub(super) fn aggregated(&self) -> u64 {
        if !self.is_full {
            return 0;
        }
        let [a, b] = self.aggregation.extra;
        a.max(b).min(segments_in(self.bw(), MOST_MICROS))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{MS, SMSS, sample, window};
    use super::super::units::UNIT;
    use super::*;

    /// A segment a millisecond.
    fn model() -> Model {
        let mut model = Model { is_full: true, ..Model::default() };
        model.rates.add(10, 0, UNIT / 1000 + 1);
        model.aggregation.begin(MS(100));
        model
    }

    #[test]
    fn what_comes_beyond_the_rate_is_room_in_the_window() {
        let mut model = model();
        let w = window(50);
        // Ten at once, and ten more five milliseconds later, when five were due.
        model.update_aggregation(&w, &sample(MS(100), 10));
        assert_eq!(model.aggregated(), 10);
        model.update_aggregation(&w, &sample(MS(105), 10));
        assert_eq!(model.aggregated(), 15);
        // Behind the rate the epoch begins anew.
        model.update_aggregation(&w, &sample(MS(200), 1));
        assert_eq!((model.aggregation.acked, model.aggregated()), (SMSS, 15));
        model.is_full = false;
        assert_eq!(model.aggregated(), 0);
    }

    #[test]
    fn it_is_bounded_by_cwnd_and_by_a_tenth_of_a_second() {
        let mut model = model();
        model.update_aggregation(&window(7), &sample(MS(100), 10));
        assert_eq!(model.aggregated(), 7);
        model.aggregation.extra = [5000, 0];
        assert_eq!(model.aggregated(), 100);
    }

    #[test]
    fn it_is_forgotten_after_five_to_ten_rounds() {
        let mut model = model();
        model.aggregation.extra = [30, 0];
        model.round_start = true;
        for round in 1..=9 {
            model.update_aggregation(&window(50), &sample(MS(100 + 100 * round), 1));
            assert_eq!(model.aggregated(), 30, "{round}");
        }
        model.update_aggregation(&window(50), &sample(MS(2000), 1));
        assert!(model.aggregated() < 5);
    }
}
