//! Packets in flight in the order in which they land, which mostly is that in which they were sent: where all links of a kind
//! delay alike, each comes behind the last.

use std::collections::VecDeque;

use handfast_core::prefetch::prefetch;

use crate::engine::entry::Entry;
use crate::engine::fast_path::flight::Flight;

/// Data and acknowledgments, each before and behind a bottleneck, are four kinds.
const FIFOS: usize = 4;

/// Where the packets that come by a link stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct FifoId(u32);

impl FifoId {
    /// For a link whose packets may land at the same time: FIFOs would lose their order.
    pub(crate) const NONE: Self = Self(u32::MAX);
    pub(crate) const ANY: Self = Self(0);
}

/// Sorted sequences. An entry goes behind one, or nowhere.
///
/// What stands next in a sequence is known to come, and when: after about as many others as there are sequences. That is the
/// time to ask for what it will need.
#[derive(Debug)]
pub(crate) struct ArrivalFifos {
    /// The earliest entry, and its FIFO.
    first: Entry,
    leader: usize,
    /// The first entry of each.
    heads: [Entry; FIFOS],
    /// The last entry that each has had.
    tails: [Entry; FIFOS],
    entries: [VecDeque<(Entry, Flight)>; FIFOS],
}

/// How many entries ahead of a FIFO's head are prefetched.
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

    /// Puts an entry behind the last of `fifo`, or where it fits best, which is the FIFO for the next one by the same link;
    /// false where it comes before the last of all.
    #[inline]
    pub(crate) fn insert(&mut self, entry: Entry, flight: Flight, fifo: &mut FifoId) -> bool {
        if self.tails.get(fifo.0 as usize).is_none_or(|&tail| entry < tail) {
            match self.fitting(entry, *fifo) {
                Some(fitting) => *fifo = fitting,
                None => return false,
            }
        }
        let fifo = fifo.0 as usize;
        self.tails[fifo] = entry;
        let entries = &mut self.entries[fifo];
        let leads = entries.is_empty();
        entries.push_back((entry, flight));
        if leads {
            self.lead(entry, fifo);
        }
        true
    }

    /// An entry stands first in a FIFO.
    #[inline]
    fn lead(&mut self, entry: Entry, fifo: usize) {
        self.heads[fifo] = entry;
        if entry < self.first {
            (self.first, self.leader) = (entry, fifo);
        }
    }

    /// The FIFO that ends closest before an entry.
    #[cold]
    fn fitting(&self, entry: Entry, fifo: FifoId) -> Option<FifoId> {
        if fifo == FifoId::NONE {
            return None;
        }
        let fitting = (0..FIFOS).filter(|&fifo| self.tails[fifo] <= entry);
        fitting.max_by_key(|&fifo| self.tails[fifo]).map(|fifo| FifoId(fifo as u32))
    }

    /// Takes the earliest entry out, and shows the next of the same FIFO. There is one to take.
    #[inline]
    pub(crate) fn pop(&mut self) -> (Flight, Entry, Flight) {
        let entries = &mut self.entries[self.leader];
        let (_, popped) = entries.pop_front().unwrap_or(NOBODY);
        let &(head, next) = entries.front().unwrap_or(&NOBODY);
        self.heads[self.leader] = head;
        self.find_first();
        (popped, head, next)
    }

    /// Prefetches an entry that will soon be the head of its FIFO: a FIFO is longer than what stays in the cache meanwhile.
    #[inline]
    pub(crate) fn prefetch_ahead(&self) {
        prefetch(self.entries[self.leader].get(AHEAD), 0..1);
    }

    #[inline]
    fn find_first(&mut self) {
        (self.first, self.leader) = (self.heads[0], 0);
        for fifo in 1..FIFOS {
            let head = self.heads[fifo];
            let earlier = head < self.first;
            self.first = if earlier { head } else { self.first };
            self.leader = if earlier { fifo } else { self.leader };
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

    /// Where an entry goes, if its link's packets stood in `fifo`.
    fn goes(fifos: &mut ArrivalFifos, at: u64, mut fifo: FifoId) -> Option<FifoId> {
        fifos.insert(entry(at), Flight { next: at as u32, ..Flight::NONE }, &mut fifo).then_some(fifo)
    }

    #[test]
    fn an_entry_goes_behind_the_last_of_its_lane_or_where_it_waits_least() {
        let mut fifos = ArrivalFifos::default();
        assert_eq!(goes(&mut fifos, 40, FifoId(0)), Some(FifoId(0)));
        let free = goes(&mut fifos, 30, FifoId(0)).unwrap();
        assert_ne!(free, FifoId(0));
        assert_eq!(goes(&mut fifos, 35, FifoId(0)), Some(free), "behind 30, not into an empty one");
        assert_eq!(goes(&mut fifos, 50, FifoId(0)), Some(FifoId(0)));
        assert_eq!(goes(&mut fifos, 60, free), Some(free), "its own, not behind 50");
        let others = [20, 10].map(|at| goes(&mut fifos, at, FifoId(0)).unwrap());
        assert_ne!(others[0], others[1]);
        assert_eq!(goes(&mut fifos, 5, FifoId(0)), None, "before the last of all");
        assert_eq!(goes(&mut fifos, 70, FifoId::NONE), None);
        for at in [10, 20, 30, 35, 40, 50, 60] {
            assert_eq!(fifos.first(), entry(at));
            assert_eq!(u64::from(fifos.pop().0.next), at);
        }
        assert_eq!(fifos.first(), Entry::NEVER);
        // A FIFO that has run empty still knows its last: what comes before that may have been.
        assert_eq!(goes(&mut fifos, 45, FifoId(0)), Some(others[0]));
    }

    #[test]
    fn what_comes_next_is_of_the_same_lane() {
        let mut fifos = ArrivalFifos::default();
        for at in [10, 15, 30] {
            goes(&mut fifos, at, FifoId(0)).unwrap();
        }
        goes(&mut fifos, 12, FifoId(0)).unwrap();
        let mut pop = || {
            let (flight, next, its) = fifos.pop();
            (flight.next, next, its.next)
        };
        assert_eq!(pop(), (10, entry(15), 15));
        assert_eq!(pop(), (12, Entry::NEVER, Flight::NONE.next));
        assert_eq!(pop(), (15, entry(30), 30));
    }
}
