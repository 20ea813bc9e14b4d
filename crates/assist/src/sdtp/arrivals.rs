//! What of a connection has come to a caching node: the right edge of the first content window (`[sdtp]` §III-C 1), up to which
//! the node upstream may release what it keeps.

use handfast_core::{Duration, Instant, SeqNum};

use crate::ranges::Ranges;

/// Content windows behind the first that are remembered. Beyond, the next is forgotten; the hole grows, and is given up later.
const MOST_WINDOWS: usize = 64;

#[derive(Clone, Debug)]
pub(super) struct Arrivals {
    /// All before this has come, or was given up.
    edge: SeqNum,
    /// When `edge` moved last.
    moved: Instant,
    /// Nothing from here on has come.
    highest: SeqNum,
    /// What has come behind the first hole.
    beyond: Ranges,
}

impl Arrivals {
    pub(super) fn new(now: Instant, start: SeqNum) -> Self {
        Self { edge: start, moved: now, highest: start, beyond: Ranges::default() }
    }

    /// The right edge of the first content window.
    pub(super) fn edge(&self) -> SeqNum {
        self.edge
    }

    /// Nothing from here on has come.
    pub(super) fn highest(&self) -> SeqNum {
        self.highest
    }

    /// Whether the order of a number and of those here means nothing.
    pub(super) fn is_far(&self, seq: SeqNum) -> bool {
        seq.distance(self.edge).unsigned_abs() > 1 << 30
    }

    /// Whether something is missing.
    pub(super) fn has_hole(&self) -> bool {
        !self.beyond.is_empty()
    }

    /// Something has come, or will not come.
    pub(super) fn take(&mut self, now: Instant, start: SeqNum, end: SeqNum) {
        if end.after(self.highest) {
            self.highest = end;
        }
        if start.after(self.edge) {
            self.beyond.insert(start, end, MOST_WINDOWS);
        } else if end.after(self.edge) {
            self.move_to(now, end);
        }
    }

    /// Gives the first hole up, if the edge has not moved for so long.
    pub(super) fn give_up_hole(&mut self, now: Instant, patience: Duration) {
        if now.since(self.moved) >= patience
            && let Some((start, _)) = self.beyond.first()
        {
            self.move_to(now, start);
        }
    }

    fn move_to(&mut self, now: Instant, edge: SeqNum) {
        (self.edge, self.moved) = (edge, now);
        while let Some((start, end)) = self.beyond.first()
            && !start.after(self.edge)
        {
            self.edge = if end.after(self.edge) { end } else { self.edge };
            self.beyond.forget_below(self.edge);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ISN: SeqNum = SeqNum(u32::MAX - 15);

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    #[test]
    fn the_edge_is_where_the_first_hole_begins() {
        let mut arrivals = Arrivals::new(at(0), ISN);
        let mut edge = |from, to| {
            arrivals.take(at(1), ISN + from, ISN + to);
            (arrivals.edge().distance(ISN), arrivals.has_hole(), arrivals.highest().distance(ISN))
        };
        assert_eq!(edge(0, 10), (10, false, 10));
        assert_eq!(edge(20, 30), (10, true, 30));
        assert_eq!(edge(40, 50), (10, true, 50));
        assert_eq!(edge(5, 10), (10, true, 50));
        assert_eq!(edge(10, 25), (30, true, 50));
        assert_eq!(edge(30, 60), (60, false, 60));
    }

    #[test]
    fn a_hole_is_given_up_when_the_edge_has_not_moved_for_long() {
        let mut arrivals = Arrivals::new(at(0), ISN);
        arrivals.take(at(10), ISN, ISN + 10);
        arrivals.give_up_hole(at(20), Duration::ZERO);
        assert_eq!(arrivals.edge(), ISN + 10, "there is none");
        arrivals.take(at(20), ISN + 20, ISN + 30);
        arrivals.take(at(20), ISN + 40, ISN + 50);
        arrivals.give_up_hole(at(30), Duration::from_millis(21));
        assert_eq!(arrivals.edge(), ISN + 10);
        arrivals.give_up_hole(at(30), Duration::from_millis(20));
        assert_eq!((arrivals.edge(), arrivals.has_hole()), (ISN + 30, true));
        arrivals.give_up_hole(at(31), Duration::from_millis(2));
        assert_eq!(arrivals.edge(), ISN + 30, "it has moved lately");
    }

    #[test]
    fn order_means_nothing_beyond_a_quarter_of_the_numbers() {
        let arrivals = Arrivals::new(at(0), ISN);
        assert!(!arrivals.is_far(ISN + (1 << 30)) && arrivals.is_far(ISN + (1 << 30) + 1));
        assert!(!arrivals.is_far(ISN - (1 << 30)) && arrivals.is_far(ISN - (1 << 30) - 1));
    }
}
