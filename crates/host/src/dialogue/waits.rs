//! How long a person waited.

use handfast_core::{Duration, Instant};

use crate::rank::nearest_rank;
use crate::transport::Figure;

/// How long each wait was that has ended, and since when the others last.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waits(Vec<Duration>);

impl Waits {
    /// One has ended.
    pub(crate) fn add(&mut self, wait: Duration) {
        self.0.push(wait);
    }

    /// How many have ended.
    pub(crate) fn count(&self) -> u64 {
        self.0.len() as u64
    }

    /// All of them in order, with those that began then and last at `now`, where such a one is longer than all that have ended: so
    /// what never came counts, and what has just been asked does not.
    pub(crate) fn sorted(&self, now: Instant, begun: impl Iterator<Item = Instant>) -> Sorted {
        let longest = self.0.iter().copied().max().unwrap_or_default();
        let last = begun.map(|begun| now.since(begun)).filter(|&wait| wait > longest);
        let mut all: Vec<_> = self.0.iter().copied().chain(last).collect();
        all.sort_unstable();
        Sorted(all)
    }
}

/// Waits in order.
pub(crate) struct Sorted(Vec<Duration>);

impl Sorted {
    /// So many thousandths of all were at most that long, in seconds; unknown where there is none.
    pub(crate) fn at(&self, thousandths: usize) -> Figure {
        Figure::Value(nearest_rank(&self.0, thousandths).map(Duration::as_secs_f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_came_counts_and_what_was_just_asked_does_not() {
        let (at, ms) = (Instant::from_millis, Duration::from_millis);
        let mut waits = Waits::default();
        for wait in [10, 30, 20] {
            waits.add(ms(wait));
        }
        let figures = |begun: &[u64]| {
            let sorted = waits.sorted(at(1000), begun.iter().map(|&begun| at(begun)));
            [500, 1000].map(|rank| sorted.at(rank))
        };
        let seconds = |figures: [f64; 2]| figures.map(|figure| Figure::Value(Some(figure)));
        assert_eq!(figures(&[]), seconds([0.02, 0.03]));
        assert_eq!(figures(&[970, 999]), seconds([0.02, 0.03]));
        assert_eq!(figures(&[900, 500, 999]), seconds([0.03, 0.5]));
        assert_eq!(Waits::default().sorted(at(9), std::iter::empty()).at(500), Figure::Value(None));
    }
}
