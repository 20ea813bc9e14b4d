//! Octets sent more than once, by their last transmission: in the order of the octets, and in the order in which they left.
//!
//! An acknowledgement says of a moment that what left before it is overdue. By time those stand in front (Linux's
//! `tsorted_sent_queue`), so that it costs what it finds, not what is in flight.

use std::collections::VecDeque;

use handfast_core::Instant;

use super::criterion::Stamp;
use crate::send::scoreboard::Range;
use crate::trim::trim;

/// The last transmission of octets sent more than once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Again {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) at: Instant,
    /// It is lost as well.
    pub(super) lost: bool,
}

impl Again {
    fn stamp(&self) -> Stamp {
        Stamp { at: self.at, end: self.end }
    }

    /// Its octets in `low .. high`.
    fn within(&self, low: u64, high: u64) -> u64 {
        self.end.min(high).saturating_sub(self.start.max(low))
    }
}

/// All of them that are outstanding.
#[derive(Clone, Debug, Default)]
pub(super) struct Repetitions {
    /// Sorted, disjoint.
    runs: VecDeque<Again>,
    /// Those that are not lost, in the order in which they left.
    in_flight: VecDeque<Stamp>,
    /// Where those begin that are lost, in the order of the octets.
    lost: VecDeque<u64>,
}

impl Repetitions {
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.runs.len()
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Again> {
        self.runs.iter()
    }

    /// Where the first one stands that ends beyond an octet.
    #[inline]
    pub(super) fn index(&self, octet: u64) -> usize {
        match self.runs.back() {
            Some(last) if octet < last.end => self.runs.partition_point(|run| run.end <= octet),
            _ => self.runs.len(),
        }
    }

    #[inline]
    pub(super) fn get(&self, i: usize) -> Option<&Again> {
        self.runs.get(i)
    }

    /// The one that holds an octet.
    pub(super) fn holding(&self, octet: u64) -> Option<&Again> {
        self.get(self.index(octet)).filter(|run| run.start <= octet)
    }

    /// Whether one is in the network.
    pub(super) fn is_in_flight(&self) -> bool {
        !self.in_flight.is_empty()
    }

    /// Octets in `low .. high` that are in the network.
    pub(super) fn in_flight_within(&self, low: u64, high: u64) -> u64 {
        let within = self.runs.range(self.index(low)..).take_while(|run| run.start < high);
        within.filter(|run| !run.lost).map(|run| run.within(low, high)).sum()
    }

    /// `range` leaves at `at`, no octet of which is here. What left with the octets before it belongs to those.
    pub(super) fn push(&mut self, range: Range, at: Instant) {
        let i = self.index(range.start);
        if let Some(last) = i.checked_sub(1).and_then(|i| self.runs.get_mut(i))
            && (last.end, last.at, last.lost) == (range.start, at, false)
        {
            let stamp = last.stamp();
            last.end = range.end;
            if let Some(place) = self.in_flight.iter_mut().rfind(|s| **s == stamp) {
                place.end = range.end;
            }
        } else {
            self.insert(i, Again { start: range.start, end: range.end, at, lost: false });
        }
    }

    /// Puts one to where it stands.
    pub(super) fn insert(&mut self, i: usize, run: Again) {
        self.runs.insert(i, run);
        if run.lost {
            let place = self.lost.partition_point(|&start| start < run.start);
            self.lost.insert(place, run.start);
            return;
        }
        let stamp = run.stamp();
        // What leaves now leaves last.
        if self.in_flight.back().is_none_or(|&last| last < stamp) {
            self.in_flight.push_back(stamp);
        } else {
            let place = self.in_flight.partition_point(|&other| other < stamp);
            self.in_flight.insert(place, stamp);
        }
    }

    /// Takes one out.
    pub(super) fn remove(&mut self, i: usize) -> Option<Again> {
        let run = self.take(i)?;
        if self.runs.is_empty() {
            trim(&mut self.runs);
            trim(&mut self.in_flight);
            trim(&mut self.lost);
        }
        Some(run)
    }

    fn take(&mut self, i: usize) -> Option<Again> {
        let run = self.runs.remove(i)?;
        if run.lost {
            let place = self.lost.partition_point(|&start| start < run.start);
            self.lost.remove(place);
            return Some(run);
        }
        let stamp = run.stamp();
        // Most arrive in the order in which they left.
        if self.in_flight.front() == Some(&stamp) {
            self.in_flight.pop_front();
        } else {
            let place = self.in_flight.partition_point(|&other| other < stamp);
            self.in_flight.remove(place);
        }
        Some(run)
    }

    /// Those in the network that left before `newest`, in the order in which they did.
    pub(super) fn older(&self, newest: Stamp) -> impl DoubleEndedIterator<Item = &Stamp> {
        let older = match self.in_flight.front() {
            Some(&first) if first < newest => self.in_flight.partition_point(|&stamp| stamp < newest),
            _ => 0,
        };
        self.in_flight.range(..older)
    }

    /// The first `count` of those in the network are lost; tells each.
    pub(super) fn lose(&mut self, count: usize, mut each: impl FnMut(&Again)) {
        for stamp in self.in_flight.drain(..count) {
            let i = self.runs.partition_point(|run| run.end < stamp.end);
            let Some(run) = self.runs.get_mut(i) else { continue };
            run.lost = true;
            let place = self.lost.partition_point(|&start| start < run.start);
            self.lost.insert(place, run.start);
            each(run);
        }
    }

    /// Those that are lost, the lowest first.
    pub(super) fn lost(&self) -> impl Iterator<Item = &Again> {
        self.lost.iter().filter_map(|&start| self.holding(start))
    }

    /// Judges all of them anew: whether each is lost. None lies on both sides of `split`.
    pub(super) fn judge(&mut self, split: u64, is_lost: impl Fn(&Again) -> bool) {
        self.split(split);
        for run in &mut self.runs {
            run.lost = is_lost(run);
        }
        self.sort();
    }

    fn split(&mut self, position: u64) {
        let i = self.index(position);
        if let Some(run) = self.runs.get_mut(i).filter(|run| run.start < position) {
            let above = Again { start: position, ..*run };
            run.end = position;
            self.runs.insert(i + 1, above);
        }
    }

    /// Lost ones that touch become one, as if all had left with the earlier: should they arrive after all, it says less.
    pub(super) fn merge_lost(&mut self) {
        let runs = std::mem::take(&mut self.runs);
        for run in runs {
            match self.runs.back_mut() {
                Some(last) if last.lost && run.lost && last.end == run.start => {
                    last.end = run.end;
                    last.at = last.at.min(run.at);
                }
                _ => self.runs.push_back(run),
            }
        }
        self.sort();
    }

    /// What follows from `runs`.
    fn sort(&mut self) {
        self.lost = self.runs.iter().filter(|run| run.lost).map(|run| run.start).collect();
        self.in_flight = self.runs.iter().filter(|run| !run.lost).map(Again::stamp).collect();
        self.in_flight.make_contiguous().sort_unstable();
    }
}

#[cfg(test)]
impl Repetitions {
    pub(super) fn room(&self) -> usize {
        self.runs.capacity() + self.in_flight.capacity() + self.lost.capacity()
    }

    /// What is kept beside the runs is what a walk through them finds.
    pub(super) fn check(&self) {
        let mut anew = self.clone();
        anew.sort();
        assert_eq!((&self.lost, &self.in_flight), (&anew.lost, &anew.in_flight));
        assert!(self.runs.iter().all(|run| run.start < run.end));
        let pairs = self.runs.iter().zip(self.runs.iter().skip(1));
        assert!(pairs.into_iter().all(|(run, next)| run.end <= next.start), "sorted, disjoint");
    }
}
