//! What who owns several connections asks of one: Multipath TCP, whose sub-flows they are (RFC 8684). It puts its options on segments
//! that leave, and reads those of segments that come; the connection knows nothing of them.

use handfast_core::Duration;
use handfast_wire::tcp::{Flags, Segment};

use super::{Endpoint, Timer};
use crate::State;
use crate::cc::Request;

impl Endpoint {
    /// An acknowledgement leaves at once: the owner has to say something with it.
    pub fn acknowledge(&mut self) {
        if self.is_synchronised() {
            self.rx.ack_now = true;
        }
    }

    /// Whether a segment of an open connection lies in the receive window and acknowledges nothing that was not sent (RFC 9293
    /// §3.10.7.4, first and fifth): what its options say counts only then. To be asked before [`Endpoint::on_segment`].
    pub fn believes(&self, segment: &Segment) -> bool {
        self.is_synchronised()
            && segment.flags.contains(Flags::ACK)
            && !segment.flags.contains(Flags::SYN)
            && self.is_acceptable(self.rx.relative(segment.seq), segment)
            && self.tx.position(segment.ack).is_some_and(|ack| ack <= self.tx.max)
    }

    /// The window as other paths count it, and the smoothed round-trip time: within a reduction ssthresh, as cwnd is inflated
    /// (RFC 5681 §3.2) or follows what is in flight (RFC 6937).
    pub fn path_window(&self) -> (u64, Duration) {
        let window = &self.tx.window;
        let cwnd = if self.tx.progress.phase.reduces() { window.ssthresh() } else { window.cwnd() };
        (cwnd, self.tx.rtt.srtt())
    }

    /// How many octets a segment more takes over all paths of a connection ([`crate::coupling`]); [`None`]: there is no other path.
    /// Only [`crate::CongestionControl::Lia`] heeds it.
    pub fn couple(&mut self, octets: Option<u64>) {
        self.tx.request(Request::Couple { octets });
    }

    /// The peer's window holds so many octets at least behind what it has acknowledged: another connection of the owner has brought word
    /// of it (RFC 8684 §3.3.5: one window for all).
    pub fn widen_window(&mut self, octets: u64) {
        if !self.is_synchronised() || octets <= self.tx.wnd {
            return;
        }
        self.tx.wnd = octets;
        self.tx.max_wnd = self.tx.max_wnd.max(octets);
        if self.timers.is_set(Timer::Persist) {
            self.timers.stop(Timer::Persist);
            self.tx.probes = 0;
            self.tx.probe_due = false;
            self.tx.retries = 0;
        }
    }

    /// Its owner has more for it, and gives it no more than leaves at once. If cwnd is what stops that, cwnd counts as used (RFC 7661
    /// §4.1), as if the rest were written. To be said when nothing more leaves.
    pub fn hold_back(&mut self) {
        let window = &self.tx.window;
        if window.cwnd().saturating_sub(self.in_flight()) < window.smss {
            self.tx.validation.cwnd_limited = true;
        }
    }

    /// Octets of payload that a full segment may bring now beyond all that is written: by cwnd, the peer's window, and none while
    /// something written has not left.
    pub fn vacancy(&self) -> u64 {
        let carries = matches!(self.state, State::Established | State::CloseWait);
        if !carries || self.tx.closing || self.is_suspended() || self.unsent() > 0 {
            return 0;
        }
        // What recovery sends again comes first.
        let resends = self.tx.nxt < self.tx.max || self.tx.progress.head_due;
        let by_cwnd = self.tx.window.cwnd().saturating_sub(self.in_flight());
        let by_peer = self.tx.right_edge().saturating_sub(self.tx.max);
        if resends { 0 } else { by_cwnd.min(by_peer) }
    }
}
