//! Long connectivity disruptions: the retransmission timer does not back off where the network says that it cannot deliver (RFC 6069).

use handfast_core::{Instant, SeqNum};

use super::{Endpoint, Timer};

impl Endpoint {
    /// ICMP says that the peer's network or host cannot be reached, and shows a segment of ours that begins at `seq`. Where that is what
    /// timeouts repeat, the last backoff is taken back (RFC 6069 §4.1; `tcp_ld_RTO_revert`): the loss was none of congestion.
    pub fn on_unreachable(&mut self, now: Instant, seq: SeqNum) {
        // §4.1 step (1), and §3: only a timeout-based loss recovery, and only the segment that it repeats.
        let repeated = self.tx.retries > 0 && self.tx.una > 0 && self.tx.una < self.tx.max;
        if !repeated || seq != self.tx.seq(self.tx.una) || !self.recovery.waits_for_rto() {
            return;
        }
        let Some(before) = self.timers.get(Timer::Retransmit) else { return };
        let old = self.rto();
        if self.tx.rtt.revert_back_off() {
            // Steps (3) to (5): the timer as if it had been set so when the segment left; what has passed expires at once.
            let earlier = self.rto();
            let left = before.since(now).saturating_sub(old.saturating_sub(earlier));
            self.timers.set(Timer::Retransmit, now + left);
        }
    }
}
