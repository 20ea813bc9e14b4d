//! How much an application may write that always has more.

use handfast_core::Instant;

use super::{Endpoint, State};
use crate::send::memory::{self, Load};

impl Endpoint {
    /// Octets that an application may write now which always has more; [`None`]: nothing but its own patience bounds it. To be
    /// asked until it gives zero, before each [`Endpoint::poll_transmit`]: what is written already leaves first.
    #[inline]
    pub fn write_room(&mut self, now: Instant) -> Option<u64> {
        let mut memory = self.tx.memory.take()?;
        let room = match self.state {
            // A blocked writer waits for the handshake.
            State::Listen | State::SynSent | State::SynReceived => 0,
            _ if memory.is_full() && self.may_send_more(now) => 0,
            _ => memory.room(&self.load(), u64::from(self.config.mss)),
        };
        self.tx.memory = Some(memory);
        Some(room)
    }

    /// Whether a full segment that waits may leave now.
    fn may_send_more(&self, now: Instant) -> bool {
        let (smss, window) = (self.tx.window.smss, &self.tx.window);
        self.unsent() >= smss
            && self.in_flight() + smss <= window.cwnd()
            && self.tx.max + smss <= self.tx.right_edge()
            && self.tx.cc.pacing_due(now).is_none_or(|due| due <= now)
    }

    fn load(&self) -> Load {
        let tx = &self.tx;
        let burst = match tx.cc.burst(&tx.window) {
            Some(burst) => u64::from(burst),
            None => memory::burst(&tx.window, tx.rtt.srtt()),
        };
        Load {
            sent: tx.max - tx.una,
            unsent: self.unsent(),
            in_flight: self.in_flight(),
            cwnd: tx.window.cwnd(),
            smss: tx.window.smss,
            burst,
            half_window: tx.max_wnd / 2,
        }
    }
}
