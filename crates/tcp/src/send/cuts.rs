//! Where segments end, for a sender that lets a SACK block count whole segments only (Linux's `tcp_match_skb_to_sack`).

use std::collections::VecDeque;

use super::scoreboard::Range;
use crate::trim::trim;

/// Ends of the segments that are outstanding: as many as those, which the send buffer bounds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cuts {
    /// In order. Each segment that leaves asks how many there are, so that is a difference of two places.
    ends: VecDeque<u64>,
    una: u64,
    latest: u64,
    /// Segments that were acknowledged, and those of them that the last acknowledgement brought.
    acknowledged: u64,
    newly: u64,
}

impl Cuts {
    /// A segment leaves.
    pub(super) fn insert(&mut self, start: u64, end: u64) {
        self.latest = start;
        // Nearly all are new.
        if self.ends.back().is_none_or(|&last| last < end) {
            self.ends.push_back(end);
        } else if let Err(place) = self.ends.binary_search(&end) {
            self.ends.insert(place, end);
        }
    }

    /// Where the segment begins that left last.
    pub(super) fn latest(&self) -> u64 {
        self.latest
    }

    /// All before `una` is acknowledged, where a segment begins.
    pub(super) fn advance(&mut self, una: u64) {
        self.newly = self.count(self.una, una);
        self.acknowledged += self.newly;
        self.una = una;
        while self.ends.front().is_some_and(|&end| end <= una) {
            self.ends.pop_front();
        }
        trim(&mut self.ends);
        self.ends.push_front(una);
    }

    /// How many segments end at `end` or before.
    fn until(&self, end: u64) -> usize {
        // Nearly all ask for `una` or the last end, and a search through a large window misses the cache.
        if self.ends.back().is_none_or(|&last| last <= end) {
            return self.ends.len();
        }
        if self.ends.get(1).is_none_or(|&second| second > end) {
            return self.ends.front().map_or(0, |&first| usize::from(first <= end));
        }
        self.ends.partition_point(|&other| other <= end)
    }

    pub(super) fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    pub(super) fn newly_acknowledged(&self) -> u64 {
        self.newly
    }

    /// How many segments end behind `una`, up to `max`.
    pub(super) fn count(&self, una: u64, max: u64) -> u64 {
        self.until(max).saturating_sub(self.until(una)) as u64
    }

    /// Where the last segment begins that ends at `end`.
    pub(super) fn last_before(&self, end: u64) -> Option<u64> {
        let place = self.ends.partition_point(|&other| other < end);
        self.ends.get(place.checked_sub(1)?).copied()
    }

    /// Where the last segment outstanding ends that is longer than `smss`; the first begins at `una`.
    pub(super) fn longer(&self, una: u64, smss: u64) -> Option<u64> {
        let mut start = una;
        let first = self.until(una);
        let longer = self.ends.range(first..).filter(|&&end| end - std::mem::replace(&mut start, end) > smss);
        longer.last().copied()
    }

    /// The whole segments of a block; [`None`]: it has none.
    pub(super) fn whole(&self, block: Range) -> Option<Range> {
        let start = *self.ends.get(self.ends.partition_point(|&end| end < block.start))?;
        let end = *self.ends.get(self.until(block.end).checked_sub(1)?)?;
        (start < end).then_some(Range { start, end })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_kept_in_order_and_once_and_a_burst_s_memory_is_given_back() {
        let mut cuts = Cuts::default();
        cuts.advance(0);
        for end in (1..=10_000).rev().step_by(2).chain(1..=10_000) {
            cuts.insert(end - 1, end);
        }
        assert_eq!(
            [(0, 10_000), (0, 3), (9_999, u64::MAX)].map(|(una, max)| cuts.count(una, max)),
            [10_000, 3, 1]
        );
        cuts.advance(10_000);
        assert_eq!((cuts.newly_acknowledged(), cuts.count(0, u64::MAX)), (10_000, 1));
        assert!(cuts.ends.capacity() < 1_000, "{}", cuts.ends.capacity());
    }

    #[test]
    fn ends_are_counted_from_the_first_to_beyond_the_last() {
        let mut cuts = Cuts::default();
        assert_eq!(cuts.count(0, u64::MAX), 0);
        for known in 0..5 {
            for una in 0..=known * 10 + 1 {
                let ends = |at: u64| (0..=known).filter(|end| end * 10 <= at).count() as u64;
                assert_eq!(cuts.until(una) as u64, if known == 0 { 0 } else { ends(una) }, "{known} {una}");
            }
            if known == 0 {
                cuts.advance(0);
            }
            cuts.insert(known * 10, known * 10 + 10);
        }
    }

    #[test]
    fn the_first_segment_is_known_though_nothing_was_acknowledged() {
        let mut cuts = Cuts::default();
        cuts.insert(1, 1461);
        assert_eq!([1460, 1160].map(|smss| cuts.longer(1, smss)), [None, Some(1461)]);
    }

    #[test]
    fn a_block_counts_as_far_as_it_holds_whole_segments() {
        let mut cuts = Cuts::default();
        cuts.advance(1);
        assert_eq!((cuts.acknowledged(), cuts.newly_acknowledged()), (0, 0));
        for (start, end) in [(1, 1001), (1001, 2001), (2001, 2501)] {
            cuts.insert(start, end);
        }
        assert_eq!(cuts.latest(), 2001);
        let whole = |start, end| cuts.whole(Range { start, end }).map(|r| (r.start, r.end));
        assert_eq!(whole(1001, 2501), Some((1001, 2501)));
        assert_eq!(whole(1000, 2500), Some((1001, 2001)));
        assert_eq!(whole(2500, 2501), None);
        assert_eq!(whole(1500, 2400), None);
        assert_eq!([(1, 2501), (1, 2500), (2001, 2501)].map(|(una, max)| cuts.count(una, max)), [3, 2, 1]);
        assert_eq!([2501, 2001, 1].map(|end| cuts.last_before(end)), [Some(2001), Some(1001), None]);
        assert_eq!([1000, 999, 499].map(|smss| cuts.longer(1, smss)), [None, Some(2001), Some(2501)]);
        cuts.advance(1001);
        cuts.advance(2400);
        assert_eq!((cuts.acknowledged(), cuts.newly_acknowledged()), (2, 1));
        assert_eq!(cuts.whole(Range { start: 900, end: 2501 }), Some(Range { start: 2400, end: 2501 }));
    }
}
