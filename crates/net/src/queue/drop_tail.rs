//! Drop-tail: first in, first out, and what finds the queue full is dropped.

use handfast_core::{Bytes, Instant, Stream};

use super::{Backlog, Discipline, Handle, Occupancy, PacketMeta, Parameter, Value, Verdict};
use crate::Cause;

/// A limit on what a queue holds: the packet in serialisation and those that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// At most so many packets.
    Packets(u32),
    /// At most so many bytes of IP packets.
    Bytes(Bytes),
}

/// Whether a queue of at most `most` packets that holds so many takes no further one.
#[inline]
pub(crate) const fn is_full(packets: usize, most: u32) -> bool {
    packets >= most as usize
}

/// Tail drop: whether a packet of that size has room beside what the queue holds.
#[inline]
pub fn has_room(limit: Option<QueueLimit>, held: Occupancy, size: Bytes) -> bool {
    match limit {
        None => true,
        Some(QueueLimit::Packets(most)) => !is_full(held.packets, most),
        Some(QueueLimit::Bytes(most)) => held.bytes.get().saturating_add(size.get()) <= most.get(),
    }
}

/// The parameters of drop-tail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// How much the queue holds.
    pub limit: Option<QueueLimit>,
}

impl Default for Config {
    /// What Linux interfaces have (txqueuelen).
    fn default() -> Self {
        Self { limit: Some(QueueLimit::Packets(1000)) }
    }
}

impl super::Config for Config {
    fn name(&self) -> &'static str {
        "drop-tail"
    }

    fn about(&self) -> &'static str {
        "first in, first out; what finds the queue full is dropped"
    }

    fn parameters(&mut self) -> Vec<Parameter<'_>> {
        let about = "How much the queue holds, the packet in serialisation included";
        vec![Parameter { key: "limit", about, value: Value::Limit(&mut self.limit) }]
    }

    fn limit(&self) -> Option<QueueLimit> {
        self.limit
    }
}

/// Drop-tail as a discipline. A [`crate::Link`] does not need it: there departures follow from arrivals
/// (`link/fused.rs`).
#[derive(Debug)]
pub struct DropTail<H> {
    limit: Option<QueueLimit>,
    backlog: Backlog<H>,
}

impl<H: Handle> DropTail<H> {
    /// An empty queue. It draws nothing.
    pub fn new(config: &Config, _: Stream) -> Self {
        Self { limit: config.limit, backlog: Backlog::default() }
    }
}

impl<H: Handle> Discipline<H> for DropTail<H> {
    fn enqueue(&mut self, _: Instant, packet: PacketMeta<H>, sending: Occupancy) -> Result<(), Cause> {
        if !has_room(self.limit, self.occupancy() + sending, packet.size) {
            return Err(Cause::QueueFull);
        }
        self.backlog.push(packet);
        Ok(())
    }

    fn dequeue(&mut self, _: Instant) -> Option<Verdict<H>> {
        self.backlog.pop().map(Verdict::Send)
    }

    fn occupancy(&self) -> Occupancy {
        self.backlog.occupancy()
    }

    fn clear(&mut self) -> Vec<PacketMeta<H>> {
        self.backlog.clear()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_being_sent_counts_towards_the_limit() {
        let held = |packets, bytes| Occupancy { packets, bytes: Bytes(bytes) };
        let packets = Some(QueueLimit::Packets(2));
        assert!(has_room(packets, held(1, 1_000_000), Bytes(1500)));
        assert!(!has_room(packets, held(2, 80), Bytes(40)));
        let bytes = Some(QueueLimit::Bytes(Bytes(2500)));
        assert!(has_room(bytes, held(100, 1500), Bytes(1000)));
        assert!(!has_room(bytes, held(1, 1500), Bytes(1001)));
        assert!(!has_room(bytes, held(1, u64::MAX), Bytes(u64::MAX)));
        assert!(has_room(None, held(usize::MAX, u64::MAX), Bytes(1)));
    }
}
