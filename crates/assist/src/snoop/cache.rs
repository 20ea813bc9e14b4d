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
    /// Bytes of the IP packet.
    pub(super) ip_len: u32,
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
    /// How many of them the mobile has.
    sacked: usize,
}

/// What an acknowledgment has let go of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Freed {
    /// When the last of it was sent.
    pub(super) sent: Instant,
    /// Whether each came by itself, in order.
    pub(super) clean: bool,
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
        // Nearly all that comes is new, and nearly all acknowledgments are for the first.
        match (self.segments.front(), self.segments.back()) {
            (Some(first), _) if !first.seq.before(seq) => return 0,
            (_, Some(last)) if last.seq.before(seq) => return self.segments.len(),
            _ => {}
        }
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
    #[inline]
    pub(super) fn insert(&mut self, cached: Cached) -> bool {
        let place = self.place(cached.seq);
        let after = |one: &Cached| cached.end().after(one.seq);
        let before = |one: &Cached| one.end().after(cached.seq);
        let overlaps = self.segments.get(place).is_some_and(after)
            || place.checked_sub(1).and_then(|place| self.segments.get(place)).is_some_and(before);
        if !overlaps {
            self.bytes += u64::from(cached.ip_len);
            self.segments.insert(place, cached);
        }
        !overlaps
    }

    /// Lets go of all that ends at or before `ack`; [`None`]: there is nothing.
    pub(super) fn acknowledge(&mut self, ack: SeqNum) -> Option<Freed> {
        let (mut freed, mut clean) = (None, true);
        while let Some(cached) = self.segments.front().filter(|cached| !cached.end().after(ack)) {
            self.bytes -= u64::from(cached.ip_len);
            self.sacked -= usize::from(cached.sacked);
            clean &= !(cached.resent || cached.by_sender || cached.sacked);
            freed = Some(Freed { sent: cached.sent, clean });
            self.segments.pop_front();
        }
        freed
    }

    /// The sender has sent the segment at `seq` again; false where it is not here.
    pub(super) fn sent_by_sender(&mut self, now: Instant, seq: SeqNum) -> bool {
        let Some(cached) = self.at(seq) else { return false };
        let was_sacked = std::mem::take(&mut cached.sacked);
        (cached.sent, cached.by_sender) = (now, true);
        self.sacked -= usize::from(was_sacked);
        true
    }

    /// The mobile has these blocks.
    pub(super) fn sack(&mut self, blocks: &[SackBlock]) {
        for SackBlock { start, end } in blocks {
            let first = self.place(*start);
            let inside = self.segments.iter_mut().skip(first).take_while(|cached| !cached.end().after(*end));
            for cached in inside {
                self.sacked += usize::from(!cached.sacked);
                cached.sacked = true;
            }
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
        let any = (self.sacked > 0).then(|| self.segments.iter().rposition(|cached| cached.sacked));
        let known = any.flatten().unwrap_or(0);
        self.segments.iter_mut().take(known).filter(|cached| !cached.sacked)
    }
}
