//! Where explicit congestion notification meets the connection ([`crate::help::Ecn`] has the rules).

use handfast_wire::tcp::{Flags, Segment};

use super::Endpoint;
use crate::State;
use crate::help::ecn::{SYN, SYN_ACK, agrees, refuses_marked};
use crate::recovery::AckFacts;

impl Endpoint {
    /// What a SYN or SYN-ACK adds (RFC 3168 §6.1.1).
    #[cold]
    pub(super) fn ecn_setup(&mut self) -> Flags {
        if self.counts_marks() || self.asks_for_counters() {
            return self.accecn_setup();
        }
        let Some(ecn) = &mut self.ecn else { return Flags::NONE };
        if self.state != State::SynReceived && self.tx.max > 0 && self.config.ecn_fallback {
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
        if self.settle_accecn(segment) {
            return;
        }
        let linux = self.config.linux_details;
        let Some(ecn) = &mut self.ecn else { return };
        if linux && refuses_marked(segment.flags, ecn.arrived()) {
            self.ecn = None;
            return;
        }
        if !agrees(segment.flags) {
            self.ecn = None;
        }
    }

    /// Its SYN again. One without ECN does not take back what the SYN-ACK to the first has agreed to: both may have arrived.
    #[cold]
    pub(super) fn settle_ecn_again(&mut self, segment: &Segment) {
        let Some(ecn) = &mut self.ecn else { return };
        let mark = ecn.arrived();
        if let Some(counting) = ecn.counting_mut() {
            counting.on_repeated_syn(mark, segment.flags);
        } else if !agrees(segment.flags) {
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

    /// An acknowledgement has come, of everything before `ack`.
    #[cold]
    pub(super) fn note_echo(&mut self, segment: &Segment, ack: u64) {
        self.note_stamp_progress(segment);
        let echoes = self.ecn.as_ref().is_some_and(|ecn| ecn.echoes_by_flag());
        if echoes && segment.flags.contains(Flags::ECE) && ack >= self.tx.una {
            self.on_ecn_echo(ack);
        }
    }

    /// SND.UNA is about to advance to `ack`.
    #[cold]
    pub(super) fn note_sacked(&mut self, ack: u64) {
        if let Some(ecn) = &mut self.ecn {
            ecn.on_advance(self.tx.board.sacked_below(ack));
        }
    }

    /// An acknowledgement delivers something: whether it echoes a mark that the congestion control has not answered by itself.
    #[cold]
    pub(super) fn reads_mark(&mut self, segment: &Segment, facts: &AckFacts) -> bool {
        if self.counts_marks() {
            return self.reads_counters(segment, facts);
        }
        // One that others have overtaken says nothing of what they delivered.
        let is_newest = segment.ack == self.tx.seq(self.tx.una);
        let Some(ecn) = self.ecn.as_mut().filter(|_| is_newest) else { return false };
        let packets = ecn.packets(facts.octets, facts.sacks.fresh, self.tx.window.smss);
        ecn.on_delivered(segment.flags, packets)
    }

    /// What it said of marks in a counter is answered once it is known whether a recovery has ended: the counter says it once.
    #[cold]
    pub(super) fn answer_counted_marks(&mut self) {
        if self.ecn.as_ref().is_some_and(|ecn| !ecn.echoes_by_flag()) {
            self.on_ecn_echo(self.tx.una);
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
        // By the flag one that ends a recovery is not judged: the next one has ECE too, until CWR has arrived.
        if !self.tx.progress.phase.repairs() && self.tx.answers.is_new(ack) {
            self.help_before_recovery();
            self.recovery.reduce_for_mark(&mut self.tx);
        }
    }
}
