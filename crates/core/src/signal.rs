//! Signals and differences of signals, in thousandths of a decibel: comparisons are exact on every platform.

use std::fmt;
use std::ops::{Add, Sub};

/// A power relative to one milliwatt, in thousandths of a dBm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dbm(pub i32);

/// A ratio of powers, in thousandths of a decibel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Db(pub i32);

impl Dbm {
    /// In dBm.
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / 1e3
    }
}

impl Db {
    /// In decibels.
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / 1e3
    }
}

impl Add<Db> for Dbm {
    type Output = Self;
    fn add(self, gain: Db) -> Self {
        Self(self.0.saturating_add(gain.0))
    }
}

impl Sub for Dbm {
    type Output = Db;
    fn sub(self, other: Self) -> Db {
        Db(self.0.saturating_sub(other.0))
    }
}

impl fmt::Display for Dbm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0 < 0 { "-" } else { "" })?;
        crate::units::format(f, u64::from(self.0.unsigned_abs()), &crate::units::DBM)
    }
}

impl fmt::Display for Db {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0 < 0 { "-" } else { "" })?;
        crate::units::format(f, u64::from(self.0.unsigned_abs()), &crate::units::DECIBELS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gain_raises_a_signal_and_the_difference_is_the_gain() {
        let weak = Dbm(-82_000);
        assert_eq!(weak + Db(6_500), Dbm(-75_500));
        assert_eq!((weak + Db(6_500)) - weak, Db(6_500));
        assert!((weak.as_f64() + 82.0).abs() < 1e-12);
        assert_eq!(Db(-500).to_string(), "-500mdB");
    }
}
