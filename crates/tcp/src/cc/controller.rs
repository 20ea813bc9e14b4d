//! The interface of a congestion control.

use handfast_core::{BitRate, Duration, Instant};

use super::rate_sample::LostSegment;
use super::request::Request;
use super::sample::{AckSample, RttSample, Timeout, Undo};
use super::window::Window;
use crate::Config;

/// How segments leave that the windows let go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Pacing {
    /// At once.
    #[default]
    Off,
    /// One by one at [`Controller::pacing_rate`].
    Segments,
    /// In bursts of [`Controller::burst`], at that rate.
    Bursts,
}

/// What a controller wants from the endpoint. Decided when a connection is made; what nobody asks for costs nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    /// [`AckSample::path`]: the delivery rate and what else acknowledgements show of the path.
    pub(crate) path_samples: bool,
    /// [`Controller::on_lost`], and what [`super::rate_sample::Newest`] says of losses. Only with `path_samples`.
    pub(crate) losses: bool,
    /// Whether and how segments are paced.
    pub(crate) pacing: Pacing,
    /// The setting `hystart` applies. Not to algorithms with their own end of slow start.
    pub(crate) hystart: bool,
}

/// A congestion control: it alone sets cwnd, ssthresh and the pacing rate.
///
/// The default methods are those of a loss-based algorithm (RFC 5681), which only has to say how the window grows in congestion
/// avoidance and how far it falls. One that sets its own window, also during recovery (Linux's `cong_control`), overrides
/// [`Controller::on_ack`], [`Controller::on_loss`], [`Controller::on_timeout`] and [`Controller::on_request`].
pub(crate) trait Controller: Clone {
    /// The algorithm at the beginning of a connection.
    fn new(config: &Config) -> Self;

    /// What it wants from the endpoint.
    fn needs() -> Needs {
        Needs { hystart: true, ..Needs::default() }
    }

    /// The handshake took so long.
    fn on_handshake(&mut self, _delay: Duration) {}

    /// A round-trip time was measured; the acknowledgement that brought it has not been judged yet.
    fn on_rtt(&mut self, _window: &mut Window, _rtt: &RttSample) {}

    /// Something was delivered, in recovery or not.
    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        if ack.grows(window) {
            self.grow(window, ack);
        }
    }

    /// New data was acknowledged outside recovery, and the window was used.
    #[inline]
    fn grow(&mut self, window: &mut Window, ack: &AckSample) {
        if window.in_slow_start() {
            // RFC 5681 §3.1 (2): cwnd += min (N, SMSS); RFC 3465 §2.2 counts up to L segments.
            let step = ack.counted.min(u64::from(ack.slow_start_segments) * window.smss);
            window.set_cwnd(window.cwnd() + step);
        } else {
            self.avoid_congestion(window, ack.counted, ack);
        }
    }

    /// As [`Controller::grow`], with cwnd >= ssthresh: `octets` count.
    fn avoid_congestion(&mut self, _window: &mut Window, _octets: u64, _ack: &AckSample) {}

    /// The new ssthresh at a sign of congestion with `flight` octets outstanding.
    fn ssthresh(&mut self, window: &Window, flight: u64) -> u64;

    /// Fast recovery begins, or a probe has repaired a loss (RFC 8985 §7.4.2).
    fn on_loss(&mut self, window: &mut Window, flight: u64) {
        window.ssthresh = self.ssthresh(window, flight);
    }

    /// The retransmission timer expired (RFC 5681 §3.1).
    fn on_timeout(&mut self, window: &mut Window, timeout: &Timeout) {
        if timeout.is_new {
            let before = window.ssthresh;
            self.on_loss(window, timeout.flight);
            if timeout.in_recovery {
                window.ssthresh = window.ssthresh.min(before);
            }
        }
        if self.forgets(timeout) {
            self.forget();
        }
        // LW, one full-sized segment; what is still on its way counts beside it.
        window.set_cwnd(timeout.in_flight + window.smss);
    }

    /// Random bits, the same for the same connection in the same run.
    fn seed(&mut self, _bits: u64) {}

    /// So many octets have been delivered by now, where rates are sampled: told before a loss, a timeout or an undo is.
    fn on_total(&mut self, _delivered: u64) {}

    /// A segment is found lost, where it [asks for it](Needs::losses). Told after [`Controller::on_loss`] or
    /// [`Controller::on_timeout`] where recovery begins by it, and before [`Controller::on_ack`].
    fn on_lost(&mut self, _window: &mut Window, _now: Instant, _lost: &LostSegment) {}

    /// So many octets are lost, which no acknowledgement has shown: a timer has.
    fn on_overdue(&mut self, _octets: u64) {}

    /// Whether what it knows of the path ends with this timeout.
    fn forgets(&self, timeout: &Timeout) -> bool {
        timeout.is_new
    }

    /// Forgets what it knows of the path.
    fn forget(&mut self) {}

    /// A reduction was not needed. `before`: the algorithm as it was before it. RFC 9438 §4.9: its variables are restored.
    fn on_spurious(&mut self, window: &mut Window, before: &Self, undo: &Undo) {
        window.set(undo.cwnd, undo.ssthresh);
        self.clone_from(before);
    }

    /// The connection begins to send again after an idle period that ended at `now`.
    fn on_idle(&mut self, _now: Instant, _idle: Duration) {}

    /// A segment is about to leave, and nothing is in flight. `app_limited`: because there was nothing to send.
    fn on_restart(&mut self, _window: &mut Window, _now: Instant, _app_limited: bool) {}

    /// Recovery, start-up or help from the network asks for another window.
    #[inline]
    fn on_request(&mut self, window: &mut Window, request: Request) {
        window.apply(request);
    }

    /// The rate at which octets leave, as cwnd counts them; [`None`]: as the windows let them.
    fn pacing_rate(&self, _window: &Window, _srtt: Duration) -> Option<BitRate> {
        None
    }

    /// Segments that may leave together where [`Pacing::Bursts`] is asked for.
    fn burst(&self, _window: &Window) -> u32 {
        1
    }

    /// It keeps the path from being busy itself: what is delivered meanwhile says nothing of the path's rate.
    fn is_limiting(&self) -> bool {
        false
    }

    /// cwnd counts whole segments, and a fraction of one would be dropped.
    fn counts_segments(&self) -> bool {
        false
    }
}
