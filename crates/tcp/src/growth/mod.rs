//! How the window grows and how far it falls. One algorithm a file; the registry is [`build`].

mod cubic;
mod hystart;
mod linux_cubic;
mod linux_reno;
mod reno;

use handfast_core::{Duration, Instant};

use crate::config::{Config, Growth};
use crate::window::Window;

pub(crate) use hystart::{HyStart, Sample};

/// What an acknowledgement of new data tells a growth algorithm.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acked {
    pub(crate) now: Instant,
    /// Newly acknowledged octets.
    pub(crate) octets: u64,
    /// Smoothed round-trip time; zero before the first sample.
    pub(crate) srtt: Duration,
}

/// A growth algorithm: the state it needs besides the window.
pub(crate) trait Algorithm {
    /// New data was acknowledged, and cwnd was the limit. `slow_start_segments`: L of RFC 3465 §2.2.
    fn on_ack(&mut self, window: &mut Window, acked: Acked, slow_start_segments: u64) {
        if window.in_slow_start() {
            // RFC 5681 §3.1 (2): cwnd += min (N, SMSS); RFC 3465 §2.2 counts up to L segments.
            let step = acked.octets.min(slow_start_segments * window.smss);
            window.set_cwnd(window.cwnd + step);
        } else {
            self.avoid_congestion(window, acked);
        }
    }

    /// Congestion avoidance: new data was acknowledged, cwnd >= ssthresh, and cwnd was the limit.
    fn avoid_congestion(&mut self, window: &mut Window, acked: Acked);

    /// The new ssthresh at a congestion event with `flight_size` octets outstanding.
    fn on_congestion(&mut self, window: &Window, flight_size: u64) -> u64;

    /// The retransmission timer expired; called after [`Algorithm::on_congestion`].
    fn on_timeout(&mut self) {}

    /// A round-trip time was measured.
    fn on_rtt(&mut self, _delay: Duration) {}

    /// The connection begins to send again after an idle period that ended at `now`.
    fn after_idle(&mut self, _now: Instant, _idle: Duration) {}
}

/// The growth algorithms, dispatched without an allocation a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) enum State {
    Reno(reno::Reno),
    Cubic(cubic::Cubic),
    LinuxReno(linux_reno::LinuxReno),
    LinuxCubic(linux_cubic::LinuxCubic),
}

/// The registry.
pub(crate) fn build(config: &Config) -> State {
    match config.growth {
        Growth::Reno => State::Reno(reno::Reno::default()),
        Growth::Cubic => State::Cubic(cubic::Cubic::new(config)),
        Growth::LinuxReno => State::LinuxReno(linux_reno::LinuxReno::default()),
        Growth::LinuxCubic => State::LinuxCubic(linux_cubic::LinuxCubic::default()),
    }
}

impl State {
    fn algorithm(&mut self) -> &mut dyn Algorithm {
        match self {
            Self::Reno(reno) => reno,
            Self::Cubic(cubic) => cubic,
            Self::LinuxReno(reno) => reno,
            Self::LinuxCubic(cubic) => cubic,
        }
    }

    /// New data was acknowledged outside recovery, and cwnd was what limited the sender.
    pub(crate) fn on_ack(&mut self, window: &mut Window, acked: Acked, slow_start_segments: u64) {
        self.algorithm().on_ack(window, acked, slow_start_segments);
    }

    pub(crate) fn on_congestion(&mut self, window: &Window, flight_size: u64) -> u64 {
        self.algorithm().on_congestion(window, flight_size)
    }

    /// Whether it is one of the kernel's modules, which no undo restores.
    pub(crate) fn is_kernels(&self) -> bool {
        matches!(self, Self::LinuxReno(_) | Self::LinuxCubic(_))
    }

    pub(crate) fn on_timeout(&mut self) {
        self.algorithm().on_timeout();
    }

    pub(crate) fn on_rtt(&mut self, delay: Duration) {
        if let Self::LinuxCubic(cubic) = self {
            cubic.on_rtt(delay);
        }
    }

    pub(crate) fn after_idle(&mut self, now: Instant, idle: Duration) {
        self.algorithm().after_idle(now, idle);
    }
}
