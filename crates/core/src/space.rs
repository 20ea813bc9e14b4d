//! Lengths and speeds.

use std::fmt;

use crate::Duration;

/// A length in whole millimetres.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Length(pub u64);

/// A speed in whole millimetres per hour: 1 km/h and 1 m/s are both whole numbers of it. Zero is a speed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Speed(u64);

impl Length {
    /// In metres, for formulas.
    pub fn as_metres(self) -> f64 {
        self.0 as f64 / 1e3
    }
}

impl Speed {
    /// `n` millimetres per hour.
    pub const fn from_mm_per_hour(n: u64) -> Self {
        Self(n)
    }

    /// Millimetres per hour.
    pub const fn as_mm_per_hour(self) -> u64 {
        self.0
    }

    /// How long `length` takes, rounded up to the nanosecond; [`None`] at speed zero.
    pub fn time_for(self, length: Length) -> Option<Duration> {
        let scaled = u128::from(length.0) * NANOS_PER_HOUR;
        let nanos =
            scaled.checked_add(u128::from(self.0))?.checked_sub(1)?.checked_div(u128::from(self.0))?;
        Some(Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
    }

    /// How far one gets in `time`, rounded down.
    pub fn length_in(self, time: Duration) -> Length {
        let millimetres = u128::from(self.0) * u128::from(time.as_nanos()) / NANOS_PER_HOUR;
        Length(u64::try_from(millimetres).unwrap_or(u64::MAX))
    }
}

const NANOS_PER_HOUR: u128 = 3_600_000_000_000;

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        crate::units::format(f, self.0, &crate::units::LENGTH)
    }
}

impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        crate::units::format(f, self.0, &crate::units::SPEED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_takes_its_length_over_the_speed() {
        let walking: Speed = "1.5m/s".parse().unwrap();
        assert_eq!(walking.time_for(Length(3_000)), Some(Duration::from_secs(2)));
        assert_eq!(walking.length_in(Duration::from_secs(2)), Length(3_000));
        assert_eq!(Speed::default().time_for(Length(1)), None);
        assert_eq!(Speed::default().length_in(Duration::from_secs(9)), Length(0));
        assert_eq!(Speed::from_mm_per_hour(u64::MAX).time_for(Length(0)), Some(Duration::ZERO));
    }
}
