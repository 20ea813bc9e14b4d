//! A count per side, of what happens to any of them.

use crate::hosts::side::SideId;

/// How many are noted before they are counted. The processor looks for a few tens of addresses at a time.
const NOTED: usize = 32;

/// Counts. With thousands of sides each is in memory that nobody has touched for long: they are brought up to date many at a
/// time, so that the processor waits for all of them together.
#[derive(Debug)]
pub(crate) struct Tally {
    counts: Vec<u64>,
    /// The first `len` of them are not in `counts` yet.
    noted: [u32; NOTED],
    len: usize,
}

impl Default for Tally {
    fn default() -> Self {
        Self::new(0)
    }
}

impl Tally {
    /// Counts for sides below `sides`, which are 0.
    pub(crate) fn new(sides: usize) -> Self {
        Self { counts: vec![0; sides], noted: [0; NOTED], len: 0 }
    }

    /// Counts one for a side; nothing where there is no such side.
    #[inline]
    pub(crate) fn add(&mut self, side: u32) {
        self.noted[self.len] = side;
        self.len += 1;
        if self.len == NOTED {
            self.count();
        }
    }

    fn count(&mut self) {
        for &side in &self.noted[..self.len] {
            if let Some(count) = self.counts.get_mut(side as usize) {
                *count += 1;
            }
        }
        self.len = 0;
    }

    /// The count of a side.
    pub(crate) fn of(&self, side: SideId) -> u64 {
        let noted = self.noted[..self.len].iter().filter(|&&noted| noted as usize == side).count();
        self.counts[side] + noted as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_counted_once_whenever_one_asks() {
        let (mut tally, mut model) = (Tally::new(7), [0; 7]);
        for step in 0..1000_u32 {
            let side = step * step % 11;
            tally.add(side);
            if let Some(count) = model.get_mut(side as usize) {
                *count += 1;
            }
            assert_eq!(std::array::from_fn(|side| tally.of(side)), model, "after {step}");
        }
    }
}
