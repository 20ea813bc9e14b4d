//! What the threads of a run tell each other.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use handfast_plan::{StreamId, Streams};
use handfast_scenario::FlowId;

/// Where the connections that an application has opened after an error begin: by stream and the sender's port.
type Begins = BTreeMap<(StreamId, u16), u64>;

/// What the threads of a run tell each other.
#[derive(Debug)]
pub(crate) struct Board {
    stop: AtomicBool,
    streams: Streams,
    /// For each flow the bytes that were delivered.
    delivered: Vec<AtomicU64>,
    /// For each stream whether it has begun, and there is something to get across. Where one end asks, whether it waits: its
    /// client says it at the first stream of the flow.
    active: Vec<AtomicBool>,
    begins: Mutex<Begins>,
}

impl Board {
    pub(crate) fn new(flows: usize, streams: Streams) -> Self {
        let active = std::iter::repeat_with(AtomicBool::default).take(streams.count()).collect();
        let delivered = std::iter::repeat_with(AtomicU64::default).take(flows).collect();
        Self { stop: AtomicBool::new(false), streams, delivered, active, begins: Mutex::default() }
    }

    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(super) fn set_active(&self, stream: StreamId, active: bool) {
        self.active[stream as usize].store(active, Ordering::Relaxed);
    }

    /// Whether a person waits for something of a flow.
    pub(super) fn set_waiting(&self, flow: FlowId, waiting: bool) {
        if let Some(stream) = self.streams.of_flow(flow).next() {
            self.set_active(stream, waiting);
        }
    }

    pub(super) fn is_active(&self, flow: FlowId) -> bool {
        self.streams.of_flow(flow).any(|stream| self.active[stream as usize].load(Ordering::Relaxed))
    }

    pub(super) fn set_delivered(&self, flow: FlowId, bytes: u64) {
        self.delivered[flow].store(bytes, Ordering::Relaxed);
    }

    pub(super) fn delivered(&self, flow: FlowId) -> u64 {
        self.delivered[flow].load(Ordering::Relaxed)
    }

    /// The connection of a stream from that port will begin with the byte at `position`: said before it is opened. A real
    /// protocol would say it in a few bytes of its own.
    pub(super) fn set_begin(&self, stream: StreamId, port: u16, position: u64) {
        self.begins.lock().unwrap_or_else(PoisonError::into_inner).insert((stream, port), position);
    }

    /// With which byte the connection of a stream from that port begins.
    pub(super) fn begin(&self, stream: StreamId, port: u16) -> u64 {
        let begins = self.begins.lock().unwrap_or_else(PoisonError::into_inner);
        begins.get(&(stream, port)).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_is_active_while_one_of_its_streams_is() {
        let board = Board::new(2, Streams::new([1, 2]));
        board.set_active(2, true);
        assert_eq!([0, 1].map(|flow| board.is_active(flow)), [false, true]);
        board.set_active(2, false);
        assert!(!board.is_active(1));
        board.set_waiting(1, true);
        assert_eq!([0, 1].map(|flow| board.is_active(flow)), [false, true]);
    }

    #[test]
    fn a_connection_begins_where_its_sender_said() {
        let board = Board::new(1, Streams::new([2]));
        board.set_begin(1, 5000, 700);
        assert_eq!(
            [(1, 5000), (1, 5001), (0, 5000)].map(|(stream, port)| board.begin(stream, port)),
            [700, 0, 0]
        );
    }
}
