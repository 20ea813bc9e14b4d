//! TCP sequence numbers: modulo 2^32 (RFC 9293 §3.4).

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// A sequence number as it stands on the wire. It has no total order: compare with [`SeqNum::before`], which is
/// right as long as the two are less than 2^31 apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SeqNum(pub u32);

impl SeqNum {
    /// Whether `self` comes before `other` in sequence space.
    pub const fn before(self, other: Self) -> bool {
        self.distance(other) < 0
    }

    /// Whether `self` comes after `other` in sequence space.
    pub const fn after(self, other: Self) -> bool {
        self.distance(other) > 0
    }

    /// `self - other`, signed: how far `self` is ahead of `other`.
    pub const fn distance(self, other: Self) -> i32 {
        self.0.wrapping_sub(other.0) as i32
    }
}

impl Add<u32> for SeqNum {
    type Output = Self;
    fn add(self, n: u32) -> Self {
        Self(self.0.wrapping_add(n))
    }
}

impl AddAssign<u32> for SeqNum {
    fn add_assign(&mut self, n: u32) {
        *self = *self + n;
    }
}

impl Sub<u32> for SeqNum {
    type Output = Self;
    fn sub(self, n: u32) -> Self {
        Self(self.0.wrapping_sub(n))
    }
}

impl fmt::Display for SeqNum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_survives_the_wrap() {
        let last = SeqNum(u32::MAX);
        assert!(last.before(last + 1));
        assert!((last + 1).after(last));
        assert_eq!((last + 3).distance(last), 3);
        assert_eq!(last.distance(last + 3), -3);
        assert_eq!(SeqNum(0) - 1, last);
    }

    #[test]
    fn a_number_is_neither_before_nor_after_itself() {
        assert!(!SeqNum(7).before(SeqNum(7)));
        assert!(!SeqNum(7).after(SeqNum(7)));
    }
}
