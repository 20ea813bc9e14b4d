//! The congestion window of a sender, as somebody in its path keeps it who sees its data and the acknowledgments: for a window
//! that the path enforces (He and others, "AC/DC TCP: Virtual Congestion Control Enforcement for Datacenter Networks", 2016).

use handfast_core::{Duration, Instant};

use super::control::Control;
use super::sample::{AckSample, RttSample};
use super::window::Window;
use super::{CongestionControl, Request};
use crate::phase::Phase;
use crate::{Config, InitialWindow};

/// The kernel's CUBIC, without a host's loss recovery: what its path tells of congestion has lost nothing.
#[derive(Clone, Debug)]
pub struct ShadowWindow {
    window: Window,
    control: Control,
}

impl ShadowWindow {
    /// Of a sender whose full segments have so many bytes of payload.
    pub fn new(smss: u64) -> Self {
        let config = Config {
            congestion_control: CongestionControl::LinuxCubic,
            initial_window: InitialWindow::Ten,
            // The sender has its own end of slow start, which shows in its flight.
            hystart: false,
            ..Config::default()
        };
        Self { window: Window::new(&config, smss.max(1)), control: Control::new(&config) }
    }

    /// The window, bytes.
    pub fn cwnd(&self) -> u64 {
        self.window.cwnd()
    }

    /// Bytes of a full segment.
    pub fn smss(&self) -> u64 {
        self.window.smss
    }

    /// A round-trip time of data was measured.
    pub fn on_rtt(&mut self, now: Instant, delay: Duration) {
        // Where a round begins and ends only HyStart asks.
        let (una, nxt) = (u64::MAX, u64::MAX);
        self.control.on_rtt(&mut self.window, &RttSample { now, delay, una, nxt });
    }

    /// So many bytes were acknowledged, of so many in flight. It grows where the sender has used half of it (RFC 7661 §4.3: the
    /// validated phase), for what is in flight is known less well here than to the sender.
    pub fn on_ack(&mut self, now: Instant, acked: u64, flight: u64, srtt: Duration) {
        let cwnd_limited = 2 * flight >= self.window.cwnd();
        let sample = AckSample {
            now,
            acked,
            counted: acked,
            slow_start_segments: u8::MAX,
            srtt,
            flight,
            cwnd_limited,
            reorders_far: false,
            phase: Phase::Open,
            ecn_echo: false,
            path: None,
        };
        self.control.on_ack(&mut self.window, &sample);
    }

    /// The path is congested: what the sender has in flight is what it has taken of it, whatever it might have. The kernel's CUBIC
    /// counts whole segments, and one that is yet to come or to go is part of a window that is used.
    pub fn on_congestion(&mut self, flight: u64) {
        let used = (flight.div_ceil(self.window.smss) + 1) * self.window.smss;
        self.limit(used);
        self.control.on_loss(&mut self.window, flight);
        self.control.request(&mut self.window, Request::ToSsthresh);
    }

    /// The path holds no more than this. RFC 9438 §4.6: two segments are always left.
    pub fn at_most(&mut self, octets: u64) {
        self.limit(octets.max(2 * self.window.smss));
    }

    fn limit(&mut self, cwnd: u64) {
        self.control.request(&mut self.window, Request::AtMost { cwnd, ssthresh: u64::MAX });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMSS: u64 = 1000;
    const RTT: Duration = Duration::from_millis(100);

    /// Acknowledges a window, segment by segment, that the sender has used so much of.
    fn round(shadow: &mut ShadowWindow, at: u64, flight: impl Fn(u64) -> u64) {
        let segments = shadow.cwnd() / SMSS;
        for _ in 0..segments {
            let flight = flight(shadow.cwnd());
            shadow.on_ack(Instant::from_millis(at), SMSS, flight, RTT);
        }
    }

    #[test]
    fn it_doubles_until_the_path_is_congested_and_then_grows_as_cubic() {
        let mut shadow = ShadowWindow::new(SMSS);
        assert_eq!(shadow.cwnd(), 10 * SMSS);
        for at in 0..3 {
            round(&mut shadow, at * 100, |cwnd| cwnd);
        }
        assert_eq!(shadow.cwnd(), 80 * SMSS);
        shadow.on_congestion(80 * SMSS);
        // beta is 717/1024.
        assert_eq!(shadow.cwnd(), 56 * SMSS);
        round(&mut shadow, 400, |cwnd| cwnd);
        assert!((56..=58).contains(&(shadow.cwnd() / SMSS)), "{}", shadow.cwnd());
    }

    #[test]
    fn it_holds_no_more_than_the_path_and_grows_on_from_there() {
        let mut shadow = ShadowWindow::new(SMSS);
        shadow.on_congestion(10 * SMSS);
        for (most, cwnd) in [(20, 7), (5, 5), (0, 2)] {
            shadow.at_most(most * SMSS);
            assert_eq!(shadow.cwnd(), cwnd * SMSS);
        }
        round(&mut shadow, 0, |cwnd| cwnd);
        assert_eq!(shadow.cwnd(), 4 * SMSS, "slow start up to the window that congestion has left");
    }

    #[test]
    fn what_the_sender_does_not_use_does_not_grow_and_is_not_what_is_reduced() {
        let mut shadow = ShadowWindow::new(SMSS);
        round(&mut shadow, 0, |cwnd| cwnd);
        round(&mut shadow, 100, |_| 5 * SMSS);
        assert_eq!(shadow.cwnd(), 20 * SMSS);
        shadow.on_congestion(10 * SMSS);
        assert_eq!(shadow.cwnd(), 7 * SMSS);
        for _ in 0..9 {
            shadow.on_congestion(SMSS);
        }
        assert_eq!(shadow.cwnd(), 2 * SMSS, "never less");
    }
}
