//! Where explicit congestion notification meets the connection ([`crate::help::Ecn`] has the rules).

use handfast_wire::tcp::{Flags, Segment};

use super::Endpoint;
use crate::State;
use crate::cc::Request;
use crate::help::ecn::{SYN, SYN_ACK, agrees};
use crate::phase::Phase;

impl Endpoint {
    /// What a SYN or SYN-ACK adds (RFC 3168 §6.1.1).
    #[cold]
    pub(super) fn ecn_setup(&mut self) -> Flags {
        if self.state == State::SynReceived {
            return SYN_ACK;
        }
        if self.tx.max == 0 {
            return SYN;
        }
        // §6.1.1.1: who dropped the first SYN may do so for its flags (Linux's `tcp_ecn_fallback`).
        self.ecn = None;
        Flags::NONE
    }

    /// The peer's SYN or SYN-ACK.
    #[cold]
    pub(super) fn settle_ecn(&mut self, segment: &Segment) {
        if !agrees(segment.flags) {
            self.ecn = None;
        }
    }

    /// Data has come, within the window.
    #[cold]
    pub(super) fn note_marks(&mut self, segment: &Segment) {
        if let Some(ecn) = &mut self.ecn
            && ecn.on_data(segment.flags)
        {
            self.rx.ack_now = true;
        }
    }

    /// An acknowledgement with ECE, of everything before `ack` (§6.1.2): "the indication of congestion should be treated just as a
    /// congestion loss", without a retransmission. Within a recovery the window has been reduced.
    #[cold]
    pub(super) fn on_ecn_echo(&mut self, ack: u64) {
        let Some(ecn) = &mut self.ecn else { return };
        // One that ends a recovery is not judged: the next one has ECE too, until CWR has arrived.
        if self.tx.progress.phase == Phase::Open && ecn.on_echo(ack, self.tx.max) {
            self.recovery.reduce_for_mark(&mut self.tx);
            if self.tx.window.cwnd() > self.tx.window.ssthresh() {
                self.tx.request(Request::ToSsthresh);
            }
        }
    }

    /// What is outstanding was sent before the window was reduced for a mark: RFC 3168 §6.1.2, marks and losses of one window of
    /// data are one indication (Linux, `tcp_enter_recovery`: not where `tcp_in_cwnd_reduction`).
    pub(super) fn has_answered(&self) -> bool {
        self.ecn.as_ref().is_some_and(|ecn| ecn.has_answered(self.tx.una))
    }

    /// A loss has reduced the window.
    pub(super) fn note_reduction(&mut self) {
        if let Some(ecn) = &mut self.ecn {
            ecn.on_reduction(self.tx.max);
        }
    }
}
