//! Was a timeout spurious? What a verdict does ([`crate::spurious`]).

use super::Endpoint;
use crate::Event;
use crate::cc::Request;
use crate::recovery::AckFacts;
use crate::spurious::{self, AckView, Verdict};

impl Endpoint {
    /// `duplicate`: by RFC 5681 §2 or by RFC 6675 §2; F-RTO goes by both.
    #[inline]
    pub(super) fn judge_timeout(&mut self, facts: &AckFacts, duplicate: bool) -> Verdict {
        let dsack_seen = self.spurious.note_dsack(facts.sacks.duplicate);
        if !self.spurious.is_judging() {
            return Verdict::Undecided;
        }
        self.judge(*facts, duplicate, dsack_seen)
    }

    #[cold]
    fn judge(&mut self, facts: AckFacts, duplicate: bool, dsack_seen: bool) -> Verdict {
        let view = AckView {
            advanced: facts.octets > 0,
            duplicate,
            una: self.tx.una,
            sacked_below: facts.sacks.below,
            sacked_above: facts.sacks.above,
            all: self.tx.una == self.tx.max,
            dsack: facts.sacks.duplicate,
            ecr: facts.ecr,
        };
        self.spurious.judge(&view, dsack_seen)
    }

    /// Carries out a verdict; false where the ACK's usual effects must not follow.
    #[inline]
    pub(super) fn apply(&mut self, verdict: Verdict, octets: u64) -> bool {
        verdict == Verdict::Undecided || self.act_on(verdict, octets)
    }

    // Not inlined: hardly ever is there a verdict.
    #[inline(never)]
    fn act_on(&mut self, verdict: Verdict, octets: u64) -> bool {
        match verdict {
            Verdict::Undecided => true,
            Verdict::SendNew => {
                self.send_new_for_frto();
                true
            }
            Verdict::Genuine => {
                // RFC 5682 step 3a: cwnd of no more than three segments, retransmission in slow start from SND.UNA.
                self.tx.request(Request::GenuineTimeout);
                // With the SACK-enhanced rule everything from before the timeout may be acknowledged: then only the new
                // segments are outstanding, and on their way.
                if self.tx.una < self.tx.progress.recover && self.recovery.counts_duplicates() {
                    self.tx.nxt = self.tx.una;
                }
                true
            }
            Verdict::Spurious(detector) => {
                if spurious::respond(&mut self.spurious, &mut self.tx, &self.config, octets) {
                    self.recovery.unmark(self.tx.una);
                }
                self.counters.spurious_timeouts += 1;
                self.emit(Event::SpuriousTimeout(detector));
                false
            }
        }
    }

    /// RFC 5682 step 2b: up to two segments of new data, if there are any and the peer's window takes them.
    fn send_new_for_frto(&mut self) {
        let tx = &mut self.tx;
        let limit = (tx.max + 2 * tx.window.smss).min(tx.right_edge()).min(tx.data_end());
        if limit > tx.max {
            tx.nxt = tx.max;
            self.spurious.sending_new(limit);
        } else {
            self.spurious.give_up_frto();
        }
    }
}
