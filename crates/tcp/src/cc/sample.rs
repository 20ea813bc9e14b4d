//! What a congestion control is told.

use handfast_core::{Duration, Instant};

use super::rate_sample::{Newest, RateSample};
use super::window::Window;
use crate::phase::Phase;

/// A round-trip time, measured before the acknowledgement that brought it is judged (Linux's `pkts_acked`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct RttSample {
    pub(crate) now: Instant,
    pub(crate) delay: Duration,
    /// SND.UNA after the acknowledgement.
    pub(crate) una: u64,
    pub(crate) nxt: u64,
}

impl RttSample {
    /// Whether the handshake took so long: nothing but the SYN has been sent. Linux's congestion control begins afterwards
    /// (`tcp_init_congestion_control` in `tcp_init_transfer`), and knows nothing of it.
    pub(crate) fn is_of_handshake(&self) -> bool {
        self.nxt <= 1
    }
}

/// What an acknowledgement tells, after the losses that it shows were judged (Linux's `rate_sample` and `cong_control`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckSample {
    pub(crate) now: Instant,
    /// Octets by which SND.UNA advanced; 0 where the acknowledgement only SACKs.
    pub(crate) acked: u64,
    /// Octets that growth counts: `acked`, N of RFC 5681 §3.1; with RACK those SACKed as well, as Linux's `acked_sacked`.
    pub(crate) counted: u64,
    /// Segments that slow start may add: L of RFC 3465 §2.2.
    pub(crate) slow_start_segments: u8,
    /// Smoothed round-trip time; zero before the first sample.
    pub(crate) srtt: Duration,
    /// `FlightSize` of RFC 5681 §2 before it.
    pub(crate) flight: u64,
    /// cwnd stopped the last attempt to send; always where windows are not validated.
    pub(crate) cwnd_limited: bool,
    /// Segments are overtaken by more than `DupThresh` segments (Linux's `tcp_may_raise_cwnd`).
    pub(crate) reorders_far: bool,
    /// Where loss recovery stood when it arrived, the losses that it shows included.
    pub(crate) phase: Phase,
    /// It echoes a mark of congestion, and both ends do ECN.
    pub(crate) ecn_echo: bool,
    /// What it shows of the path, where the controller [asks for it](super::Needs::path_samples).
    pub(crate) path: Option<PathSample>,
}

/// What an acknowledgement shows of the path: for controllers with a model of it, as Vegas and BBR have. Others look at the window
/// alone, and it is not measured for them.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "an interface: Vegas does not read every field")]
pub(crate) struct PathSample {
    /// `DeliveredData` of RFC 6937 §3: octets newly acknowledged and newly SACKed.
    pub(crate) delivered: u64,
    /// Octets that it has shown to be lost. Only RACK counts them; with the others [`super::Controller::on_loss`] alone tells of losses.
    pub(crate) lost: u64,
    /// Octets in the network after it.
    pub(crate) in_flight: u64,
    /// Packets that it tells were marked, where ECN feedback is accurate (RFC 9768).
    pub(crate) marked: u64,
    /// All octets delivered so far.
    pub(crate) total: u64,
    /// The round-trip time of the newest segment that it delivered of those sent once.
    pub(crate) rtt: Option<Duration>,
    /// The shortest round-trip time: of late (`tcp_min_rtt`) where losses are found by time, else of all.
    pub(crate) min_rtt: Option<Duration>,
    /// The delivery rate; [`None`]: it delivered nothing, or the clock is too coarse.
    pub(crate) rate: Option<RateSample>,
    /// The round trip of the newest segment that it delivered.
    pub(crate) newest: Option<Newest>,
    /// Losses are found one by one, each told to [`super::Controller::on_lost`].
    pub(crate) tells_losses: bool,
    /// After so long the next segment may leave.
    pub(crate) wait: Duration,
    /// SND.UNA after it.
    pub(crate) una: u64,
    pub(crate) nxt: u64,
}

impl AckSample {
    /// Whether the window was used; otherwise it would grow without a test of the path (RFC 2861 §3, RFC 7661 §1). In slow start
    /// a window half used counts: cwnd doubles faster than the application's writes come.
    pub(crate) fn used(&self, window: &Window) -> bool {
        self.cwnd_limited || (window.in_slow_start() && window.cwnd() < 2 * self.flight)
    }

    /// Whether a loss-based algorithm may let the window grow by it: new data was acknowledged while no reduction is under
    /// way, and the window was used. RFC 3168 §6.1.2: an acknowledgement with ECE "SHOULD NOT" increase cwnd.
    #[inline]
    pub(crate) fn grows(&self, window: &Window) -> bool {
        self.acked > 0 && !self.phase.reduces() && !self.ecn_echo && self.used(window)
    }
}

/// A retransmission timeout.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeout {
    /// It is a new sign of congestion: not the repetition of a timeout (RFC 5681 §3.1), and not one that the recovery under way
    /// has answered already.
    pub(crate) is_new: bool,
    /// The `FlightSize` that ssthresh follows from.
    pub(crate) flight: u64,
    /// Fast recovery was under way. `FlightSize` counts what arrived behind the holes, and a long recovery makes it many windows:
    /// half of it could be a rise, so ssthresh does not rise (as in Linux).
    pub(crate) in_recovery: bool,
    /// Octets that are still taken to be in the network.
    pub(crate) in_flight: u64,
}

/// By which rule a reduction is taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UndoRule {
    /// The Eifel response (RFC 4015 §3).
    Rfc4015,
    /// `tcp_undo_cwnd_reduction`.
    Linux,
    /// [eln] §3.6: the mobile is at another base station; [iosl] §VI.B: the link is back.
    Handoff,
}

/// A reduction that was not needed, and the window that its rule wants.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Undo {
    pub(crate) rule: UndoRule,
    pub(crate) cwnd: u64,
    pub(crate) ssthresh: u64,
}

#[cfg(test)]
impl AckSample {
    /// New data acknowledged outside recovery while cwnd was the limit.
    pub(crate) fn of(now: Instant, octets: u64, srtt: Duration) -> Self {
        Self {
            now,
            acked: octets,
            counted: octets,
            slow_start_segments: 1,
            srtt,
            flight: 0,
            cwnd_limited: true,
            reorders_far: false,
            phase: Phase::Open,
            ecn_echo: false,
            path: None,
        }
    }
}

#[cfg(test)]
impl PathSample {
    /// Octets delivered and nothing left in flight.
    pub(crate) fn of(octets: u64) -> Self {
        Self {
            delivered: octets,
            lost: 0,
            in_flight: 0,
            marked: 0,
            total: octets,
            rtt: None,
            min_rtt: None,
            rate: None,
            newest: None,
            tells_losses: true,
            wait: Duration::ZERO,
            una: 0,
            nxt: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_that_was_not_used_does_not_grow() {
        let window = Window::of(1000, 10, 5);
        let slow = Window::of(1000, 10, 20);
        let sample = AckSample::of(Instant::ZERO, 1000, Duration::ZERO);
        assert!(sample.grows(&window) && sample.grows(&slow));
        let unused = AckSample { cwnd_limited: false, flight: 5001, ..sample };
        assert!(!unused.grows(&window), "congestion avoidance");
        assert!(unused.grows(&slow), "slow start, more than half used");
        assert!(!AckSample { flight: 5000, ..unused }.grows(&slow), "slow start, half used");
    }

    #[test]
    fn nothing_grows_in_recovery_or_by_sack_blocks_alone() {
        let window = Window::of(1000, 10, 5);
        let sample = AckSample::of(Instant::ZERO, 1000, Duration::ZERO);
        assert!(!AckSample { phase: Phase::Recovery, ..sample }.grows(&window));
        assert!(AckSample { phase: Phase::Loss, ..sample }.grows(&window));
        assert!(!AckSample { acked: 0, ..sample }.grows(&window));
        assert!(!AckSample { ecn_echo: true, ..sample }.grows(&window));
    }
}
