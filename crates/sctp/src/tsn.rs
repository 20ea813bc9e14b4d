//! Transmission sequence numbers without the wrap.

use handfast_core::SeqNum;

/// A TSN that does not wrap: its lowest 32 bits are those of the wire.
pub(crate) type Tsn = u64;

/// A first TSN. There is room below it, so that differences do not fall below zero.
pub(crate) fn first(wire: SeqNum) -> Tsn {
    (1 << 32) + Tsn::from(wire.0)
}

/// The one nearest to `near` that has this form on the wire (§1.6: serial number arithmetic).
pub(crate) fn nearest(near: Tsn, wire: SeqNum) -> Tsn {
    near.saturating_add_signed(i64::from(wire.distance(to_wire(near))))
}

/// Its form on the wire.
pub(crate) fn to_wire(tsn: Tsn) -> SeqNum {
    SeqNum(tsn as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_on_behind_the_wrap() {
        let last = first(SeqNum(u32::MAX));
        assert_eq!(nearest(last, SeqNum(1)), last + 2);
        assert_eq!(nearest(last + 2, SeqNum(u32::MAX)), last);
        assert_eq!(to_wire(last + 1), SeqNum(0));
    }
}
