//! Byte counts and bit rates.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

use crate::Duration;

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// A rate in bits per second. Zero is a rate: nothing passes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BitRate(u64);

impl Bytes {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// The plain number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl Add for Bytes {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for Bytes {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl BitRate {
    /// `bps` bits per second.
    pub const fn from_bps(bps: u64) -> Self {
        Self(bps)
    }

    /// Bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// How long `bytes` take to serialise, rounded up to the nanosecond, and the remainder in units of
    /// `1 / rate` nanoseconds that the rounding added. [`None`] at rate zero: it never ends.
    ///
    /// A sender that adds the remainders up sends at the nominal rate over any number of packets, whatever the
    /// rounding of each one.
    pub fn serialisation(self, bytes: Bytes) -> Option<(Duration, u64)> {
        const NANOS: u64 = 1_000_000_000;
        let bits = bytes.0.saturating_mul(8);
        // The common case fits 64 bits (up to 2.3 GB at once); a 128-bit division costs ten times as much.
        if let Some(nanobits) = bits.checked_mul(NANOS) {
            return self.time_for(nanobits);
        }
        let scaled = u128::from(bits) * u128::from(NANOS);
        let whole = scaled.checked_div(u128::from(self.0))?;
        let nanos = u64::try_from(whole).unwrap_or(u64::MAX);
        Some((Duration::from_nanos(nanos), 0))
    }

    /// [`BitRate::serialisation`] for a part of a packet, in billionths of a bit: what is left of a packet after a whole
    /// number of nanoseconds at a whole number of bits per second is a whole number of them.
    pub fn time_for(self, nanobits: u64) -> Option<(Duration, u64)> {
        let whole = nanobits.checked_div(self.0)?;
        let left = nanobits % self.0;
        let early = if left == 0 { 0 } else { self.0 - left };
        Some((Duration::from_nanos(whole + u64::from(left != 0)), early))
    }

    /// The bytes that pass in `time`, rounded down.
    pub fn bytes_in(self, time: Duration) -> Bytes {
        let bits = u128::from(self.0) * u128::from(time.as_nanos()) / 1_000_000_000;
        Bytes(u64::try_from(bits / 8).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        crate::units::format(f, self.0, &crate::units::BYTES)
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        crate::units::format(f, self.0, &crate::units::BIT_RATE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serialisation_rounds_up_and_says_by_how_much() {
        let gigabit = BitRate::from_bps(1_000_000_000);
        assert_eq!(gigabit.serialisation(Bytes(1500)), Some((Duration::from_micros(12), 0)));
        // 8 bits at 3 bit/s: 2.666… s, rounded up by a third of a nanosecond.
        let (d, early) = BitRate::from_bps(3).serialisation(Bytes(1)).unwrap();
        assert_eq!(d, Duration::from_nanos(2_666_666_667));
        assert_eq!(early, 1);
        assert_eq!(BitRate::from_bps(0).serialisation(Bytes(1)), None);
    }

    #[test]
    fn bytes_in_inverts_serialisation() {
        let rate = BitRate::from_bps(2_000_000);
        let (d, _) = rate.serialisation(Bytes(1064)).unwrap();
        assert_eq!(rate.bytes_in(d), Bytes(1064));
    }
}
