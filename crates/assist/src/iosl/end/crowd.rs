//! Who waits, in groups: where there is no room for one more, a group that has more than its share gives one up.
//!
//! A flood from one source pushes out its own. One from many sources pushes out its own too, once each of them is there: who comes
//! from elsewhere keeps his place until it is his turn.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Those that wait. Their names rise with time: the least one has waited longest.
#[derive(Debug)]
pub(super) struct Crowd<G, T> {
    most: usize,
    group_of: BTreeMap<T, G>,
    groups: BTreeMap<G, BTreeSet<T>>,
    /// Groups by their size; of equal ones the last has waited longest.
    by_size: BTreeSet<(usize, Reverse<T>, G)>,
}

impl<G: Ord + Copy, T: Ord + Copy> Crowd<G, T> {
    /// Nobody, where there is room for `most`, at least one.
    pub(super) fn new(most: usize) -> Self {
        let (group_of, groups) = (BTreeMap::new(), BTreeMap::new());
        Self { most: most.max(1), group_of, groups, by_size: BTreeSet::new() }
    }

    /// How many wait.
    pub(super) fn len(&self) -> usize {
        self.group_of.len()
    }

    /// Whether there is no room for one more.
    pub(super) fn is_full(&self) -> bool {
        self.len() >= self.most
    }

    /// Of which group one is that waits.
    pub(super) fn group_of(&self, one: T) -> Option<G> {
        self.group_of.get(&one).copied()
    }

    /// Who gives way before one more of this group comes; [`None`]: nobody is there.
    pub(super) fn in_the_way(&self, group: G) -> Option<T> {
        let &(size, Reverse(its_oldest), _) = self.by_size.last()?;
        // What each group may have where all have as much.
        let share = (self.most / self.groups.len()).max(1);
        match self.groups.get(&group) {
            Some(own) if own.len() >= share.min(size) => own.first().copied(),
            _ if size > share => Some(its_oldest),
            _ => self.group_of.keys().next().copied(),
        }
    }

    pub(super) fn insert(&mut self, group: G, one: T) {
        self.group_of.insert(one, group);
        self.change(group, |waiting| waiting.insert(one));
    }

    pub(super) fn remove(&mut self, one: T) {
        if let Some(group) = self.group_of.remove(&one) {
            self.change(group, |waiting| waiting.remove(&one));
        }
    }

    fn change(&mut self, group: G, change: impl FnOnce(&mut BTreeSet<T>) -> bool) {
        let mut waiting = self.groups.remove(&group).unwrap_or_default();
        let rank = |waiting: &BTreeSet<T>| Some((waiting.len(), Reverse(*waiting.first()?), group));
        if let Some(before) = rank(&waiting) {
            self.by_size.remove(&before);
        }
        change(&mut waiting);
        if let Some(after) = rank(&waiting) {
            self.by_size.insert(after);
            self.groups.insert(group, waiting);
        }
    }
}

/// Addresses that one owner usually has: what one host can choose from freely is far less in IPv4 (RFC 6177 §2 gives a site up to a /48).
pub(super) fn neighbourhood(of: IpAddr) -> IpAddr {
    match of.to_canonical() {
        IpAddr::V4(address) => Ipv4Addr::from_bits(address.to_bits() & (!0 << 8)).into(),
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & (!0 << 80)).into(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_group_with_the_most_gives_way_and_of_it_the_oldest() {
        let mut crowd = Crowd::new(4);
        assert_eq!(crowd.in_the_way('a'), None);
        for (group, one) in [('a', 1), ('b', 2), ('b', 3), ('b', 4)] {
            assert!(!crowd.is_full());
            crowd.insert(group, one);
        }
        assert!(crowd.is_full());
        assert_eq!((crowd.len(), crowd.group_of(3), crowd.group_of(9)), (4, Some('b'), None));
        assert_eq!(
            (crowd.in_the_way('a'), crowd.in_the_way('b'), crowd.in_the_way('c')),
            (Some(2), Some(2), Some(2))
        );
        crowd.remove(2);
        crowd.insert('a', 5);
        assert_eq!(crowd.in_the_way('a'), Some(1), "each has its share: its own");
        assert_eq!(crowd.in_the_way('b'), Some(3), "its own");
        assert_eq!(crowd.in_the_way('c'), Some(1), "who is new, the oldest");
        crowd.remove(9);
        crowd.remove(3);
        crowd.remove(1);
        assert_eq!((crowd.len(), crowd.is_full()), (2, false));
    }

    /// 254 groups of one, and one of two.
    #[test]
    fn where_there_are_many_groups_who_has_more_than_others_gives_way() {
        let mut crowd = Crowd::new(256);
        for one in 0..256 {
            crowd.insert(one.max(1), one);
        }
        assert_eq!((crowd.in_the_way(1_000), crowd.in_the_way(1)), (Some(0), Some(0)), "more than its share");
        assert_eq!(crowd.in_the_way(77), Some(77), "its own");
        crowd.remove(0);
        assert_eq!(
            (crowd.in_the_way(1_000), crowd.in_the_way(77)),
            (Some(1), Some(77)),
            "the oldest, its own"
        );
    }

    #[test]
    fn there_is_room_for_one_at_least() {
        assert!(!Crowd::<char, u32>::new(0).is_full());
    }

    #[test]
    fn neighbours_share_the_front_of_their_addresses() {
        let of = |text: &str| neighbourhood(text.parse().unwrap());
        assert_eq!(of("192.0.2.1"), of("::ffff:192.0.2.200"));
        assert_ne!(of("192.0.2.1"), of("192.0.3.1"));
        assert_eq!(of("2001:db8:1:2::1"), of("2001:db8:1:ffff::9"));
        assert_ne!(of("2001:db8:1::1"), of("2001:db8:2::1"));
    }

    proptest! {
        /// Whoever comes: it takes the place of one of a group that is at least as large as its own.
        #[test]
        fn nobody_is_pushed_out_by_a_larger_group(steps in prop::collection::vec((0u8..4, any::<bool>()), 0..200)) {
            let mut crowd = Crowd::new(8);
            for (one, (group, is_gone)) in (0u32..).zip(steps) {
                if is_gone && one > 3 {
                    crowd.remove(one - 3);
                    continue;
                }
                if crowd.is_full() {
                    let other = crowd.in_the_way(group).unwrap();
                    let (from, own) = (crowd.group_of[&other], crowd.groups.get(&group).map_or(0, BTreeSet::len));
                    prop_assert!(crowd.groups[&from].len() >= own);
                    prop_assert_eq!(crowd.groups[&from].first(), Some(&other));
                    crowd.remove(other);
                }
                crowd.insert(group, one);
                prop_assert!(crowd.group_of.len() <= 8);
                prop_assert_eq!(crowd.by_size.len(), crowd.groups.len());
                let all: usize = crowd.groups.values().map(BTreeSet::len).sum();
                prop_assert_eq!(all, crowd.group_of.len());
            }
        }
    }
}
