//! What acknowledgements do (§6.2.1, §7.2).

use handfast_core::{Instant, SeqNum};
use handfast_wire::sctp::Sack;

use super::Association;
use crate::State;
use crate::path::{Ack, Path};
use crate::send::Acknowledged;

impl Association {
    pub(super) fn on_sack(&mut self, now: Instant, sack: &Sack) {
        if !self.has_sent_data() {
            return;
        }
        let probed = self.probed_path();
        let Some(done) = self.sent.acknowledge(sack.cumulative, Some(&sack.gaps)) else { return };
        self.a_rwnd = sack.a_rwnd.into();
        if let Some(path) = probed {
            // §6.1 A: while SACKs answer probes of a closed window, the peer is there.
            self.errors = 0;
            self.answered(path);
        }
        self.acknowledged(now, &done);
    }

    /// Before, nothing of ours can have arrived.
    fn has_sent_data(&self) -> bool {
        self.state.sends_data() || matches!(self.state, State::ShutdownSent | State::ShutdownAckSent)
    }

    /// The cumulative TSN of SHUTDOWN (§9.2), which says nothing of gaps.
    pub(super) fn on_cumulative(&mut self, now: Instant, cumulative: SeqNum) {
        if let Some(done) = self.sent.acknowledge(cumulative, None) {
            self.acknowledged(now, &done);
        }
    }

    fn acknowledged(&mut self, now: Instant, done: &Acknowledged) {
        let in_fast_recovery = self.recovery.is_some();
        for path in 0..self.paths.all().len() {
            self.acknowledged_on(now, path, done, in_fast_recovery);
        }
        if done.any() {
            self.errors = 0;
        }
        // §7.2.4: fast recovery ends with its exit point.
        self.recovery.take_if(|exit| self.sent.first() > *exit);
        self.look_for_losses(done, in_fast_recovery);
        self.go_on_closing(now);
    }

    fn acknowledged_on(&mut self, now: Instant, path: usize, done: &Acknowledged, in_fast_recovery: bool) {
        let flight = self.sent.flight(path);
        let all_acknowledged = self.sent.is_empty();
        let acked = self.paths.get_mut(path);
        if let Some(left) = done.sample[path] {
            acked.rtt.on_sample(now.since(left));
        }
        if done.bytes[path] > 0 {
            acked.window.on_ack(&Ack {
                bytes: done.bytes[path],
                full: acked.was_full,
                advances: done.advances,
                in_fast_recovery,
                all_acknowledged,
            });
        }
        // §6.3.2: R2 stops T3-rtx, R3 starts it anew, R4 starts it for what the peer has dropped again.
        if flight == 0 || acked.suspended {
            acked.t3 = None;
        } else if done.earliest[path] || acked.t3.is_none() {
            acked.t3 = Some(now + acked.rtt.rto());
        }
        if done.bytes[path] > 0 {
            self.answered(path);
        }
    }

    /// §7.2.4.
    fn look_for_losses(&mut self, done: &Acknowledged, in_fast_recovery: bool) {
        let lost = self.sent.miss(done, in_fast_recovery);
        if !lost.contains(&true) {
            return;
        }
        self.urgent = true;
        // `[iosl]` What is lost of a suspended path is no sign of congestion.
        let congested = |(path, &lost): (&Path, &bool)| lost && !path.suspended;
        if self.recovery.is_none() && self.paths.all().iter().zip(&lost).any(congested) {
            self.recovery = Some(self.sent.next() - 1);
            self.counters.fast_recoveries += 1;
            for (path, lost) in self.paths.all_mut().iter_mut().zip(lost) {
                if congested((path, &lost)) {
                    path.window.on_fast_retransmit();
                }
            }
        }
    }
}
