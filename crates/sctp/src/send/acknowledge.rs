//! What SACKs say of chunks that are outstanding (§6.2.1), and which of these are lost (§7.2.4).

use handfast_core::{Instant, SeqNum};
use handfast_wire::sctp::Gap;

use super::outstanding::{Fate, Loss, Outstanding, PerPath, Sent};
use crate::tsn::{self, Tsn};

/// Miss indications that make a chunk lost (§7.2.4).
const MISSES: u8 = 3;

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
    use handfast_wire::sctp::Data;

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
