//! The connection: what the driver and the application call.

use std::sync::Arc;

use handfast_core::{Bytes, Instant, SeqNum};
use handfast_wire::{Payload, tcp::Segment};

use crate::{Config, Counters, Event, Snapshot, State};

/// One TCP connection, either side of it, both directions.
pub struct Endpoint {}

#[expect(unused_variables, clippy::todo, missing_docs, reason = "interface under construction")]
impl Endpoint {
    /// Active open: the SYN comes out of the first [`Endpoint::poll_transmit`].
    pub fn connect(
        config: Arc<Config>,
        local_port: u16,
        remote_port: u16,
        iss: SeqNum,
        now: Instant,
    ) -> Self {
        todo!()
    }
    /// Passive open: waits for a SYN, and learns the peer's port from it. One connection, not a backlog.
    pub fn listen(config: Arc<Config>, local_port: u16, iss: SeqNum) -> Self {
        todo!()
    }
    pub fn on_segment(&mut self, now: Instant, segment: &Segment) {
        todo!()
    }
    /// The driver calls it when `deadline()` has come; afterwards the deadline is in the future.
    pub fn on_timer(&mut self, now: Instant) {
        todo!()
    }
    /// The next segment to send now, or `None`. `budget`: IP packet bytes the driver can take now.
    pub fn poll_transmit(&mut self, now: Instant, budget: Bytes) -> Option<Segment> {
        todo!()
    }
    pub fn deadline(&self) -> Option<Instant> {
        todo!()
    }
    /// Queues data to send; returns the bytes accepted. Synthetic payload is always accepted whole.
    pub fn write(&mut self, payload: Payload) -> usize {
        todo!()
    }
    /// Bytes written and not yet sent for the first time.
    pub fn unsent(&self) -> u64 {
        todo!()
    }
    /// The next in-order bytes, at most `max`; merged as far as they are contiguous. Opens the receive window.
    pub fn read(&mut self, max: usize) -> Option<Payload> {
        todo!()
    }
    /// Bytes that wait to be read.
    pub fn readable(&self) -> u64 {
        todo!()
    }
    /// No more writes; FIN after what is queued.
    pub fn close(&mut self, now: Instant) {
        todo!()
    }
    /// Sends RST and forgets everything.
    pub fn abort(&mut self) {
        todo!()
    }
    pub fn poll_event(&mut self) -> Option<Event> {
        todo!()
    }
    pub fn state(&self) -> State {
        todo!()
    }
    pub fn counters(&self) -> &Counters {
        todo!()
    }
    pub fn snapshot(&self, now: Instant) -> Snapshot {
        todo!()
    }
    /// Congestion window in bytes.
    pub fn cwnd(&self) -> u64 {
        todo!()
    }
}
