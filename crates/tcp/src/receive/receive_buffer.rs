//! What has arrived: in-order data that waits to be read, and runs beyond a hole.

use std::mem::offset_of;

use handfast_core::ShortQueue;
use handfast_wire::Payload;
use smallvec::SmallVec;

use crate::inline_list::reset_to_inline;
use crate::receive::reassembly::{ReassemblyQueue, extend};

/// Runs beyond holes kept at most. A peer that sends every other byte must not make us hold more; what does not fit is
/// treated as if it had not arrived, and never acknowledged.
const MAX_RUNS: usize = 1024;

/// Runs that a segment can report: the blocks that its options hold (RFC 2018 §3).
const REPORTED: usize = 4;

/// Octets `start .. end` beyond a hole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// Grows with each arrival, from 1: the most recently touched run has the highest (RFC 2018 §4).
    stamp: u64,
}

/// What became of an arriving segment's payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It extended the in-order data and there was no hole.
    InOrder,
    /// It filled a hole, all of it or its beginning.
    FilledHole,
    /// It lies beyond a hole.
    OutOfOrder,
    /// Nothing in it was new.
    Duplicate,
    /// There was no room to remember it.
    Dropped,
}

/// Reassembly: positions count from 0, the first payload octet of the connection.
#[derive(Clone, Debug, Default)]
// In the order of the fields: see [`crate::Endpoint`]. First what only a receiver touches.
#[repr(C)]
pub struct ReceiveBuffer {
    ready: ShortQueue<Payload>,
    reassembly: ReassemblyQueue,
    stamps: u64,
    /// The last arrival beyond a hole joined neither of the two runs touched before it, and there were two.
    third: bool,
    /// The first two in place: see [`crate::send::scoreboard::Scoreboard`].
    runs: SmallVec<[Run; 2]>,
    ready_len: u64,
    /// Position of the next in-order octet.
    next: u64,
}

impl ReceiveBuffer {
    /// How many of its first bytes nobody touches who only sends: of the runs he asks how many there are, which stands last.
    pub(crate) const RECEIVING: usize = offset_of!(Self, ready_len) - size_of::<usize>();

    /// Position of the next in-order octet.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Octets that wait to be read.
    pub fn readable(&self) -> u64 {
        self.ready_len
    }

    /// How far the highest run reaches beyond the next octet.
    pub fn beyond(&self) -> u64 {
        self.runs.last().map_or(0, |run| run.end - self.next)
    }

    /// How many runs, and how many pieces of payload, it holds.
    pub fn held(&self) -> (usize, usize) {
        (self.runs.len(), self.ready.len() + self.reassembly.len())
    }

    /// Whether data lies beyond a hole.
    pub(crate) fn has_holes(&self) -> bool {
        !self.runs.is_empty()
    }

    /// The first octets of `start .. end` that have arrived before, as far as they are contiguous: what a DSACK block reports
    /// (RFC 2883 §4 (1)).
    pub fn repeated(&self, start: u64, end: u64) -> Option<(u64, u64)> {
        if start < self.next {
            return Some((start, end.min(self.next)));
        }
        let run = self.runs.get(self.runs.partition_point(|r| r.end <= start))?;
        (run.start < end).then(|| (start.max(run.start), end.min(run.end)))
    }

    /// Takes a payload at position `start`; the caller has cut it to the receive window.
    pub fn insert(&mut self, start: u64, payload: &Payload) -> Arrival {
        let end = start + payload.len() as u64;
        if end <= self.next {
            return Arrival::Duplicate;
        }
        let cut = self.next.saturating_sub(start);
        let start = start + cut;
        let fresh = if cut == 0 { payload.clone() } else { payload.slice(cut as usize, usize::MAX) };
        if start > self.next {
            return self.insert_beyond(start, end, &fresh);
        }
        self.next = end;
        push_merged(&mut self.ready, &mut self.ready_len, fresh);
        if self.runs.is_empty() {
            return Arrival::InOrder;
        }
        self.close_holes();
        Arrival::FilledHole
    }

    /// In-order data has reached `self.next`: runs that it touches become in-order.
    fn close_holes(&mut self) {
        while let Some((start, piece)) = self.reassembly.pop_first_if(|start| start <= self.next) {
            let skip = self.next - start;
            if skip < piece.len() as u64 {
                let fresh = if skip == 0 { piece } else { piece.slice(skip as usize, usize::MAX) };
                self.next += fresh.len() as u64;
                push_merged(&mut self.ready, &mut self.ready_len, fresh);
            }
        }
        let next = self.next;
        self.runs.retain(|r| r.end > next);
        reset_to_inline(&mut self.runs);
    }

    /// Forgets what lies beyond a hole from this position on, although it may have been SACKed (RFC 2018 §8 allows that).
    pub(crate) fn forget(&mut self, from: u64) {
        self.reassembly.forget(from);
        self.runs.retain(|r| r.start < from);
        if let Some(last) = self.runs.last_mut() {
            last.end = last.end.min(from);
        }
        reset_to_inline(&mut self.runs);
    }

    /// A FIN that has come before its turn is a run as well, without octets.
    pub(crate) fn note_fin(&mut self, at: u64) {
        self.stamps += 1;
        let stamp = self.stamps;
        let index = self.runs.partition_point(|run| run.end < at);
        match self.runs.get_mut(index).filter(|run| run.end == at) {
            Some(run) => run.stamp = stamp,
            None if at > self.next => self.runs.insert(index, Run { start: at, end: at, stamp }),
            None => {}
        }
    }

    fn insert_beyond(&mut self, start: u64, end: u64, payload: &Payload) -> Arrival {
        self.stamps += 1;
        let first = self.runs.partition_point(|r| r.end < start);
        let last = self.runs.partition_point(|r| r.start <= end);
        if let Some(run) = self.runs[first..last].iter_mut().find(|r| r.start <= start && end <= r.end) {
            run.stamp = self.stamps;
            return Arrival::Duplicate;
        }
        if first == last && self.runs.len() >= MAX_RUNS {
            return Arrival::Dropped;
        }
        self.store_gaps(start, end, payload, first..last);
        let touched = self.runs[first..last].iter().map(|r| r.stamp).max().unwrap_or(0);
        // The stamp before this one is the newest: nothing to count.
        self.third =
            touched + 1 < self.stamps && self.runs.iter().filter(|r| r.stamp > touched).nth(1).is_some();
        let mut merged = Run { start, end, stamp: self.stamps };
        for r in &self.runs[first..last] {
            merged.start = merged.start.min(r.start);
            merged.end = merged.end.max(r.end);
        }
        if first == last {
            self.runs.insert(first, merged);
        } else {
            self.runs[first] = merged;
            self.runs.drain(first + 1..last);
        }
        Arrival::OutOfOrder
    }

    /// Stores the parts of `start .. end` that no run in `touched` covers.
    fn store_gaps(&mut self, start: u64, end: u64, payload: &Payload, touched: std::ops::Range<usize>) {
        let mut at = start;
        for r in &self.runs[touched] {
            if r.start > at {
                self.reassembly.store(at, payload.slice((at - start) as usize, (r.start - at) as usize));
            }
            at = at.max(r.end);
        }
        if at < end {
            self.reassembly.store(at, payload.slice((at - start) as usize, (end - at) as usize));
        }
    }

    /// The run that holds all of `start .. end`, for the second DSACK block of RFC 2883 §4.
    pub(crate) fn covering(&self, start: u64, end: u64) -> Option<Run> {
        self.runs.iter().copied().find(|r| r.start <= start && end <= r.end)
    }

    /// Whether the last arrival beyond a hole left a third run to report, beside the two touched before it.
    pub(crate) fn made_third(&self) -> bool {
        self.third
    }

    /// The runs touched last, the most recent first (RFC 2018 §4): as many as a segment can report.
    pub(crate) fn recent_runs(&self) -> impl Iterator<Item = Run> {
        let mut recent = [Run::default(); REPORTED];
        // The highest are likely to be the most recent: few of those below find a place.
        for &run in self.runs.iter().rev() {
            let place = recent.iter().rposition(|r| r.stamp > run.stamp).map_or(0, |newer| newer + 1);
            if place < REPORTED {
                recent[place..].rotate_right(1);
                recent[place] = run;
            }
        }
        recent.into_iter().take_while(|run| run.stamp > 0)
    }

    /// The next in-order octets, at most `max`, as far as one kind of payload reaches.
    pub fn read(&mut self, max: usize) -> Option<Payload> {
        let front = self.ready.front_mut()?;
        let payload = if front.len() <= max {
            self.ready.pop_front()?
        } else {
            let head = front.slice(0, max);
            *front = front.slice(max, usize::MAX);
            head
        };
        self.ready_len -= payload.len() as u64;
        Some(payload)
    }
}

/// Appends in-order data. Synthetic data that continues the last piece merges into it.
fn push_merged(ready: &mut ShortQueue<Payload>, ready_len: &mut u64, payload: Payload) {
    *ready_len += payload.len() as u64;
    if !ready.back_mut().is_some_and(|last| extend(last, &payload)) {
        ready.push_back(payload);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::receive::reassembly::GATHER;
    use proptest::prelude::*;

    fn synthetic(offset: u64, len: u32) -> Payload {
        Payload::Synthetic { stream: 1, offset, len }
    }

    fn runs(b: &ReceiveBuffer) -> Vec<(u64, u64)> {
        b.recent_runs().map(|r| (r.start, r.end)).collect()
    }

    #[test]
    fn in_order_data_merges() {
        let mut b = ReceiveBuffer::default();
        assert_eq!(b.insert(0, &synthetic(0, 10)), Arrival::InOrder);
        assert_eq!(b.insert(10, &synthetic(10, 10)), Arrival::InOrder);
        assert_eq!(b.read(100), Some(synthetic(0, 20)));
        assert_eq!(b.read(100), None);
    }

    #[test]
    fn what_is_forgotten_has_to_come_again() {
        for (from, kept, filled) in [
            (45, &[(40, 45), (20, 30)][..], 30),
            (40, &[(20, 30)], 30),
            (25, &[(20, 25)], 25),
            (20, &[], 20),
            (10, &[], 20),
        ] {
            let mut b = ReceiveBuffer::default();
            for at in [20, 40, 60, 80] {
                b.insert(at, &synthetic(at, 10));
            }
            b.forget(from);
            assert_eq!(runs(&b), kept, "{from}");
            assert_eq!(b.held().0, b.held().1, "{from}");
            b.insert(0, &synthetic(0, 20));
            let next = b.next();
            assert_eq!(next, filled, "{from}");
            b.insert(next, &synthetic(next, 100));
            assert_eq!(b.read(1000), Some(synthetic(0, next as u32 + 100)), "{from}");
        }
    }

    #[test]
    fn the_most_recent_run_comes_first() {
        let mut b = ReceiveBuffer::default();
        for start in [10, 30, 50] {
            assert_eq!(b.insert(start, &synthetic(start, 5)), Arrival::OutOfOrder);
        }
        assert_eq!(runs(&b), [(50, 55), (30, 35), (10, 15)]);
        assert!(b.made_third());
        // RFC 2018 §4: the block of the segment that triggered the ACK, whichever it is.
        b.insert(15, &synthetic(15, 5));
        assert_eq!(runs(&b), [(10, 20), (50, 55), (30, 35)]);
        assert!(b.made_third(), "it was the third");
        b.insert(20, &synthetic(20, 5));
        assert!(!b.made_third(), "it was the first");
        b.insert(55, &synthetic(55, 5));
        assert!(!b.made_third(), "it was the second");
    }

    #[test]
    fn a_fin_beyond_a_hole_is_a_run_without_octets() {
        let mut b = ReceiveBuffer::default();
        b.note_fin(0);
        assert!(!b.has_holes(), "it is not beyond one");
        b.insert(10, &synthetic(10, 10));
        b.note_fin(30);
        assert_eq!(runs(&b), [(30, 30), (10, 20)]);
        b.insert(25, &synthetic(25, 5));
        assert_eq!(runs(&b), [(25, 30), (10, 20)]);
        b.insert(20, &synthetic(20, 5));
        b.note_fin(30);
        assert_eq!(runs(&b), [(10, 30)]);
        b.insert(0, &synthetic(0, 10));
        assert_eq!((b.next(), b.readable(), b.has_holes()), (30, 30, false));
        b.note_fin(40);
        assert_eq!(b.insert(30, &synthetic(30, 10)), Arrival::FilledHole);
        assert!(!b.has_holes());
    }

    #[test]
    fn filling_a_hole_delivers_what_was_behind_it() {
        let mut b = ReceiveBuffer::default();
        b.insert(10, &synthetic(10, 10));
        assert_eq!(b.insert(0, &synthetic(0, 5)), Arrival::FilledHole);
        assert_eq!(b.next(), 5);
        assert_eq!(b.insert(3, &synthetic(3, 9)), Arrival::FilledHole);
        assert_eq!((b.next(), b.readable(), b.has_holes()), (20, 20, false));
        assert_eq!(b.read(100), Some(synthetic(0, 20)));
    }

    #[test]
    fn once_there_is_no_hole_runs_stand_in_place_again() {
        let mut b = ReceiveBuffer::default();
        for start in [10, 30, 50] {
            b.insert(start, &synthetic(start, 5));
        }
        b.insert(0, &synthetic(0, 30));
        assert!(b.runs.spilled() && b.has_holes());
        b.insert(35, &synthetic(35, 15));
        assert!(!b.runs.spilled() && !b.has_holes());
    }

    #[test]
    fn duplicates_are_named() {
        let mut b = ReceiveBuffer::default();
        b.insert(0, &synthetic(0, 10));
        assert_eq!(b.repeated(2, 5), Some((2, 5)));
        assert_eq!(b.insert(2, &synthetic(2, 3)), Arrival::Duplicate);
        assert_eq!(b.repeated(7, 15), Some((7, 10)), "the part that is old");
        assert_eq!(b.repeated(10, 15), None);
        b.insert(20, &synthetic(20, 10));
        assert_eq!(b.insert(22, &synthetic(22, 3)), Arrival::Duplicate);
        assert_eq!(b.repeated(22, 25), Some((22, 25)));
        assert_eq!(b.repeated(15, 35), Some((20, 30)));
        assert_eq!((b.repeated(15, 20), b.repeated(30, 40)), (None, None));
        assert_eq!(b.covering(22, 25).map(|r| (r.start, r.end)), Some((20, 30)));
    }

    #[test]
    fn a_hostile_peer_cannot_grow_it() {
        let mut b = ReceiveBuffer::default();
        for k in 0..2 * MAX_RUNS as u64 {
            let at = 10 + 2 * k;
            let arrival = b.insert(at, &synthetic(at, 1));
            assert_eq!(arrival == Arrival::Dropped, k >= MAX_RUNS as u64, "{k}");
        }
        assert_eq!(b.runs.len(), MAX_RUNS);
        // One that touches a run is still taken.
        assert_eq!(b.insert(11, &synthetic(11, 1)), Arrival::OutOfOrder);
    }

    #[test]
    fn small_pieces_merge_from_either_side() {
        let octet = || Payload::Bytes(bytes::Bytes::from_static(b"x"));
        for backwards in [false, true] {
            let mut b = ReceiveBuffer::default();
            for k in 0..5000 {
                b.insert(if backwards { 5000 - k } else { 1 + k }, &octet());
            }
            assert!(b.held().1 <= 5000 / (GATHER / 2) + 1, "{:?}", b.held());
            b.insert(0, &octet());
            assert_eq!(b.next(), 5001);
        }
    }

    proptest! {
        /// Any order, any overlap, real or synthetic: the bytes come out once, in order.
        #[test]
        fn every_octet_comes_out_once_and_in_order(
            parts in prop::collection::vec((0u64..200, 1usize..40, any::<bool>()), 0..60)
        ) {
            let whole = synthetic(0, 240).to_bytes();
            let mut b = ReceiveBuffer::default();
            let mut here = [false; 240];
            let mut out = Vec::new();
            for (start, len, read) in parts {
                let end = start as usize + len;
                b.insert(start, &Payload::Bytes(whole.slice(start as usize..end)));
                here[start as usize..end].fill(true);
                let in_order = here.iter().take_while(|&&h| h).count() as u64;
                prop_assert_eq!(b.next(), in_order);
                let beyond: u64 = b.runs.iter().map(|r| r.end - r.start).sum();
                prop_assert_eq!(beyond, here[in_order as usize..].iter().filter(|&&h| h).count() as u64);
                if read {
                    out.extend(b.read(len).map(|p| p.to_bytes()).unwrap_or_default());
                }
            }
            while let Some(p) = b.read(7) {
                out.extend(p.to_bytes());
            }
            prop_assert_eq!(&out[..], &whole[..out.len()]);
            prop_assert_eq!(out.len() as u64, b.next());
        }
    }
}
