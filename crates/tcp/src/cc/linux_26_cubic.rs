//! CUBIC as Linux 2.6.22 had it (`net/ipv4/tcp_cubic.c`, version 2.1), which is what ns-2's `Agent/TCP/Linux` runs: acknowledgements
//! count, not what they acknowledge, and the ratio of the two makes up for delayed ones.
//!
//! What later kernels kept is in `linux_cubic.rs`. Left out: that no round trip within a second of an epoch's beginning
//! counts as the least one, and that the ratio stands still while cwnd is not the limit.

use handfast_core::Instant;

use super::linux_cubic::LinuxCubic;
use super::linux_reno::{cwnd, may_raise_cwnd, segments, undo_reduction};
use super::{AckSample, Controller, RttSample, Timeout, Undo, Window};
use crate::Config;

/// `max_increment`, segments in a tenth of a second.
const MAX_INCREMENT: u64 = 16;

/// `cnt` before the first loss.
const FIRST_CNT: u32 = 50;

/// `ACK_RATIO_SHIFT`.
const RATIO_SHIFT: u32 = 4;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Linux26Cubic {
    curve: LinuxCubic,
    /// Segments for each acknowledgement, sixteenths.
    delayed_ack: u32,
    /// `snd_cwnd_cnt`.
    count: u32,
}

impl Linux26Cubic {
    /// `bictcp_reset`.
    fn reset(curve: LinuxCubic) -> Self {
        Self { curve, delayed_ack: 2 << RATIO_SHIFT, count: 0 }
    }

    /// `bictcp_update`.
    fn update(&mut self, now: Instant, cwnd: u32) {
        let curve = &mut self.curve;
        if !curve.is_due(now, cwnd, 1) {
            return;
        }
        curve.follow_curve(now, cwnd);
        if curve.is_beyond_k(now) {
            curve.cnt = curve.cnt.max(least_cnt(cwnd, curve.delay_min));
        }
        if curve.last_max_cwnd == 0 {
            curve.cnt = FIRST_CNT;
        }
        curve.be_friendly(cwnd);
        curve.cnt =
            ((u64::from(curve.cnt) << RATIO_SHIFT) / u64::from(self.delayed_ack.max(1))).max(1) as u32;
    }
}

/// "max increment = Smax * rtt / 0.1"; `delay_min` in microseconds.
fn least_cnt(cwnd: u32, delay_min: u32) -> u32 {
    let increment = MAX_INCREMENT * u64::from(delay_min);
    (u64::from(cwnd) * 100_000).checked_div(increment).map_or(0, |cnt| cnt as u32)
}

impl Controller for Linux26Cubic {
    fn new(config: &Config) -> Self {
        Self::reset(LinuxCubic::new(config))
    }

    fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        if may_raise_cwnd(window, ack) {
            self.grow(window, ack);
        }
    }

    fn grow(&mut self, window: &mut Window, ack: &AckSample) {
        // `bictcp_acked`: "ratio = (15*ratio + sample) / 16".
        let sample = segments(ack.counted, window) as u32;
        self.delayed_ack = self.delayed_ack - (self.delayed_ack >> RATIO_SHIFT) + sample;
        // `snd_cwnd <= snd_ssthresh`: at ssthresh, where later kernels do no longer, one more of slow start.
        if cwnd(window) <= window.ssthresh / window.smss {
            window.set_cwnd((cwnd(window) + 1) * window.smss);
        } else {
            self.avoid_congestion(window, ack.counted, ack);
        }
    }

    /// An acknowledgement more than `cnt` brings a segment: `snd_cwnd_cnt` is compared before it counts.
    fn avoid_congestion(&mut self, window: &mut Window, _octets: u64, ack: &AckSample) {
        self.update(ack.now, cwnd(window) as u32);
        if self.count < self.curve.cnt {
            self.count += 1;
            return;
        }
        self.count = 0;
        window.set_cwnd((cwnd(window) + 1) * window.smss);
    }

    fn ssthresh(&mut self, window: &Window, flight: u64) -> u64 {
        self.count = 0;
        self.curve.ssthresh(window, flight)
    }

    fn forget(&mut self) {
        self.curve.forget();
        *self = Self::reset(self.curve);
    }

    fn on_rtt(&mut self, _window: &mut Window, rtt: &RttSample) {
        self.curve.note_delay(rtt.delay);
    }

    /// `tcp_set_ca_state (TCP_CA_Loss)` resets the module at every timeout.
    fn forgets(&self, _timeout: &Timeout) -> bool {
        true
    }

    fn on_spurious(&mut self, window: &mut Window, before: &Self, undo: &Undo) {
        undo_reduction(self, window, before, undo);
    }

    fn counts_segments(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use handfast_core::Duration;

    const RTT: Duration = Duration::from_millis(100);

    fn window(segments: u64) -> Window {
        Window::of(1000, segments, 0)
    }

    fn new() -> Linux26Cubic {
        Linux26Cubic::new(&Config { cubic_reno_friendly: false, ..Config::default() })
    }

    fn after_loss(segments: u64) -> (Linux26Cubic, Window) {
        let mut cubic = new();
        cubic.curve.note_delay(RTT);
        let mut w = window(segments);
        let ssthresh = cubic.ssthresh(&w, 0);
        w.set_cwnd(ssthresh);
        w.ssthresh = ssthresh - 1;
        (cubic, w)
    }

    /// Acknowledgements of `each` segments at one moment, until cwnd has grown; how many that took.
    fn until_growth(cubic: &mut Linux26Cubic, w: &mut Window, each: u64, millis: u64) -> usize {
        let (now, before) = (Instant::from_millis(millis), w.cwnd);
        let ack = |_: &usize| {
            cubic.on_ack(w, &AckSample::of(now, each * 1000, RTT));
            w.cwnd > before
        };
        (1..10_000).find(ack).expect("it grows")
    }

    #[test]
    fn slow_start_counts_acknowledgements_and_ends_above_ssthresh() {
        let (mut cubic, mut w) = (new(), window(10));
        w.ssthresh = 12_000;
        for grown in [11, 12, 13, 13] {
            cubic.on_ack(&mut w, &AckSample::of(Instant::from_millis(1), 2000, RTT));
            assert_eq!(w.cwnd, grown * 1000);
        }
    }

    #[test]
    fn before_the_first_loss_fifty_segments_bring_one_more() {
        // With every second segment acknowledged: 50 / 2, and one.
        assert_eq!(until_growth(&mut new(), &mut window(100), 2, 1), 26);
        let (mut cubic, mut w) = after_loss(100);
        cubic.forget();
        assert_eq!(until_growth(&mut cubic, &mut w, 2, 1), 26, "nor since a timeout");
    }

    #[test]
    fn the_ratio_follows_what_is_acknowledged_at_once() {
        let mut cubic = new();
        let mut ratio_after = |each: u64| {
            (0..100).for_each(|_| {
                cubic.on_ack(&mut window(100), &AckSample::of(Instant::from_millis(1), each * 1000, RTT));
            });
            cubic.delayed_ack
        };
        // Rounded down on the way up: the fixed points lie within a sixteenth above a whole segment.
        assert_eq!([ratio_after(1), ratio_after(4), ratio_after(2)], [31, 64, 47]);
    }

    #[test]
    fn the_curve_is_the_later_kernels() {
        let (mut cubic, mut w) = after_loss(1000);
        assert_eq!(w.cwnd, 700_000, "717/1024 of 1000, rounded down");
        // K = cbrt (300 / 0.4) = 9.09 s. At 0 + 0.1 s the curve is at 1000 - 290 = 710: 700 / 10 = 70, with a ratio of 31/16 36
        // acknowledgements. At 0.1 + 0.1 s at 720: 701 / 19 = 36, so 18.
        assert_eq!(until_growth(&mut cubic, &mut w, 1, 1000), 37);
        assert_eq!(until_growth(&mut cubic, &mut w, 1, 1100), 19);
    }

    #[test]
    fn beyond_the_plateau_it_grows_by_sixteen_segments_in_a_tenth_of_a_second_at_most() {
        // 1000 segments of 100 ms: 1000 / 16. Of 50 ms: half the growth in a round trip.
        assert_eq!([least_cnt(1000, 100_000), least_cnt(1000, 50_000), least_cnt(1000, 0)], [62, 125, 0]);
        let (mut cubic, mut w) = after_loss(1000);
        until_growth(&mut cubic, &mut w, 1, 1000);
        // The curve is at some 4,200: 701 / 16 = 43, with a ratio of 31/16 22 acknowledgements.
        assert_eq!(until_growth(&mut cubic, &mut w, 1, 30_000), 23);
    }

    #[test]
    fn reno_s_growth_is_the_least_where_it_is_asked_for() {
        for (cubic_reno_friendly, least) in [(true, false), (false, true)] {
            let mut cubic = Linux26Cubic::new(&Config { cubic_reno_friendly, ..Config::default() });
            let mut w = window(10);
            cubic.ssthresh(&w, 0);
            w.set_cwnd(7000);
            // On the plateau of a small window the curve stands still for seconds, Reno does not.
            let grown = (0..200).filter(|at| {
                let before = w.cwnd;
                let now = Instant::from_millis(1000 + 5 * at);
                cubic.on_ack(&mut w, &AckSample::of(now, 1000, RTT));
                w.cwnd > before
            });
            assert_eq!(grown.count() < 5, least, "friendly: {cubic_reno_friendly}");
        }
    }
}
