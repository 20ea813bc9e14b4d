//! Which bytes of a stream have arrived.

use std::collections::BTreeMap;

/// Ranges of bytes: of each its start and its end. No two touch.
#[derive(Debug, Default)]
pub(super) struct Arrivals(BTreeMap<u64, u64>);

impl Arrivals {
    /// Bytes `start .. end` have arrived: the whole range that they are in now.
    pub(super) fn add(&mut self, mut start: u64, mut end: u64) -> (u64, u64) {
        let touched = |ranges: &BTreeMap<u64, u64>, start, end| {
            ranges.range(..=end).next_back().map(|(&from, &to)| (from, to)).filter(|&(_, to)| to >= start)
        };
        while let Some((from, to)) = touched(&self.0, start, end) {
            self.0.remove(&from);
            (start, end) = (start.min(from), end.max(to));
        }
        self.0.insert(start, end);
        (start, end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_touch_or_overlap_become_one() {
        let mut all = Arrivals::default();
        assert_eq!(all.add(0, 10), (0, 10));
        assert_eq!(all.add(20, 30), (20, 30));
        assert_eq!(all.add(40, 50), (40, 50));
        assert_eq!(all.add(22, 25), (20, 30), "again");
        assert_eq!(all.add(30, 40), (20, 50), "it closes a gap");
        assert_eq!(all.add(5, 19), (0, 19));
        assert_eq!(all.add(19, 20), (0, 50));
        assert_eq!(all.0.len(), 1);
    }
}
