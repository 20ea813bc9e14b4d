//! What has come over all sub-flows, and the one window that they share (RFC 8684 §3.3.5).

use handfast_tcp::{Arrival, ReceiveBuffer};
use handfast_wire::Payload;

use crate::Counters;

/// The receiving half.
#[derive(Debug, Default)]
pub(crate) struct DataReceiver {
    buffer: ReceiveBuffer,
    /// Octets that it holds at most.
    capacity: u64,
    /// The right edge of the window last offered.
    edge: u64,
    /// Where the peer's `DATA_FIN` stands.
    fin: Option<u64>,
    finished: bool,
}

impl DataReceiver {
    pub(crate) fn new(capacity: u64) -> Self {
        Self { capacity, edge: capacity, ..Self::default() }
    }

    /// What `DATA_ACK` says, as a position: `DATA_FIN` counts.
    pub(crate) fn next(&self) -> u64 {
        self.buffer.next() + u64::from(self.finished)
    }

    /// The next octet of data.
    pub(crate) fn next_data(&self) -> u64 {
        self.buffer.next()
    }

    /// Where the peer's `DATA_FIN` stands, if that is known.
    pub(crate) fn fin(&self) -> Option<u64> {
        self.fin
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.finished
    }

    pub(crate) fn readable(&self) -> u64 {
        self.buffer.readable()
    }

    pub(crate) fn read(&mut self, max: usize) -> Option<Payload> {
        self.buffer.read(max)
    }

    /// Octets held: in order, and at most so many beyond a hole.
    pub(crate) fn held(&self) -> u64 {
        self.buffer.readable() + self.buffer.beyond()
    }

    /// The window to offer, in octets behind `DATA_ACK`; moves the edge, never to the left (§3.3.5), and not by less than RFC 9293
    /// §3.8.6.2.2 says.
    pub(crate) fn offer(&mut self, mss: u64) -> u64 {
        let slack = self.slack();
        if slack >= mss.min(self.capacity / 2).max(1) {
            self.edge += slack;
        }
        self.edge.saturating_sub(self.next())
    }

    /// Whether reading has opened the window far enough to say so without waiting for data.
    pub(crate) fn owes_update(&self, mss: u64) -> bool {
        !self.finished && self.slack() >= (2 * mss).min(self.capacity / 2).max(1)
    }

    fn slack(&self) -> u64 {
        let start = self.buffer.next() - self.buffer.readable();
        (start + self.capacity).saturating_sub(self.edge)
    }

    /// Octets at `start`. What lies beyond the window finds no room, and is never acknowledged (§3.3.5: the connection's window alone
    /// decides).
    pub(crate) fn on_data(&mut self, start: u64, payload: &Payload, counters: &mut Counters) {
        let len = payload.len() as u64;
        let most = self.fin.map_or(self.edge, |fin| fin.min(self.edge));
        let kept = most.saturating_sub(start).min(len);
        counters.bytes_without_room += len - kept;
        if kept == 0 {
            return;
        }
        if let Some((from, to)) = self.buffer.repeated(start, start + kept) {
            counters.duplicate_bytes += to - from;
        }
        let arrival = if kept == len {
            self.buffer.insert(start, payload)
        } else {
            self.buffer.insert(start, &payload.slice(0, kept as usize))
        };
        if arrival == Arrival::Dropped {
            counters.bytes_without_room += kept;
        }
        self.finish();
    }

    /// The peer's `DATA_FIN` stands at `at`. The first one stands; one within what has come, or beyond the window, is a lie. Whether
    /// it says something.
    pub(crate) fn on_fin(&mut self, at: u64) -> bool {
        if at < self.buffer.next() + self.buffer.beyond() || at > self.edge {
            return self.fin == Some(at);
        }
        let fin = *self.fin.get_or_insert(at);
        self.finish();
        fin == at
    }

    fn finish(&mut self) {
        self.finished = self.fin == Some(self.buffer.next());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(offset: u64, len: u32) -> Payload {
        Payload::Synthetic { stream: 1, offset, len }
    }

    #[test]
    fn what_the_window_does_not_hold_finds_no_room() {
        let (mut r, mut c) = (DataReceiver::new(1000), Counters::default());
        r.on_data(500, &payload(500, 600), &mut c);
        assert_eq!((c.bytes_without_room, r.next(), r.held()), (100, 0, 1000));
        r.on_data(0, &payload(0, 500), &mut c);
        assert_eq!((r.next(), r.readable(), r.offer(100)), (1000, 1000, 0));
        r.on_data(1000, &payload(1000, 1), &mut c);
        assert_eq!((c.bytes_without_room, r.next()), (101, 1000));
        r.read(99);
        assert_eq!(r.offer(100), 0, "less than a segment");
        r.read(101);
        assert!(r.owes_update(100));
        assert_eq!(r.offer(100), 200);
    }

    #[test]
    fn octets_that_come_twice_are_counted_and_come_out_once() {
        let (mut r, mut c) = (DataReceiver::new(1000), Counters::default());
        for (start, len) in [(0, 10), (20, 10), (5, 20), (0, 40)] {
            r.on_data(start, &payload(start, len), &mut c);
        }
        assert_eq!(r.read(99), Some(payload(0, 40)));
        // 5..10 and 0..30 were there before.
        assert_eq!(c.duplicate_bytes, 5 + 30);
    }

    #[test]
    fn data_fin_is_in_order_and_stands() {
        let (mut r, mut c) = (DataReceiver::new(1000), Counters::default());
        r.on_data(0, &payload(0, 10), &mut c);
        assert!(!r.on_fin(9) && !r.on_fin(1001));
        assert!(r.on_fin(20));
        assert!(!r.on_fin(30) && !r.is_finished());
        r.on_data(10, &payload(10, 50), &mut c);
        assert_eq!((r.is_finished(), r.next(), r.readable()), (true, 21, 20));
        assert!(r.on_fin(20), "a repetition is answered");
    }
}
