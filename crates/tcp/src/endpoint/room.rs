//! How much an application may write that always has more.

use super::Endpoint;
use crate::send::memory::{self, Load};

impl Endpoint {
    /// Whether an application that sleeps until it may write more is woken: always, without [`crate::Config::send_autotuning`].
    #[inline]
    pub fn is_writable(&mut self) -> bool {
        self.tx.memory.is_none() || self.has_memory()
    }

    #[inline(never)]
    fn has_memory(&mut self) -> bool {
        let load = self.load();
        let mss = u64::from(self.config.mss);
        self.tx.memory.as_mut().is_none_or(|memory| memory.is_writable(&load, mss))
    }

    fn load(&self) -> Load {
        let tx = &self.tx;
        let burst = match tx.cc.burst(&tx.window) {
            Some(burst) => u64::from(burst),
            None => memory::burst(&tx.window, tx.rtt.srtt()),
        };
        let below = tx.board.highest().map_or(0, |highest| highest.saturating_sub(tx.una));
        let sacked = tx.board.sacked_below(tx.max);
        Load {
            sent: tx.max - tx.una,
            unsent: self.unsent(),
            holes: below.saturating_sub(sacked),
            sacked,
            ranges: tx.board.len() as u64,
            in_flight: self.in_flight(),
            cwnd: tx.window.cwnd(),
            smss: tx.window.smss,
            burst,
            half_window: tx.max_wnd / 2,
        }
    }
}
