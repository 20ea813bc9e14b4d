//! From where somebody was refused a while ago, as sshd's `PerSourcePenalties` has it: whoever comes from there comes last.

use std::collections::{BTreeMap, VecDeque};

use handfast_core::{Duration, Instant};

/// So long a neighbourhood is suspect. Whoever dials again after a failure comes about as often.
const PENALTY: Duration = Duration::from_secs(10);

/// Neighbourhoods; of more the one that was refused longest ago is forgotten.
const MOST: usize = 4_096;

/// Neighbourhoods from where somebody was refused.
#[derive(Debug)]
pub(super) struct Suspects<G> {
    until: BTreeMap<G, Instant>,
    /// In the order of their last refusal; earlier ones of the same group are no more than in the way.
    order: VecDeque<(Instant, G)>,
}

impl<G> Default for Suspects<G> {
    fn default() -> Self {
        Self { until: BTreeMap::new(), order: VecDeque::new() }
    }
}

impl<G: Ord + Copy> Suspects<G> {
    /// Somebody was refused.
    pub(super) fn add(&mut self, now: Instant, group: G) {
        let until = now + PENALTY;
        // Once an instant: a flood that is refused all at once is one entry.
        if self.until.insert(group, until) != Some(until) {
            self.order.push_back((until, group));
        }
        self.forget(now);
    }

    /// Whether somebody was refused there a while ago.
    pub(super) fn has(&self, now: Instant, group: G) -> bool {
        self.until.get(&group).is_some_and(|&until| now < until)
    }

    fn forget(&mut self, now: Instant) {
        while let Some(&(until, group)) = self.order.front()
            && (until <= now || self.order.len() > MOST)
        {
            self.order.pop_front();
            if self.until.get(&group) == Some(&until) {
                self.until.remove(&group);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_counts_for_ten_seconds_from_the_last_one() {
        let (mut suspects, at) = (Suspects::default(), Instant::from_millis);
        suspects.add(at(0), 'a');
        suspects.add(at(6_000), 'a');
        suspects.add(at(7_000), 'b');
        assert!(suspects.has(at(15_999), 'a') && !suspects.has(at(16_000), 'a'));
        assert!(!suspects.has(at(0), 'c'));
        suspects.add(at(15_999), 'c');
        assert!(suspects.has(at(15_999), 'a'), "the first refusal is over, the second is not");
        suspects.add(at(16_000), 'c');
        assert_eq!(suspects.until.keys().copied().collect::<String>(), "bc");
    }

    #[test]
    fn they_have_a_bound_and_those_of_longest_ago_go() {
        let (mut suspects, now) = (Suspects::default(), Instant::from_millis(1));
        for group in 0..3 * MOST {
            suspects.add(now, group);
            suspects.add(now, group);
        }
        assert_eq!((suspects.until.len(), suspects.order.len()), (MOST, MOST));
        assert!(
            suspects.has(now, 3 * MOST - 1)
                && suspects.has(now, 2 * MOST)
                && !suspects.has(now, 2 * MOST - 1)
        );
        for nanos in 0..2 * MOST as u64 {
            suspects.add(now + Duration::from_nanos(nanos), 0);
        }
        assert_eq!((suspects.until.len(), suspects.order.len()), (1, MOST));
    }
}
