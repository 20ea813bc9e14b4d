//! Who waits, in groups: where there is no room for one more, the group with the most gives one up, unless that is few.
//!
//! So a flood from one source pushes out its own, and one from many sources pushes out who has waited longest.

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
    /// Nobody, and never more than `most`, at least one.
    pub(super) fn new(most: usize) -> Self {
        let (group_of, groups) = (BTreeMap::new(), BTreeMap::new());
        Self { most: most.max(1), group_of, groups, by_size: BTreeSet::new() }
    }

    /// Who gives way before one more comes.
    pub(super) fn in_the_way(&self) -> Option<T> {
        if self.group_of.len() < self.most {
            return None;
        }
        let &(size, Reverse(its_oldest), _) = self.by_size.last()?;
        // Several who share an address are no flood.
        let is_flood = size > self.most.div_ceil(64);
        if is_flood { Some(its_oldest) } else { self.group_of.keys().next().copied() }
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
        for (group, one) in [('a', 1), ('b', 2), ('b', 3), ('a', 4)] {
            assert_eq!(crowd.in_the_way(), None);
            crowd.insert(group, one);
        }
        assert_eq!(crowd.in_the_way(), Some(1), "of two that are equal the older one");
        crowd.remove(1);
        crowd.insert('c', 5);
        assert_eq!(crowd.in_the_way(), Some(2));
        crowd.remove(9);
        crowd.remove(3);
        assert_eq!(crowd.in_the_way(), None);
    }

    #[test]
    fn a_group_of_few_does_not_give_way_before_its_time() {
        let mut crowd = Crowd::new(256);
        crowd.insert(0, 0);
        for one in 1..256 {
            crowd.insert(if one < 5 { 1 } else { one }, one);
        }
        assert_eq!(crowd.in_the_way(), Some(0), "the oldest");
        crowd.remove(0);
        crowd.insert(1, 256);
        assert_eq!(crowd.in_the_way(), Some(1), "five are more than few");
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
        /// Whoever comes: a group never has more than its part of the room, plus one, while others wait for some.
        #[test]
        fn nobody_is_pushed_out_by_a_larger_group(steps in prop::collection::vec((0u8..4, any::<bool>()), 0..200)) {
            let mut crowd = Crowd::new(8);
            for (one, (group, is_gone)) in (0u32..).zip(steps) {
                if is_gone && one > 3 {
                    crowd.remove(one - 3);
                    continue;
                }
                if let Some(other) = crowd.in_the_way() {
                    let most = crowd.groups.values().map(BTreeSet::len).max().unwrap();
                    let group = crowd.group_of[&other];
                    prop_assert_eq!(crowd.groups[&group].len(), most);
                    prop_assert_eq!(crowd.groups[&group].first(), Some(&other));
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
