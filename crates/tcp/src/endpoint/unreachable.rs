//! Long connectivity disruptions: the retransmission timer does not back off where the network says that it cannot deliver (RFC 6069).

use handfast_core::{Duration, Instant, SeqNum};

use super::{Endpoint, Timer};
use crate::Config;
use crate::help::{Disruption, Help};

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
            self.note_disruption(now);
        }
    }

    fn note_disruption(&mut self, now: Instant) {
        let help = self.help.get_or_insert_with(|| Help::with(&self.config));
        let told = help.disruption.get_or_insert(Disruption { since: now, reverted: 0 });
        told.reverted = told.reverted.saturating_add(1);
    }

    /// Timeouts in a row that count against R2. Those that were taken back do not: with the timer so short they would end the connection
    /// in a part of the time that R2 stands for.
    pub(super) fn counted_retries(&mut self) -> u8 {
        let retries = self.tx.retries;
        let Some(help) = &mut self.help else { return retries };
        if retries == 0 {
            help.disruption = None;
        }
        retries - help.disruption.map_or(0, |told| told.reverted.min(retries))
    }

    /// R2 as a time (RFC 9293 §3.8.3 allows either), for who is told of the disruption: what all repetitions with their backoffs take
    /// from the least RTO on (`retransmits_timed_out`, `tcp_model_timeout`); where there is none, from the first of RFC 6298 §2.1.
    pub(super) fn is_disrupted_too_long(&self, now: Instant) -> bool {
        let Some(told) = self.help.as_ref().and_then(|help| help.disruption) else { return false };
        let Config { rto_min, rto_initial, rto_max: most, .. } = *self.config;
        let least = if rto_min == Duration::ZERO { rto_initial } else { rto_min };
        let times = (0..=self.config.data_retries).map(|n| least.saturating_mul(1 << n.min(32)).min(most));
        now.since(told.since) >= times.fold(Duration::ZERO, |sum, time| sum + time)
    }
}
