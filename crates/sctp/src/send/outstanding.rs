//! Chunks that have left and are not cumulatively acknowledged (§6.1, §6.2.1, §6.3, §7.2.4).

use std::collections::VecDeque;

use handfast_core::{Instant, SeqNum};
use handfast_wire::sctp::{Data, Gap};

use crate::MAX_PATHS;
use crate::tsn::{self, Tsn};

/// A value for each path.
pub(crate) type PerPath<T> = [T; MAX_PATHS];

/// Miss indications that make a chunk lost (§7.2.4).
const MISSES: u8 = 3;

/// A chunk that has left.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) data: Data,
    /// The path by which it left last.
    pub(crate) path: usize,
    pub(crate) fate: Fate,
    misses: u8,
    /// It was sent again for misses once: only T3-rtx sends it another time (§7.2.4).
    fast: bool,
}

/// What has become of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    InFlight,
    /// A gap block names it.
    Acknowledged,
    /// It is marked for retransmission.
    Lost(Loss),
}

/// Why a chunk is to be sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    Timeout,
    Misses,
    /// It is to take another path, without a sign of loss.
    Rerouted,
}

/// All that is outstanding, by TSN in a row.
#[derive(Clone, Debug)]
pub(crate) struct Outstanding {
    chunks: VecDeque<Sent>,
    /// The TSN of the first; the next to use where there is none.
    first: Tsn,
    /// Bytes of chunks in flight.
    flight: PerPath<u64>,
    /// User data in flight, on all paths; and of all chunks here.
    payload_in_flight: u64,
    payload: u64,
    lost: usize,
    by_gap: usize,
    /// The chunk whose round trip is measured, and when it left (§6.3.1 C4: one at a time).
    timed: PerPath<Option<(Tsn, Instant)>>,
}

/// What a SACK has changed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Acknowledged {
    /// The cumulative TSN ack point has moved.
    pub(crate) advances: bool,
    /// Bytes of chunks newly acknowledged.
    pub(crate) bytes: PerPath<u64>,
    /// The earliest outstanding chunk of this path is among them (§6.3.2 R3).
    pub(crate) earliest: PerPath<bool>,
    /// When the chunk left whose round trip was measured.
    pub(crate) sample: PerPath<Option<Instant>>,
    /// The highest TSN newly acknowledged.
    newest: Option<Tsn>,
}

impl Acknowledged {
    pub(crate) fn any(&self) -> bool {
        self.newest.is_some()
    }
}

impl Outstanding {
    pub(crate) fn new(first: SeqNum) -> Self {
        Self {
            chunks: VecDeque::new(),
            first: tsn::first(first),
            flight: PerPath::default(),
            payload_in_flight: 0,
            payload: 0,
            lost: 0,
            by_gap: 0,
            timed: PerPath::default(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.chunks.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// The first that is not cumulatively acknowledged; [`Outstanding::next`] where all are.
    pub(crate) const fn first(&self) -> Tsn {
        self.first
    }

    /// The chunk of that TSN.
    pub(crate) fn earliest(&self) -> Option<&Sent> {
        self.chunks.front()
    }

    pub(crate) const fn flight(&self, path: usize) -> u64 {
        self.flight[path]
    }

    pub(crate) const fn payload_in_flight(&self) -> u64 {
        self.payload_in_flight
    }

    /// User data that the sender keeps.
    pub(crate) const fn payload(&self) -> u64 {
        self.payload
    }

    pub(crate) const fn has_lost(&self) -> bool {
        self.lost > 0
    }

    /// The TSN behind the last one used.
    pub(crate) fn next(&self) -> Tsn {
        self.first + self.chunks.len() as Tsn
    }

    /// A new chunk leaves; its TSN is [`Outstanding::next`].
    pub(crate) fn push(&mut self, now: Instant, data: Data, path: usize) {
        let tsn = self.next();
        self.payload += data.payload.len() as u64;
        self.timed[path].get_or_insert((tsn, now));
        let fate = Fate::InFlight;
        self.chunks.push_back(Sent { data, path, fate, misses: 0, fast: false });
        self.count(path, self.sizes(self.chunks.len() - 1), true);
    }

    /// The chunks that are marked for retransmission, with their indices, the earliest first.
    pub(crate) fn lost(&self) -> impl Iterator<Item = (usize, &Sent, Loss)> {
        let of = |(index, sent)| match sent {
            &Sent { fate: Fate::Lost(loss), .. } => Some((index, sent, loss)),
            _ => None,
        };
        let all = if self.has_lost() { self.chunks.len() } else { 0 };
        self.chunks.iter().take(all).enumerate().filter_map(of)
    }

    /// A chunk that is marked leaves again: the chunk, and whether it is the earliest outstanding of its path.
    pub(crate) fn resend(&mut self, index: usize, path: usize) -> (Data, bool) {
        let sent = &mut self.chunks[index];
        (sent.path, sent.fate) = (path, Fate::InFlight);
        sent.misses = 0;
        let data = sent.data.clone();
        self.lost -= 1;
        self.count(path, self.sizes(index), true);
        let in_flight = |sent: &Sent| sent.path == path && sent.fate == Fate::InFlight;
        let earliest = self.chunks.iter().take(index).all(|sent| !in_flight(sent));
        (data, earliest)
    }

    /// Marks what is in flight on `path` for retransmission: how many chunks.
    pub(crate) fn mark(&mut self, path: usize, loss: Loss) -> usize {
        let before = self.lost;
        for index in 0..self.chunks.len() {
            let sent = &self.chunks[index];
            if sent.path == path && sent.fate == Fate::InFlight {
                self.lose(index, loss);
            }
        }
        self.lost - before
    }

    fn lose(&mut self, index: usize, loss: Loss) {
        let tsn = self.first + index as Tsn;
        let sent = &mut self.chunks[index];
        sent.fate = Fate::Lost(loss);
        sent.misses = 0;
        sent.fast |= loss == Loss::Misses;
        let path = sent.path;
        self.lost += 1;
        self.count(path, self.sizes(index), false);
        // §6.3.1 C5, Karn's rule.
        self.timed[path].take_if(|(timed, _)| *timed == tsn);
    }

    /// The round trip that is measured on `path` is none.
    pub(crate) fn stop_timing(&mut self, path: usize) {
        self.timed[path] = None;
    }

    /// Bytes of the chunk at `index`, and of its user data.
    fn sizes(&self, index: usize) -> (u64, u64) {
        let data = &self.chunks[index].data;
        (data.chunk_len() as u64, data.payload.len() as u64)
    }

    fn count(&mut self, path: usize, (chunk, payload): (u64, u64), more: bool) {
        if more {
            self.flight[path] += chunk;
            self.payload_in_flight += payload;
        } else {
            self.flight[path] -= chunk;
            self.payload_in_flight -= payload;
        }
    }

    /// §6.2.1: a SACK has come, or a SHUTDOWN, which says nothing of gaps. [`None`]: it is older than another one, or acknowledges
    /// what was never sent.
    pub(crate) fn acknowledge(&mut self, cumulative: SeqNum, gaps: Option<&[Gap]>) -> Option<Acknowledged> {
        let point = tsn::nearest(self.first, cumulative);
        let blocks = gaps.unwrap_or_default();
        let furthest = blocks.iter().map(|gap| point + Tsn::from(gap.end)).max().unwrap_or(point);
        if point + 1 < self.first || furthest >= self.next() {
            return None;
        }
        let mut done = Acknowledged::default();
        let mut seen = PerPath::default();
        while self.first <= point {
            self.take(0, &mut done, &mut seen);
            if let Some(sent) = self.chunks.pop_front() {
                self.payload -= sent.data.payload.len() as u64;
                self.by_gap -= usize::from(sent.fate == Fate::Acknowledged);
            }
            self.first += 1;
            done.advances = true;
        }
        // Without gap blocks, too: what comes next is not there any more, or the point would be behind it.
        if gaps.is_none() && self.chunks.front().is_some_and(|next| next.fate == Fate::Acknowledged) {
            self.renege(0);
        }
        if gaps.is_some() && (!blocks.is_empty() || self.by_gap > 0) {
            self.acknowledge_gaps(point, blocks, &mut done, &mut seen);
        }
        Some(done)
    }

    /// Gap blocks name the chunks that are there; what they do not name any more was dropped again (§6.2.1 iv).
    fn acknowledge_gaps(
        &mut self,
        point: Tsn,
        gaps: &[Gap],
        done: &mut Acknowledged,
        seen: &mut PerPath<bool>,
    ) {
        // In any order, perhaps overlapping: one pass over the chunks has to do.
        let mut sorted = gaps.to_vec();
        sorted.sort_unstable();
        let mut blocks = sorted.into_iter().peekable();
        for index in 0..self.chunks.len() {
            let offset = self.first + index as Tsn - point;
            while blocks.next_if(|block| Tsn::from(block.end) < offset).is_some() {}
            let named = blocks.peek().is_some_and(|block| Tsn::from(block.start) <= offset);
            if named {
                self.take(index, done, seen);
            } else if self.chunks[index].fate == Fate::Acknowledged {
                self.renege(index);
            } else if self.chunks[index].fate == Fate::InFlight {
                seen[self.chunks[index].path] = true;
            }
        }
    }

    /// The chunk has arrived.
    fn take(&mut self, index: usize, done: &mut Acknowledged, seen: &mut PerPath<bool>) {
        let tsn = self.first + index as Tsn;
        let (&Sent { path, fate, .. }, sizes) = (&self.chunks[index], self.sizes(index));
        if fate == Fate::Acknowledged {
            return;
        }
        if fate == Fate::InFlight {
            self.count(path, sizes, false);
            done.earliest[path] |= !seen[path];
            if let Some((_, left)) = self.timed[path].take_if(|(timed, _)| *timed == tsn) {
                done.sample[path] = Some(left);
            }
        } else {
            self.lost -= 1;
        }
        done.bytes[path] += sizes.0;
        done.newest = Some(tsn);
        self.chunks[index].fate = Fate::Acknowledged;
        self.by_gap += 1;
    }

    fn renege(&mut self, index: usize) {
        let sent = &mut self.chunks[index];
        sent.fate = Fate::InFlight;
        let path = sent.path;
        self.by_gap -= 1;
        self.count(path, self.sizes(index), true);
    }

    /// §7.2.4: counts miss indications; the paths of chunks that three of them make lost.
    pub(crate) fn miss(&mut self, done: &Acknowledged, in_fast_recovery: bool) -> PerPath<bool> {
        let mut paths = PerPath::default();
        // "Only for missing TSNs prior to the highest TSN newly acknowledged"; in fast recovery, if the point moves, for all that
        // the SACK reports missing.
        let bound = if in_fast_recovery && done.advances { self.highest_by_gap() } else { done.newest };
        let Some(bound) = bound.filter(|_| self.by_gap > 0) else { return paths };
        for index in 0..self.chunks.len() {
            let sent = &mut self.chunks[index];
            if self.first + index as Tsn >= bound {
                break;
            }
            if sent.fate != Fate::InFlight || sent.fast {
                continue;
            }
            sent.misses += 1;
            if sent.misses >= MISSES {
                paths[sent.path] = true;
                self.lose(index, Loss::Misses);
            }
        }
        paths
    }

    fn highest_by_gap(&self) -> Option<Tsn> {
        let at = self.chunks.iter().rposition(|sent| sent.fate == Fate::Acknowledged)?;
        Some(self.first + at as Tsn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A receiver drops what gap blocks named, the SACK that says so is lost, and SHUTDOWN names no gaps.
    #[test]
    fn a_shutdown_shows_that_what_comes_next_was_dropped() {
        let mut sent = Outstanding::new(SeqNum(1));
        for tsn in 1..=3 {
            let tsn = SeqNum(tsn);
            let (payload, ssn) = (bytes::Bytes::from_static(b"data"), 0);
            let (begin, end) = (true, true);
            let (stream, ppid, unordered, immediate) = (0, 0, false, false);
            let data = Data { tsn, stream, ssn, ppid, unordered, begin, end, immediate, payload };
            sent.push(Instant::ZERO, data, 0);
        }
        sent.acknowledge(SeqNum(0), Some(&[Gap { start: 2, end: 3 }])).unwrap();
        sent.acknowledge(SeqNum(1), None).unwrap();
        assert_eq!((sent.len(), sent.flight(0)), (2, 20), "TSN 2 is in flight again");
        sent.acknowledge(SeqNum(3), None).unwrap();
        assert_eq!((sent.len(), sent.flight(0)), (0, 0));
    }
}
