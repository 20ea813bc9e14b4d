//! Sets of octets by sequence number.

use std::collections::VecDeque;

use handfast_core::SeqNum;

/// Disjoint ranges that do not touch, in order; `start` inclusive, `end` exclusive. All lie within 2^31 of each other, because what
/// is acknowledged is forgotten; of what does not, the order means nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranges(VecDeque<(SeqNum, SeqNum)>);

impl Ranges {
    /// How many there are.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first range.
    pub(crate) fn first(&self) -> Option<(SeqNum, SeqNum)> {
        self.0.front().copied()
    }

    /// Adds octets; beyond `most` ranges the first one is forgotten.
    pub(crate) fn insert(&mut self, start: SeqNum, end: SeqNum, most: usize) {
        let first = self.0.partition_point(|range| range.1.before(start));
        let behind = self.0.partition_point(|range| !range.0.after(end)).max(first);
        let (mut from, mut to) = (start, end);
        for (a, b) in self.0.drain(first..behind) {
            from = if a.before(from) { a } else { from };
            to = if b.after(to) { b } else { to };
        }
        self.0.insert(first, (from, to));
        self.bound(most);
    }

    fn bound(&mut self, most: usize) {
        while self.0.len() > most {
            self.0.pop_front();
        }
    }

    /// Whether an octet is so far from what is there that order means nothing any more.
    pub(crate) fn is_far_from(&self, seq: SeqNum) -> bool {
        self.0.front().is_some_and(|range| range.0.distance(seq).unsigned_abs() > 1 << 30)
    }

    /// Takes octets out; beyond `most` ranges the first one is forgotten.
    pub(crate) fn remove(&mut self, start: SeqNum, end: SeqNum, most: usize) {
        let first = self.0.partition_point(|range| !range.1.after(start));
        let behind = self.0.partition_point(|range| range.0.before(end)).max(first);
        let cut: Vec<_> = self.0.drain(first..behind).collect();
        let left = cut.first().filter(|range| range.0.before(start)).map(|range| (range.0, start));
        let right = cut.last().filter(|range| range.1.after(end)).map(|range| (end, range.1));
        for (at, rest) in (first..).zip(left.into_iter().chain(right)) {
            self.0.insert(at, rest);
        }
        self.bound(most);
    }

    /// Forgets what comes before `ack`.
    pub(crate) fn forget_below(&mut self, ack: SeqNum) {
        while let Some(range) = self.0.front_mut()
            && range.0.before(ack)
        {
            if range.1.after(ack) {
                range.0 = ack;
            } else {
                self.0.pop_front();
            }
        }
    }

    /// The first range that reaches beyond `seq`.
    pub(crate) fn beyond(&self, seq: SeqNum) -> Option<(SeqNum, SeqNum)> {
        self.0.get(self.0.partition_point(|range| !range.1.after(seq))).copied()
    }

    /// Whether all of these octets are there.
    pub(crate) fn cover(&self, start: SeqNum, end: SeqNum) -> bool {
        let at = self.0.partition_point(|range| !range.1.after(start));
        self.0.get(at).is_some_and(|range| !range.0.after(start) && !range.1.before(end))
    }

    /// Whether one of these octets is there.
    pub(crate) fn touch(&self, start: SeqNum, end: SeqNum) -> bool {
        let at = self.0.partition_point(|range| !range.1.after(start));
        self.0.get(at).is_some_and(|range| range.0.before(end))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Copy, Debug)]
    enum Op {
        Insert,
        Remove,
        Forget,
    }

    proptest! {
        #[test]
        fn they_are_sets_of_octets(
            isn in any::<u32>(),
            ops in prop::collection::vec((prop::sample::select(vec![Op::Insert, Op::Insert, Op::Remove, Op::Forget]), 0u32..40, 1u32..12), 0..40),
        ) {
            let (mut ranges, mut octets) = (Ranges::default(), [false; 64]);
            let seq = |at: u32| SeqNum(isn) + at;
            for (op, start, len) in ops {
                let (from, end) = (seq(start), seq(start + len));
                let span = start as usize..(start + len) as usize;
                match op {
                    Op::Insert => {
                        ranges.insert(from, end, 64);
                        octets[span.clone()].fill(true);
                    }
                    Op::Remove => {
                        ranges.remove(from, end, 64);
                        octets[span.clone()].fill(false);
                    }
                    Op::Forget => {
                        ranges.forget_below(from);
                        octets[..start as usize].fill(false);
                    }
                }
                prop_assert_eq!(ranges.cover(from, end), octets[span.clone()].iter().all(|&octet| octet));
                prop_assert_eq!(ranges.touch(from, end), octets[span].iter().any(|&octet| octet));
                let runs = octets.chunk_by(|a, b| a == b).filter(|run| run[0]).count();
                prop_assert_eq!(ranges.len(), runs);
            }
        }
    }

    #[test]
    fn an_octet_is_far_from_the_first_beyond_a_quarter_of_the_sequence_space() {
        let mut ranges = Ranges::default();
        assert!(!ranges.is_far_from(SeqNum(1 << 31)), "there is nothing to be far from");
        let first = SeqNum(u32::MAX - 5);
        ranges.insert(first, first + 10, 3);
        for (distance, far) in [(0, false), (1 << 30, false), ((1 << 30) + 1, true)] {
            assert_eq!(ranges.is_far_from(first + distance), far, "{distance} ahead");
            assert_eq!(ranges.is_far_from(first - distance), far, "{distance} behind");
        }
    }

    #[test]
    fn beyond_the_bound_the_first_is_forgotten() {
        let mut ranges = Ranges::default();
        for at in 0..5 {
            ranges.insert(SeqNum(at * 10), SeqNum(at * 10 + 5), 3);
        }
        assert_eq!(ranges.len(), 3);
        ranges.remove(SeqNum(31), SeqNum(32), 3);
        assert_eq!(ranges.len(), 3, "a range cut in two counts twice");
        assert!(!ranges.touch(SeqNum(20), SeqNum(25)) && ranges.cover(SeqNum(32), SeqNum(35)));
    }
}
