//! Whether the link is about to go: equations (2) and (3) of `[iosl]`.

use std::collections::VecDeque;

use handfast_core::{Db, Duration, Instant};

/// Averages kept, at most: where samples come faster than this many in `τ`, the oldest stands for `τ` ago.
const MOST: usize = 256;

/// The parameters of the equations. The paper gives `β` alone; the others are our choice (docs/explanation/deviations.md).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// `β`: the weight of the newest SINR in the average.
    pub beta: f64,
    /// `γ`: a change of the average within `τ` below this is a steep fall.
    pub gamma: Db,
    /// `ε`: an average below this may be the end.
    pub epsilon: Db,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self { beta: 0.7, gamma: Db(-6_000), epsilon: Db(3_000) }
    }
}

/// The average of the SINR, and how it was `τ` ago.
#[derive(Clone, Debug)]
pub struct Predictor {
    thresholds: Thresholds,
    /// Averages in dB, oldest first: the last one from before `τ`, and all since.
    averages: VecDeque<(Instant, f64)>,
}

impl Predictor {
    /// Nothing is known yet.
    pub fn new(thresholds: Thresholds) -> Self {
        Self { thresholds, averages: VecDeque::new() }
    }

    /// The SINR now. Whether equation (3) predicts that the link goes. `tau`: how far back it looks.
    pub fn on_sinr(&mut self, now: Instant, sinr: Db, tau: Duration) -> bool {
        let beta = self.thresholds.beta;
        // Equation (2); the first sample is its own average.
        let average = self.average().map_or(sinr.as_f64(), |last| beta * sinr.as_f64() + (1.0 - beta) * last);
        self.averages.push_back((now, average));
        self.forget(now, tau);
        let fall = self.change(now, tau);
        fall.is_some_and(|fall| fall < self.thresholds.gamma.as_f64()) && self.is_low()
    }

    /// Keeps what is younger than `tau`, and one that is not.
    fn forget(&mut self, now: Instant, tau: Duration) {
        while self.averages.len() > MOST || self.averages.get(1).is_some_and(|&(at, _)| at + tau <= now) {
            self.averages.pop_front();
        }
    }

    /// By how much the average has changed within `tau`, in dB; [`None`] while there is no average that old.
    fn change(&self, now: Instant, tau: Duration) -> Option<f64> {
        let &(at, before) = self.averages.front()?;
        let is_old = at + tau <= now || self.averages.len() == MOST;
        Some(self.average()? - before).filter(|_| is_old)
    }

    /// Whether the average hardly falls any more: by less than a quarter of `γ` within `τ`. It only approaches where the signal stays.
    pub fn has_steadied(&self, now: Instant, tau: Duration) -> bool {
        let steady = self.thresholds.gamma.as_f64() / 4.0;
        self.change(now, tau).is_some_and(|change| change >= steady)
    }

    /// Whether the average is below `ε`.
    pub fn is_low(&self) -> bool {
        self.average().is_some_and(|average| average < self.thresholds.epsilon.as_f64())
    }

    /// The average now, in dB.
    pub fn average(&self) -> Option<f64> {
        self.averages.back().map(|&(_, average)| average)
    }

    /// Another link: what was is no part of its average.
    pub fn restart(&mut self) {
        self.averages.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAU: Duration = Duration::from_millis(50);

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    /// Whether each of these samples, 10 ms apart, predicts.
    fn predictions(sinr: impl IntoIterator<Item = i32>) -> Vec<bool> {
        let mut predictor = Predictor::new(Thresholds::default());
        let judge = |(n, db): (u64, i32)| predictor.on_sinr(at(10 * n), Db(db * 1000), TAU);
        (0..).zip(sinr).map(judge).collect()
    }

    #[test]
    fn the_average_weighs_the_newest_with_beta() {
        let mut predictor = Predictor::new(Thresholds::default());
        predictor.on_sinr(at(0), Db(10_000), TAU);
        assert_eq!(predictor.average(), Some(10.0));
        predictor.on_sinr(at(10), Db(20_000), TAU);
        assert_eq!(predictor.average(), Some(17.0), "0.7 * 20 + 0.3 * 10");
    }

    #[test]
    fn a_fall_is_predicted_once_it_is_steep_and_the_average_low() {
        // 2 dB every 10 ms from 20 dB: 10 dB within tau from the start, below 3 dB at last.
        let judged = predictions((0..15).map(|n| 20 - 2 * n));
        let first = judged.iter().position(|&predicted| predicted);
        // The average lags by some 0.86 dB: 20 - 2 * 9 + 0.86 = 2.86.
        assert_eq!(first, Some(9), "{judged:?}");
        assert!(judged[9..].iter().all(|&predicted| predicted));
    }

    #[test]
    fn a_slow_fall_and_a_fall_that_ends_high_are_none() {
        // 1 dB within tau.
        assert!(!predictions((0..100).map(|n| 10 - n / 5)).contains(&true));
        // From 30 to 10 dB at once.
        assert!(!predictions((0..20).map(|n| if n < 10 { 30 } else { 10 })).contains(&true));
    }

    #[test]
    fn nothing_is_predicted_before_tau_has_passed() {
        // A link that is bad from the start, and falls further.
        assert!(!predictions([0, -5, -10, -15, -20]).contains(&true));
        assert!(predictions([0, -5, -10, -15, -20, -25])[5], "now there is an average from tau ago");
    }

    #[test]
    fn the_comparison_is_with_the_last_average_from_before_tau() {
        let mut predictor = Predictor::new(Thresholds::default());
        predictor.on_sinr(at(0), Db(20_000), TAU);
        predictor.on_sinr(at(10), Db(2_000), TAU);
        // Silence: at 60 the average from 10 is the one tau ago, no longer that from 0.
        assert!(!predictor.on_sinr(at(60), Db(1_000), TAU));
        assert_eq!(predictor.averages.len(), 2);
    }

    #[test]
    fn it_steadies_when_the_average_falls_no_more() {
        let mut predictor = Predictor::new(Thresholds::default());
        for (n, db) in (0..).zip([20, 10, 0, 0, 0, 0, 0, 0, 0]) {
            predictor.on_sinr(at(10 * n), Db(db * 1000), TAU);
            // 13, 3.9, 1.17 dB, and then less than 1.5 dB more.
            assert_eq!(predictor.has_steadied(at(10 * n), TAU), n >= 8, "{n}");
        }
        assert!(predictor.is_low());
        predictor.restart();
        assert_eq!(predictor.average(), None);
    }

    #[test]
    fn memory_is_bounded() {
        let mut predictor = Predictor::new(Thresholds::default());
        for n in 0..10_000 {
            predictor.on_sinr(Instant::ZERO + Duration::from_micros(n), Db(0), Duration::from_secs(3600));
        }
        assert_eq!(predictor.averages.len(), MOST);
    }
}
