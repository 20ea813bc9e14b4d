//! TCP Veno: Fu and Liew, "TCP Veno: TCP enhancement for transmission over wireless access networks" (IEEE JSAC 21(2), 2003),
//! cited as `[veno]`. A loss while little is queued was the radio's; one while much is queued was congestion's.

use handfast_core::Duration;

use super::{AckSample, Controller, RttSample, Window};
use crate::Config;

/// `[veno]` §II.B: beta, in segments.
const QUEUED: u64 = 3;

/// Reno that asks its round-trip times how much of its window is queued.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Veno {
    /// `BaseRTT`: the shortest round-trip time so far.
    base: Duration,
    /// `RTT`: smoothed as RFC 6298 has it, but over samples.
    smoothed: Duration,
    /// Octets acknowledged since cwnd last grew.
    credit: u64,
}

impl Veno {
    /// Whether N = Actual * (RTT - `BaseRTT`), what is queued of the window, is at least beta (`[veno]` §II.A).
    fn is_congested(&self, window: u64, smss: u64) -> bool {
        let (rtt, base) = (self.smoothed.as_nanos(), self.base.as_nanos());
        // N = cwnd / RTT * (RTT - BaseRTT), without division.
        u128::from(window) * u128::from(rtt - base) >= u128::from(QUEUED * smss) * u128::from(rtt.max(1))
    }

    fn note_rtt(&mut self, delay: Duration) {
        if self.base == Duration::ZERO {
            (self.base, self.smoothed) = (delay, delay);
        }
        self.base = self.base.min(delay);
        self.smoothed = (self.smoothed * 7 + delay) / 8;
        self.smoothed = self.smoothed.max(self.base);
    }
}

impl Controller for Veno {
    fn new(_config: &Config) -> Self {
        Self::default()
    }

    fn avoid_congestion(&mut self, window: &mut Window, octets: u64, _ack: &AckSample) {
        // [veno] §II.C: a segment a window, and with beta queued a segment every two windows.
        let wanted = window.cwnd * if self.is_congested(window.cwnd, window.smss) { 2 } else { 1 };
        self.credit += octets;
        if self.credit >= wanted {
            self.credit -= wanted;
            window.set_cwnd(window.cwnd + window.smss);
        }
    }

    fn ssthresh(&mut self, window: &Window, flight: u64) -> u64 {
        self.credit = 0;
        // [veno] §II.B: four fifths where the loss was the radio's, else half.
        let left = if self.is_congested(window.cwnd, window.smss) { flight / 2 } else { flight / 5 * 4 };
        left.max(2 * window.smss)
    }

    fn on_rtt(&mut self, _window: &mut Window, rtt: &RttSample) {
        self.note_rtt(rtt.delay);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use handfast_core::Instant;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    /// A window of ten segments, and round-trip times of 50 ms, then of so many.
    fn ten(ms: u64) -> (Veno, Window) {
        let mut window = Window::new(&Config::default(), 1000);
        window.set_cwnd(10_000);
        window.ssthresh = 10_000;
        let mut veno = Veno::default();
        veno.note_rtt(MS(50));
        (0..100).for_each(|_| veno.note_rtt(MS(ms)));
        (veno, window)
    }

    #[test]
    fn a_loss_with_little_queued_takes_a_fifth_and_one_with_much_a_half() {
        // Of ten segments 10 * 20 / 70 = 2.9 are queued, 10 * 22 / 72 = 3.05.
        for (ms, left) in [(50, 8000), (70, 8000), (72, 5000), (500, 5000)] {
            let (mut veno, window) = ten(ms);
            assert_eq!(veno.ssthresh(&window, 10_000), left, "{ms} ms");
            assert_eq!(veno.ssthresh(&window, 2000), 2000, "but two segments");
        }
        let window = ten(50).1;
        assert_eq!(Veno::default().ssthresh(&window, 10_000), 8000, "nothing is known to be queued");
    }

    #[test]
    fn it_grows_by_a_segment_a_window_and_half_as_fast_with_much_queued() {
        for (ms, windows) in [(50, 1), (200, 2)] {
            let (mut veno, mut window) = ten(ms);
            let acked = AckSample::of(Instant::ZERO, 1000, Duration::ZERO);
            (0..10 * windows - 1).for_each(|_| veno.grow(&mut window, &acked));
            assert_eq!(window.cwnd, 10_000, "{ms} ms");
            veno.grow(&mut window, &acked);
            assert_eq!(window.cwnd, 11_000, "{ms} ms");
        }
    }

    #[test]
    fn octets_beyond_a_window_count_for_the_next() {
        let (mut veno, mut window) = ten(50);
        let acked = AckSample::of(Instant::ZERO, 1500, Duration::ZERO);
        let grown: Vec<u64> = (0..14)
            .map(|_| {
                veno.grow(&mut window, &acked);
                window.cwnd
            })
            .collect();
        // 7 * 1500 = 10,000 + 500, and 500 + 7 * 1500 = 11,000.
        assert_eq!(grown, [[10_000; 6].as_slice(), &[11_000; 7], &[12_000]].concat());
    }

    #[test]
    fn a_shorter_round_trip_is_the_new_base() {
        let (mut veno, window) = ten(70);
        veno.note_rtt(MS(20));
        // 10 * (63.75 - 20) / 63.75 are queued.
        assert!(veno.is_congested(window.cwnd, window.smss));
        assert_eq!(veno.base, MS(20));
    }
}
