//! What a discipline knows of a packet.

use handfast_core::{Bytes, Instant};

/// The ECN field of an IP header (RFC 3168 §5): the two low bits of the traffic class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// Its sender does not do ECN.
    #[default]
    NotEct,
    /// ECT(1), 01.
    Ect1,
    /// ECT(0), 10.
    Ect0,
    /// Congestion experienced, 11.
    Ce,
}

impl Ecn {
    /// The bits of [`Ecn::Ce`] in a traffic class.
    pub const CE_BITS: u8 = 0b11;

    /// That of a traffic class.
    pub const fn of_traffic_class(traffic_class: u8) -> Self {
        match traffic_class & 0b11 {
            0b00 => Self::NotEct,
            0b01 => Self::Ect1,
            0b10 => Self::Ect0,
            _ => Self::Ce,
        }
    }

    /// Whether a router may mark the packet instead of dropping it.
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotEct)
    }
}

/// What a driver says of a packet where a discipline asks for more than its size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Class {
    /// A number that the packets of one flow share, for disciplines with a queue a flow.
    pub flow: u32,
    /// Its ECN field.
    pub ecn: Ecn,
}

/// A packet in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketMeta<H> {
    /// Which.
    pub handle: H,
    /// Bytes of the IP packet.
    pub size: Bytes,
    /// A number that the packets of one flow share.
    pub flow: u32,
    /// Its ECN field when it came.
    pub ecn: Ecn,
    /// Whether a [`crate::Loss::List`] counts it.
    pub has_payload: bool,
    /// When it came.
    pub enqueued_at: Instant,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ecn_field_is_the_two_low_bits() {
        // RFC 3168 §5, figure 1.
        let fields = [0b1011_1000, 0b01, 0b10, 0b1111].map(Ecn::of_traffic_class);
        assert_eq!(fields, [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce]);
        assert_eq!(fields.map(Ecn::is_capable), [false, true, true, true]);
        assert_eq!(Ecn::of_traffic_class(0b1011_1010 | Ecn::CE_BITS), Ecn::Ce);
    }
}
