//! Reno as the kernel has it (Linux, `net/ipv4/tcp_cong.c`): windows and acknowledgements count in segments.

use super::{AckSample, Controller, Timeout, Undo, UndoRule, Window};
use crate::Config;

/// `TCP_INFINITE_SSTHRESH`, segments.
const INFINITE: u64 = 0x7fff_ffff;

/// Segments that an acknowledgement of `octets` stands for: the kernel counts packets, whatever their size.
pub(super) fn segments(octets: u64, window: &Window) -> u64 {
    octets.div_ceil(window.smss)
}

/// cwnd in segments.
pub(super) fn cwnd(window: &Window) -> u64 {
    window.cwnd / window.smss
}

/// `tcp_slow_start`: a segment for each acknowledged, however many an ACK covers; returns those left over at ssthresh.
fn slow_start(window: &mut Window, acked: u64) -> u64 {
    let before = cwnd(window);
    let ssthresh = (window.ssthresh / window.smss).min(INFINITE);
    let after = (before + acked).min(ssthresh.max(before));
    window.set_cwnd(after * window.smss);
    acked - (after - before)
}

/// `tcp_may_raise_cwnd`: where segments are overtaken by more than `tcp_reordering`, all that arrives counts, in order or not.
pub(super) fn may_raise_cwnd(window: &Window, ack: &AckSample) -> bool {
    let progress = ack.acked > 0 || (ack.reorders_far && ack.counted > 0);
    // RFC 3168 §6.1.2: an acknowledgement with ECE "SHOULD NOT" increase cwnd; Linux is in `TCP_CA_CWR` then.
    progress && !ack.ecn_echo && !ack.phase.reduces() && ack.used(window)
}

/// `tcp_reno_cong_avoid`, `cubictcp_cong_avoid`: what slow start leaves over counts in congestion avoidance.
pub(super) fn cong_avoid(algorithm: &mut impl Controller, window: &mut Window, ack: &AckSample) {
    let mut left = segments(ack.counted, window);
    if window.in_slow_start() {
        left = slow_start(window, left);
    }
    if left > 0 {
        algorithm.avoid_congestion(window, left * window.smss, ack);
    }
}

/// `tcp_undo_cwnd_reduction`: the window becomes what it was, and the module's variables stay. By other rules, which the kernel
/// does not have, they are restored as well.
pub(super) fn undo_reduction<A: Controller>(algorithm: &mut A, window: &mut Window, before: &A, undo: &Undo) {
    window.set(undo.cwnd, undo.ssthresh);
    if undo.rule != UndoRule::Linux {
        algorithm.clone_from(before);
    }
}

/// `snd_cwnd_cnt`: what `tcp_cong_avoid_ai` has counted towards the next segment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Credit(u64);

impl Credit {
    /// `tcp_cong_avoid_ai`: one segment more for every `per` acknowledged.
    pub(super) fn avoid_congestion(&mut self, window: &mut Window, per: u64, acked: u64) {
        let per = per.max(1);
        let mut grown = cwnd(window);
        // "If credits accumulated at a higher w, apply them gently now."
        if self.0 >= per {
            self.0 = 0;
            grown += 1;
        }
        self.0 += acked;
        grown += self.0 / per;
        self.0 %= per;
        window.set_cwnd(grown * window.smss);
    }
}

/// `tcp_reno`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LinuxReno {
    credit: Credit,
}

impl Controller for LinuxReno {
    fn new(_config: &Config) -> Self {
        Self::default()
    }

    fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        if may_raise_cwnd(window, ack) {
            self.grow(window, ack);
        }
    }

    fn grow(&mut self, window: &mut Window, ack: &AckSample) {
        cong_avoid(self, window, ack);
    }

    fn avoid_congestion(&mut self, window: &mut Window, octets: u64, _ack: &AckSample) {
        self.credit.avoid_congestion(window, cwnd(window), segments(octets, window));
    }

    /// `tcp_reno_ssthresh`: half of cwnd, not of what is in flight.
    fn ssthresh(&mut self, window: &Window, _flight: u64) -> u64 {
        self.credit = Credit::default();
        (cwnd(window) / 2).max(2) * window.smss
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
    use handfast_core::{Duration, Instant};

    fn acked(segments: u64) -> AckSample {
        AckSample::of(Instant::ZERO, segments * 1000, Duration::ZERO)
    }

    fn window(segments: u64, ssthresh: u64) -> Window {
        Window::of(1000, segments, ssthresh)
    }

    #[test]
    fn an_ack_of_many_segments_opens_the_window_by_as_many() {
        let mut w = window(10, 100);
        LinuxReno::default().on_ack(&mut w, &acked(7));
        assert_eq!(w.cwnd, 17_000);
    }

    #[test]
    fn what_slow_start_leaves_over_goes_into_congestion_avoidance() {
        let mut w = window(8, 10);
        let mut reno = LinuxReno::default();
        reno.on_ack(&mut w, &acked(11));
        // 2 to ssthresh; the other 9 count towards 10.
        assert_eq!(w.cwnd, 10_000);
        reno.on_ack(&mut w, &acked(1));
        assert_eq!(w.cwnd, 11_000);
    }

    #[test]
    fn slow_start_that_leaves_nothing_over_adds_nothing_more() {
        // "if (!acked) return": the credit of 19 from a window of 20 waits for congestion avoidance.
        let mut reno = LinuxReno::default();
        reno.on_ack(&mut window(20, 0), &acked(19));
        let mut after_idle = window(4, 20);
        reno.on_ack(&mut after_idle, &acked(1));
        assert_eq!(after_idle.cwnd, 5000);
    }

    #[test]
    fn half_of_the_window_whatever_is_in_flight() {
        assert_eq!(LinuxReno::default().ssthresh(&window(21, 100), 3000), 10_000);
        assert_eq!(LinuxReno::default().ssthresh(&window(3, 100), 30_000), 2000);
    }

    #[test]
    fn credit_from_a_larger_window_is_applied_gently() {
        let mut w = window(20, 0);
        let mut credit = Credit::default();
        credit.avoid_congestion(&mut w, 20, 19);
        assert_eq!(w.cwnd, 20_000);
        credit.avoid_congestion(&mut w, 4, 1);
        assert_eq!(w.cwnd, 21_000, "one segment, not four");
    }
}
