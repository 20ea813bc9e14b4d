//! TCP Westwood+: Grieco and Mascolo, "Performance evaluation and comparison of Westwood+, New Reno, and Vegas TCP congestion control"
//! (ACM CCR 34(2), 2004), cited as `[westwood]`; the filter and what it counts as in Linux's `tcp_westwood.c`.
//!
//! Reno that does not halve its window at a loss: it goes back to what the path delivered of late in its shortest round trip.

use handfast_core::{Duration, Instant};

use super::reno::Reno;
use super::{AckSample, Controller, RttSample, Undo, Window};
use crate::Config;

/// `TCP_WESTWOOD_RTT_MIN`: a sample of the bandwidth takes so long at least.
const SHORTEST_SAMPLE: Duration = Duration::from_millis(50);

/// `struct westwood`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Westwood {
    /// Reno's growth.
    reno: Reno,
    /// `bw_ns_est` and `bw_est`: the bandwidth filtered once, and again; octets a second.
    once: u64,
    bandwidth: u64,
    /// `rtt_win_sx`: when the sample at hand began; [`None`]: nothing has been acknowledged yet.
    began: Option<Instant>,
    /// `bk`: octets of it.
    octets: u64,
    /// `accounted`: octets that duplicates stood for, which an acknowledgement will bring again.
    accounted: u64,
    /// `rtt` and `rtt_min`; zero: none yet.
    rtt: Duration,
    shortest: Duration,
    /// `reset_rtt_min`: the next round trip is the shortest.
    forgets: bool,
}

/// `westwood_do_filter`: seven eighths of what it was.
fn filtered(before: u64, sample: u64) -> u64 {
    before.saturating_mul(7).saturating_add(sample) / 8
}

impl Westwood {
    /// `westwood_acked_count`: a duplicate stands for a segment, which an acknowledgement that comes later does not bring anew.
    fn count(&mut self, octets: u64, smss: u64) -> u64 {
        if octets == 0 {
            self.accounted += smss;
            return smss;
        }
        if octets <= smss {
            return octets;
        }
        if self.accounted >= octets {
            self.accounted -= octets;
            return smss;
        }
        octets - std::mem::take(&mut self.accounted)
    }

    /// `westwood_update_window`: a round trip ends, and what it delivered counts.
    fn measure(&mut self, now: Instant, began: Instant) {
        let took = now.since(began);
        if self.rtt == Duration::ZERO || took <= self.rtt.max(SHORTEST_SAMPLE) {
            return;
        }
        let sample = rate(std::mem::take(&mut self.octets), took);
        if self.bandwidth == 0 && self.once == 0 {
            // `westwood_filter`: "If the filter is empty fill it with the first sample of bandwidth".
            (self.once, self.bandwidth) = (sample, sample);
        } else {
            self.once = filtered(self.once, sample);
            self.bandwidth = filtered(self.bandwidth, self.once);
        }
        self.began = Some(now);
    }
}

/// Octets a second.
fn rate(octets: u64, took: Duration) -> u64 {
    let rate = u128::from(octets) * 1_000_000_000 / u128::from(took.as_nanos().max(1));
    u64::try_from(rate).unwrap_or(u64::MAX)
}

impl Controller for Westwood {
    fn new(_config: &Config) -> Self {
        Self::default()
    }

    /// `tcp_westwood_ack`.
    fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        match self.began {
            // `first_ack`: what it brings left before the sample begins.
            None => self.began = Some(ack.now),
            Some(began) => {
                self.measure(ack.now, began);
                self.octets += self.count(ack.acked, window.smss);
            }
        }
        if ack.grows(window) {
            self.grow(window, ack);
        }
    }

    fn avoid_congestion(&mut self, window: &mut Window, octets: u64, ack: &AckSample) {
        self.reno.avoid_congestion(window, octets, ack);
    }

    /// `tcp_westwood_bw_rttmin`, [westwood] §2: ssthresh = max (2, BWE * `RTTmin` / `seg_size`).
    fn ssthresh(&mut self, window: &Window, flight: u64) -> u64 {
        // Reno's count of acknowledged octets begins anew; what it would leave of the window does not matter.
        self.reno.ssthresh(window, flight);
        let octets = u128::from(self.bandwidth) * u128::from(self.shortest.as_nanos()) / 1_000_000_000;
        let segments = u64::try_from(octets).unwrap_or(u64::MAX) / window.smss;
        segments.max(2) * window.smss
    }

    /// `tcp_westwood_event (CA_EVENT_LOSS)`: after a timeout the path may be another one.
    fn forget(&mut self) {
        self.forgets = true;
    }

    /// The window alone: what the path delivers was not measured wrongly.
    fn on_spurious(&mut self, window: &mut Window, _before: &Self, undo: &Undo) {
        window.set(undo.cwnd, undo.ssthresh);
    }

    /// `tcp_westwood_pkts_acked` and `update_rtt_min`.
    fn on_rtt(&mut self, _window: &mut Window, rtt: &RttSample) {
        self.rtt = rtt.delay;
        let begins = std::mem::take(&mut self.forgets) || self.shortest == Duration::ZERO;
        self.shortest = if begins { rtt.delay } else { self.shortest.min(rtt.delay) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Timeout;

    const MS: fn(u64) -> Instant = Instant::from_millis;

    fn measured(westwood: &mut Westwood, ms: u64) {
        let delay = Duration::from_millis(ms);
        westwood.on_rtt(&mut window(10), &RttSample { now: Instant::ZERO, delay, una: 2, nxt: 3 });
    }

    fn window(segments: u64) -> Window {
        Window::of(1000, segments, segments)
    }

    fn acked(ms: u64, octets: u64) -> AckSample {
        AckSample::of(MS(ms), octets, Duration::ZERO)
    }

    /// After an acknowledgement of a segment each 10 ms, a second long, over a path of 100 ms.
    fn steady() -> Westwood {
        let (mut westwood, mut w) = (Westwood::default(), window(10));
        measured(&mut westwood, 100);
        (0..=100).for_each(|k| westwood.on_ack(&mut w, &acked(10 * k, 1000)));
        westwood
    }

    #[test]
    fn a_loss_leaves_what_the_path_holds_and_a_timeout_one_segment_that_grows_to_it() {
        // The first sample covers 110 ms, of which the last acknowledgement counts for the next: ten segments.
        let mut westwood = steady();
        assert!((90_000..=100_000).contains(&westwood.bandwidth), "{}", westwood.bandwidth);
        assert_eq!(westwood.ssthresh(&window(40), 40_000), 9_000);
        let mut w = window(40);
        let timeout = Timeout { is_new: true, flight: 40_000, in_recovery: false, in_flight: 0 };
        westwood.on_timeout(&mut w, &timeout);
        assert_eq!((w.cwnd, w.ssthresh), (1000, 9000));
        // `reset_rtt_min`.
        measured(&mut westwood, 300);
        assert_eq!(westwood.shortest, Duration::from_millis(300));
    }

    #[test]
    fn two_segments_are_the_least() {
        assert_eq!(Westwood::default().ssthresh(&window(40), 40_000), 2000);
    }

    #[test]
    fn it_grows_as_reno_does() {
        let (mut westwood, mut reno) = (Westwood::default(), Reno::default());
        let (mut a, mut b) = (window(10), window(10));
        for k in 0..100 {
            westwood.on_ack(&mut a, &acked(k, 1000));
            reno.on_ack(&mut b, &acked(k, 1000));
            assert_eq!(a.cwnd, b.cwnd, "{k}");
        }
    }

    #[test]
    fn a_sample_takes_a_round_trip_and_fifty_milliseconds() {
        for (rtt, ends) in [(10, 51), (50, 51), (80, 81)] {
            let (mut westwood, mut w) = (Westwood::default(), window(10));
            measured(&mut westwood, rtt);
            (0..ends).for_each(|ms| westwood.on_ack(&mut w, &acked(ms, 1000)));
            assert_eq!(westwood.bandwidth, 0, "{rtt} ms");
            westwood.on_ack(&mut w, &acked(ends, 1000));
            assert_eq!(westwood.bandwidth, rate((ends - 1) * 1000, Duration::from_millis(ends)), "{rtt} ms");
        }
    }

    #[test]
    fn samples_are_filtered_twice() {
        let mut westwood = Westwood { once: 8000, bandwidth: 8000, ..Westwood::default() };
        measured(&mut westwood, 100);
        westwood.octets = 1600;
        westwood.measure(MS(200), MS(100));
        assert_eq!(westwood.bandwidth, 8000, "not longer than a round trip");
        westwood.measure(MS(200), Instant::ZERO);
        // 1600 octets in 200 ms are 8000 a second.
        assert_eq!((westwood.once, westwood.bandwidth, westwood.octets), (8000, 8000, 0));
        westwood.octets = 3200;
        westwood.measure(MS(400), MS(200));
        assert_eq!((westwood.once, westwood.bandwidth), (9000, 8125));
        // Only a filter that is empty whole takes a sample as it is.
        (westwood.once, westwood.bandwidth, westwood.octets) = (0, 8000, 1600);
        westwood.measure(MS(600), MS(400));
        assert_eq!((westwood.once, westwood.bandwidth), (1000, 7125));
    }

    #[test]
    fn what_duplicates_have_counted_does_not_count_again() {
        let mut westwood = Westwood::default();
        assert_eq!([0, 0, 0].map(|octets| westwood.count(octets, 1000)), [1000; 3]);
        // The hole is filled, with the three behind it: one is new.
        assert_eq!(westwood.count(4000, 1000), 1000);
        assert_eq!((westwood.count(2000, 1000), westwood.accounted), (2000, 0));
        westwood.accounted = 9000;
        assert_eq!((westwood.count(4000, 1000), westwood.accounted), (1000, 5000));
    }

    #[test]
    fn a_spurious_reduction_leaves_the_estimate() {
        let (mut westwood, mut w) = (steady(), window(10));
        let undo = Undo { rule: crate::cc::UndoRule::Linux, cwnd: 40_000, ssthresh: 30_000 };
        westwood.on_spurious(&mut w, &Westwood::default(), &undo);
        assert_eq!((w.cwnd, w.ssthresh), (40_000, 30_000));
        assert!(westwood.bandwidth > 0);
    }
}
