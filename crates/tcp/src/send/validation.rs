//! Congestion window validation (RFC 2861 §3): a window that was not used says nothing about the path.

use handfast_core::{Duration, Instant};

use crate::cc::{Controlled, Request};

/// RFC 2861 §3.1's `T_prev` and `W_used`, and the time of the last transmission.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Validation {
    last_send: Instant,
    t_prev: Instant,
    w_used: u64,
    /// The last attempt to send was stopped by cwnd: growth is warranted.
    pub(crate) cwnd_limited: bool,
    /// Linux's `max_packets_out`, in octets, and `cwnd_usage_seq`: the most in flight until this position is acknowledged.
    most: u64,
    most_until: u64,
}

impl Validation {
    /// The connection is established (RFC 2861 §3.2: `T_last` and `T_prev` begin now).
    pub(crate) fn begin(&mut self, now: Instant) {
        self.last_send = now;
        self.t_prev = now;
    }

    /// Before the first transmission after a pause with nothing in flight: halves cwnd for each RTO that passed, down to
    /// the restart window. Returns how long the pause was, if it counts.
    pub(crate) fn after_idle(
        &mut self,
        mut window: Controlled<'_>,
        now: Instant,
        rto: Duration,
        restart: u64,
    ) -> Option<Duration> {
        let idle = now.since(self.last_send);
        if idle < rto || rto == Duration::ZERO {
            return None;
        }
        let halvings = (idle.as_nanos() / rto.as_nanos()).min(63);
        window.request(Request::Idle { halvings, restart });
        self.t_prev = now;
        self.w_used = 0;
        Some(idle)
    }

    /// The connection was suspended for so long: that was no pause of its application, and no time in which it used little.
    pub(crate) fn was_suspended(&mut self, span: Duration) {
        self.last_send += span;
        self.t_prev += span;
    }

    /// A data segment has left. `app_limited`: nothing more waits to be sent. `rto`: asked for only where the window has room.
    pub(crate) fn on_send(
        &mut self,
        mut window: Controlled<'_>,
        now: Instant,
        in_flight: u64,
        rto: impl FnOnce() -> Duration,
        app_limited: bool,
    ) {
        self.last_send = now;
        if in_flight + window.smss > window.cwnd() {
            self.t_prev = now;
            self.w_used = 0;
            return;
        }
        self.w_used = self.w_used.max(in_flight);
        if app_limited && now.since(self.t_prev) >= rto() {
            window.request(Request::Unused { used: self.w_used });
            self.t_prev = now;
            self.w_used = 0;
        }
    }

    /// New data has left: all of `una .. nxt` is in flight, in segments that lack so many octets of full ones (Linux's `tcp_cwnd_validate`).
    pub(crate) fn note_most(&mut self, una: u64, nxt: u64, lacking: u64) {
        let in_flight = nxt - una + lacking;
        if una >= self.most_until || in_flight > self.most {
            self.most = in_flight;
            self.most_until = nxt;
        }
    }

    /// Whether in slow start a window of `cwnd` octets has been used (Linux's `tcp_is_cwnd_limited`).
    pub(crate) fn used_half(&self, cwnd: u64) -> bool {
        cwnd < 2 * self.most
    }

    /// A retransmission has left: it keeps the connection from being idle, and says nothing about the application.
    pub(crate) fn touch(&mut self, now: Instant) {
        self.last_send = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use crate::cc::{Control, Window};

    const RTO: Duration = Duration::from_millis(200);

    fn window(segments: u64) -> (Window, Control) {
        (Window::of(1000, segments, 5), Control::new(&Config::default()))
    }

    fn controlled((window, control): &mut (Window, Control)) -> Controlled<'_> {
        Controlled { window, control }
    }

    #[test]
    fn a_pause_halves_the_window_each_rto_down_to_the_restart_window() {
        for (pause_ms, cwnd) in [(199, 40_000), (200, 20_000), (450, 10_000), (10_000, 4_000)] {
            let mut w = window(40);
            let idle = Validation::default().after_idle(
                controlled(&mut w),
                Instant::from_millis(pause_ms),
                RTO,
                4_000,
            );
            assert_eq!(w.0.cwnd(), cwnd, "{pause_ms}");
            assert_eq!(idle.is_some(), pause_ms >= 200);
            assert_eq!(w.0.ssthresh(), if pause_ms >= 200 { 30_000 } else { 5_000 });
        }
        let mut small = window(2);
        Validation::default().after_idle(controlled(&mut small), Instant::from_millis(10_000), RTO, 4_000);
        assert_eq!(small.0.cwnd(), 2_000, "the restart window is never above cwnd");
    }

    #[test]
    fn an_application_that_uses_little_loses_half_of_the_rest_each_rto() {
        let mut v = Validation::default();
        let mut w = window(40);
        v.on_send(controlled(&mut w), Instant::from_millis(100), 10_000, || RTO, true);
        assert_eq!(w.0.cwnd(), 40_000);
        v.on_send(controlled(&mut w), Instant::from_millis(200), 8_000, || RTO, true);
        assert_eq!((w.0.cwnd(), w.0.ssthresh()), (25_000, 30_000));
        v.on_send(controlled(&mut w), Instant::from_millis(300), 8_000, || RTO, true);
        assert_eq!(w.0.cwnd(), 25_000);
    }

    #[test]
    fn a_full_window_and_a_busy_application_keep_it() {
        let mut v = Validation::default();
        let mut w = window(40);
        v.on_send(controlled(&mut w), Instant::from_millis(500), 10_000, || RTO, false);
        assert_eq!(w.0.cwnd(), 40_000);
        v.on_send(controlled(&mut w), Instant::from_millis(500), 39_500, || RTO, true);
        v.on_send(controlled(&mut w), Instant::from_millis(600), 10_000, || RTO, true);
        assert_eq!(w.0.cwnd(), 40_000, "the window was full 100 ms ago");
    }

    #[test]
    fn a_window_with_room_for_one_segment_is_not_full() {
        for (in_flight, cwnd) in [(39_000, 39_500), (39_001, 40_000)] {
            let mut v = Validation::default();
            let mut w = window(40);
            v.on_send(controlled(&mut w), Instant::from_millis(500), in_flight, || RTO, true);
            assert_eq!(w.0.cwnd(), cwnd, "{in_flight}");
        }
    }

    #[test]
    fn a_retransmission_ends_a_pause() {
        let mut v = Validation::default();
        v.touch(Instant::from_millis(900));
        assert_eq!(v.after_idle(controlled(&mut window(40)), Instant::from_millis(1000), RTO, 4_000), None);
    }
}
