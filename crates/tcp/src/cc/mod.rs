//! Congestion control: one algorithm a file, behind [`Controller`]; the registry is at the end of this file.
//!
//! `window` holds cwnd and ssthresh, which everybody reads and only this folder changes; `controller` is what an algorithm
//! implements, `sample` what it is told, `request` what recovery, start-up and help may ask of the window, `control` one
//! connection's algorithm at work. `rate_sample` (delivery rates), `pacer`, `burst_pacer` and `hystart` are parts that any algorithm
//! can use.
//! `shadow` is an algorithm at work for a sender that somebody else watches.

mod bbr3;
mod burst_pacer;
mod control;
mod controller;
mod cubic;
mod hystart;
mod lia;
mod linux_26_cubic;
mod linux_bbr;
mod linux_cubic;
mod linux_reno;
mod max_filter;
pub(crate) mod pacer;
mod prague;
mod rate_sample;
mod reno;
mod request;
mod sample;
mod shadow;
mod vegas;
mod veno;
mod westwood;
mod window;

use handfast_core::{BitRate, Duration, Instant};

use crate::Config;

pub(crate) use control::{Control, Controlled, Departure, Saved};
pub(crate) use controller::{Controller, Needs, Pacing};
pub use lia::coupling;
pub use linux_bbr::BbrReport;
pub use prague::PragueReport;
pub(crate) use rate_sample::{Delivery, LostSegment};
pub(crate) use request::Request;
pub(crate) use sample::{AckSample, PathSample, RttSample, Timeout, Undo, UndoRule};
pub use shadow::ShadowWindow;
pub(crate) use window::Window;

/// From one line an algorithm all that there is to say of it: what configurations and scenario files call it, and how calls
/// find it without an allocation a connection.
macro_rules! registry {
    ($($name:ident, $controller:ty, $word:literal, $kernel:expr, $what:literal;)*) => {
        /// A congestion control algorithm.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum CongestionControl {
            $(#[doc = $what] $name,)*
        }

        impl CongestionControl {
            /// All of them: what scenario files call each, and what it is.
            pub const WORDS: &'static [(&'static str, Self, &'static str)] = &[$(($word, Self::$name, $what)),*];

            /// What scenario files call it.
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$name => $word,)*
                }
            }

            /// The module of Linux that stands for it where hosts are real; [`None`]: none, or not on every kernel.
            pub const fn kernel(self) -> Option<&'static str> {
                match self {
                    $(Self::$name => $kernel,)*
                }
            }
        }

        /// An algorithm at work.
        #[derive(Clone, Debug)]
        enum Algorithm {
            $($name($controller),)*
        }

        impl Algorithm {
            /// The one that the configuration asks for.
            fn new(config: &Config) -> Self {
                match config.congestion_control {
                    $(CongestionControl::$name => Self::$name(<$controller as Controller>::new(config)),)*
                }
            }

            /// What it wants from the endpoint.
            fn needs(config: &Config) -> Needs {
                match config.congestion_control {
                    $(CongestionControl::$name => <$controller as Controller>::needs(),)*
                }
            }

            fn on_handshake(&mut self, delay: Duration) {
                match self {
                    $(Self::$name(algorithm) => algorithm.on_handshake(delay),)*
                }
            }

            #[inline]
            fn on_rtt(&mut self, window: &mut Window, rtt: &RttSample) {
                match self {
                    $(Self::$name(algorithm) => algorithm.on_rtt(window, rtt),)*
                }
            }

            #[inline(always)]
            fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
                match self {
                    // A copy for each: a sample that only one arm lends would be in memory for all.
                    $(Self::$name(algorithm) => algorithm.on_ack(window, &{ *ack }),)*
                }
            }

            fn on_loss(&mut self, window: &mut Window, flight: u64) {
                match self {
                    $(Self::$name(algorithm) => algorithm.on_loss(window, flight),)*
                }
            }

            fn on_timeout(&mut self, window: &mut Window, timeout: &Timeout) {
                match self {
                    $(Self::$name(algorithm) => algorithm.on_timeout(window, timeout),)*
                }
            }

            fn seed(&mut self, bits: u64) {
                match self {
                    $(Self::$name(algorithm) => algorithm.seed(bits),)*
                }
            }

            fn on_total(&mut self, delivered: u64) {
                match self {
                    $(Self::$name(algorithm) => algorithm.on_total(delivered),)*
                }
            }

            fn on_lost(&mut self, window: &mut Window, now: Instant, lost: &LostSegment) {
                match self {
                    $(Self::$name(algorithm) => algorithm.on_lost(window, now, lost),)*
                }
            }

            fn on_overdue(&mut self, octets: u64) {
                match self {
                    $(Self::$name(algorithm) => algorithm.on_overdue(octets),)*
                }
            }

            fn forgets(&self, timeout: &Timeout) -> bool {
                match self {
                    $(Self::$name(algorithm) => algorithm.forgets(timeout),)*
                }
            }

            fn on_spurious(&mut self, window: &mut Window, before: &Self, undo: &Undo) {
                match (self, before) {
                    $((Self::$name(algorithm), Self::$name(before)) => algorithm.on_spurious(window, before, undo),)*
                    // The connection has another algorithm now.
                    _ => {}
                }
            }

            fn on_idle(&mut self, now: Instant, idle: Duration) {
                match self {
                    $(Self::$name(algorithm) => algorithm.on_idle(now, idle),)*
                }
            }

            fn on_restart(&mut self, window: &mut Window, now: Instant, app_limited: bool) {
                match self {
                    $(Self::$name(algorithm) => algorithm.on_restart(window, now, app_limited),)*
                }
            }

            #[inline]
            fn on_request(&mut self, window: &mut Window, request: Request) {
                match self {
                    $(Self::$name(algorithm) => algorithm.on_request(window, request),)*
                }
            }

            fn pacing_rate(&self, window: &Window, srtt: Duration) -> Option<BitRate> {
                match self {
                    $(Self::$name(algorithm) => algorithm.pacing_rate(window, srtt),)*
                }
            }

            fn burst(&self, window: &Window) -> u32 {
                match self {
                    $(Self::$name(algorithm) => algorithm.burst(window),)*
                }
            }

            fn is_limiting(&self) -> bool {
                match self {
                    $(Self::$name(algorithm) => algorithm.is_limiting(),)*
                }
            }

            fn counts_segments(&self) -> bool {
                match self {
                    $(Self::$name(algorithm) => algorithm.counts_segments(),)*
                }
            }
        }
    };
}

impl CongestionControl {
    /// It counts marks, and its packets are ECT(1) where feedback is accurate (RFC 9331 §4.1).
    pub(crate) const fn is_scalable(self) -> bool {
        matches!(self, Self::Prague)
    }
}

// The registry: one line an algorithm. The name, the controller, its word in scenario files, the module of Linux that stands for it
// in the lab, and what it is.
registry! {
    Reno, reno::Reno, "reno", Some("reno"), "RFC 5681: slow start and linear increase, half the flight on loss";
    Cubic, cubic::Cubic, "cubic", Some("cubic"), "RFC 9438";
    LinuxReno, linux_reno::LinuxReno, "linux-reno", Some("reno"), "the kernel's Reno, which counts acknowledged segments";
    LinuxCubic, linux_cubic::LinuxCubic, "linux-cubic", Some("cubic"), "the kernel's CUBIC, in its integer arithmetic";
    Linux26Cubic, linux_26_cubic::Linux26Cubic, "linux-2.6-cubic", None, "that of Linux 2.6.22, which ns-2 runs: it counts acknowledgements";
    Veno, veno::Veno, "veno", None, "TCP Veno: a fifth less on losses while little is queued";
    Lia, lia::Lia, "lia", None, "RFC 6356: that of Multipath TCP, whose paths together take no more than one TCP";
    Vegas, vegas::Vegas, "vegas", None, "TCP Vegas: two to four segments in the queue, paced";
    Westwood, westwood::Westwood, "westwood", None, "TCP Westwood+: at a loss back to the measured bandwidth times the shortest round trip";
    LinuxBbr, linux_bbr::LinuxBbr, "linux-bbr", Some("bbr"), "the kernel's BBR (version 1): paced at the measured bandwidth, whatever is lost";
    Bbr3, bbr3::Bbr3, "bbr3", None, "BBR version 3 (draft-ietf-ccwg-bbr): paced at the measured bandwidth, with no more in flight than loses 2 %";
    Prague, prague::Prague, "prague", None, "TCP Prague, the scalable control of L4S: by the share of marked packets, paced";
}
