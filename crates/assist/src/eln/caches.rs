//! The two caches of one connection ([eln] §3.3), and what they say of an acknowledgement (§3.5).

use handfast_core::SeqNum;
use handfast_wire::tcp::Segment;

use crate::ranges::Ranges;

/// Of what an acknowledgement says is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Missing {
    /// It has left for the mobile: the radio has lost it.
    Sent,
    /// The base station itself has dropped some of it, for want of room.
    Discarded,
    /// Some of it never came here.
    Unknown,
}

#[derive(Debug, Default)]
pub(super) struct Caches {
    /// What has left for the mobile.
    sent: Ranges,
    /// What was discarded.
    discarded: Ranges,
}

impl Caches {
    /// "Record SN of the packet at Cache": octets leave for the mobile, be it anew.
    pub(super) fn sent(&mut self, start: SeqNum, end: SeqNum, most: usize) {
        if self.sent.is_far_from(start) || self.discarded.is_far_from(start) {
            *self = Self::default();
        }
        self.sent.insert(start, end, most);
        // A retransmission that gets through takes the place of what was discarded.
        self.discarded.remove(start, end, most);
    }

    /// "Record SN of the packet at discard-recording Cache."
    pub(super) fn discarded(&mut self, start: SeqNum, end: SeqNum, most: usize) {
        self.discarded.insert(start, end, most);
        self.sent.remove(start, end, most);
    }

    /// The mobile has everything before `ack`.
    pub(super) fn acknowledge(&mut self, ack: SeqNum) {
        self.sent.forget_below(ack);
        self.discarded.forget_below(ack);
    }

    /// §3.5, "if there is the SN of ACK at cache of BS": the SN, and with SACK the further holes that it shows.
    pub(super) fn judge(&self, segment: &Segment) -> Missing {
        let holes = holes(segment);
        if holes.iter().any(|&(start, end)| self.discarded.touch(start, end)) {
            Missing::Discarded
        } else if holes.iter().all(|&(start, end)| self.sent.cover(start, end)) {
            Missing::Sent
        } else {
            Missing::Unknown
        }
    }
}

/// What an acknowledgement shows to be missing: up to its first SACK block and between those; without any the octet asked for.
fn holes(segment: &Segment) -> Vec<(SeqNum, SeqNum)> {
    let ack = segment.ack;
    let mut blocks: Vec<_> =
        segment.sack.as_slice().iter().filter(|b| b.start.after(ack) && b.end.after(b.start)).collect();
    blocks.sort_unstable_by_key(|block| block.start.distance(ack));
    if blocks.is_empty() {
        return vec![(ack, ack + 1)];
    }
    let (mut from, mut holes) = (ack, Vec::with_capacity(blocks.len()));
    for block in blocks {
        if block.start.after(from) {
            holes.push((from, block.start));
        }
        from = if block.end.after(from) { block.end } else { from };
    }
    holes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nothing is acknowledged where acknowledgements take another way; the next half of the sequence space must not be judged
    /// by what was sent of the last one.
    #[test]
    fn what_is_half_the_sequence_space_away_is_forgotten() {
        for discarded in [false, true] {
            let mut caches = Caches::default();
            let start = SeqNum(7);
            if discarded {
                caches.discarded(start, start + 10, 4);
            } else {
                caches.sent(start, start + 10, 4);
            }
            let far = start + (1 << 30) + 1;
            caches.sent(far, far + 10, 4);
            assert!(!caches.sent.touch(start, start + 10) && !caches.discarded.touch(start, start + 10));
            assert!(caches.sent.cover(far, far + 10));
        }
    }
}
