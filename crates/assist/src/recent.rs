//! What an agent in the path keeps of connections: a bounded number of them, of which it forgets who was silent longest.

use std::collections::{BTreeMap, BTreeSet};

use handfast_core::Instant;

use crate::ConnectionKey;

/// Where a connection's value is, until the next one is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place(usize);

#[derive(Debug)]
struct Slot<T, K> {
    key: K,
    heard: Instant,
    /// Under which time it stands in [`Recent::silent`]: `heard`, or earlier.
    noted: Instant,
    value: T,
}

/// A value for each connection that was heard of lately.
#[derive(Debug)]
pub(crate) struct Recent<T, K = ConnectionKey> {
    places: BTreeMap<K, usize>,
    slots: Vec<Slot<T, K>>,
    /// Who was silent longest comes first, once those that were heard since stand where they belong.
    silent: BTreeSet<(Instant, K)>,
    /// The one that was asked for last: it is likely to be the next.
    last: usize,
    most: usize,
}

impl<T, K: Ord + Copy> Recent<T, K> {
    /// None yet, and never more than `most`, at least one.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            places: BTreeMap::new(),
            slots: Vec::new(),
            silent: BTreeSet::new(),
            last: 0,
            most: most.max(1),
        }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// All values, in no order.
    pub(crate) fn values(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().map(|slot| &slot.value)
    }

    /// Where its value is.
    #[inline]
    pub(crate) fn find(&mut self, key: &K) -> Option<Place> {
        if self.slots.get(self.last).is_none_or(|slot| slot.key != *key) {
            self.last = *self.places.get(key)?;
        }
        Some(Place(self.last))
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, place: Place) -> &mut T {
        &mut self.slots[place.0].value
    }

    /// When something was last heard of it.
    #[inline]
    pub(crate) fn heard(&self, place: Place) -> Instant {
        self.slots[place.0].heard
    }

    /// Something was heard of a connection.
    #[inline]
    pub(crate) fn touch(&mut self, now: Instant, place: Place) -> &mut T {
        let slot = &mut self.slots[place.0];
        slot.heard = now;
        &mut slot.value
    }

    /// Something was heard of a connection for the first time.
    pub(crate) fn insert(&mut self, now: Instant, key: K, value: T) -> Place {
        let place = self.slots.len();
        self.slots.push(Slot { key, heard: now, noted: now, value });
        self.places.insert(key, place);
        self.silent.insert((now, key));
        self.last = place;
        Place(place)
    }

    pub(crate) fn remove(&mut self, key: &K) -> Option<T> {
        let place = self.places.remove(key)?;
        let slot = self.slots.swap_remove(place);
        self.silent.remove(&(slot.noted, slot.key));
        if let Some(moved) = self.slots.get(place) {
            self.places.insert(moved.key, place);
        }
        Some(slot.value)
    }

    /// All are forgotten.
    pub(crate) fn clear(&mut self) {
        self.places.clear();
        self.slots.clear();
        self.silent.clear();
        self.last = 0;
    }

    /// Whom to forget before a new one comes.
    pub(crate) fn in_the_way(&mut self) -> Option<K> {
        if self.slots.len() < self.most {
            return None;
        }
        self.silent_longest().map(|(_, key)| key)
    }

    /// Who was silent longest, and since when.
    pub(crate) fn silent_longest(&mut self) -> Option<(Instant, K)> {
        loop {
            let (noted, key) = *self.silent.first()?;
            let slot = &mut self.slots[*self.places.get(&key)?];
            if slot.heard == noted {
                return Some((noted, key));
            }
            slot.noted = slot.heard;
            self.silent.pop_first();
            self.silent.insert((slot.noted, key));
        }
    }

    /// Nobody is silent for longer than since then.
    pub(crate) fn silent_since(&self) -> Option<Instant> {
        self.silent.first().map(|&(noted, _)| noted)
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;

    fn key(port: u16) -> ConnectionKey {
        let ip = IpAddr::V4(Ipv4Addr::LOCALHOST);
        ConnectionKey { src: ip, dst: ip, src_port: port, dst_port: 1 }
    }

    #[test]
    fn who_was_silent_longest_is_in_the_way() {
        let mut recent = Recent::new(2);
        let at = Instant::from_millis;
        recent.insert(at(1), key(1), 'a');
        assert_eq!(recent.in_the_way(), None);
        recent.insert(at(2), key(2), 'b');
        assert_eq!(recent.in_the_way(), Some(key(1)));
        let first = recent.find(&key(1)).unwrap();
        assert_eq!(*recent.touch(at(3), first), 'a');
        assert_eq!(recent.in_the_way(), Some(key(2)));
        assert_eq!(recent.heard(first), at(3));
        assert_eq!((recent.remove(&key(2)), recent.remove(&key(2))), (Some('b'), None));
        assert_eq!((recent.in_the_way(), recent.find(&key(2))), (None, None));
        recent.insert(at(4), key(3), 'c');
        assert_eq!(recent.in_the_way(), Some(key(1)), "it was noted anew before");
    }

    #[test]
    fn the_last_takes_the_place_of_one_that_is_removed() {
        let mut recent = Recent::new(9);
        for port in 1..=3 {
            recent.insert(Instant::from_millis(port.into()), key(port), port);
        }
        assert_eq!(recent.remove(&key(1)), Some(1));
        for port in 2..=3 {
            let place = recent.find(&key(port)).unwrap();
            assert_eq!(*recent.get_mut(place), port);
        }
        assert_eq!((recent.remove(&key(3)), recent.remove(&key(2))), (Some(3), Some(2)));
        assert_eq!(recent.find(&key(2)), None);
    }
}
