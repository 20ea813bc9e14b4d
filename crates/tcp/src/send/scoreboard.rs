//! What the receiver has selectively acknowledged: the scoreboard of RFC 6675 §4.
//!
//! Kept as ranges, not as a list of segments: its size follows the number of holes, and each question of RFC 6675 has
//! the same answer for every octet of a hole. How much is SACKed below a position is a running sum: each acknowledgement costs what it
//! says, not how many holes there are.

use std::cell::Cell;

use smallvec::SmallVec;

use crate::inline_list::reset_to_inline;

/// RFC 6675 §2: `DupThresh`.
pub(crate) const DUP_THRESH: u32 = 3;

/// Ranges kept at most: a peer that SACKs every other byte must not make us hold more. Beyond it the lowest range is
/// forgotten, as if it had never been acknowledged.
const MAX_RANGES: usize = 4096;

/// Octets `start .. end` of the send stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

/// SACKed ranges above SND.UNA: sorted, disjoint, not adjacent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scoreboard {
    /// The first two in place: flows that share a full queue with thousands of others have no more, and hold theirs in memory
    /// that they have not touched for long.
    ranges: SmallVec<[Range; 2]>,
    sacked: u64,
    /// What the last question for octets below a position found: the next one mostly asks for the same place, or one nearby.
    below: Cell<Below>,
}

/// So many octets are SACKed below a position.
#[derive(Clone, Copy, Debug, Default)]
struct Below {
    upto: u64,
    octets: u64,
}

impl Below {
    #[inline]
    fn part(self, r: Range) -> u64 {
        r.end.min(self.upto).saturating_sub(r.start)
    }
}

impl Scoreboard {
    /// `RACK.segs_sacked` (RFC 8985 §5.3), as far as octets tell: at least so many segments are SACKed.
    pub(crate) fn segments(&self, smss: u64) -> u64 {
        self.sacked.div_ceil(smss).max(self.ranges.len() as u64)
    }

    /// How many ranges it holds.
    pub(crate) fn len(&self) -> usize {
        self.ranges.len()
    }

    /// What is SACKed, the lowest range first.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = Range> {
        self.ranges.iter().copied()
    }

    /// Whether nothing is SACKed.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.sacked == 0
    }

    /// One past the highest SACKed octet.
    #[inline]
    pub(crate) fn highest(&self) -> Option<u64> {
        if self.is_empty() { None } else { self.ranges.last().map(|r| r.end) }
    }

    /// Marks `start .. end`; returns how many octets that adds.
    pub(crate) fn insert(&mut self, start: u64, end: u64) -> u64 {
        let before = self.sacked;
        let first = self.ranges.partition_point(|r| r.end < start);
        // RFC 2018 §4: each block comes several times, lest an acknowledgement is lost. Most say nothing new.
        if self.ranges.get(first).is_some_and(|r| r.start <= start && end <= r.end) {
            return 0;
        }
        let last = first + self.ranges[first..].iter().take_while(|r| r.start <= end).count();
        let mut merged = Range { start, end };
        let below = self.below.get_mut();
        for &r in &self.ranges[first..last] {
            merged = Range { start: merged.start.min(r.start), end: merged.end.max(r.end) };
            self.sacked -= r.end - r.start;
            below.octets -= below.part(r);
        }
        below.octets += below.part(merged);
        if last == first {
            self.ranges.insert(first, merged);
        } else {
            self.ranges[first] = merged;
            self.ranges.drain(first + 1..last);
        }
        self.sacked += merged.end - merged.start;
        let added = self.sacked - before;
        if self.ranges.len() > MAX_RANGES {
            let lowest = self.ranges.remove(0);
            self.sacked -= lowest.end - lowest.start;
            let below = self.below.get_mut();
            below.octets -= below.part(lowest);
        }
        added
    }

    /// The cumulative acknowledgement reached `una`. False where it stopped inside a SACKed range: the receiver dropped
    /// data it had acknowledged (RFC 2018 §8).
    #[inline]
    pub(crate) fn advance(&mut self, una: u64) -> bool {
        self.is_empty() || self.pass(una)
    }

    #[inline(never)]
    fn pass(&mut self, una: u64) -> bool {
        let passed = self.ranges.iter().take_while(|r| r.end <= una).count();
        let below = self.below.get_mut();
        for r in self.ranges.drain(..passed) {
            self.sacked -= r.end - r.start;
            below.octets -= below.part(r);
        }
        reset_to_inline(&mut self.ranges);
        self.ranges.first().is_none_or(|front| front.start > una)
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.ranges.clear();
        reset_to_inline(&mut self.ranges);
        self.sacked = 0;
        self.below = Cell::default();
    }

    /// The SACKed range that holds `at`, if one does.
    #[inline]
    pub(crate) fn holding(&self, at: u64) -> Option<Range> {
        // Most of the time there is none, and no search is needed.
        if self.highest()? <= at {
            return None;
        }
        let i = self.ranges.partition_point(|r| r.end <= at);
        self.ranges.get(i).copied().filter(|r| r.start <= at)
    }

    /// The first SACKed octet at or after `at`.
    #[inline]
    pub(crate) fn next_start(&self, at: u64) -> Option<u64> {
        if self.highest()? <= at {
            return None;
        }
        let i = self.ranges.partition_point(|r| r.start < at);
        self.ranges.get(i).map(|r| r.start)
    }

    /// The first octet at or after `at` that is not SACKed, and the first SACKed one beyond it.
    #[inline]
    fn unsacked(&self, at: u64) -> (u64, Option<u64>) {
        if self.highest().is_none_or(|highest| highest <= at) {
            return (at, None);
        }
        let i = self.ranges.partition_point(|r| r.end <= at);
        let holding = self.ranges.get(i).filter(|r| r.start <= at);
        let next = self.ranges.get(i + usize::from(holding.is_some()));
        (holding.map_or(at, |r| r.end), next.map(|r| r.start))
    }

    /// The first part of `start .. end` that is not SACKed, if there is one.
    pub(crate) fn gap(&self, start: u64, end: u64) -> Option<Range> {
        let (start, sacked) = self.unsacked(start);
        let end = sacked.map_or(end, |sacked| sacked.min(end));
        (start < end).then_some(Range { start, end })
    }

    /// SACKed octets in `.. upto`.
    #[inline]
    pub(crate) fn sacked_below(&self, upto: u64) -> u64 {
        if self.is_empty() { 0 } else { self.count_below(upto) }
    }

    #[inline(never)]
    fn count_below(&self, upto: u64) -> u64 {
        if self.highest().is_none_or(|h| h <= upto) {
            return self.sacked;
        }
        let known = self.below.get();
        let octets = if known.upto <= upto {
            known.octets + self.between(known.upto, upto)
        } else {
            known.octets - self.between(upto, known.upto)
        };
        self.below.set(Below { upto, octets });
        octets
    }

    /// SACKed octets in `low .. high`.
    fn between(&self, low: u64, high: u64) -> u64 {
        if low == high {
            return 0;
        }
        let first = self.ranges.partition_point(|r| r.end <= low);
        let within = self.ranges[first..].iter().take_while(|r| r.start < high);
        within.map(|r| r.end.min(high) - r.start.max(low)).sum()
    }

    /// RFC 6675 §4 `IsLost`: every octet below the returned position that is not SACKed is lost. Above it, nothing is:
    /// fewer than `DupThresh` discontiguous ranges and at most (`DupThresh` - 1) * SMSS octets are SACKed beyond.
    pub(crate) fn lost_below(&self, smss: u64, dup_thresh: u32) -> u64 {
        self.edge_of_loss(smss, dup_thresh).0
    }

    /// [`Scoreboard::lost_below`], and how many octets are SACKed above it.
    fn edge_of_loss(&self, smss: u64, dup_thresh: u32) -> (u64, u64) {
        let mut octets = 0;
        for (count, r) in self.ranges.iter().rev().enumerate() {
            octets += r.end - r.start;
            if count as u32 + 1 >= dup_thresh || octets > u64::from(dup_thresh - 1) * smss {
                return (r.start, octets);
            }
        }
        (0, octets)
    }

    /// RFC 6675 §4 `SetPipe`: an estimate of the octets in flight, for SND.UNA `una`, `HighData` `high_data` and `HighRxt`
    /// `high_rxt` (each one past the octet that the RFC names).
    pub(crate) fn pipe(&self, una: u64, high_data: u64, high_rxt: u64, smss: u64, dup_thresh: u32) -> u64 {
        // What is acknowledged has left the ranges, and where one begins at SND.UNA all were cleared as reneged: `advance`.
        debug_assert!(self.ranges.first().is_none_or(|range| range.start > una), "SACKed at SND.UNA");
        let (lost, sacked_above) = self.edge_of_loss(smss, dup_thresh);
        // Step (a): octets not SACKed and not lost. Step (b): octets retransmitted, lost or not.
        let not_lost = (high_data - lost.max(una)) - sacked_above;
        let high_rxt = high_rxt.max(una);
        let retransmitted = (high_rxt - una) - self.sacked_below(high_rxt);
        not_lost + retransmitted
    }

    /// The first hole at or after `from` that ends below the highest SACKed octet: rules (1.a) and (1.b) of `NextSeg`.
    pub(crate) fn hole(&self, from: u64) -> Option<Range> {
        let (start, sacked) = self.unsacked(from);
        sacked.map(|end| Range { start, end })
    }

    /// The last hole's end: the highest octet outstanding that is not SACKed lies below it.
    pub(crate) fn last_unsacked(&self, una: u64, high_data: u64) -> Option<Range> {
        let Some(&last) = self.ranges.last() else {
            return (una < high_data).then_some(Range { start: una, end: high_data });
        };
        if last.end < high_data {
            return Some(Range { start: last.end, end: high_data });
        }
        let below = self.ranges.len().checked_sub(2).map_or(una, |i| self.ranges[i].end);
        (below < last.start).then_some(Range { start: below, end: last.start })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn board(ranges: &[(u64, u64)]) -> Scoreboard {
        let mut b = Scoreboard::default();
        for &(s, e) in ranges {
            b.insert(s, e);
        }
        b
    }

    #[test]
    fn lost_needs_three_ranges_or_more_than_two_segments_above() {
        // RFC 6675 §4 IsLost, SMSS 10.
        assert_eq!(
            board(&[(10, 20), (30, 40)]).lost_below(10, DUP_THRESH),
            0,
            "two ranges, 20 octets: not more than 2 * SMSS"
        );
        assert_eq!(board(&[(10, 20), (30, 41)]).lost_below(10, DUP_THRESH), 10, "21 octets");
        assert_eq!(board(&[(10, 11), (13, 14), (16, 17)]).lost_below(10, DUP_THRESH), 10, "three ranges");
        assert_eq!(board(&[(10, 11), (13, 14), (16, 17), (20, 21)]).lost_below(10, DUP_THRESH), 13);
        assert_eq!(board(&[(10, 31)]).lost_below(10, DUP_THRESH), 10);
        assert_eq!(board(&[(10, 30)]).lost_below(10, DUP_THRESH), 0);
    }

    #[test]
    fn ranges_that_touch_are_one() {
        // RFC 6675 §4: IsLost counts discontiguous sequences.
        for ranges in [[(10, 20), (20, 30)], [(20, 30), (10, 20)], [(10, 25), (15, 30)]] {
            assert_eq!(board(&ranges).ranges[..], [Range { start: 10, end: 30 }], "{ranges:?}");
        }
        assert_eq!(board(&[(10, 20), (21, 30)]).ranges.len(), 2);
    }

    #[test]
    fn pipe_counts_what_is_not_lost_and_what_was_sent_again() {
        let b = board(&[(10, 40)]);
        // una 0, 100 sent: 0..10 lost, 40..100 in flight.
        assert_eq!(b.pipe(0, 100, 0, 10, DUP_THRESH), 60);
        // 0..10 sent again.
        assert_eq!(b.pipe(0, 100, 10, 10, DUP_THRESH), 70);
        // Not lost but sent again counts twice (RFC 6675 §4, SetPipe (a) and (b)).
        assert_eq!(board(&[(10, 20)]).pipe(0, 100, 10, 10, DUP_THRESH), 100);
    }

    #[test]
    fn reneging_shows_when_the_acknowledgement_stops_inside_a_range() {
        let mut b = board(&[(10, 20), (30, 40)]);
        assert!(b.clone().advance(5));
        assert!(b.clone().advance(20));
        assert!(!b.clone().advance(15));
        assert!(!b.clone().advance(10));
        assert!(b.advance(25));
        assert_eq!(b.sacked, 10);
    }

    #[test]
    fn once_it_is_empty_it_stands_in_place_again() {
        let mut acknowledged = board(&[(10, 20), (30, 40), (50, 60)]);
        let mut cleared = acknowledged.clone();
        acknowledged.advance(40);
        assert!(acknowledged.ranges.spilled(), "there is one left");
        acknowledged.advance(60);
        cleared.clear();
        assert!(!acknowledged.ranges.spilled() && !cleared.ranges.spilled());
    }

    #[test]
    fn a_hostile_peer_cannot_grow_it() {
        let mut b = Scoreboard::default();
        for k in 0..3 * MAX_RANGES as u64 {
            b.insert(2 * k, 2 * k + 1);
        }
        assert_eq!(b.ranges.len(), MAX_RANGES);
        assert_eq!(b.sacked, MAX_RANGES as u64);
        // What is forgotten no longer counts below a position either.
        let lowest = 2 * 2 * MAX_RANGES as u64;
        assert_eq!(b.sacked_below(lowest + 3), 2);
        b.insert(6 * MAX_RANGES as u64, 6 * MAX_RANGES as u64 + 1);
        assert_eq!(b.sacked_below(lowest + 3), 1);
    }

    #[test]
    fn the_highest_hole_is_found_for_the_rescue_retransmission() {
        assert_eq!(board(&[(10, 20)]).last_unsacked(0, 30), Some(Range { start: 20, end: 30 }));
        assert_eq!(board(&[(10, 20), (25, 30)]).last_unsacked(0, 30), Some(Range { start: 20, end: 25 }));
        assert_eq!(board(&[(10, 30)]).last_unsacked(0, 30), Some(Range { start: 0, end: 10 }));
        assert_eq!(board(&[(0, 30)]).last_unsacked(0, 30), None);
        // Nothing SACKed: everything outstanding.
        assert_eq!(board(&[]).last_unsacked(10, 30), Some(Range { start: 10, end: 30 }));
        assert_eq!(board(&[]).last_unsacked(30, 30), None);
    }

    #[derive(Clone, Copy, Debug)]
    enum Op {
        Sack { start: u64, len: u64 },
        Advance { una: u64 },
        Renege,
        Ask { upto: u64 },
    }

    fn op() -> impl Strategy<Value = Op> {
        prop_oneof![
            6 => (1u64..200, 1u64..12).prop_map(|(start, len)| Op::Sack { start, len }),
            1 => (0u64..40).prop_map(|una| Op::Advance { una }),
            1 => Just(Op::Renege),
            6 => (0u64..220).prop_map(|upto| Op::Ask { upto }),
        ]
    }

    proptest! {
        /// Against a set of octets: every question answered octet by octet, as RFC 6675 words it.
        #[test]
        fn agrees_with_a_set_of_octets(
            sacks in prop::collection::vec((1u64..60, 1u64..8), 0..12),
            una in 0u64..10,
            high_rxt in 0u64..60,
        ) {
            let high_data = 70;
            let mut b = Scoreboard::default();
            let mut octets = [false; 70];
            for (start, len) in sacks {
                let start = start.max(una + 1);
                let end = start + len;
                let fresh = (start..end).filter(|&i| !octets[i as usize]).count() as u64;
                octets[start as usize..end as usize].fill(true);
                prop_assert_eq!(b.insert(start, end), fresh);
            }
            let is_lost = |at: u64| {
                let above: Vec<bool> = (at + 1..high_data).map(|i| octets[i as usize]).collect();
                let runs = above.iter().enumerate().filter(|&(i, &s)| s && (i == 0 || !above[i - 1])).count();
                runs >= 3 || above.iter().filter(|&&s| s).count() > 2 * 3
            };
            let mut pipe = 0;
            for at in una..high_data {
                prop_assert_eq!(b.holding(at).is_some(), octets[at as usize]);
                if !octets[at as usize] {
                    prop_assert_eq!(at < b.lost_below(3, DUP_THRESH), is_lost(at), "octet {}", at);
                    pipe += u64::from(!is_lost(at)) + u64::from(at < high_rxt);
                }
            }
            prop_assert_eq!(b.pipe(una, high_data, high_rxt, 3, DUP_THRESH), pipe);
            prop_assert_eq!(b.sacked, octets.iter().filter(|&&s| s).count() as u64);
        }

        /// The running sum is what a walk through all ranges finds, whatever has come between two questions.
        #[test]
        fn octets_below_a_position_are_counted_as_by_a_walk(ops in prop::collection::vec(op(), 0..60)) {
            let (mut b, mut una) = (Scoreboard::default(), 0);
            for op in ops {
                match op {
                    Op::Sack { start, len } if start > una => {
                        b.insert(start, start + len);
                    }
                    Op::Sack { .. } => {}
                    Op::Advance { una: further } => {
                        una = (una + further).min(200);
                        if !b.advance(una) {
                            b.clear();
                        }
                    }
                    Op::Renege => b.clear(),
                    Op::Ask { upto } => {
                        let walk = |upto: u64| -> u64 {
                            b.ranges.iter().map(|r| r.end.min(upto).saturating_sub(r.start)).sum()
                        };
                        prop_assert_eq!(b.sacked_below(upto), walk(upto));
                        prop_assert_eq!(b.sacked, walk(u64::MAX));
                    }
                }
            }
        }
    }
}
