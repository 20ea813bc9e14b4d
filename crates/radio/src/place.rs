//! Where something is.

use std::fmt;

use handfast_core::Length;

/// A point of the plane, in whole millimetres from an origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// To the right.
    pub x: i64,
    /// Upwards.
    pub y: i64,
}

impl Place {
    /// No coordinate is further from the origin: 1,000 km. Squares of distances stay within 64 bits.
    pub const FURTHEST: i64 = 1_000_000_000;

    /// The place with these coordinates in metres; [`None`] where one is no number or too far away.
    pub fn from_metres(x: f64, y: f64) -> Option<Self> {
        let millimetres = |metres: f64| {
            let rounded = libm::round(metres * 1e3);
            // NaN is in no range.
            (rounded.abs() <= Self::FURTHEST as f64).then_some(rounded as i64)
        };
        Some(Self { x: millimetres(x)?, y: millimetres(y)? })
    }

    /// How far away `other` is, rounded down.
    pub fn distance(self, other: Self) -> Length {
        let square = |a: i64, b: i64| a.abs_diff(b).saturating_mul(a.abs_diff(b));
        Length(square(self.x, other.x).saturating_add(square(self.y, other.y)).isqrt())
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {})", self.x as f64 / 1e3, self.y as f64 / 1e3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_of_pythagoras() {
        let corner = Place { x: 3_000, y: -4_000 };
        assert_eq!(Place::default().distance(corner), Length(5_000));
        let far = Place { x: Place::FURTHEST, y: Place::FURTHEST };
        let opposite = Place { x: -Place::FURTHEST, y: -Place::FURTHEST };
        assert_eq!(far.distance(opposite), Length(2_828_427_124));
    }

    #[test]
    fn only_numbers_within_bounds_are_places() {
        assert_eq!(Place::from_metres(1.2345, -2.0), Some(Place { x: 1_235, y: -2_000 }));
        for wrong in [f64::NAN, f64::INFINITY, 1e7, -1e300] {
            assert_eq!(Place::from_metres(wrong, 0.0), None);
            assert_eq!(Place::from_metres(0.0, wrong), None);
        }
    }
}
