//! How many repair symbols a block gets: as few as leave packets lost no more often than wanted, by the loss that the far end
//! reports.
//!
//! Independent losses are assumed: of bursts the mean is known here, and not their length.

/// What is known of the losses of a path.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Losses {
    /// Packets that came and that did not; older ones count less.
    received: f64,
    lost: f64,
    /// The last report.
    reported: [u32; 2],
}

/// What a report leaves of those before: of losses that have ended little is left after a second.
const KEPT: f64 = 0.8;

impl Losses {
    /// A report of how many have come and been lost since the beginning.
    pub(super) fn on_report(&mut self, received: u32, lost: u32) {
        let [before, lost_before] = std::mem::replace(&mut self.reported, [received, lost]);
        // What came late was counted as lost before: then the count falls.
        let came = received.wrapping_sub(before);
        let missed = lost.wrapping_sub(lost_before).cast_signed();
        self.received = KEPT * self.received + f64::from(came);
        self.lost = (KEPT * self.lost + f64::from(missed)).max(0.0);
    }

    /// The share of packets that is lost.
    pub(super) fn share(&self) -> f64 {
        let all = self.received + self.lost;
        if all > 0.0 { self.lost / all } else { 0.0 }
    }

    /// How many repair symbols leave more losses in a block than they make up for with at most that probability: one at least.
    pub(super) fn repairs(&self, packets: usize, residual: f64, most: u8) -> u8 {
        let share = self.share();
        (1..most)
            .find(|&repairs| beyond(packets + usize::from(repairs), repairs, share) <= residual)
            .unwrap_or(most)
    }
}

/// The probability that of so many packets more than `lost` are lost.
fn beyond(packets: usize, lost: u8, share: f64) -> f64 {
    // The terms of the binomial distribution, each from the one before.
    let mut term = (0..packets).fold(1.0, |term, _| term * (1.0 - share));
    let mut within = term;
    for n in 0..usize::from(lost).min(packets) {
        term *= share * (packets - n) as f64 / ((n + 1) as f64 * (1.0 - share).max(f64::MIN_POSITIVE));
        within += term;
    }
    1.0 - within
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repairs(received: u32, lost: u32) -> u8 {
        let mut losses = Losses::default();
        losses.on_report(received, lost);
        losses.repairs(10, 1e-3, 4)
    }

    #[test]
    fn more_losses_ask_for_more_symbols() {
        // 1 - 0.99^11 - 11 * 0.01 * 0.99^10 is 5.2e-3; with two symbols 2.1e-4. 5 % needs four: 2.8e-4; three leave 2.9e-3.
        assert_eq!(
            [repairs(100, 0), repairs(999, 1), repairs(990, 10), repairs(950, 50), repairs(1, 99)],
            [1, 1, 2, 4, 4]
        );
    }

    #[test]
    fn the_tail_of_the_binomial_distribution() {
        assert!((beyond(11, 1, 0.01) - 5.182e-3).abs() < 1e-5);
        assert!((beyond(2, 1, 0.5) - 0.25).abs() < 1e-12);
        assert!((beyond(1, 1, 1.0)).abs() <= 1.0);
    }

    #[test]
    fn what_was_long_ago_counts_less_and_what_comes_late_was_not_lost() {
        let mut losses = Losses::default();
        losses.on_report(90, 10);
        assert!((losses.share() - 0.1).abs() < 1e-9);
        losses.on_report(190, 10);
        assert!((losses.share() - 8.0 / 180.0).abs() < 1e-9);
        losses.on_report(191, 1);
        assert!(losses.share() < 1e-9);
    }
}
