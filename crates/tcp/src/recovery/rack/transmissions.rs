//! When what is in flight was last sent, and what of it is lost (RFC 8985 §5.2: `Segment.xmit_ts`, `.retransmitted`, `.lost`).
//!
//! No record a segment, but runs of octets that left at one moment. First transmissions leave in the order of their octets, so
//! what RACK finds lost among them is all that lies below one position; a record of its own is for what was sent again.

use std::cell::Cell;
use std::collections::VecDeque;

use handfast_core::{Duration, Instant};

use super::criterion::{Criterion, Losses, Stamp};
use super::repetitions::{Again, Repetitions};
use crate::send::scoreboard::{Range, Scoreboard};
use crate::trim::trim;

/// Runs of first transmissions kept at most: a window of that many segments. Beyond it, the last run grows, and counts as sent
/// when its newest part was: found lost later, never too early.
pub(super) const MAX_FIRSTS: usize = 1 << 16;

/// Runs sent again kept at most. While they are that many, nothing more is repaired before some of it has arrived or the timer
/// expired: a peer that SACKs every other octet cannot make us hold more.
pub(super) const MAX_AGAIN: usize = 1 << 13;

/// A range without an octet, which the first one widens to itself.
const NOWHERE: Range = Range { start: u64::MAX, end: 0 };

fn widen(range: &mut Range, start: u64, end: u64) {
    *range = Range { start: range.start.min(start), end: range.end.max(end) };
}

/// The transmissions of everything above SND.UNA.
#[derive(Clone, Debug)]
pub(crate) struct Transmissions {
    /// First transmissions: ascending ends, ascending times.
    firsts: VecDeque<Stamp>,
    again: Repetitions,
    /// Every octet below that is neither SACKed nor under way again is lost.
    lost_below: u64,
    /// Octets below `lost_below` that are under way again.
    under_way: u64,
    /// Nothing below waits to be sent again that has been sent once only. A search moves it up, lest the next one walks the same
    /// repetitions.
    from: Cell<u64>,
    /// When the last segment left, and whether it had been sent before.
    last: (Instant, bool),
    /// Outside of it no octet is lost that was not when that was taken last ([`Self::take_changed`]).
    changed: Range,
}

impl Transmissions {
    /// Nothing is in flight; the next octet is `una`.
    pub(crate) fn new(una: u64) -> Self {
        Self {
            firsts: VecDeque::new(),
            again: Repetitions::default(),
            lost_below: una,
            under_way: 0,
            from: Cell::new(una),
            last: (Instant::ZERO, false),
            changed: NOWHERE,
        }
    }

    /// Octets of `start .. end` may have become lost, or no longer be.
    fn note_changed(&mut self, start: u64, end: u64) {
        widen(&mut self.changed, start, end);
    }

    /// Where octets may have become lost, or are no longer, since this was asked last: who wants to know which looks there, not through
    /// all that is outstanding.
    pub(crate) fn take_changed(&mut self) -> Range {
        std::mem::replace(&mut self.changed, NOWHERE)
    }

    /// How many runs it holds.
    pub(crate) fn len(&self) -> usize {
        self.firsts.len() + self.again.len()
    }

    /// Where runs end that left at one moment when they were sent first.
    pub(crate) fn first_ends(&self) -> impl Iterator<Item = u64> {
        self.firsts.iter().map(|run| run.end)
    }

    /// The time to note for a segment that leaves `now`. `RACK_sent_after` goes by the octets where times are equal, which says
    /// which of two new segments left first, not whether a new one or a repeated one did: those get different times.
    fn stamp(&mut self, now: Instant, again: bool) -> Instant {
        let (at, was_again) = self.last;
        let step = Duration::from_nanos(u64::from(again != was_again));
        self.last = (now.max(at + step), again);
        self.last.0
    }

    /// New octets up to `end` leave.
    pub(crate) fn sent(&mut self, end: u64, now: Instant) {
        let at = self.stamp(now, false);
        let full = self.firsts.len() >= MAX_FIRSTS;
        match self.firsts.back_mut() {
            Some(last) if last.at == at || full => *last = Stamp { at, end },
            _ => self.firsts.push_back(Stamp { at, end }),
        }
    }

    /// Octets that had been sent before leave again.
    pub(crate) fn resent(&mut self, range: Range, now: Instant) {
        let at = self.stamp(now, true);
        self.remove(range, |_| ());
        if range.start < self.lost_below {
            // What is lost goes in order, so nothing waits below.
            self.from.set(self.from.get().max(range.end));
        }
        if self.again.len() >= MAX_AGAIN {
            self.note_changed(range.start, range.end);
            return;
        }
        self.under_way += self.below(range.start, range.end);
        self.again.push(range, at);
    }

    /// Octets of `start .. end` below `lost_below`.
    fn below(&self, start: u64, end: u64) -> u64 {
        end.min(self.lost_below).saturating_sub(start)
    }

    /// Forgets retransmissions of `range`, telling each.
    fn remove(&mut self, range: Range, mut each: impl FnMut(Again)) {
        let mut i = self.again.index(range.start);
        while let Some(&run) = self.again.get(i).filter(|r| r.start < range.end) {
            let cut = Again { start: run.start.max(range.start), end: run.end.min(range.end), ..run };
            each(cut);
            if !run.lost {
                self.under_way -= self.below(cut.start, cut.end);
            }
            self.again.remove(i);
            for rest in [Again { end: cut.start, ..run }, Again { start: cut.end, ..run }] {
                i += usize::from(self.put_back(i, rest));
            }
        }
    }

    /// What is left of a run that was cut; forgotten where too many are: then it waits to be sent again.
    fn put_back(&mut self, i: usize, rest: Again) -> bool {
        let kept = rest.start < rest.end && self.again.len() < MAX_AGAIN;
        if kept {
            self.again.insert(i, rest);
        } else if rest.start < rest.end {
            self.note_changed(rest.start, rest.end);
            self.from.set(self.from.get().min(rest.start));
            if !rest.lost {
                self.under_way -= self.below(rest.start, rest.end);
            }
        }
        kept
    }

    /// `range` has arrived, which had neither been acknowledged nor SACKed. Tells the last transmission of each part and whether it
    /// was a repetition; of what was sent once, that of the last octet only.
    pub(crate) fn delivered(&mut self, range: Range, mut each: impl FnMut(Stamp, bool)) {
        let mut upto = range.start;
        let mut original = None;
        if !self.again.is_empty() {
            self.remove(range, |run| {
                if upto < run.start {
                    original = Some(run.start);
                }
                upto = run.end;
                each(Stamp { at: run.at, end: run.end }, true);
            });
        }
        if upto < range.end {
            original = Some(range.end);
        }
        if let Some(end) = original
            && let Some(at) = self.first_sent(end - 1)
        {
            each(Stamp { at, end }, false);
        }
    }

    /// Octets taken for lost, those of them that are under way again included (Linux's `lost_out`).
    pub(crate) fn lost(&self, una: u64, board: &Scoreboard) -> u64 {
        let below = self.lost_below.saturating_sub(una) - board.sacked_below(self.lost_below);
        let beyond = self.again.iter().filter(|run| run.lost);
        below + beyond.map(|run| run.end.saturating_sub(run.start.max(self.lost_below))).sum::<u64>()
    }

    /// Whether an octet is lost that neither has arrived nor is under way again.
    pub(crate) fn is_lost(&self, octet: u64, board: &Scoreboard) -> bool {
        let lost = self.again.holding(octet).map_or(octet < self.lost_below, |run| run.lost);
        lost && board.holding(octet).is_none()
    }

    /// Octets under way again (Linux's `retrans_out`).
    pub(crate) fn under_way_again(&self) -> u64 {
        self.again.iter().filter(|run| !run.lost).map(|run| run.end - run.start).sum()
    }

    /// Nothing that was sent again is outstanding.
    pub(crate) fn sent_once(&self) -> bool {
        self.again.is_empty()
    }

    /// When an octet was first sent.
    pub(crate) fn first_sent(&self, octet: u64) -> Option<Instant> {
        if let Some(oldest) = self.firsts.front().filter(|r| octet < r.end) {
            return Some(oldest.at);
        }
        let i = self.firsts.partition_point(|r| r.end <= octet);
        self.firsts.get(i).map(|r| r.at)
    }

    /// When an octet was sent that never went again.
    pub(crate) fn only_sent(&self, octet: u64) -> Option<Instant> {
        if self.again.holding(octet).is_some() { None } else { self.first_sent(octet) }
    }

    /// When an octet was last sent.
    pub(crate) fn last_sent(&self, octet: u64) -> Option<Instant> {
        self.again.holding(octet).map(|run| run.at).or_else(|| self.first_sent(octet))
    }

    /// The cumulative acknowledgement has reached `una`; what it covers was handed to [`Self::delivered`], where it was not SACKed.
    pub(crate) fn advance(&mut self, una: u64) {
        while self.firsts.front().is_some_and(|r| r.end <= una) {
            self.firsts.pop_front();
        }
        trim(&mut self.firsts);
        self.lost_below = self.lost_below.max(una);
        self.from.set(self.from.get().max(una));
    }

    /// The receiver has dropped what it had SACKed: it may wait below what was repaired.
    pub(crate) fn start_over(&mut self, una: u64) {
        self.note_changed(una, u64::MAX);
        self.from.set(una);
    }

    /// RFC 8985 §6.2 step 5, `RACK_detect_loss`.
    pub(crate) fn detect(&mut self, una: u64, board: &Scoreboard, c: &Criterion) -> Losses {
        let mut found = Losses::default();
        self.detect_firsts(una, board, c, &mut found);
        self.detect_again(c, &mut found);
        found
    }

    fn detect_firsts(&mut self, una: u64, board: &Scoreboard, c: &Criterion, found: &mut Losses) {
        // RACK_sent_after: of what left with the newest delivered, the octets before it.
        let before = self.firsts.partition_point(|run| run.at < c.newest.at);
        let same = self.firsts.get(before).filter(|run| run.at == c.newest.at);
        let older = before.checked_sub(1).map_or(una, |last| self.firsts[last].end);
        let judged = same.map_or(older, |run| run.end.min(c.newest.end).max(older));
        // Times ascend: what has waited long enough comes first.
        let waited = self.firsts.partition_point(|run| c.is_lost(run.at));
        let due = waited.checked_sub(1).map_or(una, |last| self.firsts[last].end).min(judged);
        let lost_below = self.lost_below.max(due);
        if let Some(octet) = self.last_single(lost_below, judged, board) {
            let at = self.first_sent(octet).expect("it lies in a run");
            found.recheck = found.recheck.max(Some(c.due(at)));
        }
        found.octets += self.lose_below(lost_below, una, board);
    }

    /// The last octet of `low .. high` that has been sent once only and not arrived.
    fn last_single(&self, low: u64, high: u64, board: &Scoreboard) -> Option<u64> {
        let mut upto = high;
        while upto > low {
            let octet = upto - 1;
            upto = match (board.holding(octet), self.again.holding(octet)) {
                (Some(sacked), _) => sacked.start,
                (None, Some(run)) => run.start,
                (None, None) => return Some(octet),
            };
        }
        None
    }

    /// Moves `lost_below`; returns the octets that are lost by it.
    fn lose_below(&mut self, position: u64, una: u64, board: &Scoreboard) -> u64 {
        if position <= self.lost_below {
            return 0;
        }
        let before = self.waiting(una, board);
        self.from.set(self.from.get().min(self.lost_below).max(una));
        self.under_way += self.again.in_flight_within(self.lost_below, position);
        self.note_changed(self.lost_below, position);
        self.lost_below = position;
        self.waiting(una, board) - before
    }

    fn recount(&mut self) {
        self.under_way = self.again.in_flight_within(0, self.lost_below);
    }

    fn detect_again(&mut self, c: &Criterion, found: &mut Losses) {
        let Some(last) = self.again.older(c.newest).next_back() else { return };
        if !c.is_lost(last.at) {
            found.recheck = found.recheck.max(Some(c.due(last.at)));
        }
        let lost = self.again.older(c.newest).take_while(|stamp| c.is_lost(stamp.at)).count();
        let Self { again, under_way, lost_below, changed, .. } = self;
        again.lose(lost, |run| {
            let octets = run.end.min(*lost_below).saturating_sub(run.start);
            *under_way -= octets;
            widen(changed, run.start, run.end);
            found.octets += octets;
            found.again = true;
        });
    }

    /// RFC 8985 §6.3, `RACK_mark_losses_on_RTO`: the first segment is lost, and what has waited long enough. `head` is one past the
    /// first segment.
    pub(crate) fn lose_on_timeout(
        &mut self,
        una: u64,
        head: u64,
        board: &Scoreboard,
        patience: Option<Duration>,
        now: Instant,
    ) {
        let is_lost = |at: Instant| patience.is_none_or(|p| at + p <= now);
        let due = self.firsts.iter().take_while(|r| is_lost(r.at)).last().map_or(una, |r| r.end);
        self.again.judge(head, |run| run.lost || run.start < head || is_lost(run.at));
        if self.again.len() > MAX_AGAIN / 2 {
            self.again.merge_lost();
        }
        self.lost_below = self.lost_below.max(due).max(head);
        self.note_changed(una, u64::MAX);
        self.from.set(una);
        self.recount();
        debug_assert!(self.waiting(una, board) > 0, "the first segment is lost");
    }

    /// All below `upto` that has not arrived is lost, whenever it left.
    pub(crate) fn lose_longer(&mut self, una: u64, upto: u64, board: &Scoreboard) {
        self.again.judge(upto, |run| run.lost || run.start < upto);
        self.lose_below(upto, una, board);
        self.note_changed(una, u64::MAX);
        self.from.set(una);
        self.recount();
    }

    /// Nothing is lost after all.
    pub(crate) fn unmark(&mut self, una: u64) {
        self.again.judge(0, |_| false);
        self.note_changed(una, u64::MAX);
        self.lost_below = una;
        self.from.set(una);
        self.under_way = 0;
    }

    /// Octets lost that are not under way again.
    pub(crate) fn waiting(&self, una: u64, board: &Scoreboard) -> u64 {
        let lost = self.lost_below.max(una);
        (lost - una) - board.sacked_below(lost) - self.under_way
    }

    /// Octets in flight up to SND.MAX `max`: neither delivered nor lost.
    pub(crate) fn in_flight(&self, una: u64, max: u64, board: &Scoreboard) -> u64 {
        let lost = self.lost_below.max(una);
        (max - lost) - (board.sacked_below(max) - board.sacked_below(lost)) + self.under_way
    }

    /// The first octets that are lost and not under way again.
    pub(crate) fn next_lost(&self, una: u64, board: &Scoreboard) -> Option<Range> {
        if self.again.len() >= MAX_AGAIN {
            return None;
        }
        let mut lost = self.again.lost().take_while(|run| run.start < self.lost_below);
        let repeated = lost.find_map(|run| board.gap(run.start.max(una), run.end.min(self.lost_below)));
        let from = self.from.get().max(una);
        if repeated.is_some_and(|range| range.start < from) {
            return repeated;
        }
        let once = self.search(from, board);
        self.from.set(from.max(once.map_or(self.lost_below, |range| range.start)));
        [repeated, once].into_iter().flatten().min_by_key(|range| range.start)
    }

    /// The first of what has been sent once only.
    fn search(&self, mut at: u64, board: &Scoreboard) -> Option<Range> {
        while let Some(gap) = board.gap(at, self.lost_below) {
            match self.again.get(self.again.index(gap.start)) {
                Some(run) if run.start <= gap.start => at = run.end,
                Some(run) => return Some(Range { end: gap.end.min(run.start), ..gap }),
                None => return Some(gap),
            }
        }
        None
    }

    /// Octets found lost and under way again.
    pub(crate) fn under_way(&self) -> u64 {
        self.under_way
    }

    /// Whether a retransmission is in the network.
    pub(crate) fn is_repairing(&self) -> bool {
        self.again.is_in_flight()
    }
}

#[cfg(test)]
impl Transmissions {
    /// For how many runs there is room.
    pub(super) fn room(&self) -> usize {
        self.firsts.capacity() + self.again.room()
    }

    /// The running sums, and what is kept in another order, are what a walk through all that is outstanding finds.
    pub(super) fn check(&self, una: u64, board: &Scoreboard) {
        self.again.check();
        let in_flight = self.again.iter().filter(|run| !run.lost);
        assert_eq!(self.under_way, in_flight.map(|run| self.below(run.start, run.end)).sum::<u64>());
        let waits = |&octet: &u64| octet < self.lost_below && self.is_lost(octet, board);
        let waiting: Vec<u64> = (una..self.lost_below).filter(waits).collect();
        assert_eq!(self.waiting(una, board), waiting.len() as u64);
        assert_eq!(self.next_lost(una, board).map(|range| range.start), waiting.first().copied());
    }
}
