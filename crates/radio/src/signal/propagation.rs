//! What becomes of a signal on its way: the loss over a distance, and the distance at which a loss is reached.

use core::f64::consts::PI;

use handfast_core::Length;

/// Metres per second, in vacuum.
const LIGHT: f64 = 299_792_458.0;

/// A model of the loss between two antennas.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Propagation {
    /// Nothing in the way: Friis.
    FreeSpace,
    /// The ground reflects. As in free space up to the crossover distance, with the fourth power of the distance beyond.
    TwoRayGround {
        /// Height of the access point's antenna, above zero.
        access_point: Length,
        /// Height of the station's antenna, above zero.
        station: Length,
    },
    /// As in free space up to a reference distance, with a power of the distance beyond.
    LogDistance {
        /// The power, above zero: 2 is free space, 3 to 4 indoors.
        exponent: f64,
        /// The reference distance, above zero.
        reference: Length,
    },
}

impl Propagation {
    /// Two-ray ground with both antennas 1.5 m high, as ns-2 has it.
    pub const TWO_RAY_GROUND: Self =
        Self::TwoRayGround { access_point: Length(1_500), station: Length(1_500) };

    /// The loss in decibels over `distance` at `frequency` Hz; never below zero, however near.
    pub fn loss(&self, frequency: u64, distance: Length) -> f64 {
        let knee = self.knee(frequency);
        let metres = distance.as_metres();
        let loss = if metres <= knee {
            free_space(frequency, metres)
        } else {
            free_space(frequency, knee) + self.slope() * libm::log10(metres / knee)
        };
        // Below a wavelength the far-field formula would amplify.
        loss.max(0.0)
    }

    /// The longest distance over which the loss at `frequency` Hz is at most `loss` decibels.
    pub fn distance(&self, frequency: u64, loss: f64) -> Length {
        let knee = self.knee(frequency);
        let beyond = loss - free_space(frequency, knee);
        let metres = if beyond <= 0.0 {
            // The inverse of Friis.
            wavelength(frequency) / (4.0 * PI) * libm::pow(10.0, loss / FREE_SPACE_SLOPE)
        } else {
            knee * libm::pow(10.0, beyond / self.slope())
        };
        Length(libm::floor(metres * 1e3) as u64)
    }

    /// Up to how many metres the loss is that of free space.
    fn knee(&self, frequency: u64) -> f64 {
        match *self {
            Self::FreeSpace => f64::INFINITY,
            // Rappaport, Wireless Communications, §4.6: both formulas give the same loss at 4 π h_t h_r / λ. ns-2 and ns-3
            // switch there.
            Self::TwoRayGround { access_point, station } => {
                4.0 * PI * access_point.as_metres() * station.as_metres() / wavelength(frequency)
            }
            Self::LogDistance { reference, .. } => reference.as_metres(),
        }
    }

    /// Decibels for ten times the distance, beyond the knee.
    fn slope(&self) -> f64 {
        match *self {
            Self::FreeSpace => FREE_SPACE_SLOPE,
            Self::TwoRayGround { .. } => 40.0,
            Self::LogDistance { exponent, .. } => 10.0 * exponent,
        }
    }
}

const FREE_SPACE_SLOPE: f64 = 20.0;

fn wavelength(frequency: u64) -> f64 {
    LIGHT / frequency as f64
}

/// Friis 1946: the square of 4 π d / λ, in decibels.
fn free_space(frequency: u64, metres: f64) -> f64 {
    FREE_SPACE_SLOPE * libm::log10(4.0 * PI * metres / wavelength(frequency))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The wavelength of the vectors in ns-3's propagation tests is 0.125 m.
    const NS3_FREQUENCY: u64 = 2_398_339_664;
    /// Their power in watts.
    const NS3_WATTS: f64 = 0.050_357_02;

    fn received(model: Propagation, frequency: u64, watts: f64, metres: u64) -> f64 {
        watts * libm::pow(10.0, -model.loss(frequency, Length(metres * 1000)) / 10.0)
    }

    fn check(model: Propagation, vectors: &[(u64, f64)]) {
        for &(metres, watts) in vectors {
            let got = received(model, NS3_FREQUENCY, NS3_WATTS, metres);
            assert!((got / watts - 1.0).abs() < 1e-5, "{model:?}, {metres} m: {got:e}, not {watts:e}");
        }
    }

    #[test]
    fn free_space_is_what_ns3_documents() {
        check(
            Propagation::FreeSpace,
            &[(100, 4.98265e-10), (500, 1.99306e-11), (1000, 4.98265e-12), (2000, 1.24566e-12)],
        );
    }

    #[test]
    fn two_ray_ground_is_what_ns3_documents() {
        let vectors = [
            (100, 4.98265e-10),
            (500, 4.078_918_62e-12),
            (1000, 2.549_324_137_5e-13),
            (2000, 1.593_327_586e-14),
        ];
        check(Propagation::TWO_RAY_GROUND, &vectors);
        let higher = Propagation::TwoRayGround { access_point: Length(1_500), station: Length(2_500) };
        check(higher, &[(500, 1.133_032_95e-11)]);
    }

    #[test]
    fn log_distance_is_what_ns3_documents() {
        let model = Propagation::LogDistance { exponent: 3.0, reference: Length(1_000) };
        check(model, &[(10, 4.98265e-9), (20, 6.22831e-10), (40, 7.78539e-11), (80, 9.73173e-12)]);
    }

    #[test]
    fn two_ray_ground_has_the_ranges_of_ns2() {
        // ns-2's WaveLAN at 914 MHz: 0.28183815 W reach 3.652e-10 W at 250 m and 1.559e-11 W at 550 m; the crossover is
        // at 86.14 m.
        let model = Propagation::TWO_RAY_GROUND;
        let reached = |watts: f64| model.distance(914_000_000, 10.0 * libm::log10(0.281_838_15 / watts));
        assert!(reached(3.652e-10).0.abs_diff(250_000) < 50, "{}", reached(3.652e-10));
        assert!(reached(1.559e-11).0.abs_diff(550_000) < 200, "{}", reached(1.559e-11));
        assert!((model.knee(914_000_000) - 86.14).abs() < 0.1, "{}", model.knee(914_000_000));
    }

    #[test]
    fn nothing_is_gained_by_nearness() {
        assert!(Propagation::FreeSpace.loss(2_412_000_000, Length(0)).abs() < 1e-12);
        assert!(Propagation::TWO_RAY_GROUND.loss(2_412_000_000, Length(1)).abs() < 1e-12);
    }

    fn models() -> impl Strategy<Value = Propagation> {
        let height = 100_u64..30_000;
        prop_oneof![
            Just(Propagation::FreeSpace),
            (height.clone(), height).prop_map(|(access_point, station)| Propagation::TwoRayGround {
                access_point: Length(access_point),
                station: Length(station)
            }),
            (1.0..6.0, 1_u64..50_000).prop_map(|(exponent, reference)| Propagation::LogDistance {
                exponent,
                reference: Length(reference)
            }),
        ]
    }

    proptest! {
        #[test]
        fn distance_inverts_loss(model in models(), channel in 1_u64..=13, mm in 1_000_u64..10_000_000) {
            let frequency = (2_407 + 5 * channel) * 1_000_000;
            let back = model.distance(frequency, model.loss(frequency, Length(mm)));
            // Rounded down; both ways lose digits in proportion.
            prop_assert!(back.0.abs_diff(mm) <= 1 + mm / 1_000_000_000, "{mm} {back:?}");
        }

        #[test]
        fn further_is_never_louder(model in models(), a in 1_u64..10_000_000, b in 1_u64..10_000_000) {
            let (near, far) = (a.min(b), a.max(b));
            let loss = |mm| model.loss(2_437_000_000, Length(mm));
            prop_assert!(loss(near) <= loss(far) + 1e-9);
        }
    }
}
