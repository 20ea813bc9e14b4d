//! The link budget: power, gains and loss make the received signal.

use handfast_core::{Db, Dbm, Length};

use super::{Channel, Propagation};

/// What sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmitter {
    /// The power at the antenna.
    pub power: Dbm,
    /// The gains of both antennas together, less what cables take.
    pub gains: Db,
    /// On which channel.
    pub channel: Channel,
}

impl Transmitter {
    /// The signal that arrives over `distance`.
    pub fn level(&self, propagation: &Propagation, distance: Length) -> Dbm {
        let loss = propagation.loss(self.channel.frequency(), distance);
        // A loss within the bounds of places is below 1,000 dB.
        self.power + self.gains + Db(-(libm::round(loss * 1e3) as i32))
    }

    /// The longest distance at which the signal is at least `minimum`; zero where it never is.
    pub fn range(&self, propagation: &Propagation, minimum: Dbm) -> Length {
        // Half of the last digit of a level is lost to rounding.
        let loss = (self.power + self.gains - minimum).as_f64() + 0.000_5;
        if loss < 0.0 { Length(0) } else { propagation.distance(self.channel.frequency(), loss) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn paper() -> Transmitter {
        // [sdn] Table 2: 20 dBm; AP-1 is on channel 1.
        Transmitter { power: Dbm(20_000), gains: Db(0), channel: Channel::new(1).unwrap() }
    }

    #[test]
    fn the_papers_range_is_a_minimum_signal() {
        // By hand: 33 m are below the crossover distance, so the loss is 20 lg(4 π 33 / 0.12429) = 70.466 dB.
        let minimum = paper().level(&Propagation::TWO_RAY_GROUND, Length(33_000));
        assert_eq!(minimum, Dbm(-50_466));
        let range = paper().range(&Propagation::TWO_RAY_GROUND, minimum);
        assert!(range.0.abs_diff(33_000) <= 4, "{range}");
    }

    #[test]
    fn a_signal_stronger_than_what_is_sent_is_nowhere() {
        assert_eq!(paper().range(&Propagation::FreeSpace, Dbm(20_002)), Length(0));
    }

    proptest! {
        #[test]
        fn within_range_the_signal_suffices(minimum in -95_000..-30_000, step in 1_u64..1_000) {
            let range = paper().range(&Propagation::TWO_RAY_GROUND, Dbm(minimum));
            let level = |mm| paper().level(&Propagation::TWO_RAY_GROUND, Length(mm));
            prop_assert!(level(range.0) >= Dbm(minimum - 1));
            prop_assert!(level(range.0 + range.0 / 1_000 + step) < Dbm(minimum));
        }
    }
}
