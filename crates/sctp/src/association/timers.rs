//! What expired timers do (§6.3.3).

use handfast_core::Instant;

use super::Association;
use crate::send::Loss;
use crate::{Event, Failure, State};

impl Association {
    pub(super) fn on_path_timers(&mut self, now: Instant, path: usize) {
        if self.state == State::Closed {
            return;
        }
        if self.paths.get(path).t3.is_some_and(|at| at <= now) {
            self.on_t3(path);
        }
        if self.state != State::Closed {
            self.on_heartbeat_timer(now, path);
        }
    }

    /// T3-rtx has expired on a path.
    fn on_t3(&mut self, path: usize) {
        let probed = self.probed_path() == Some(path);
        let expired = self.paths.get_mut(path);
        expired.t3 = None;
        let rto = expired.rtt.rto();
        // E1, E2. §6.1 A: "Zero window probing does not affect the calculation of cwnd."
        if !probed {
            expired.window.on_timeout();
            self.recovery = None;
        }
        self.paths.get_mut(path).rtt.back_off();
        self.counters.timeouts += 1;
        self.emit(Event::Timeout { path, rto });
        // E3: all that is outstanding there is to be sent again, the earliest in one packet now.
        self.urgent |= self.sent.mark(path, Loss::Timeout) > 0;
        self.path_error(path, true);
    }

    pub(super) fn on_association_timers(&mut self, now: Instant) {
        if self.t5.is_some_and(|at| at <= now) {
            // §9.2: T5-shutdown-guard.
            self.send_abort(handfast_wire::sctp::Cause::plain(
                handfast_wire::sctp::code::USER_INITIATED_ABORT,
            ));
            self.fail(Failure::ShutdownGuard);
        }
        if self.t1.is_some_and(|at| at <= now) {
            self.on_t1(now);
        }
        if self.t2.is_some_and(|at| at <= now) {
            self.on_t2(now);
        }
    }
}
