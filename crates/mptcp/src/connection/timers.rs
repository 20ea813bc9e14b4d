//! Deadlines: those of sub-flows, and those of the connection.

use handfast_core::{Duration, Instant};

use super::schedule::rank;
use super::{Connection, Mode};
use crate::subflow::Subflow;
use crate::{Failure, State};

/// Doublings of the time for `DATA_ACK`.
const MAX_BACKOFF: u32 = 6;

impl Connection {
    /// When [`Connection::on_timer`] must be called at the latest.
    pub fn deadline(&self) -> Option<Instant> {
        let proofs = self.subflows.iter().filter_map(|subflow| subflow.prove_at);
        let endpoints = self.subflows.iter().filter_map(|subflow| subflow.endpoint.deadline());
        endpoints.chain(proofs).chain(self.data_timer).chain(self.orphan).min()
    }

    /// A deadline has come; afterwards the next one, if there is one, is in the future.
    pub fn on_timer(&mut self, now: Instant) {
        for subflow in &mut self.subflows {
            if subflow.endpoint.deadline().is_some_and(|at| at <= now) {
                subflow.endpoint.on_timer(now);
            }
            if subflow.prove_at.is_some_and(|at| at <= now) {
                // §3.2: the third ACK is repeated; `decorate` sets the time anew.
                subflow.prove_at = None;
                subflow.endpoint.acknowledge();
            }
        }
        if self.data_timer.is_some_and(|at| at <= now) {
            self.on_data_timeout(now);
        }
        if self.orphan.is_some_and(|at| at <= now) {
            self.fail(Failure::NoPath);
        }
        self.settle(now);
    }

    /// §3.3.6: sub-flows repeat what they lose by themselves. What one has got acknowledged, and the connection has not, leaves again by
    /// any of them, as does `DATA_FIN`.
    fn on_data_timeout(&mut self, now: Instant) {
        self.data_timer = None;
        self.counters.data_timeouts += 1;
        self.backoff = (self.backoff + 1).min(MAX_BACKOFF);
        if self.tx.una() < self.tx.nxt() {
            let head = self.tx.una() + u64::from(self.config.tcp.mss);
            let (start, end) = (self.tx.una(), head.min(self.tx.nxt()));
            // Who still has it repeats it by itself.
            let holder = self.subflows.iter().find(|subflow| subflow.sent.has(start)).map(|s| s.id);
            self.tx.send_again(start, end, holder);
            self.probe_window();
        } else if self.tx.unsent() > 0 {
            self.probe_window();
        } else if self.tx.fin().is_some() {
            for subflow in &mut self.subflows {
                subflow.endpoint.acknowledge();
            }
        }
        self.start_data_timer(now);
    }

    /// The word that the window is open may be lost: where nothing that is out would bring it, and no sub-flow takes what leaves again,
    /// an octet asks. The sub-flow's own probes follow from it (RFC 9293 §3.8.6.1).
    fn probe_window(&mut self) {
        let again = self.tx.una() < self.tx.nxt();
        let asks = |s: &Subflow| s.acked < s.written || (again && s.endpoint.vacancy() > 0);
        if self.subflows.iter().any(|subflow| subflow.carries() && asks(subflow)) {
            return;
        }
        let best = self.best_rank();
        let at = self.subflows.iter().position(|s| s.carries() && Some(rank(s)) == best);
        if let (Some(at), Some(piece)) = (at, self.tx.probe()) {
            self.give(at, &piece);
        }
    }

    /// Something is out: `DATA_ACK` has this long.
    pub(super) fn start_data_timer(&mut self, now: Instant) {
        let waits = self.tx.is_outstanding() || self.tx.unsent() > 0;
        let speaks = matches!(self.mode, Mode::Multipath { .. }) && self.state != State::Closed;
        if self.data_timer.is_none() && waits && speaks {
            self.data_timer = Some(now + self.data_timeout(now) * (1 << self.backoff));
        }
    }

    /// `DATA_ACK` has acknowledged something.
    pub(super) fn restart_data_timer(&mut self, now: Instant) {
        (self.data_timer, self.backoff) = (None, 0);
        self.start_data_timer(now);
    }

    /// The longest of the sub-flows' timeouts: each repeats its own losses within that.
    fn data_timeout(&self, now: Instant) -> Duration {
        let rtos = self.subflows.iter().filter(|s| s.carries() && !s.silent);
        rtos.map(|subflow| subflow.endpoint.snapshot(now).rto).max().unwrap_or(self.config.tcp.rto_initial)
    }
}
