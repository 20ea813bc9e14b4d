//! The datagrams that are held for one station: in the order in which they came, and none for longer than a stated age.

use std::collections::VecDeque;

use handfast_core::{Duration, Instant};

use super::DatagramLimits;
use super::frame::Frame;
use super::queue::cost;

/// What became of the datagrams that came for a station since it left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatagramCounts {
    /// Held.
    pub held: u64,
    /// Sent on.
    pub released: u64,
    /// Dropped at the stated age, or since the station or its switch stayed away.
    pub expired: u64,
    /// Dropped for newer ones: there were too many.
    pub evicted: u64,
}

#[derive(Debug)]
struct Held {
    came: Instant,
    frame: Frame,
}

/// A station's datagrams, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Datagrams {
    held: VecDeque<Held>,
    cost: u64,
    counts: DatagramCounts,
}

impl Datagrams {
    pub(crate) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// What is held counts so much.
    pub(crate) fn cost(&self) -> u64 {
        self.cost
    }

    pub(crate) fn counts(&self) -> DatagramCounts {
        self.counts
    }

    /// What was counted since the last call.
    pub(crate) fn take_counts(&mut self) -> DatagramCounts {
        std::mem::take(&mut self.counts)
    }

    /// Whether one is left that came until then.
    pub(crate) fn reach_back_to(&self, then: Instant) -> bool {
        self.held.front().is_some_and(|oldest| oldest.came <= then)
    }

    /// When the oldest reaches `age`.
    pub(crate) fn deadline(&self, age: Duration) -> Option<Instant> {
        self.held.front().map(|oldest| oldest.came + age)
    }

    /// Holds a datagram; the oldest give way where it would exceed a bound. `others`: what is held for other stations. Whether
    /// it is held: none is that exceeds a bound alone.
    pub(crate) fn put(&mut self, now: Instant, frame: &Frame, limits: &DatagramLimits, others: u64) -> bool {
        let added = cost(frame);
        let most = limits.per_station.0.min(limits.total.0.saturating_sub(others));
        if added > most || limits.count == 0 || limits.age == Duration::ZERO {
            return false;
        }
        while self.cost + added > most || self.held.len() >= limits.count {
            self.pop();
            self.counts.evicted += 1;
        }
        self.held.push_back(Held { came: now, frame: frame.copied() });
        self.cost += added;
        self.counts.held += 1;
        true
    }

    /// The oldest.
    pub(crate) fn first(&self) -> Option<&Frame> {
        self.held.front().map(|oldest| &oldest.frame)
    }

    /// Takes out the oldest, which leaves.
    pub(crate) fn take(&mut self) -> Option<Frame> {
        let frame = self.pop()?;
        self.counts.released += 1;
        Some(frame)
    }

    /// Takes out one that has reached `age`.
    pub(crate) fn expire(&mut self, now: Instant, age: Duration) -> Option<Frame> {
        self.deadline(age).filter(|&due| due <= now)?;
        self.counts.expired += 1;
        self.pop()
    }

    /// Drops all.
    pub(crate) fn clear(&mut self) {
        self.counts.expired += self.held.len() as u64;
        self.held.clear();
        self.cost = 0;
    }

    fn pop(&mut self) -> Option<Frame> {
        let Held { frame, .. } = self.held.pop_front()?;
        self.cost -= cost(&frame);
        Some(frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use handfast_core::Bytes as Count;
    use proptest::collection::vec;
    use proptest::prelude::*;

    /// What a frame of 72 bytes counts.
    const COST: u64 = 200;
    const LIMITS: DatagramLimits = DatagramLimits {
        age: Duration::from_millis(100),
        count: 4,
        per_station: Count(3 * COST),
        total: Count(5 * COST),
    };

    fn frame(tag: u8) -> Frame {
        bytes::Bytes::copy_from_slice(&[tag; 72]).into()
    }

    fn tags(datagrams: &mut Datagrams) -> Vec<u8> {
        std::iter::from_fn(|| datagrams.take()).map(|frame| frame[0]).collect()
    }

    fn holding(limits: &DatagramLimits, others: u64, tags: std::ops::Range<u8>) -> Datagrams {
        let mut datagrams = Datagrams::default();
        for tag in tags {
            assert!(datagrams.put(Instant::from_millis(tag.into()), &frame(tag), limits, others));
        }
        datagrams
    }

    #[test]
    fn they_leave_as_they_came_and_are_counted() {
        let mut datagrams = holding(&LIMITS, 0, 1..4);
        assert_eq!((datagrams.cost(), datagrams.is_empty()), (3 * COST, false));
        assert_eq!(tags(&mut datagrams), [1, 2, 3]);
        assert_eq!((datagrams.cost(), datagrams.is_empty()), (0, true));
        let counts = DatagramCounts { held: 3, released: 3, ..DatagramCounts::default() };
        assert_eq!((datagrams.counts(), datagrams.take_counts()), (counts, counts));
        assert_eq!(datagrams.counts(), DatagramCounts::default(), "counting begins anew");
    }

    #[test]
    fn the_oldest_give_way_at_each_bound() {
        for (limits, others, left) in [
            (LIMITS, 0, vec![4, 5, 6]),
            (DatagramLimits { count: 2, ..LIMITS }, 0, vec![5, 6]),
            (LIMITS, 4 * COST, vec![6]),
            (DatagramLimits { per_station: Count(3 * COST - 1), ..LIMITS }, 0, vec![5, 6]),
        ] {
            let mut datagrams = holding(&limits, others, 1..7);
            assert_eq!(datagrams.counts().evicted, 6 - left.len() as u64);
            assert_eq!(datagrams.cost(), left.len() as u64 * COST);
            assert_eq!(tags(&mut datagrams), left);
        }
    }

    #[test]
    fn what_exceeds_a_bound_alone_costs_the_others_nothing() {
        for (limits, others) in [
            (LIMITS, 5 * COST - 199),
            (LIMITS, 6 * COST),
            (DatagramLimits { per_station: Count(COST - 1), ..LIMITS }, 0),
            (DatagramLimits { count: 0, ..LIMITS }, 0),
            (DatagramLimits { age: Duration::ZERO, ..LIMITS }, 0),
        ] {
            let mut datagrams = holding(&LIMITS, 0, 1..3);
            assert!(!datagrams.put(Instant::ZERO, &frame(9), &limits, others));
            assert_eq!(tags(&mut datagrams), [1, 2]);
        }
        assert!(Datagrams::default().put(Instant::ZERO, &frame(9), &LIMITS, 4 * COST), "it fits exactly");
    }

    #[test]
    fn none_gets_older_than_it_may() {
        let mut datagrams = holding(&LIMITS, 0, 1..4);
        assert_eq!(datagrams.deadline(LIMITS.age), Some(Instant::from_millis(101)));
        assert_eq!(
            [0, 1, 2].map(|ms| datagrams.reach_back_to(Instant::from_millis(ms))),
            [false, true, true]
        );
        assert_eq!(datagrams.expire(Instant::from_millis(100), LIMITS.age), None);
        assert_eq!(datagrams.counts().expired, 0);
        let overdue = std::iter::from_fn(|| datagrams.expire(Instant::from_millis(102), LIMITS.age));
        assert_eq!(overdue.map(|frame| frame[0]).collect::<Vec<_>>(), [1, 2], "the oldest first");
        assert_eq!((datagrams.counts().expired, datagrams.cost()), (2, COST));
        datagrams.clear();
        assert_eq!((datagrams.counts().expired, datagrams.cost(), datagrams.is_empty()), (3, 0, true));
        assert_eq!((datagrams.deadline(LIMITS.age), datagrams.take()), (None, None));
    }

    proptest! {
        /// Whatever comes and goes: bounds and ages hold, the order stays, and each datagram is counted once.
        #[test]
        fn bounds_ages_and_order(
            ops in vec((0..40_u64, 0..300_usize, 0..4_u8, 0..1200_u64), 1..200),
        ) {
            let mut datagrams = Datagrams::default();
            let (mut now, mut tag, mut last) = (Instant::ZERO, 0_u32, None);
            for (wait, len, takes, others) in ops {
                now += Duration::from_millis(wait);
                while datagrams.expire(now, LIMITS.age).is_some() {}
                tag += 1;
                let named = [&tag.to_be_bytes()[..], &now.as_nanos().to_be_bytes(), &vec![0; len]].concat();
                datagrams.put(now, &bytes::Bytes::from(named).into(), &LIMITS, others);
                for _ in 0..takes {
                    let Some(frame) = datagrams.take() else { break };
                    let tag = u32::from_be_bytes(frame[..4].try_into().unwrap());
                    let came = u64::from_be_bytes(frame[4..12].try_into().unwrap());
                    prop_assert!(last < Some(tag), "in order");
                    prop_assert!(now.as_nanos() - came < LIMITS.age.as_nanos(), "not too old");
                    last = Some(tag);
                }
                let held: u64 = datagrams.held.iter().map(|held| cost(&held.frame)).sum();
                prop_assert_eq!(datagrams.cost(), held);
                prop_assert!(held <= LIMITS.per_station.0 && datagrams.held.len() <= LIMITS.count);
                let DatagramCounts { held, released, expired, evicted } = datagrams.counts();
                prop_assert_eq!(held, released + expired + evicted + datagrams.held.len() as u64);
            }
        }
    }
}
