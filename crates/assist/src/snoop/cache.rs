//! The segments of one connection that its mobile has not acknowledged.

use std::collections::VecDeque;

use handfast_core::{Instant, SeqNum};
use handfast_wire::Packet;
use handfast_wire::tcp::SackBlock;

/// A segment that went to the mobile.
#[derive(Clone, Debug)]
pub(super) struct Cached {
    pub(super) seq: SeqNum,
    pub(super) len: u32,
    pub(super) packet: Packet,
    /// When it went last.
    pub(super) sent: Instant,
    /// Whether it was sent again here.
    pub(super) resent: bool,
    /// Whether the sender has sent it again, or it came out of order: it was lost before it came here, and duplicate
    /// acknowledgments for it are the sender's (`[snoop]` §4.1).
    pub(super) by_sender: bool,
    /// Whether the mobile has it, though not what is before it.
    pub(super) sacked: bool,
}

impl Cached {
    pub(super) fn end(&self) -> SeqNum {
        self.seq + self.len
    }
}

/// They are in order of sequence numbers, and no two overlap.
#[derive(Clone, Debug, Default)]
pub(super) struct Cache {
    segments: VecDeque<Cached>,
    bytes: u64,
}

impl Cache {
    pub(super) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// IP bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Where the first segment stands that does not begin before `seq`.
    fn place(&self, seq: SeqNum) -> usize {
        self.segments.partition_point(|cached| cached.seq.before(seq))
    }

    /// The segment that begins at `seq`.
    pub(super) fn at(&mut self, seq: SeqNum) -> Option<&mut Cached> {
        let place = self.place(seq);
        self.segments.get_mut(place).filter(|cached| cached.seq == seq)
    }

    /// The first one.
    pub(super) fn first(&self) -> Option<&Cached> {
        self.segments.front()
    }

    /// Takes a segment in; false if some of its bytes are here already, and it is not.
    pub(super) fn insert(&mut self, cached: Cached) -> bool {
        let place = self.place(cached.seq);
        let after = |one: &Cached| cached.end().after(one.seq);
        let before = |one: &Cached| one.end().after(cached.seq);
        let overlaps = self.segments.get(place).is_some_and(after)
            || place.checked_sub(1).and_then(|place| self.segments.get(place)).is_some_and(before);
        if !overlaps {
            self.bytes += cached.packet.ip_len() as u64;
            self.segments.insert(place, cached);
        }
        !overlaps
    }

    /// Lets go of all that ends at or before `ack`; the last of it, and whether each came by itself, in order.
    pub(super) fn acknowledge(&mut self, ack: SeqNum) -> (Option<Cached>, bool) {
        let (mut last, mut clean): (Option<Cached>, bool) = (None, true);
        while self.segments.front().is_some_and(|cached| !cached.end().after(ack)) {
            last = self.segments.pop_front();
            if let Some(cached) = &last {
                self.bytes -= cached.packet.ip_len() as u64;
                clean &= !(cached.resent || cached.by_sender || cached.sacked);
            }
        }
        (last, clean)
    }

    /// The mobile has these blocks.
    pub(super) fn sack(&mut self, blocks: &[SackBlock]) {
        for SackBlock { start, end } in blocks {
            let first = self.place(*start);
            let inside = self.segments.iter_mut().skip(first).take_while(|cached| !cached.end().after(*end));
            inside.for_each(|cached| cached.sacked = true);
        }
    }

    /// How many segments after the one at `seq` have left since then.
    pub(super) fn sent_since(&self, seq: SeqNum, since: Instant) -> u32 {
        let behind = self.segments.iter().skip(self.place(seq) + 1);
        behind.filter(|cached| cached.sent >= since).count() as u32
    }

    /// Where the segment at `seq` was sent again already: how many after it left before that and have not come. A duplicate
    /// acknowledgment of theirs says nothing of the repair.
    pub(super) fn awaited_before_repair(&self, seq: SeqNum) -> u32 {
        let mut from = self.segments.iter().skip(self.place(seq));
        let Some(first) = from.next().filter(|first| first.resent) else { return 0 };
        from.filter(|cached| cached.sent < first.sent && !cached.sacked).count() as u32
    }

    /// The segments with something that the mobile has after them, and that it lacks.
    pub(super) fn holes(&mut self) -> impl Iterator<Item = &mut Cached> {
        let known = self.segments.iter().rposition(|cached| cached.sacked).unwrap_or(0);
        self.segments.iter_mut().take(known).filter(|cached| !cached.sacked)
    }
}
