//! How the window grows and how far it falls. One algorithm a file; the registry is [`Growth`].

mod cubic;
mod hystart;
mod linux_26_cubic;
mod linux_cubic;
mod linux_reno;
mod reno;
mod veno;
pub(crate) mod window;

use handfast_core::{Duration, Instant};

use crate::Config;
use crate::cc::window::Window;

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
    /// The algorithm at the beginning of a connection.
    fn new(config: &Config) -> Self
    where
        Self: Sized;

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

/// From one line an algorithm all that there is to say of it: what configurations and scenario files call it, and how calls
/// find it without an allocation a connection.
macro_rules! registry {
    ($($name:ident, $algorithm:ty, $word:literal, $what:literal;)*) => {
        /// How the congestion window grows and by how much it falls.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Growth {
            $(#[doc = $what] $name,)*
        }

        impl Growth {
            /// All of them: what scenario files call each, and what it is.
            pub const WORDS: &'static [(&'static str, Self, &'static str)] = &[$(($word, Self::$name, $what)),*];
        }

        /// An algorithm at work.
        #[derive(Clone, Copy, Debug)]
        pub(crate) enum State {
            $($name($algorithm),)*
        }

        /// The one that the configuration asks for.
        pub(crate) fn build(config: &Config) -> State {
            match config.growth {
                $(Growth::$name => State::$name(<$algorithm as Algorithm>::new(config)),)*
            }
        }

        impl State {
            fn algorithm(&mut self) -> &mut dyn Algorithm {
                match self {
                    $(Self::$name(algorithm) => algorithm,)*
                }
            }

            pub(crate) fn on_rtt(&mut self, delay: Duration) {
                match self {
                    $(Self::$name(algorithm) => algorithm.on_rtt(delay),)*
                }
            }
        }
    };
}

// The registry: one line an algorithm.
registry! {
    Reno, reno::Reno, "reno", "RFC 5681: slow start and linear increase, half the flight on loss";
    Cubic, cubic::Cubic, "cubic", "RFC 9438";
    LinuxReno, linux_reno::LinuxReno, "linux-reno", "the kernel's Reno, which counts acknowledged segments";
    LinuxCubic, linux_cubic::LinuxCubic, "linux-cubic", "the kernel's CUBIC, in its integer arithmetic";
    Linux26Cubic, linux_26_cubic::Linux26Cubic, "linux-2.6-cubic", "that of Linux 2.6.22, which ns-2 runs: it counts acknowledgements";
    Veno, veno::Veno, "veno", "TCP Veno: a fifth less on losses while little is queued";
}

impl State {
    /// New data was acknowledged outside recovery, and cwnd was what limited the sender.
    pub(crate) fn on_ack(&mut self, window: &mut Window, acked: Acked, slow_start_segments: u64) {
        self.algorithm().on_ack(window, acked, slow_start_segments);
    }

    pub(crate) fn on_congestion(&mut self, window: &Window, flight_size: u64) -> u64 {
        self.algorithm().on_congestion(window, flight_size)
    }

    /// Whether it is one of the kernel's modules, which no undo restores.
    pub(crate) fn is_kernels(&self) -> bool {
        matches!(self, Self::LinuxReno(_) | Self::LinuxCubic(_) | Self::Linux26Cubic(_))
    }

    pub(crate) fn on_timeout(&mut self) {
        self.algorithm().on_timeout();
    }

    pub(crate) fn after_idle(&mut self, now: Instant, idle: Duration) {
        self.algorithm().after_idle(now, idle);
    }
}
