//! How an association ends (§9.2).

use handfast_core::{Instant, SeqNum};
use handfast_wire::sctp::Chunk;

use super::{Association, Attempt};
use crate::{Event, Received, State};

impl Association {
    /// Once all that was written is acknowledged, SHUTDOWN leaves, or SHUTDOWN ACK.
    pub(super) fn go_on_closing(&mut self, now: Instant) {
        if !self.queue.is_empty() || !self.sent.is_empty() {
            return;
        }
        match self.state {
            State::ShutdownPending => {
                self.t5 = Some(now + self.config.rto_max * 5);
                let path = self.paths.for_data().unwrap_or(self.paths.primary());
                self.start_closing(now, State::ShutdownSent, path);
            }
            State::ShutdownReceived => {
                let path = self.attempt.path;
                self.start_closing(now, State::ShutdownAckSent, path);
            }
            _ => {}
        }
    }

    fn start_closing(&mut self, now: Instant, state: State, path: usize) {
        self.state = state;
        self.attempt = Attempt { path, retries: 0 };
        self.send_closing(now);
    }

    /// SHUTDOWN or SHUTDOWN ACK leaves, and T2-shutdown starts; while all paths are suspended, neither.
    fn send_closing(&mut self, now: Instant) {
        self.t2 = None;
        if self.paths.get(self.attempt.path).suspended {
            let Some(other) = self.paths.for_data() else { return };
            self.attempt.path = other;
        }
        let path = self.attempt.path;
        let chunk = if self.state == State::ShutdownSent {
            Chunk::Shutdown { cumulative: self.inbound.cumulative() }
        } else {
            Chunk::ShutdownAck
        };
        self.send(path, chunk);
        self.t2 = Some(now + self.paths.get(path).rtt.rto());
    }

    /// T2-shutdown has expired.
    pub(super) fn on_t2(&mut self, now: Instant) {
        self.t2 = None;
        let path = self.attempt.path;
        if self.paths.get(path).suspended {
            return self.send_closing(now);
        }
        self.paths.get_mut(path).rtt.back_off();
        self.path_error(path, true);
        if self.state != State::Closed {
            // §6.4.1 holds for it too: another path, if there is one.
            self.attempt.path = self.paths.alternate(path).unwrap_or(path);
            self.send_closing(now);
        }
    }

    /// A path is back: what waited for one leaves.
    pub(super) fn resume_closing(&mut self, now: Instant) {
        if self.t2.is_none() && matches!(self.state, State::ShutdownSent | State::ShutdownAckSent) {
            self.send_closing(now);
        }
    }

    /// DATA has come after our SHUTDOWN: SACK and SHUTDOWN answer it at once, and T2-shutdown starts anew.
    pub(super) fn shut_down_again(&mut self, now: Instant) {
        self.acks.demand();
        self.send_closing(now);
    }

    /// §6.4: what answers it leaves by the path that it came by.
    pub(super) fn on_shutdown(&mut self, now: Instant, path: usize, cumulative: SeqNum) {
        match self.state {
            State::Established | State::ShutdownPending => {
                self.state = State::ShutdownReceived;
                self.attempt = Attempt { path, retries: 0 };
                self.emit(Event::PeerClosed);
                self.on_cumulative(now, cumulative);
                self.go_on_closing(now);
            }
            State::ShutdownReceived => self.on_cumulative(now, cumulative),
            // Both at once, or our SHUTDOWN ACK was lost.
            State::ShutdownSent | State::ShutdownAckSent => {
                self.start_closing(now, State::ShutdownAckSent, path);
            }
            _ => {}
        }
    }

    pub(super) fn on_shutdown_ack(&mut self, received: &Received<'_>) {
        if matches!(self.state, State::ShutdownSent | State::ShutdownAckSent) {
            self.reply(received, self.remote_tag, Chunk::ShutdownComplete { reflected: false });
            self.end(Event::Closed);
        }
    }

    pub(super) fn on_shutdown_complete(&mut self) {
        if self.state == State::ShutdownAckSent {
            self.end(Event::Closed);
        }
    }
}
