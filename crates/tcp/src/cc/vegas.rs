//! TCP Vegas with pacing: Brakmo and Peterson, "TCP Vegas: end to end congestion avoidance on a global Internet" (IEEE JSAC 13(8),
//! 1995), cited as `[vegas]`; constants and what happens around losses as in Linux's `tcp_vegas.c`.
//!
//! Once a round trip it compares the rate that an empty path would give with the delivery rate: the difference is what the
//! connection keeps in the queue of its bottleneck.

use handfast_core::{BitRate, Duration, Instant};

use super::pacer::window_rate;
use super::rate_sample::RateSample;
use super::{AckSample, Controller, Needs, Pacing, RttSample, Window};
use crate::Config;
use crate::phase::Phase;

/// `alpha` and `beta` (`[vegas]` §3.2): as many segments are kept in the queue.
const ALPHA: u64 = 2;
const BETA: u64 = 4;

/// `gamma` (`[vegas]` §3.3): with more in the queue slow start ends.
const GAMMA: u64 = 1;

/// "We need at least 3 RTT samples" (`tcp_vegas_cong_avoid`): with fewer the window grows as Reno's.
const MIN_SAMPLES: u32 = 3;

/// `tcp_pacing_ss_ratio` and `tcp_pacing_ca_ratio`, hundredths: how much faster than cwnd a round trip segments may leave.
const SLOW_START_RATIO: u128 = 200;
const AVOIDANCE_RATIO: u128 = 120;

/// The state of one connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Vegas {
    /// `BaseRTT`: the shortest round-trip time.
    base: Option<Duration>,
    /// The round trip ends when more than this is acknowledged; [`None`]: none has begun.
    round_end: Option<u64>,
    /// Samples of this round trip, and the least octets that one showed to be queued.
    samples: u32,
    queued: u64,
    /// Octets acknowledged since cwnd last grew as Reno's.
    credit: u64,
}

impl Vegas {
    /// `[vegas]` §3.2: Diff = Expected - Actual, times `BaseRTT`. Expected is the window of the time over `BaseRTT`, and what was
    /// delivered from a segment's departure to its arrival is that window.
    fn take_rate(&mut self, rate: &RateSample) {
        let Some(base) = self.base.filter(|_| !rate.app_limited) else { return };
        let delivered = u128::from(rate.delivered.get());
        let unqueued = delivered * u128::from(base.as_nanos()) / u128::from(rate.interval.as_nanos().max(1));
        let queued = delivered.saturating_sub(unqueued) as u64;
        // Linux takes the least round trip of a window's: the others were delayed by their receiver.
        self.queued = if self.samples == 0 { queued } else { self.queued.min(queued) };
        self.samples += 1;
    }

    fn begin_round(&mut self, nxt: u64) {
        self.round_end = Some(nxt);
        self.samples = 0;
    }

    /// `tcp_vegas_cong_avoid`, once a round trip.
    fn end_round(&mut self, window: &mut Window, ack: &AckSample) {
        let smss = window.smss;
        if self.samples < MIN_SAMPLES {
            self.grow_if_used(window, ack);
        } else if window.in_slow_start() {
            if self.queued > GAMMA * smss {
                // `[vegas]` §3.3; Linux: "set cwnd to match the actual rate exactly", plus one.
                let actual = window.cwnd.saturating_sub(self.queued);
                window.set_cwnd(window.cwnd.min(actual + smss));
                lower_ssthresh(window);
            } else {
                self.grow_if_used(window, ack);
            }
        } else {
            self.avoid_queue(window, ack);
        }
        window.set_cwnd(window.cwnd.max(2 * smss));
        // Linux: `tcp_current_ssthresh`.
        window.ssthresh = window.ssthresh.max(window.cwnd / 4 * 3);
    }

    /// `[vegas]` §3.2: a segment more a round trip with less than alpha queued, a segment less with more than beta.
    fn avoid_queue(&mut self, window: &mut Window, ack: &AckSample) {
        if self.queued > BETA * window.smss {
            window.set_cwnd(window.cwnd - window.smss);
            lower_ssthresh(window);
        } else if self.queued < ALPHA * window.smss && !ack.ecn_echo && ack.used(window) {
            window.set_cwnd(window.cwnd + window.smss);
        }
    }

    fn grow_if_used(&mut self, window: &mut Window, ack: &AckSample) {
        if ack.grows(window) {
            self.grow(window, ack);
        }
    }
}

/// `tcp_vegas_ssthresh`; of two segments at least, as after any reduction (RFC 5681 §3.1 (4)).
fn lower_ssthresh(window: &mut Window) {
    window.ssthresh = window.ssthresh.min(window.cwnd.max(2 * window.smss));
}

impl Controller for Vegas {
    fn new(_config: &Config) -> Self {
        Self::default()
    }

    fn needs() -> Needs {
        Needs { path_samples: true, pacing: Pacing::Segments, ..Needs::default() }
    }

    fn on_rtt(&mut self, _window: &mut Window, rtt: &RttSample) {
        self.base = Some(self.base.map_or(rtt.delay, |base| base.min(rtt.delay)));
    }

    fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        if ack.phase != Phase::Open {
            // `vegas_disable`: Reno repairs losses, and a round trip begins anew afterwards.
            self.round_end = None;
            return self.grow_if_used(window, ack);
        }
        let Some(path) = &ack.path else { return };
        if let Some(rate) = &path.rate {
            self.take_rate(rate);
        }
        match self.round_end {
            Some(end) if path.una > end => {
                self.end_round(window, ack);
                self.begin_round(path.nxt);
            }
            Some(_) if window.in_slow_start() => self.grow_if_used(window, ack),
            Some(_) => {}
            None => self.begin_round(path.nxt),
        }
    }

    /// RFC 5681 §3.1, where Vegas has too few samples.
    fn avoid_congestion(&mut self, window: &mut Window, octets: u64, _ack: &AckSample) {
        self.credit += octets;
        if self.credit >= window.cwnd {
            self.credit -= window.cwnd;
            window.set_cwnd(window.cwnd + window.smss);
        }
    }

    /// `tcp_reno_ssthresh`, in octets: RFC 5681 §3.1 (4).
    fn ssthresh(&mut self, window: &Window, flight: u64) -> u64 {
        self.credit = 0;
        (flight / 2).max(2 * window.smss)
    }

    /// `tcp_vegas_cwnd_event`: after a pause the path may be another one.
    fn on_idle(&mut self, _now: Instant, _idle: Duration) {
        *self = Self::default();
    }

    /// `tcp_update_pacing_rate`.
    fn pacing_rate(&self, window: &Window, srtt: Duration) -> Option<BitRate> {
        let ratio = if window.cwnd < window.ssthresh / 2 { SLOW_START_RATIO } else { AVOIDANCE_RATIO };
        window_rate(window.cwnd, ratio, srtt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::PathSample;
    use handfast_core::Bytes;
    const MS: fn(u64) -> Duration = Duration::from_millis;

    /// A path of 100 ms, and a round trip that ends at octet 10,000.
    fn vegas() -> Vegas {
        Vegas { base: Some(MS(100)), round_end: Some(10_000), ..Vegas::default() }
    }

    /// An acknowledgement up to `una` that shows a window of `segments` delivered in `interval`.
    fn ack_after(una: u64, segments: u64, interval: Duration) -> AckSample {
        let delivered = Bytes(1000 * segments);
        let rate = RateSample { delivered, interval, app_limited: false, prior_delivered: 0 };
        let path = PathSample { una, nxt: una + 10_000, rate: Some(rate), ..PathSample::of(1000) };
        AckSample { path: Some(path), ..AckSample::of(Instant::ZERO, 1000, interval) }
    }

    fn ack(una: u64, segments: u64, ms: u64) -> AckSample {
        ack_after(una, segments, MS(ms))
    }

    /// cwnd and ssthresh in octets after a round trip in which each sample shows a window of 20 segments delivered in `ms`.
    fn round(window: Window, ms: u64) -> (u64, u64) {
        round_of(window, MS(ms))
    }

    fn round_of(mut window: Window, interval: Duration) -> (u64, u64) {
        let mut vegas = vegas();
        for una in [8000, 9000, 10_000] {
            vegas.on_ack(&mut window, &ack_after(una, 20, interval));
        }
        vegas.on_ack(&mut window, &ack_after(11_000, 20, interval));
        assert_eq!((vegas.round_end, vegas.samples), (Some(21_000), 0), "the next begins");
        (window.cwnd, window.ssthresh)
    }

    #[test]
    fn it_keeps_two_to_four_segments_in_the_queue() {
        // 20 segments in 100 ms: none is queued. In 110 ms: 20 * 10 / 110 = 1.8; in 112 ms 2.1; in 125 ms 4; in 126 ms 4.1.
        for (ms, cwnd) in [(100, 21_000), (110, 21_000), (112, 20_000), (125, 20_000), (126, 19_000)] {
            assert_eq!(round(Window::of(1000, 20, 10), ms).0, cwnd, "{ms} ms");
        }
    }

    #[test]
    fn slow_start_ends_with_more_than_a_segment_in_the_queue() {
        // 20 * 5 / 105 = 0.95; 20 * 6 / 106 = 1.13: 23 less 1.13 plus one.
        assert_eq!(round(Window::of(1000, 20, 100), 105), (24_000, 100_000));
        // The three before the end of the round trip were slow start's.
        assert_eq!(round(Window::of(1000, 20, 100), 106), (22_867, 22_867));
    }

    #[test]
    fn the_bounds_themselves_change_nothing() {
        // Exactly two segments of 20 are queued when 18 of them are delivered in the time of an empty path; one when 19 are.
        let two = Duration::from_nanos(111_111_111);
        assert_eq!(
            round_of(Window::of(1000, 20, 10), two).0,
            20_000,
            "neither less than alpha nor more than beta"
        );
        let one = Duration::from_nanos(105_263_157);
        assert_eq!(
            round_of(Window::of(1000, 20, 100), one).0,
            24_000,
            "not more than gamma: slow start goes on"
        );
    }

    #[test]
    fn ssthresh_follows_the_window() {
        // `tcp_current_ssthresh`: three quarters of cwnd at least; and no more than a window that falls.
        assert_eq!(round(Window::of(1000, 20, 10), 100), (21_000, 15_750));
        assert_eq!(round(Window::of(1000, 20, 20), 126), (19_000, 19_000));
        // A window of one segment, as after a timeout: two are the least.
        assert_eq!(round(Window::of(1000, 1, 20), 126), (2000, 2000));
    }

    #[test]
    fn in_congestion_avoidance_the_window_stays_within_a_round_trip() {
        let (mut vegas, mut window) = (vegas(), Window::of(1000, 20, 10));
        (0..50).for_each(|_| vegas.on_ack(&mut window, &ack(9000, 20, 100)));
        assert_eq!(window.cwnd, 20_000);
    }

    #[test]
    fn two_segments_are_the_least_window() {
        assert_eq!(round(Window::of(1000, 2, 1), 300).0, 2000);
    }

    #[test]
    fn three_samples_are_enough_and_two_are_not() {
        // 300 ms: most of the window is queued, so it shrinks; as Reno's it would grow by a segment a window.
        for (early, cwnd) in [(2, 19_000), (1, 20_000)] {
            let (mut vegas, mut window) = (vegas(), Window::of(1000, 20, 10));
            (0..early).for_each(|_| vegas.on_ack(&mut window, &ack(9000, 20, 300)));
            vegas.on_ack(&mut window, &ack(11_000, 20, 300));
            assert_eq!(window.cwnd, cwnd, "{early} and the one that ends the round trip");
        }
    }

    #[test]
    fn a_window_that_was_not_used_does_not_grow() {
        let (mut vegas, mut window) = (vegas(), Window::of(1000, 20, 10));
        for una in [8000, 9000, 10_000, 11_000] {
            vegas.on_ack(&mut window, &AckSample { cwnd_limited: false, ..ack(una, 20, 100) });
        }
        assert_eq!(window.cwnd, 20_000);
    }

    #[test]
    fn without_samples_a_window_of_acknowledgements_brings_a_segment() {
        let (mut vegas, mut window) = (vegas(), Window::of(1000, 3, 2));
        for (octets, cwnd) in [(2000, 3000), (1000, 4000), (3999, 4000), (1, 5000)] {
            vegas.avoid_congestion(&mut window, octets, &ack(0, 1, 100));
            assert_eq!(window.cwnd, cwnd, "{octets}");
        }
    }

    #[test]
    fn the_least_delay_of_a_round_trip_counts() {
        let (mut vegas, mut window) = (vegas(), Window::of(1000, 20, 10));
        for (una, ms) in [(8000, 200), (9000, 100), (10_000, 200), (11_000, 200)] {
            vegas.on_ack(&mut window, &ack(una, 20, ms));
        }
        assert_eq!(window.cwnd, 21_000);
    }

    #[test]
    fn with_too_few_samples_it_grows_as_reno_does() {
        let (mut vegas, mut window) = (vegas(), Window::of(1000, 20, 100));
        vegas.on_ack(&mut window, &ack(10_000, 20, 300));
        vegas.on_ack(&mut window, &ack(11_000, 20, 300));
        assert_eq!(window.cwnd, 22_000, "slow start");
        // What the application limits is no sample.
        let mut limited = ack(9000, 20, 300);
        limited.path.as_mut().and_then(|path| path.rate.as_mut()).unwrap().app_limited = true;
        let (mut vegas, before) = (self::vegas(), window.cwnd);
        (0..5).for_each(|_| vegas.on_ack(&mut window, &limited));
        assert_eq!((vegas.samples, window.cwnd), (0, before + 5000));
    }

    #[test]
    fn losses_are_reno_s_and_a_round_trip_begins_anew_after_them() {
        let (mut vegas, mut window) = (vegas(), Window::of(1000, 20, 100));
        vegas.on_loss(&mut window, 20_000);
        assert_eq!(window.ssthresh, 10_000);
        let recovering = AckSample { phase: Phase::Recovery, ..ack(11_000, 20, 100) };
        vegas.on_ack(&mut window, &recovering);
        assert_eq!((vegas.round_end, window.cwnd), (None, 20_000));
        vegas.on_ack(&mut window, &ack(12_000, 20, 100));
        assert_eq!(vegas.round_end, Some(22_000));
        // After a timeout cwnd grows.
        window.set_cwnd(1000);
        let repairing = AckSample { phase: Phase::Loss, ..ack(13_000, 20, 100) };
        vegas.on_ack(&mut window, &repairing);
        assert_eq!(window.cwnd, 2000);
    }

    #[test]
    fn a_pause_forgets_the_path() {
        let (mut vegas, mut window) = (vegas(), Window::of(1000, 20, 100));
        vegas.on_idle(Instant::ZERO, MS(1000));
        let rtt = RttSample { now: Instant::ZERO, delay: MS(300), una: 0, nxt: 0 };
        vegas.on_rtt(&mut window, &rtt);
        assert_eq!(vegas.base, Some(MS(300)));
        vegas.on_rtt(&mut window, &RttSample { delay: MS(301), ..rtt });
        assert_eq!(vegas.base, Some(MS(300)), "the shortest");
    }

    #[test]
    fn segments_leave_a_little_faster_than_the_window_a_round_trip() {
        // 20,000 octets in 100 ms are 1.6 Mbit/s.
        let rate = |window: Window, srtt| vegas().pacing_rate(&window, srtt).map(BitRate::as_bps);
        assert_eq!(rate(Window::of(1000, 20, 10), MS(100)), Some(1_920_000));
        assert_eq!(rate(Window::of(1000, 20, 40), MS(100)), Some(1_920_000));
        assert_eq!(rate(Window::of(1000, 20, 41), MS(100)), Some(3_200_000), "slow start, far from its end");
        assert_eq!(rate(Window::of(1000, 20, 10), Duration::ZERO), None, "before the first sample");
    }
}
