//! The queue between a connection and its link, where that does more than hold segments: it paces them, or refuses them (Linux: the
//! queueing discipline `fq`; `NET_XMIT_DROP`).

use handfast_core::{BitRate, Duration, Instant};

use super::{Endpoint, Timer};
use crate::help::{Help, Refusal};
use crate::{Death, Event};

/// `TCP_RESOURCE_PROBE_INTERVAL`
const RESOURCE_PROBE_INTERVAL: Duration = Duration::from_millis(500);
/// `TCP_TIMEOUT_MIN`, two ticks.
const TIMEOUT_MIN: Duration = Duration::from_millis(2);

impl Endpoint {
    /// The driver's queue paces: at this rate, so many segments together. The connection keeps to that by itself, unless its congestion
    /// control paces. [`None`]: it does not.
    pub fn set_queue_pace(&mut self, pace: Option<(BitRate, u32)>) {
        self.tx.cc.set_queue_pace(pace);
    }

    /// The driver's queue takes nothing now: to be called in the place of [`Endpoint::poll_transmit`]. Acknowledgements that are owed
    /// are lost; data stay, and are offered again after a while (`tcp_send_probe0`).
    pub fn on_refused(&mut self, now: Instant) {
        if self.rx.ack_now || self.rx.owes_window_update(u64::from(self.config.mss)) {
            self.acknowledged();
        }
        while self.rx.takes_duplicate() {}
        if self.tx.una < self.tx.max {
            self.time_outstanding(now);
        } else if self.tx.max < self.tx.stream_end() && self.tx.wnd > 0 {
            let help = self.help.get_or_insert_with(|| Help::with(&self.config));
            if help.refusal.is_none_or(|refusal| refusal.at != self.tx.max) {
                help.refusal = Some(Refusal { at: self.tx.max, probing_since: None });
            }
            // `tcp_check_probe_timer`
            let expiry = self.expiry(now, self.rto());
            self.timers.set_if_off(Timer::Persist, expiry);
        }
    }

    /// What the driver has refused, if nothing has left since and nothing else holds it back.
    fn refusal(&mut self) -> Option<&mut Refusal> {
        let (max, open) = (self.tx.max, self.tx.una == self.tx.max && self.tx.wnd > 0);
        self.help.as_mut()?.refusal.as_mut().filter(|refusal| refusal.at == max && open)
    }

    /// Whether the persist timer waits for the driver, not for the peer.
    pub(super) fn waits_for_driver(&self) -> bool {
        let refusal = self.help.as_ref().and_then(|help| help.refusal);
        refusal.is_some_and(|refusal| refusal.at == self.tx.max)
    }

    /// The persist timer has expired: whether it waited for the driver. Then the driver is asked again, at even intervals
    /// (`tcp_probe_timer`).
    pub(super) fn asks_driver_again(&mut self, now: Instant) -> bool {
        let limit = self.config.user_timeout;
        let Some(refusal) = self.refusal() else { return false };
        let probed = now.since(*refusal.probing_since.get_or_insert(now));
        if limit.is_some_and(|limit| probed >= limit) || self.tx.probes >= self.config.data_retries {
            self.end(Event::Died(if limit.is_some() { Death::UserTimeout } else { Death::Timeout }));
            return true;
        }
        self.tx.probes += 1;
        // `tcp_clamp_probe0_to_user_timeout`
        let left = limit.map_or(RESOURCE_PROBE_INTERVAL, |limit| limit.saturating_sub(probed));
        let expiry = self.expiry(now, RESOURCE_PROBE_INTERVAL.min(left.max(TIMEOUT_MIN)));
        self.timers.set(Timer::Persist, expiry);
        true
    }
}
