//! What is given up once nothing has happened to it for so long.

use std::collections::{BTreeMap, BTreeSet};

use handfast_core::{Duration, Instant};

/// A NAT keeps a mapping for 2 min at least (RFC 4787 §4.3, REQ-5), and so does this.
pub(super) const IDLE: Duration = Duration::from_secs(120);

/// When something has happened to each last.
#[derive(Debug)]
pub(super) struct Idle<K> {
    after: Duration,
    touched: BTreeMap<K, Instant>,
    order: BTreeSet<(Instant, K)>,
}

impl<K: Ord + Copy> Idle<K> {
    pub(super) fn new(after: Duration) -> Self {
        Self { after, touched: BTreeMap::new(), order: BTreeSet::new() }
    }

    /// Something happens to one, which may be new.
    pub(super) fn touch(&mut self, now: Instant, key: K) {
        if let Some(before) = self.touched.insert(key, now) {
            self.order.remove(&(before, key));
        }
        self.order.insert((now, key));
    }

    pub(super) fn remove(&mut self, key: K) {
        if let Some(at) = self.touched.remove(&key) {
            self.order.remove(&(at, key));
        }
    }

    pub(super) fn len(&self) -> usize {
        self.touched.len()
    }

    /// Those to which nothing has happened for longest come first.
    pub(super) fn longest(&self) -> impl Iterator<Item = K> + '_ {
        self.order.iter().map(|&(_, key)| key)
    }

    /// When the next one is given up.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.order.first().map(|&(at, _)| at + self.after)
    }

    /// One that is given up now.
    pub(super) fn take(&mut self, now: Instant) -> Option<K> {
        let &(at, key) = self.order.first().filter(|(at, _)| *at + self.after <= now)?;
        self.order.remove(&(at, key));
        self.touched.remove(&key);
        Some(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_given_up_two_minutes_after_it_was_touched_last() {
        let (mut idle, at) = (Idle::new(IDLE), |seconds: u64| Instant::from_millis(1_000 * seconds));
        for (second, key) in [(0, 'a'), (10, 'b'), (50, 'a'), (60, 'c')] {
            idle.touch(at(second), key);
        }
        idle.remove('c');
        assert_eq!((idle.longest().collect::<String>(), idle.len()), ("ba".to_owned(), 2));
        assert_eq!((idle.take(at(129)), idle.deadline()), (None, Some(at(130))));
        assert_eq!(
            (idle.take(at(170)), idle.take(at(169)), idle.take(at(170))),
            (Some('b'), None, Some('a'))
        );
        assert_eq!((idle.deadline(), idle.len()), (None, 0));
    }
}
