//! The far end puts numbered packets in order before they go on, each once.
//!
//! SDTP's `resequence.rs` orders the bytes of one connection, which hosts may send again. Here one node numbers the packets.

use std::collections::{BTreeMap, BTreeSet};

use handfast_core::{Duration, Instant, SeqNum};

/// How long and how many may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// So long a packet waits for those before it (RFC 3366 §3.3: for less than the hosts wait).
    pub(crate) hold: Duration,
    /// So many wait at most.
    pub(crate) packets: usize,
}

/// What became of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    /// They waited.
    pub(crate) held: u64,
    /// They had come before.
    pub(crate) repeated: u64,
    /// They came after those behind them had gone on.
    pub(crate) late: u64,
    /// Given up, whether they came later or never.
    pub(crate) given_up: u64,
}

impl Counters {
    /// By name.
    pub(crate) fn totals(self) -> [(&'static str, u64); 4] {
        let Self { held, repeated, late, given_up } = self;
        [("held", held), ("repeated", repeated), ("late", late), ("given_up", given_up)]
    }
}

/// Numbers further away than this are those of a peer that has begun anew.
const FAR: i32 = 1 << 16;

/// Numbers that were given up and are remembered, so that what comes late goes on once.
const MOST_SKIPPED: usize = 1024;

/// What waits of the packets of one peer.
#[derive(Debug)]
pub(crate) struct Order<T> {
    bounds: Bounds,
    /// All before it have gone on or were given up. Counted on where sequence numbers wrap.
    next: u64,
    held: BTreeMap<u64, (Instant, T)>,
    /// The held ones by the time of their arrival.
    arrivals: BTreeSet<(Instant, u64)>,
    skipped: BTreeSet<u64>,
    pub(crate) counters: Counters,
}

impl<T> Order<T> {
    /// Nothing waits; the first number is 0.
    pub(crate) fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            // Far from zero, so that numbers before the first one have a place.
            next: 1 << 32,
            held: BTreeMap::new(),
            arrivals: BTreeSet::new(),
            skipped: BTreeSet::new(),
            counters: Counters::default(),
        }
    }

    /// The first number that has not come.
    pub(crate) fn next(&self) -> SeqNum {
        SeqNum(self.next as u32)
    }

    /// How many wait.
    pub(crate) fn held(&self) -> usize {
        self.held.len()
    }

    /// Which numbers wait, as distances from the first that has not come.
    pub(crate) fn waiting(&self) -> impl DoubleEndedIterator<Item = u64> + '_ {
        self.held.keys().map(|number| number - self.next)
    }

    /// Whether the packet with that number is still wanted.
    pub(crate) fn lacks(&self, sequence: SeqNum) -> bool {
        let number = self.number(sequence);
        self.skipped.contains(&number) || number >= self.next && !self.held.contains_key(&number)
    }

    /// A packet has come; false: once more.
    pub(crate) fn insert(&mut self, now: Instant, sequence: SeqNum, packet: T, out: &mut Vec<T>) -> bool {
        if sequence.distance(self.next()).abs() > FAR {
            self.begin_anew(sequence, out);
        }
        if !self.lacks(sequence) {
            self.counters.repeated += 1;
            return false;
        }
        let number = self.number(sequence);
        if self.skipped.remove(&number) {
            self.counters.late += 1;
            out.push(packet);
            return true;
        }
        self.counters.held += u64::from(number > self.next);
        self.held.insert(number, (now, packet));
        self.arrivals.insert((now, number));
        self.release(out);
        if self.held.len() > self.bounds.packets
            && let Some(&first) = self.held.keys().next()
        {
            self.skip(first, out);
        }
        true
    }

    /// What is before that number and has not come will not come.
    pub(crate) fn skip_to(&mut self, sequence: SeqNum, out: &mut Vec<T>) {
        if (0..=FAR).contains(&sequence.distance(self.next())) {
            self.skip(self.number(sequence), out);
        }
    }

    /// What has waited for too long goes on.
    pub(crate) fn on_timer(&mut self, now: Instant, out: &mut Vec<T>) {
        while let Some(&(_, number)) = self.arrivals.first().filter(|(at, _)| *at + self.bounds.hold <= now) {
            self.skip(number, out);
        }
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.arrivals.first().map(|&(at, _)| at + self.bounds.hold)
    }

    /// The number that a sequence number stands for: the one nearest to the next.
    fn number(&self, sequence: SeqNum) -> u64 {
        self.next.wrapping_add_signed(i64::from(sequence.distance(self.next())))
    }

    fn begin_anew(&mut self, sequence: SeqNum, out: &mut Vec<T>) {
        out.extend(std::mem::take(&mut self.held).into_values().map(|(_, packet)| packet));
        self.arrivals.clear();
        self.skipped.clear();
        self.next = (1 << 32) + u64::from(sequence.0);
    }

    fn skip(&mut self, to: u64, out: &mut Vec<T>) {
        while self.next < to {
            self.counters.given_up += 1;
            self.skipped.insert(self.next);
            if self.skipped.len() > MOST_SKIPPED {
                self.skipped.pop_first();
            }
            self.next += 1;
            self.release(out);
        }
    }

    fn release(&mut self, out: &mut Vec<T>) {
        while let Some((at, packet)) = self.held.remove(&self.next) {
            self.arrivals.remove(&(at, self.next));
            out.push(packet);
            self.next += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HOLD: Duration = Duration::from_millis(50);

    fn order(packets: usize) -> Order<u32> {
        Order::new(Bounds { hold: HOLD, packets })
    }

    fn come(order: &mut Order<u32>, ms: u64, numbers: &[u32]) -> Vec<u32> {
        let mut out = Vec::new();
        for &number in numbers {
            order.insert(Instant::from_millis(ms), SeqNum(number), number, &mut out);
        }
        out
    }

    #[test]
    fn what_is_behind_a_hole_waits_for_it() {
        let mut order = order(10);
        assert_eq!(come(&mut order, 0, &[0, 2, 3]), [0]);
        assert_eq!((order.next(), order.waiting().collect::<Vec<_>>()), (SeqNum(1), vec![1, 2]));
        assert_eq!(come(&mut order, 1, &[1, 2]), [1, 2, 3]);
        assert_eq!((order.counters.repeated, order.deadline()), (1, None));
    }

    #[test]
    fn it_waits_for_so_long_and_what_comes_later_goes_on_once() {
        let mut order = order(10);
        assert_eq!(come(&mut order, 0, &[0, 3]), [0]);
        assert!(come(&mut order, 20, &[2]).is_empty());
        assert_eq!(order.deadline(), Some(Instant::from_millis(50)));
        let mut out = Vec::new();
        order.on_timer(Instant::from_millis(49), &mut out);
        assert!(out.is_empty());
        order.on_timer(Instant::from_millis(50), &mut out);
        assert_eq!(out, [2, 3]);
        assert_eq!(come(&mut order, 60, &[1, 1, 4]), [1, 4]);
        let Counters { late, given_up, repeated, .. } = order.counters;
        assert_eq!((late, given_up, repeated), (1, 1, 1));
    }

    #[test]
    fn so_many_wait_and_no_more() {
        let mut order = order(2);
        assert_eq!(come(&mut order, 0, &[1, 3, 5]), [1]);
        assert_eq!(order.held(), 2);
    }

    #[test]
    fn what_will_not_come_is_not_waited_for() {
        let mut order = order(10);
        come(&mut order, 0, &[2, 4]);
        let mut out = Vec::new();
        order.skip_to(SeqNum(3), &mut out);
        assert_eq!((out.as_slice(), order.next()), (&[2][..], SeqNum(3)));
        order.skip_to(SeqNum(1), &mut out);
        assert_eq!(order.next(), SeqNum(3), "never back");
    }

    #[test]
    fn numbers_wrap_and_a_peer_may_begin_anew() {
        let mut order = order(10);
        let numbers: Vec<_> = (0..(1 << 16) + 3).map(|n: u32| n.wrapping_sub((1 << 16) + 1)).collect();
        assert_eq!(come(&mut order, 0, &numbers), numbers);
        assert_eq!(order.next(), SeqNum(2));
        assert!(come(&mut order, 0, &[3]).is_empty());
        assert_eq!(come(&mut order, 0, &[1 << 20, (1 << 20) + 1]), [3, 1 << 20, (1 << 20) + 1]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

        /// Any order, copies, losses: what goes on goes on once, and what never waited too long in order.
        #[test]
        fn each_goes_on_once_and_in_order(
            numbers in prop::collection::vec(0_u32..40, 0..120), packets in 1_usize..50
        ) {
            let mut order = order(packets);
            let mut out = come(&mut order, 0, &numbers);
            order.on_timer(Instant::from_millis(50), &mut out);
            prop_assert_eq!(order.held(), 0);
            let came: BTreeSet<_> = numbers.into_iter().collect();
            let went: BTreeSet<_> = out.iter().copied().collect();
            prop_assert_eq!((&went, went.len()), (&came, out.len()));
            let inversions = out.windows(2).filter(|pair| pair[0] > pair[1]).count() as u64;
            prop_assert!(inversions <= order.counters.late);
        }
    }
}
