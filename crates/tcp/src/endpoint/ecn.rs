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
        let Some(ecn) = &mut self.ecn else { return Flags::NONE };
        if self.state != State::SynReceived && self.tx.max > 0 {
            // §6.1.1.1: who dropped the first SYN may do so for its flags (Linux's `tcp_ecn_fallback`). The peer may answer the
            // first one all the same.
            ecn.decline();
        }
        match self.state {
            _ if ecn.has_declined() => Flags::NONE,
            State::SynReceived => SYN_ACK,
            _ => SYN,
        }
    }

    /// The peer's SYN or SYN-ACK.
    #[cold]
    pub(super) fn settle_ecn(&mut self, segment: &Segment) {
        if !agrees(segment.flags) {
            self.ecn = None;
        }
    }

    /// Its SYN again. One without ECN does not take back what the SYN-ACK to the first has agreed to: both may have arrived.
    #[cold]
    pub(super) fn settle_ecn_again(&mut self, segment: &Segment) {
        if let Some(ecn) = &mut self.ecn
            && !agrees(segment.flags)
        {
            ecn.decline();
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
        // RFC 4015 §3 step 8 restores nothing by an acknowledgement with ECE; Linux by none since the episode began
        // (`tcp_fastretrans_alert`: `prior_ssthresh = 0`).
        self.spurious.keep_reduction();
        self.recovery.keep_reduction();
        // One that ends a recovery is not judged: the next one has ECE too, until CWR has arrived.
        if self.tx.progress.phase == Phase::Open && self.tx.answers.is_new(ack) {
            self.help_before_recovery();
            self.recovery.reduce_for_mark(&mut self.tx);
            if self.tx.window.cwnd() > self.tx.window.ssthresh() {
                self.tx.request(Request::ToSsthresh);
            }
        }
    }
}
