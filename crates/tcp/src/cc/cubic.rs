//! CUBIC (RFC 9438).
//!
//! Windows are in segments here, as in the RFC. Every operation is an IEEE 754 basic one or comes from `libm`, so the results
//! are the same on every platform.

use handfast_core::{Duration, Instant};

use super::{AckSample, Controller, Window};
use crate::Config;

/// RFC 9438 §4.1: C, in segments / s^3.
const C: f64 = 0.4;

/// RFC 9438 §4: the window as a cubic function of the time since the last congestion event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cubic {
    /// Beta of the multiplicative decrease (RFC 9438 §4.6).
    beta: f64,
    /// Whether there is a Reno-friendly region (RFC 9438 §4.3).
    reno_friendly: bool,
    /// `W_max`, segments.
    w_max: f64,
    /// `cwnd` just before the last congestion event, segments: where the Reno-friendly slope changes.
    cwnd_prior: f64,
    /// When this congestion avoidance stage began.
    epoch: Option<Instant>,
    /// K, seconds.
    k: f64,
    /// `W_est`, segments.
    w_est: f64,
    /// Growth that does not make a byte yet.
    fraction: f64,
    /// The next stage begins after a timeout: K = 0 and `W_max` = cwnd (RFC 9438 §4.8).
    after_timeout: bool,
}

impl Cubic {
    /// RFC 9438 §4.2, at the beginning of a congestion avoidance stage.
    fn begin_epoch(&mut self, now: Instant, cwnd: f64) {
        self.epoch = Some(now);
        self.w_est = cwnd;
        if self.after_timeout || self.w_max < cwnd {
            // §4.8: "in the first congestion avoidance after timeout, CUBIC increases its cwnd ... K is set to 0
            // and W_max is set to the cwnd at the beginning". §4.10 does the same where slow start left by itself.
            self.after_timeout = false;
            self.w_max = cwnd;
            self.k = 0.0;
        } else {
            // Figure 2: K = cbrt((W_max - cwnd_epoch) / C)
            self.k = libm::cbrt((self.w_max - cwnd) / C);
        }
    }

    /// Figure 1: `W_cubic(t)`, segments; `t` in seconds.
    fn w_cubic(&self, t: f64) -> f64 {
        let d = t - self.k;
        C * (d * d * d) + self.w_max
    }

    /// RFC 9438 §4.3: the additive increase that makes the average window Reno's.
    fn alpha(&self) -> f64 {
        if self.w_est >= self.cwnd_prior { 1.0 } else { 3.0 * (1.0 - self.beta) / (1.0 + self.beta) }
    }
}

impl Controller for Cubic {
    fn new(config: &Config) -> Self {
        Self {
            beta: f64::from(config.cubic_beta_permille) / 1000.0,
            reno_friendly: config.cubic_reno_friendly,
            w_max: 0.0,
            cwnd_prior: 0.0,
            epoch: None,
            k: 0.0,
            w_est: 0.0,
            fraction: 0.0,
            after_timeout: false,
        }
    }

    fn avoid_congestion(&mut self, window: &mut Window, octets: u64, ack: &AckSample) {
        let smss = window.smss as f64;
        let cwnd = window.cwnd as f64 / smss;
        if self.epoch.is_none() {
            self.begin_epoch(ack.now, cwnd);
        }
        let t = ack.now.since(self.epoch.unwrap_or(ack.now)).as_secs_f64();
        let segments = octets as f64 / smss;
        // Figure 4: W_est += alpha * segments_acked / cwnd
        self.w_est += self.alpha() * segments / cwnd;
        let step = if self.reno_friendly && self.w_cubic(t) < self.w_est {
            // §4.3: the Reno-friendly region.
            (self.w_est - cwnd).max(0.0)
        } else {
            // §4.4 and §4.5: towards W_cubic(t + RTT), at most half a window ahead.
            let target = self.w_cubic(t + ack.srtt.as_secs_f64()).clamp(cwnd, 1.5 * cwnd);
            (target - cwnd) / cwnd * segments
        };
        let octets = step * smss + self.fraction;
        let whole = octets as u64;
        self.fraction = octets - whole as f64;
        window.set_cwnd(window.cwnd + whole);
    }

    fn ssthresh(&mut self, window: &Window, flight: u64) -> u64 {
        let smss = window.smss as f64;
        let cwnd = window.cwnd as f64 / smss;
        self.epoch = None;
        self.after_timeout = false;
        self.fraction = 0.0;
        self.cwnd_prior = cwnd;
        // §4.7: a window that did not reach the last W_max gives room to newcomers.
        self.w_max = if cwnd < self.w_max { cwnd * (1.0 + self.beta) / 2.0 } else { cwnd };
        // §4.6: ssthresh = max(FlightSize * beta, 2 segments)
        ((flight as f64 * self.beta) as u64).max(2 * window.smss)
    }

    fn forget(&mut self) {
        self.after_timeout = true;
    }

    /// RFC 9438 §5.8: the time without transmission does not count.
    fn on_idle(&mut self, now: Instant, idle: Duration) {
        self.epoch = self.epoch.map(|epoch| (epoch + idle).min(now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMSS: u64 = 1000;

    fn window(segments: u64) -> Window {
        Window::of(SMSS, segments, 0)
    }

    /// Acknowledges a window every `rtt_ms` for `rounds` rounds; the cwnd after each, in segments.
    fn grow(cubic: &mut Cubic, w: &mut Window, rtt_ms: u64, rounds: u64, from_ms: u64) -> Vec<u64> {
        let srtt = Duration::from_millis(rtt_ms);
        (0..rounds)
            .map(|round| {
                let now = Instant::from_millis(from_ms + round * rtt_ms);
                for _ in 0..w.cwnd / SMSS {
                    cubic.grow(w, &AckSample::of(now, SMSS, srtt));
                }
                w.cwnd / SMSS
            })
            .collect()
    }

    fn after_loss(segments: u64) -> (Cubic, Window) {
        let mut cubic = Cubic::new(&Config::default());
        let mut w = window(segments);
        let ssthresh = cubic.ssthresh(&w, w.cwnd);
        w.set_cwnd(ssthresh);
        (cubic, w)
    }

    #[test]
    fn seven_tenths_of_the_flight() {
        let (_, w) = after_loss(100);
        assert_eq!(w.cwnd, 70 * SMSS);
    }

    #[test]
    fn w_max_is_reached_after_k() {
        // K = cbrt((100 - 70) / 0.4) = 4.217 s; with an RTT of 100 ms, W_est stays below for windows this large.
        let (mut cubic, mut w) = after_loss(1000);
        // K = cbrt(300 / 0.4) = 9.086 s.
        let curve = grow(&mut cubic, &mut w, 100, 120, 0);
        assert!((9.08..9.09).contains(&cubic.k), "{}", cubic.k);
        assert!(curve[85] < 1000 && curve[95] >= 999, "{} {}", curve[85], curve[95]);
        // Concave before K, convex after.
        assert!(curve[20] - curve[10] > curve[80] - curve[70]);
        assert!(curve[119] - curve[109] > curve[99] - curve[89]);
    }

    #[test]
    fn small_windows_grow_as_renos_do() {
        let (mut cubic, mut w) = after_loss(10);
        // alpha = 3 * 0.3 / 1.7 = 0.529 segments a round trip up to the prior window: 3 segments take 6 rounds or one
        // more, because a round acknowledges whole segments only; then 1 a round trip.
        let curve = grow(&mut cubic, &mut w, 10, 14, 0);
        assert_eq!(curve[0], 7);
        let reached = curve.iter().position(|&c| c == 10).unwrap();
        assert!((5..=6).contains(&reached), "{curve:?}");
        assert!((13..=15).contains(&curve[reached + 5]), "{curve:?}");
        // Without the region the cubic alone counts: 3 segments take K = cbrt(3 / 0.4) = 1.96 s.
        let (mut cubic, mut w) = after_loss(10);
        cubic.reno_friendly = false;
        assert_eq!(grow(&mut cubic, &mut w, 10, 14, 0)[13], 7);
    }

    #[test]
    fn fast_convergence_lowers_w_max() {
        let (mut cubic, _) = after_loss(100);
        cubic.ssthresh(&window(80), 80 * SMSS);
        assert!((cubic.w_max - 68.0).abs() < 1e-9, "80 * 1.7 / 2");
    }

    #[test]
    fn after_a_timeout_the_curve_begins_at_its_plateau() {
        let (mut cubic, _) = after_loss(100);
        cubic.forget();
        let mut w = window(50);
        grow(&mut cubic, &mut w, 100, 1, 0);
        assert!(cubic.k == 0.0 && (cubic.w_max - 50.0).abs() < 1e-9);
    }

    #[test]
    fn idle_time_does_not_count() {
        let (mut cubic, mut w) = after_loss(1000);
        grow(&mut cubic, &mut w, 100, 1, 0);
        cubic.on_idle(Instant::from_millis(60_000), Duration::from_secs(59));
        assert_eq!(cubic.epoch, Some(Instant::from_millis(59_000)));
        let before = w.cwnd;
        grow(&mut cubic, &mut w, 100, 1, 60_000);
        assert!(w.cwnd < before + 100 * SMSS, "{}", w.cwnd);
    }

    #[test]
    fn no_more_than_half_a_window_a_round_trip() {
        let mut cubic = Cubic::new(&Config::default());
        let mut w = window(10);
        cubic.grow(&mut w, &AckSample::of(Instant::ZERO, SMSS, Duration::from_millis(1)));
        let late = Instant::from_millis(1_000_000);
        let before = w.cwnd;
        cubic.grow(&mut w, &AckSample::of(late, before, Duration::from_millis(1)));
        // One octet more may come from the fraction carried over.
        assert!(w.cwnd <= before * 3 / 2 + 1, "{} {before}", w.cwnd);
    }
}
