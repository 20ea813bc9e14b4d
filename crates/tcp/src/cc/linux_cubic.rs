//! CUBIC as the kernel has it (Linux, `net/ipv4/tcp_cubic.c`; names as there): segments, integer arithmetic, one evaluation of
//! the curve a jiffy. It differs from RFC 9438 in where the target lies (one minimum RTT ahead, not one SRTT), in the first
//! epoch (at least one segment for twenty acknowledged), and in counting time without transmission out.

use handfast_core::{Duration, Instant};

use super::linux_reno::{Credit, cong_avoid, cwnd, may_raise_cwnd, segments, undo_reduction};
use super::{AckSample, Controller, RttSample, Timeout, Undo, Window};
use crate::Config;

/// `BICTCP_BETA_SCALE`, and `beta`: 717/1024.
const BETA_SCALE: u64 = 1024;
const BETA: u64 = 717;

/// `beta_scale`: 8 * (`BICTCP_BETA_SCALE` + beta) / 3 / (`BICTCP_BETA_SCALE` - beta).
const FRIENDLY_SCALE: u64 = 8 * (BETA_SCALE + BETA) / 3 / (BETA_SCALE - BETA);

/// `BICTCP_HZ`: time in the curve is in 2^-10 s.
const TIME_SHIFT: u32 = 10;

/// `cube_rtt_scale`: `bic_scale` (41) * 10, so that C = 410 / 1024 = 0.4.
const CUBE_SCALE: u64 = 410;

/// `cube_factor`: 2^(10 + 3 * `BICTCP_HZ`) / `cube_rtt_scale`.
const CUBE_FACTOR: u64 = (1 << (10 + 3 * TIME_SHIFT)) / CUBE_SCALE;

/// HZ / 32: the curve is evaluated no more often while cwnd stays.
const UPDATE_INTERVAL: Duration = Duration::from_nanos(1_000_000_000 / 32);

/// HZ: for so long after an epoch has begun, delays are not looked at.
const SETTLING: Duration = Duration::from_secs(1);

/// `struct bictcp`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LinuxCubic {
    credit: Credit,
    /// Segments to acknowledge for one more of cwnd.
    pub(super) cnt: u32,
    /// 0: no loss yet, or none since the last timeout.
    pub(super) last_max_cwnd: u32,
    last_cwnd: u32,
    origin_point: u32,
    /// K, 2^-10 s.
    k: u32,
    ack_cnt: u32,
    tcp_cwnd: u32,
    /// Microseconds; 0: none yet.
    pub(super) delay_min: u32,
    last_time: Instant,
    /// `epoch_start`; [`Instant::ZERO`]: none.
    epoch: Instant,
    /// `tcp_friendliness` = 0.
    unfriendly: bool,
}

impl LinuxCubic {
    /// `bictcp_update`.
    fn update(&mut self, now: Instant, cwnd: u32, acked: u32) {
        if !self.is_due(now, cwnd, acked) {
            return;
        }
        self.follow_curve(now, cwnd);
        self.be_friendly(cwnd);
        // "The maximum rate of cwnd increase CUBIC allows is 1 packet per 2 packets ACKed".
        self.cnt = self.cnt.max(2);
    }

    /// Counts what is acknowledged; whether `cnt` is to be found anew.
    pub(super) fn is_due(&mut self, now: Instant, cwnd: u32, acked: u32) -> bool {
        self.ack_cnt = self.ack_cnt.saturating_add(acked);
        if self.last_cwnd == cwnd && now.since(self.last_time) <= UPDATE_INTERVAL {
            return false;
        }
        self.last_cwnd = cwnd;
        self.last_time = now;
        if self.epoch == Instant::ZERO {
            self.begin_epoch(now, cwnd, acked);
        }
        true
    }

    fn begin_epoch(&mut self, now: Instant, cwnd: u32, acked: u32) {
        // A zero would mean no epoch.
        self.epoch = now.max(Instant::from_nanos(1));
        self.ack_cnt = acked;
        self.tcp_cwnd = cwnd;
        if self.last_max_cwnd <= cwnd {
            self.k = 0;
            self.origin_point = cwnd;
        } else {
            self.k = cubic_root(CUBE_FACTOR * u64::from(self.last_max_cwnd - cwnd));
            self.origin_point = self.last_max_cwnd;
        }
    }

    /// Where in the curve the window of the next round trip is, 2^-10 s.
    fn time(&self, now: Instant) -> u128 {
        let elapsed = now.since(self.epoch) + Duration::from_micros(u64::from(self.delay_min));
        // Without overflow for any elapsed time.
        (u128::from(elapsed.as_nanos()) << TIME_SHIFT) / 1_000_000_000
    }

    /// Whether that is beyond the plateau.
    pub(super) fn is_beyond_k(&self, now: Instant) -> bool {
        self.time(now) >= u128::from(self.k)
    }

    pub(super) fn follow_curve(&mut self, now: Instant, cwnd: u32) {
        let t = self.time(now);
        let offset = t.abs_diff(u128::from(self.k)).min(u128::from(u32::MAX));
        let delta = (u128::from(CUBE_SCALE) * offset * offset * offset) >> (10 + 3 * TIME_SHIFT);
        let origin = u128::from(self.origin_point);
        let target = if t < u128::from(self.k) { origin.saturating_sub(delta) } else { origin + delta };
        let above = target.saturating_sub(u128::from(cwnd));
        self.cnt = u128::from(cwnd).checked_div(above).map_or(cwnd.saturating_mul(100), |cnt| cnt as u32);
        // "The initial growth of cubic function may be too conservative when the available bandwidth is still unknown."
        if self.last_max_cwnd == 0 {
            self.cnt = self.cnt.min(20);
        }
    }

    /// `tcp_friendliness`: never slower than Reno with the same beta.
    pub(super) fn be_friendly(&mut self, cwnd: u32) {
        if self.unfriendly {
            return;
        }
        let per = ((u64::from(cwnd) * FRIENDLY_SCALE) >> 3).max(1) as u32;
        // One subtraction a segment in the kernel: `while (ca->ack_cnt > delta)`.
        let grown = self.ack_cnt.saturating_sub(1) / per;
        self.ack_cnt -= grown * per;
        self.tcp_cwnd = self.tcp_cwnd.saturating_add(grown);
        if self.tcp_cwnd > cwnd {
            self.cnt = self.cnt.min(cwnd / (self.tcp_cwnd - cwnd));
        }
    }
}

impl LinuxCubic {
    /// `cubictcp_acked`: "Discard delay samples right after fast recovery".
    fn has_just_recovered(&self, now: Instant) -> bool {
        self.epoch != Instant::ZERO && now.since(self.epoch) < SETTLING
    }

    /// `cubictcp_acked`.
    pub(super) fn note_delay(&mut self, delay: Duration) {
        let micros = u32::try_from(delay.as_nanos() / 1000).unwrap_or(u32::MAX).max(1);
        if self.delay_min == 0 || micros < self.delay_min {
            self.delay_min = micros;
        }
    }
}

impl Controller for LinuxCubic {
    fn new(config: &Config) -> Self {
        Self { unfriendly: !config.cubic_reno_friendly, ..Self::default() }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        if may_raise_cwnd(window, ack) {
            self.grow(window, ack);
        }
    }

    fn grow(&mut self, window: &mut Window, ack: &AckSample) {
        cong_avoid(self, window, ack);
    }

    fn avoid_congestion(&mut self, window: &mut Window, octets: u64, ack: &AckSample) {
        let left = segments(octets, window);
        self.update(ack.now, cwnd(window) as u32, left as u32);
        self.credit.avoid_congestion(window, u64::from(self.cnt), left);
    }

    /// `cubictcp_recalc_ssthresh`, with fast convergence.
    fn ssthresh(&mut self, window: &Window, _flight: u64) -> u64 {
        let segments = cwnd(window);
        self.epoch = Instant::ZERO;
        self.last_max_cwnd = if segments < u64::from(self.last_max_cwnd) {
            segments * (BETA_SCALE + BETA) / (2 * BETA_SCALE)
        } else {
            segments
        } as u32;
        (segments * BETA / BETA_SCALE).max(2) * window.smss
    }

    /// `cubictcp_state (TCP_CA_Loss)`: `bictcp_reset`.
    fn forget(&mut self) {
        *self = Self { unfriendly: self.unfriendly, ..Self::default() };
    }

    /// `cubictcp_cwnd_event (CA_EVENT_TX_START)`: "shift `epoch_start` to keep cwnd growth to cubic curve".
    fn on_idle(&mut self, now: Instant, idle: Duration) {
        if self.epoch != Instant::ZERO {
            self.epoch = (self.epoch + idle).min(now);
        }
    }

    fn on_rtt(&mut self, _window: &mut Window, rtt: &RttSample) {
        if !self.has_just_recovered(rtt.now) {
            self.note_delay(rtt.delay);
        }
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

/// The integer below the cube root. The kernel's table and one Newton step are within 0.2 % of it.
fn cubic_root(a: u64) -> u32 {
    let mut root = libm::cbrt(a as f64) as u64;
    while root.pow(3) > a {
        root -= 1;
    }
    root as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    fn window(segments: u64) -> Window {
        Window::of(1000, segments, 0)
    }

    fn after_loss(segments: u64) -> (LinuxCubic, Window) {
        let mut cubic = LinuxCubic::default();
        cubic.note_delay(RTT);
        let mut w = window(segments);
        let ssthresh = cubic.ssthresh(&w, 0);
        w.set_cwnd(ssthresh);
        w.ssthresh = ssthresh;
        (cubic, w)
    }

    /// Acknowledges a window every 100 ms, each segment by itself and spread over the round trip; the cwnd after each round.
    fn grow(cubic: &mut LinuxCubic, w: &mut Window, rounds: u64) -> Vec<u64> {
        let start = 1_000_000_000;
        (0..rounds)
            .map(|round| {
                let n = w.cwnd / 1000;
                for k in 0..n {
                    let now = Instant::from_nanos(start + round * 100_000_000 + k * 100_000_000 / n);
                    cubic.on_ack(w, &AckSample::of(now, 1000, RTT));
                }
                w.cwnd / 1000
            })
            .collect()
    }

    #[test]
    fn constants_are_the_kernels() {
        assert_eq!((FRIENDLY_SCALE, CUBE_FACTOR), (15, 2_681_735_677));
        // 717/1024 of 100, rounded down.
        assert_eq!(after_loss(100).1.cwnd, 70_000);
    }

    #[test]
    fn the_plateau_is_reached_after_k() {
        let (mut cubic, mut w) = after_loss(1000);
        let curve = grow(&mut cubic, &mut w, 120);
        // K = cbrt (300 / 0.4) = 9.09 s; one minimum RTT ahead.
        assert!((9300..9320).contains(&cubic.k), "{}", cubic.k);
        assert!(curve[85..97].iter().all(|&c| c == 1000), "{curve:?}");
        assert!(
            curve[20] - curve[10] > curve[60] - curve[50] && curve[60] <= 990,
            "concave before: {curve:?}"
        );
        assert!(curve[119] - curve[109] > curve[99] - curve[89], "convex after");
    }

    #[test]
    fn small_windows_grow_at_least_as_renos_do() {
        let (mut cubic, mut w) = after_loss(10);
        // 15/8 of a window for each segment: about one in two rounds, far ahead of the curve's K of 2 s.
        let curve = grow(&mut cubic, &mut w, 10);
        assert!((11..=13).contains(&curve[9]), "{curve:?}");
    }

    #[test]
    fn fast_convergence_gives_room() {
        let (mut cubic, _) = after_loss(100);
        cubic.ssthresh(&window(100), 0);
        assert_eq!(cubic.last_max_cwnd, 100, "no less than before");
        cubic.ssthresh(&window(80), 0);
        assert_eq!(cubic.last_max_cwnd, 68, "80 * 1741 / 2048");
    }

    #[test]
    fn without_a_maximum_twenty_acknowledgements_bring_one_segment() {
        let mut cubic = LinuxCubic::default();
        let mut w = window(100);
        grow(&mut cubic, &mut w, 1);
        assert_eq!(w.cwnd, 105_000);
        cubic.ssthresh(&w, 0);
        cubic.forget();
        assert_eq!((cubic.last_max_cwnd, cubic.delay_min), (0, 0), "a timeout forgets all");
    }

    #[test]
    fn time_without_transmission_does_not_count() {
        let (mut cubic, mut w) = after_loss(1000);
        grow(&mut cubic, &mut w, 1);
        let before = cubic.epoch;
        cubic.on_idle(Instant::from_millis(61_000), Duration::from_secs(59));
        assert_eq!(cubic.epoch.since(before), Duration::from_secs(59));
    }

    #[test]
    fn the_growth_is_bounded_however_late() {
        let (mut cubic, mut w) = after_loss(100);
        grow(&mut cubic, &mut w, 1);
        let now = Instant::from_nanos(u64::MAX - 1);
        let before = w.cwnd;
        cubic.on_ack(&mut w, &AckSample::of(now, before, RTT));
        assert!(w.cwnd <= before * 3 / 2 + 1000, "one segment for two acknowledged: {}", w.cwnd);
    }

    /// In an epoch that began at 1 s, with a maximum of `origin` segments before it, reached again `k` 2^-10 s later.
    fn epoch(k: u32, origin: u32) -> LinuxCubic {
        let epoch = Instant::from_millis(1000);
        LinuxCubic { epoch, k, origin_point: origin, last_max_cwnd: origin, ..LinuxCubic::default() }
    }

    #[test]
    fn the_curve_is_bictcp_update_s() {
        // "delta = (cube_rtt_scale * offs * offs * offs) >> (10+3*BICTCP_HZ)", "cnt = cwnd / (bic_target - cwnd)", or "100 * cwnd".
        for (k, origin, after_ms, cwnd, cnt) in [
            (0, 100, 4000, 100, 4),
            (0, 100, 4000, 124, 124),
            (0, 100, 4000, 125, 12_500),
            (4096, 200, 1000, 180, 18),
            (4096, 200, 1000, 190, 19_000),
            (4096, 200, 3000, 199, 199),
            (4096, 200, 3000, 200, 20_000),
            (4096, 200, 4000, 199, 199),
            (4096, 200, 8000, 200, 8),
        ] {
            let mut cubic = epoch(k, origin);
            cubic.follow_curve(Instant::from_millis(1000 + after_ms), cwnd);
            assert_eq!(cubic.cnt, cnt, "{after_ms} ms into the epoch with K {k}, cwnd {cwnd}");
        }
        // "t += usecs_to_jiffies(ca->delay_min)"; "ca->last_max_cwnd == 0 && ca->cnt > 20".
        let mut cubic = LinuxCubic { delay_min: 1_000_000, ..epoch(4096, 200) };
        cubic.follow_curve(Instant::from_millis(4000), 199);
        assert_eq!(cubic.cnt, 199);
        cubic.last_max_cwnd = 0;
        cubic.follow_curve(Instant::from_millis(4000), 199);
        assert_eq!(cubic.cnt, 20);
    }

    #[test]
    fn an_epoch_begins_at_the_maximum_or_below_it() {
        // "if (ca->last_max_cwnd <= cwnd)": K = 0; otherwise the cube root, here of 300 / 0.4 s^3.
        for (cwnd, k, origin) in [(1000, 0, 1000), (1001, 0, 1001), (700, 9300, 1000)] {
            let mut cubic = LinuxCubic { last_max_cwnd: 1000, ..LinuxCubic::default() };
            cubic.begin_epoch(Instant::from_millis(5), cwnd, 7);
            assert_eq!((cubic.ack_cnt, cubic.tcp_cwnd, cubic.origin_point, cubic.k), (7, cwnd, origin, k));
        }
        // The last is nearer to the cube above it than a float can tell.
        let numbers = [0, 1, 26, 27, 28, 999_999_999, 2_000_000_u64.pow(3) - 1];
        assert_eq!(numbers.map(cubic_root), [0, 1, 2, 3, 3, 999, 1_999_999]);
    }

    #[test]
    fn reno_s_window_grows_by_one_for_fifteen_eighths_of_it() {
        // "delta = (cwnd * scale) >> 3; while (ca->ack_cnt > delta)": 187 for 100.
        for (acked, tcp_cwnd, left, cnt) in
            [(187, 100, 187, 1000), (188, 101, 1, 100), (374, 101, 187, 100), (375, 102, 1, 50)]
        {
            let mut cubic = LinuxCubic { cnt: 1000, ack_cnt: acked, tcp_cwnd: 100, ..LinuxCubic::default() };
            cubic.be_friendly(100);
            assert_eq!((cubic.tcp_cwnd, cubic.ack_cnt, cubic.cnt), (tcp_cwnd, left, cnt), "{acked}");
        }
    }

    #[test]
    fn while_cwnd_stays_the_curve_waits_for_a_thirty_second() {
        // "ca->last_cwnd == cwnd && (s32)(tcp_jiffies32 - ca->last_time) <= HZ / 32"
        let mut cubic = LinuxCubic::default();
        let start = Instant::from_millis(1000);
        cubic.update(start, 100, 1);
        for (later, cwnd, evaluated) in
            [(1, 100, false), (31_250, 100, false), (31_251, 100, true), (31_252, 101, true)]
        {
            let now = start + Duration::from_micros(later);
            cubic.update(now, cwnd, 1);
            assert_eq!(cubic.last_time == now, evaluated, "{later} us");
        }
        assert_eq!(cubic.ack_cnt, 5, "all count");
    }

    #[test]
    fn delays_right_after_fast_recovery_do_not_count() {
        // "ca->epoch_start && (s32)(tcp_jiffies32 - ca->epoch_start) < HZ"
        let mut cubic = LinuxCubic::default();
        let mut window = window(10);
        let mut after = |ms, delay, nxt| {
            let now = Instant::from_millis(ms);
            cubic.on_rtt(&mut window, &RttSample { now, delay: Duration::from_millis(delay), una: nxt, nxt });
            let seen = cubic.delay_min;
            if ms == 1000 {
                cubic.begin_epoch(now, 10, 1);
            }
            seen
        };
        let seen = [after(1000, 100, 2), after(1999, 90, 3), after(2000, 95, 4)];
        assert_eq!(seen, [100_000, 100_000, 95_000]);
    }

    #[test]
    fn the_least_round_trip_is_kept() {
        // `cubictcp_acked`: "if (delay == 0) delay = 1", "ca->delay_min == 0 || ca->delay_min > delay".
        let mut cubic = LinuxCubic::default();
        let mut after = |micros| {
            cubic.note_delay(Duration::from_micros(micros));
            cubic.delay_min
        };
        assert_eq!(
            [after(100_000), after(200_000), after(99_999), after(0), after(5)],
            [100_000, 100_000, 99_999, 1, 1]
        );
    }
}
