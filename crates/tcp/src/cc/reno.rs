//! RFC 5681: additive increase, multiplicative decrease.

use super::{AckSample, Controller, Window};
use crate::Config;

/// One segment a window of acknowledged data; half the flight on loss.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reno {
    /// Octets acknowledged since cwnd last grew.
    credit: u64,
}

impl Controller for Reno {
    fn new(_config: &Config) -> Self {
        Self::default()
    }

    #[inline]
    fn avoid_congestion(&mut self, window: &mut Window, octets: u64, _ack: &AckSample) {
        // RFC 5681 §3.1, the recommended way: count acknowledged octets, and when they reach cwnd, add one SMSS.
        self.credit += octets;
        if self.credit >= window.cwnd {
            self.credit -= window.cwnd;
            window.set_cwnd(window.cwnd + window.smss);
        }
    }

    fn ssthresh(&mut self, window: &Window, flight: u64) -> u64 {
        self.credit = 0;
        // RFC 5681 §3.1 (4): ssthresh = max (FlightSize / 2, 2*SMSS)
        (flight / 2).max(2 * window.smss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use handfast_core::{Duration, Instant};

    fn acked(octets: u64) -> AckSample {
        AckSample::of(Instant::ZERO, octets, Duration::ZERO)
    }

    #[test]
    fn one_segment_a_window() {
        let mut w = Window::new(&Config::default(), 1000);
        w.set_cwnd(10_000);
        w.ssthresh = 10_000;
        let mut reno = Reno::default();
        for _ in 0..9 {
            reno.grow(&mut w, &acked(1000));
        }
        assert_eq!(w.cwnd, 10_000);
        reno.grow(&mut w, &acked(1000));
        assert_eq!(w.cwnd, 11_000);
        for _ in 0..11 {
            reno.grow(&mut w, &acked(1000));
        }
        assert_eq!(w.cwnd, 12_000);
    }

    #[test]
    fn half_the_flight_but_two_segments() {
        let w = Window::new(&Config::default(), 1000);
        assert_eq!(Reno::default().ssthresh(&w, 20_000), 10_000);
        assert_eq!(Reno::default().ssthresh(&w, 3_000), 2_000);
    }
}
