//! What others may ask of the window: loss recovery, window validation, start-up, and help from the network.
//!
//! Each request names the rule that it comes from. A controller that sets its own window may refuse any of them
//! ([`super::Controller::on_request`]).

use super::window::Window;

/// A request for another window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// RFC 5681 §3.2 step 3: cwnd = ssthresh + the octets that have left the network.
    EnterFastRecovery { left: u64 },
    /// RFC 5681 §3.2 step 4: another segment has left the network.
    Inflate,
    /// cwnd = ssthresh: RFC 5681 §3.2 step 6, RFC 6675 §5 step 4.2, RFC 8985 §7.4.2, the end of recovery in RFC 6937 §3.
    ToSsthresh,
    /// RFC 6582 §3.2 step 3, full acknowledgement, option (1): no burst beyond one segment more than is in flight.
    FullAck { flight: u64 },
    /// RFC 6582 §3.2 step 3, partial acknowledgement: deflate by what was acknowledged, and add back one SMSS if that was at
    /// least one.
    PartialAck { acked: u64 },
    /// One segment: 4.3BSD-Tahoe's fast retransmit; RFC 5681 §3.1 after a lost SYN; [vho] §3.1 on a link that is back.
    OneSegment,
    /// RFC 5682 §2.1 step 3a: at most three segments after a genuine timeout.
    GenuineTimeout,
    /// RFC 6937 §3: cwnd = pipe + sndcnt.
    Proportional { cwnd: u64 },
    /// RFC 2861 §3: halved for each RTO of a pause, down to the restart window (RFC 5681 §4.1: RW = min (IW, cwnd)).
    Idle { halvings: u64, restart: u64 },
    /// RFC 2861 §3: the application used only so many octets of the window.
    Unused { used: u64 },
    /// RFC 4782 §4.4: the approved window; ssthresh is the same ([vho] §2), and at least two segments.
    QuickStart { cwnd: u64 },
    /// RFC 4782 §4.4 and §4.6: what cwnd is when Quick-Start ends; RFC 3742 §3: what limited slow start lets it be.
    SlowStart { cwnd: u64 },
    /// RFC 4782 §4.4: the approval has expired, and both are what they were; [iosl] §IV.B: those of the connection before.
    Back { cwnd: u64, ssthresh: u64 },
    /// RFC 4782 §4.6 after losses; [vho] §3.1 where the new link holds less; what the path of a
    /// [`super::ShadowWindow`] holds: neither is more.
    AtMost { cwnd: u64, ssthresh: u64 },
    /// [vho] §3 figure 1: the first window is a train of packet pairs.
    FirstTrain { cwnd: u64 },
    /// [iosl] Algorithm 1, lines 22 and 27: what the radio carries in the least round-trip time.
    Radio { cwnd: u64 },
    /// ssthresh alone: the estimated capacity ([vho] §3), or a link's bandwidth-delay product ([vho] §3.1 and §4.2).
    Ssthresh(u64),
    /// Both: a window that was brought down for a new link is not reduced again (RFC 3168 §6.1.2).
    Both(u64),
    /// RFC 6356 §3: no window, but how many octets one segment more takes over all paths of a connection; [`None`]: there is no other.
    Couple { octets: Option<u64> },
    /// RFC 3708 §2: nothing was lost, and both are at least what they were; `tcp_simple_retransmit` and `tcp_mtup_probe_success`:
    /// ssthresh is at least three quarters of cwnd (`tcp_current_ssthresh`).
    AtLeast { cwnd: u64, ssthresh: u64 },
}

impl Request {
    /// Whether a rule asks for it that presumes a window that losses govern: within recovery, after a pause and while the application
    /// uses little of it, a sender that models its path has its own (Linux: `cong_control`, with `tcp_cong_control`,
    /// `tcp_end_cwnd_reduction`, `tcp_slow_start_after_idle_check`, `tcp_cwnd_validate`).
    pub(crate) fn presumes_losses_govern(self) -> bool {
        matches!(
            self,
            Self::EnterFastRecovery { .. }
                | Self::Inflate
                | Self::ToSsthresh
                | Self::FullAck { .. }
                | Self::PartialAck { .. }
                | Self::GenuineTimeout
                | Self::Proportional { .. }
                | Self::Idle { .. }
                | Self::Unused { .. }
        )
    }
}

impl Window {
    /// Carries a request out.
    #[inline]
    pub(super) fn apply(&mut self, request: Request) {
        let Self { cwnd: now, ssthresh, smss, .. } = *self;
        match request {
            Request::EnterFastRecovery { left } => self.set_cwnd(ssthresh + left),
            Request::Inflate => self.set_cwnd(now + smss),
            Request::ToSsthresh => self.set_cwnd(ssthresh),
            Request::FullAck { flight } => self.set_cwnd(ssthresh.min(flight.max(smss) + smss)),
            Request::PartialAck { acked } => {
                let back = if acked >= smss { smss } else { 0 };
                self.set_cwnd(now.saturating_sub(acked) + back);
            }
            Request::OneSegment => self.set_cwnd(smss),
            Request::GenuineTimeout => self.set_cwnd(now.min(3 * smss)),
            Request::Proportional { cwnd }
            | Request::SlowStart { cwnd }
            | Request::FirstTrain { cwnd }
            | Request::Radio { cwnd } => {
                self.set_cwnd(cwnd);
            }
            Request::Idle { halvings, restart } => {
                self.ssthresh = ssthresh.max(now / 4 * 3);
                self.set_cwnd((now >> halvings).max(restart.min(now)));
            }
            Request::Unused { used } => {
                self.ssthresh = ssthresh.max(now / 4 * 3);
                self.set_cwnd(u64::midpoint(now, used));
            }
            Request::QuickStart { cwnd } => {
                self.set_cwnd(cwnd);
                self.ssthresh = self.cwnd.max(2 * smss);
            }
            Request::Back { cwnd, ssthresh } => self.set(cwnd, ssthresh),
            Request::AtMost { cwnd, ssthresh: most } => self.set(now.min(cwnd), ssthresh.min(most)),
            // For who knows of other paths.
            Request::Couple { .. } => {}
            Request::Ssthresh(octets) => self.ssthresh = octets,
            Request::Both(octets) => self.set(octets, octets),
            Request::AtLeast { cwnd, ssthresh: least } => self.set(now.max(cwnd), ssthresh.max(least)),
        }
    }

    /// Both.
    pub(super) fn set(&mut self, cwnd: u64, ssthresh: u64) {
        self.ssthresh = ssthresh;
        self.set_cwnd(cwnd);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_request_does_what_its_rule_says() {
        // cwnd of 20 segments, ssthresh of 10.
        for (request, expected) in [
            (Request::EnterFastRecovery { left: 3000 }, (13_000, 10_000)),
            (Request::Inflate, (21_000, 10_000)),
            (Request::ToSsthresh, (10_000, 10_000)),
            (Request::FullAck { flight: 0 }, (2000, 10_000)),
            (Request::FullAck { flight: 4000 }, (5000, 10_000)),
            (Request::FullAck { flight: 40_000 }, (10_000, 10_000)),
            (Request::PartialAck { acked: 999 }, (19_001, 10_000)),
            (Request::PartialAck { acked: 5000 }, (16_000, 10_000)),
            (Request::OneSegment, (1000, 10_000)),
            (Request::GenuineTimeout, (3000, 10_000)),
            (Request::Proportional { cwnd: 12_345 }, (12_345, 10_000)),
            (Request::Idle { halvings: 2, restart: 4000 }, (5000, 15_000)),
            (Request::Idle { halvings: 9, restart: 4000 }, (4000, 15_000)),
            (Request::Unused { used: 10_000 }, (15_000, 15_000)),
            (Request::QuickStart { cwnd: 1500 }, (1500, 2000)),
            (Request::QuickStart { cwnd: 30_000 }, (30_000, 30_000)),
            (Request::SlowStart { cwnd: 22_000 }, (22_000, 10_000)),
            (Request::Back { cwnd: 4000, ssthresh: 9000 }, (4000, 9000)),
            (Request::AtMost { cwnd: 4000, ssthresh: 11_000 }, (4000, 10_000)),
            (Request::FirstTrain { cwnd: 4000 }, (4000, 10_000)),
            (Request::Radio { cwnd: 5000 }, (5000, 10_000)),
            (Request::Ssthresh(7000), (20_000, 7000)),
            (Request::Both(7000), (7000, 7000)),
            (Request::Couple { octets: Some(1) }, (20_000, 10_000)),
            (Request::AtLeast { cwnd: 7000, ssthresh: 17_000 }, (20_000, 17_000)),
        ] {
            let mut window = Window::of(1000, 20, 10);
            window.apply(request);
            assert_eq!((window.cwnd(), window.ssthresh()), expected, "{request:?}");
        }
    }
}
