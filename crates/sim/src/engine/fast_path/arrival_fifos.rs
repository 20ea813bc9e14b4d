//! Packets in flight in the order in which they land, which mostly is that in which they were sent: where all links of a kind
//! delay alike, each comes behind the last.

use std::collections::VecDeque;

use crate::engine::entry::Entry;
use crate::engine::fast_path::flight::Flight;
use crate::engine::fast_path::prefetch::prefetch;

/// Data and acknowledgments, each on the way to a bottleneck and from there, are four kinds.
const FIFOS: usize = 4;

/// Where the packets that come by a link stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct FifoId(u32);

impl FifoId {
    /// For a link whose packets may land at the same time: their order would be lost in lanes.
    pub(crate) const NONE: Self = Self(u32::MAX);
    pub(crate) const ANY: Self = Self(0);
}

/// Sorted sequences. An entry goes behind one, or nowhere.
///
/// What stands next in a sequence is known to come, and when: after about as many others as there are sequences. That is the
/// time to ask for what it will need.
#[derive(Debug)]
pub(crate) struct ArrivalFifos {
    /// The earliest entry, and its lane.
    first: Entry,
    leader: usize,
    /// The first entry of each.
    heads: [Entry; FIFOS],
    /// The last entry that each has had.
    tails: [Entry; FIFOS],
    entries: [VecDeque<(Entry, Flight)>; FIFOS],
}

/// How many entries ahead of a lane's next one is asked for.
const AHEAD: usize = 8;

const NOBODY: (Entry, Flight) = (Entry::NEVER, Flight::NONE);

impl Default for ArrivalFifos {
    fn default() -> Self {
        Self {
            first: Entry::NEVER,
            leader: 0,
            heads: [Entry::NEVER; FIFOS],
            tails: [Entry::ALWAYS; FIFOS],
            entries: [const { VecDeque::new() }; FIFOS],
        }
    }
}

impl ArrivalFifos {
    /// The earliest entry, or [`Entry::NEVER`].
    #[inline]
    pub(crate) fn first(&self) -> Entry {
        self.first
    }

    /// Puts an entry behind the last of `lane`, or where it fits best, which is the lane for the next one by the same link;
    /// false where it comes before the last of all.
    #[inline]
    pub(crate) fn insert(&mut self, entry: Entry, flight: Flight, lane: &mut FifoId) -> bool {
        if self.tails.get(lane.0 as usize).is_none_or(|&tail| entry < tail) {
            match self.fitting(entry, *lane) {
                Some(fitting) => *lane = fitting,
                None => return false,
            }
        }
        let lane = lane.0 as usize;
        self.tails[lane] = entry;
        self.entries[lane].push_back((entry, flight));
        self.heads[lane] = self.heads[lane].min(entry);
        if entry < self.first {
            (self.first, self.leader) = (entry, lane);
        }
        true
    }

    /// The lane that ends closest before an entry.
    #[cold]
    fn fitting(&self, entry: Entry, lane: FifoId) -> Option<FifoId> {
        if lane == FifoId::NONE {
            return None;
        }
        let fitting = (0..FIFOS).filter(|&lane| self.tails[lane] <= entry);
        fitting.max_by_key(|&lane| self.tails[lane]).map(|lane| FifoId(lane as u32))
    }

    /// Takes the earliest entry out, and shows the next of the same lane. There is one to take.
    #[inline]
    pub(crate) fn pop(&mut self) -> (Flight, Entry, Flight) {
        let entries = &mut self.entries[self.leader];
        let (_, popped) = entries.pop_front().unwrap_or(NOBODY);
        let &(head, next) = entries.front().unwrap_or(&NOBODY);
        self.heads[self.leader] = head;
        self.find_first();
        (popped, head, next)
    }

    /// Asks for entries that will be the next of their lane soon: a lane is longer than what stays in the cache meanwhile.
    #[inline]
    pub(crate) fn prefetch_ahead(&self) {
        prefetch(self.entries[self.leader].get(AHEAD), 0..1);
    }

    #[inline]
    fn find_first(&mut self) {
        (self.first, self.leader) = (self.heads[0], 0);
        for lane in 1..FIFOS {
            let head = self.heads[lane];
            let earlier = head < self.first;
            self.first = if earlier { head } else { self.first };
            self.leader = if earlier { lane } else { self.leader };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use handfast_core::Instant;

    fn entry(at: u64) -> Entry {
        Entry::of_packet(Instant::from_nanos(at), 0, 0)
    }

    /// Where an entry goes, if its link's packets stood in `lane`.
    fn goes(lanes: &mut ArrivalFifos, at: u64, mut lane: FifoId) -> Option<FifoId> {
        lanes.insert(entry(at), Flight { next: at as u32, ..Flight::NONE }, &mut lane).then_some(lane)
    }

    #[test]
    fn an_entry_goes_behind_the_last_of_its_lane_or_where_it_waits_least() {
        let mut lanes = ArrivalFifos::default();
        assert_eq!(goes(&mut lanes, 40, FifoId(0)), Some(FifoId(0)));
        let free = goes(&mut lanes, 30, FifoId(0)).unwrap();
        assert_ne!(free, FifoId(0));
        assert_eq!(goes(&mut lanes, 35, FifoId(0)), Some(free), "behind 30, not into an empty one");
        assert_eq!(goes(&mut lanes, 50, FifoId(0)), Some(FifoId(0)));
        assert_eq!(goes(&mut lanes, 60, free), Some(free), "its own, not behind 50");
        let others = [20, 10].map(|at| goes(&mut lanes, at, FifoId(0)).unwrap());
        assert_ne!(others[0], others[1]);
        assert_eq!(goes(&mut lanes, 5, FifoId(0)), None, "before the last of all");
        assert_eq!(goes(&mut lanes, 70, FifoId::NONE), None);
        for at in [10, 20, 30, 35, 40, 50, 60] {
            assert_eq!(lanes.first(), entry(at));
            assert_eq!(u64::from(lanes.pop().0.next), at);
        }
        assert_eq!(lanes.first(), Entry::NEVER);
        // A lane that has run empty still knows its last: what comes before that may have been.
        assert_eq!(goes(&mut lanes, 45, FifoId(0)), Some(others[0]));
    }

    #[test]
    fn what_comes_next_is_of_the_same_lane() {
        let mut lanes = ArrivalFifos::default();
        for at in [10, 15, 30] {
            goes(&mut lanes, at, FifoId(0)).unwrap();
        }
        goes(&mut lanes, 12, FifoId(0)).unwrap();
        let mut pop = || {
            let (flight, next, its) = lanes.pop();
            (flight.next, next, its.next)
        };
        assert_eq!(pop(), (10, entry(15), 15));
        assert_eq!(pop(), (12, Entry::NEVER, Flight::NONE.next));
        assert_eq!(pop(), (15, entry(30), 30));
    }
}
