//! In which order those are served who wait: a group after the other, one of each.

use std::collections::{BTreeMap, VecDeque};

/// Those who wait for their turn, each once.
#[derive(Debug)]
pub(super) struct Turns<G, T> {
    queues: BTreeMap<G, VecDeque<T>>,
    /// Groups of which somebody waits, the next one first.
    order: VecDeque<G>,
}

impl<G, T> Default for Turns<G, T> {
    fn default() -> Self {
        Self { queues: BTreeMap::new(), order: VecDeque::new() }
    }
}

impl<G: Ord + Copy, T: Ord + Copy> Turns<G, T> {
    /// One waits. Whoever waits already keeps his place.
    pub(super) fn push(&mut self, group: G, one: T) {
        let queue = self.queues.entry(group).or_insert_with(|| {
            self.order.push_back(group);
            VecDeque::new()
        });
        if !queue.contains(&one) {
            queue.push_back(one);
        }
    }

    /// Whose turn it is. His group's next turn comes after those of all others.
    pub(super) fn pop(&mut self) -> Option<T> {
        let group = self.order.pop_front()?;
        let queue = self.queues.get_mut(&group)?;
        let one = queue.pop_front();
        if queue.is_empty() {
            self.queues.remove(&group);
        } else {
            self.order.push_back(group);
        }
        one
    }

    /// One waits no more.
    pub(super) fn remove(&mut self, group: G, one: T) {
        let Some(queue) = self.queues.get_mut(&group) else { return };
        queue.retain(|other| *other != one);
        if queue.is_empty() {
            self.queues.remove(&group);
            self.order.retain(|other| *other != group);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(mut turns: Turns<char, u32>) -> Vec<u32> {
        std::iter::from_fn(|| turns.pop()).collect()
    }

    fn waiting(those: &[(char, u32)]) -> Turns<char, u32> {
        let mut turns = Turns::default();
        for &(group, one) in those {
            turns.push(group, one);
        }
        turns
    }

    #[test]
    fn each_group_has_its_turn_and_within_it_who_came_first() {
        assert_eq!(
            all(waiting(&[('a', 1), ('a', 2), ('a', 3), ('b', 4), ('b', 1), ('c', 9)])),
            [1, 4, 9, 2, 1, 3]
        );
    }

    #[test]
    fn who_waits_keeps_his_place_and_has_one_only() {
        assert_eq!(all(waiting(&[('a', 1), ('a', 2), ('b', 3), ('a', 1)])), [1, 3, 2]);
        let mut turns = waiting(&[('a', 1), ('a', 2), ('b', 3)]);
        assert_eq!(turns.pop(), Some(1));
        turns.push('a', 1);
        assert_eq!(all(turns), [3, 2, 1], "after those who came meanwhile");
    }

    #[test]
    fn who_is_gone_has_no_turn() {
        let mut turns = waiting(&[('a', 1), ('a', 2), ('b', 3)]);
        turns.remove('a', 1);
        turns.remove('b', 3);
        turns.remove('b', 4);
        turns.remove('a', 7);
        assert!(!turns.is_empty());
        assert_eq!(turns.pop(), Some(2));
        assert!(turns.is_empty() && turns.queues.is_empty());
        turns.push('b', 5);
        assert_eq!(all(turns), [5], "one turn for a group that came back");
    }
}
