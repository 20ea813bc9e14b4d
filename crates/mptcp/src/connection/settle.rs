//! What has happened on sub-flows, and what it means to the connection.

use handfast_core::Instant;
use handfast_tcp::{Death, Event as TcpEvent, State as TcpState};

use super::{Connection, Mode};
use crate::subflow::Phase;
use crate::{Event, Failure, State};

impl Connection {
    /// Looks at every sub-flow.
    pub(super) fn settle(&mut self, now: Instant) {
        for at in 0..self.subflows.len() {
            self.subflows[at].note_acked();
            if self.subflows[at].irs.is_some() && self.subflows[at].endpoint.state() == TcpState::Listen {
                // A reset has answered our SYN/ACK, and nobody else will have this sub-flow.
                self.subflows[at].endpoint.abort();
                self.on_death(at, Death::Reset);
            }
            while let Some(event) = self.subflows[at].endpoint.poll_event() {
                self.on_subflow_event(now, at, event);
            }
        }
        self.share_window();
        self.drop_dead(now);
        self.note_plain();
        self.note_ends(now);
        self.couple();
    }

    /// §3.3.5: one window for all, whichever sub-flow has brought word of it.
    fn share_window(&mut self) {
        if matches!(self.mode, Mode::Multipath { .. }) {
            let window = self.tx.window();
            self.subflows.iter_mut().for_each(|subflow| subflow.endpoint.widen_window(window));
        }
    }

    fn on_subflow_event(&mut self, now: Instant, at: usize, event: TcpEvent) {
        match event {
            TcpEvent::Connected if !self.connected => {
                self.connected = true;
                self.emit(Event::Connected);
            }
            TcpEvent::Timeout { .. } if self.subflows[at].phase == Phase::Up => {
                self.subflows[at].silent = true;
                self.move_outstanding(at);
                let id = self.subflows[at].id;
                if matches!(self.mode, Mode::Multipath { .. }) {
                    self.emit(Event::SubflowSilent(id));
                }
            }
            TcpEvent::PeerClosed => {
                if matches!(self.mode, Mode::Multipath { .. }) {
                    // §3.3.3: the FIN of a sub-flow ends that alone.
                    self.subflows[at].endpoint.close(now);
                } else {
                    self.tell_peer_closed();
                }
            }
            TcpEvent::Died(death) => self.on_death(at, death),
            _ => {}
        }
    }

    /// §3.3.6: what it has not got acknowledged leaves by another one.
    pub(super) fn move_outstanding(&mut self, at: usize) {
        if matches!(self.mode, Mode::Multipath { .. }) {
            let subflow = &self.subflows[at];
            for (start, end) in subflow.sent.outstanding() {
                self.tx.send_again(start, end, Some(subflow.id));
            }
        }
    }

    fn on_death(&mut self, at: usize, death: Death) {
        let is_connection = matches!(self.mode, Mode::Opening | Mode::Plain { .. });
        if is_connection && self.state != State::Closed {
            self.fail(Failure::Tcp(death));
        }
        self.subflows[at].phase = Phase::Down;
    }

    /// Sub-flows whose connections are gone, and have nothing more to say.
    fn drop_dead(&mut self, now: Instant) {
        for at in (0..self.subflows.len()).rev() {
            if self.subflows[at].endpoint.state() != TcpState::Closed {
                continue;
            }
            if self.subflows[at].phase != Phase::First || self.connected {
                self.move_outstanding(at);
            }
            self.subflows[at].phase = Phase::Down;
            if !self.subflows[at].told_down {
                self.subflows[at].told_down = true;
                let (id, reason) = (self.subflows[at].id, self.subflows[at].heard_reason);
                if self.state != State::Closed {
                    self.emit(Event::SubflowDown { id, reason });
                }
            }
        }
        let waits = self.state == State::Multipath && self.subflows.iter().all(|s| s.phase == Phase::Down);
        self.orphan = waits.then(|| self.orphan.unwrap_or(now + self.config.orphan));
    }

    /// §3.7: what the only sub-flow has acknowledged is acknowledged.
    fn note_plain(&mut self) {
        if !matches!(self.mode, Mode::Plain { .. }) {
            return;
        }
        let [subflow] = &self.subflows[..] else { return };
        let out: u64 = subflow.sent.outstanding().map(|(start, end)| end - start).sum();
        let window = u64::MAX >> 1;
        self.tx.on_ack(self.tx.nxt().saturating_sub(out), window - self.tx.nxt().min(window));
    }

    pub(super) fn close_plain(&mut self, now: Instant) {
        let all = self.tx.is_closing() && self.tx.unsent() == 0;
        if all
            && matches!(self.mode, Mode::Plain { .. })
            && let [subflow] = &mut self.subflows[..]
        {
            subflow.endpoint.close(now);
        }
    }

    fn tell_peer_closed(&mut self) {
        if !self.peer_closed {
            self.peer_closed = true;
            self.emit(Event::PeerClosed);
        }
    }

    /// §3.3.3: once both ends have said and acknowledged that nothing more comes, the sub-flows close.
    fn note_ends(&mut self, now: Instant) {
        match self.mode {
            Mode::Multipath { .. } => {
                if self.rx.is_finished() {
                    self.tell_peer_closed();
                }
                if self.state == State::Multipath && self.rx.is_finished() && self.tx.is_finished() {
                    self.state = State::Closed;
                    (self.data_timer, self.orphan) = (None, None);
                    self.emit(Event::Closed);
                    for subflow in &mut self.subflows {
                        subflow.endpoint.close(now);
                    }
                }
            }
            Mode::Plain { .. } => {
                let over = self
                    .subflows
                    .iter()
                    .all(|s| matches!(s.endpoint.state(), TcpState::Closed | TcpState::TimeWait));
                if self.state == State::Plain && over {
                    self.state = State::Closed;
                    self.emit(Event::Closed);
                }
            }
            Mode::Opening => {}
        }
    }
}
