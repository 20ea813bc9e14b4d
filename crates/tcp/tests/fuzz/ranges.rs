//! A set of octets of a stream, as the referee keeps it: plainly, apart from the endpoint's own.

/// Sorted, disjoint, not adjacent.
#[derive(Clone, Debug, Default)]
pub struct Ranges(Vec<(u64, u64)>);

impl Ranges {
    pub fn insert(&mut self, start: u64, end: u64) {
        if start >= end {
            return;
        }
        let touching = |r: &(u64, u64)| r.0 <= end && start <= r.1;
        let merged =
            self.0.iter().copied().filter(touching).fold((start, end), |m, r| (m.0.min(r.0), m.1.max(r.1)));
        self.0.retain(|r| !touching(r));
        self.0.push(merged);
        self.0.sort_unstable();
    }

    pub fn contains(&self, start: u64, end: u64) -> bool {
        start >= end || self.0.iter().any(|r| r.0 <= start && end <= r.1)
    }

    pub fn meets(&self, start: u64, end: u64) -> bool {
        self.0.iter().any(|r| r.0 < end && start < r.1)
    }

    /// How far the octets from `from` on are all there.
    pub fn contiguous(&self, from: u64) -> u64 {
        self.0.iter().find(|r| r.0 <= from && from <= r.1).map_or(from, |r| r.1)
    }
}
