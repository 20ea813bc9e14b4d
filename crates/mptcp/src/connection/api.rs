//! What applications and session layers call.

use handfast_core::Instant;
use handfast_tcp::{IoslRules, Resumption, StoredPath};
use handfast_wire::Payload;
use handfast_wire::tcp::mptcp::reason;

use super::{Connection, Mode};
use crate::subflow::Subflow;
use crate::{Counters, Event, Failure, Footprint, State, SubflowId, SubflowStatus};

impl Connection {
    /// Queues data; the octets accepted. Synthetic payload takes no memory and is accepted whole.
    pub fn write(&mut self, payload: Payload) -> usize {
        if self.state == State::Closed {
            return 0;
        }
        self.tx.write(payload, self.config.tcp.send_buffer.get())
    }

    /// Octets written that no sub-flow has had.
    pub fn unsent(&self) -> u64 {
        self.tx.unsent()
    }

    /// Octets written that are not acknowledged.
    pub fn unacknowledged(&self) -> u64 {
        self.tx.end() - self.tx.una()
    }

    /// The next octets in order, at most `max`.
    pub fn read(&mut self, max: usize) -> Option<Payload> {
        if let Some(payload) = self.rx.read(max) {
            if self.rx.owes_update(u64::from(self.config.tcp.mss)) {
                let carriers = self.subflows.iter_mut().filter(|subflow| subflow.carries());
                carriers.for_each(|subflow| subflow.endpoint.acknowledge());
            }
            return Some(payload);
        }
        match (self.mode, &mut self.subflows[..]) {
            (Mode::Plain { .. }, [subflow]) => subflow.endpoint.read(max),
            _ => None,
        }
    }

    /// Octets that wait to be read.
    pub fn readable(&self) -> u64 {
        let plain = match (self.mode, &self.subflows[..]) {
            (Mode::Plain { .. }, [subflow]) => subflow.endpoint.readable(),
            _ => 0,
        };
        self.rx.readable() + plain
    }

    /// Nothing more is written: `DATA_FIN` follows what is queued (§3.3.3).
    pub fn close(&mut self, now: Instant) {
        if self.state == State::Opening && self.tx.end() == 0 {
            self.abort(now);
            return;
        }
        self.tx.close();
        if self.tx.fin().is_some() && self.state == State::Multipath {
            for subflow in self.subflows.iter_mut().filter(|subflow| subflow.carries()) {
                subflow.endpoint.acknowledge();
            }
        }
        self.start_data_timer(now);
    }

    /// Ends the connection at once: resets with `MP_FASTCLOSE` (§3.5).
    pub fn abort(&mut self, now: Instant) {
        self.fast_close = matches!(self.mode, Mode::Multipath { .. });
        for subflow in &mut self.subflows {
            subflow.endpoint.abort();
        }
        self.fail(Failure::Aborted);
        self.settle(now);
    }

    /// Ends one sub-flow; its data leave by others.
    pub fn end_subflow(&mut self, now: Instant, id: SubflowId) {
        if let Some(subflow) = self.subflow(id) {
            subflow.reset(reason::UNSPECIFIED);
            self.settle(now);
        }
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Where it stands.
    pub fn state(&self) -> State {
        self.state
    }

    /// Whether nothing is left to do for it, TIME-WAIT of its sub-flows included.
    pub fn is_over(&self) -> bool {
        let gone = |subflow: &Subflow| subflow.endpoint.state() == handfast_tcp::State::Closed;
        self.state == State::Closed && self.subflows.iter().all(gone)
    }

    /// What it has counted.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// What names it in a SYN that joins it (§3.2).
    pub fn token(&self) -> u32 {
        self.key.token()
    }

    /// Whether sub-flows can join.
    pub fn is_confirmed(&self) -> bool {
        self.mode == Mode::Multipath { confirmed: true }
    }

    /// What the peer makes it remember.
    pub fn footprint(&self) -> Footprint {
        Footprint {
            data: self.rx.held(),
            mappings: self.subflows.iter().map(|subflow| subflow.come.len()).sum(),
            subflows: self.subflows.len(),
        }
    }

    /// How its sub-flows are.
    pub fn subflows(&self, now: Instant) -> impl Iterator<Item = SubflowStatus> + '_ {
        self.subflows.iter().map(move |subflow| subflow.status(now))
    }

    fn subflow(&mut self, id: SubflowId) -> Option<&mut Subflow> {
        self.subflows.iter_mut().find(|subflow| subflow.id == id)
    }

    /// `[iosl]`: the layer controls this sub-flow from now on; it has an ID for each.
    pub fn attach_iosl(&mut self, id: SubflowId, rules: IoslRules) {
        if let Some(subflow) = self.subflow(id) {
            subflow.endpoint.attach_iosl(rules);
        }
    }

    /// `[iosl]`: the path of a sub-flow has failed, or is about to. It sends nothing and its timers stand still; what it has out
    /// leaves by the others at once. Nothing without [`Connection::attach_iosl`].
    pub fn suspend(&mut self, now: Instant, id: SubflowId) {
        let Some(at) = self.subflows.iter().position(|subflow| subflow.id == id) else { return };
        self.subflows[at].endpoint.suspend(now);
        self.subflows[at].suspended = true;
        self.move_outstanding(at);
        self.couple();
    }

    /// `[iosl]`: the path of a sub-flow is there ([`handfast_tcp::Endpoint::resume`]).
    pub fn resume(&mut self, now: Instant, id: SubflowId, why: Resumption) {
        if let Some(subflow) = self.subflow(id) {
            subflow.suspended = false;
            subflow.endpoint.resume(now, why);
            self.settle(now);
        }
    }

    /// `[iosl]`: cwnd and ssthresh of a sub-flow, from before it was suspended if it is.
    pub fn stored_path(&self, id: SubflowId) -> Option<StoredPath> {
        Some(self.subflows.iter().find(|subflow| subflow.id == id)?.endpoint.stored_path())
    }

    /// `[iosl]`: what another sub-flow had is for this one: at once if it is established, paced over a round trip, or as soon as it is.
    /// Nothing without [`Connection::attach_iosl`].
    pub fn restore_path(&mut self, now: Instant, id: SubflowId, stored: StoredPath) {
        if let Some(subflow) = self.subflow(id) {
            subflow.endpoint.take_over(now, stored);
        }
    }
}
