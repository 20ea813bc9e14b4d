//! What IPv4 and IPv6 headers have in common.

use std::net::IpAddr;

use crate::quick_start::{self, QuickStart};

/// The fields of an IP header that a packet keeps.
#[derive(Clone, Copy)]
pub(crate) struct IpHeader {
    pub(crate) src: IpAddr,
    pub(crate) dst: IpAddr,
    pub(crate) hop_limit: u8,
    pub(crate) traffic_class: u8,
    pub(crate) identification: u16,
    /// IPv4: "do not fragment" is not set.
    pub(crate) may_fragment: bool,
    /// IPv6 only.
    pub(crate) flow_label: u32,
    /// IPv4 only.
    pub(crate) quick_start: Option<QuickStart>,
    /// Protocol, or the next-header value of an IPv6 header.
    pub(crate) protocol: u8,
}

/// The two bits of the traffic class that routers mark congestion with (RFC 3168 §5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// Not-ECT: a router that wants to mark it drops it.
    #[default]
    NotCapable,
    /// ECT(1).
    Capable1,
    /// ECT(0): what senders use.
    Capable0,
    /// CE: congestion experienced.
    Congested,
}

impl Ecn {
    const BITS: u8 = 0b11;

    /// Those of a traffic class.
    pub const fn of(traffic_class: u8) -> Self {
        match traffic_class & Self::BITS {
            0b00 => Self::NotCapable,
            0b01 => Self::Capable1,
            0b10 => Self::Capable0,
            _ => Self::Congested,
        }
    }

    /// Those of a packet that comes out of one with the marks `outer` (RFC 6040 §4.2, Figure 4). [`None`]: dropped; a queue has
    /// marked what its sender did not declare capable.
    pub const fn out_of(self, outer: Self) -> Option<Self> {
        match (self, outer) {
            (Self::NotCapable, Self::Congested) => None,
            (_, Self::Congested) => Some(Self::Congested),
            (Self::Capable0, Self::Capable1) => Some(Self::Capable1),
            (inner, _) => Some(inner),
        }
    }

    /// The traffic class with these bits instead of its own.
    pub const fn within(self, traffic_class: u8) -> u8 {
        (traffic_class & !Self::BITS) | self as u8
    }
}

/// What an IP header says besides addresses and length: what a transport protocol is told of a packet, and decides of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpFacts {
    /// Congestion marks.
    pub ecn: Ecn,
    /// Time to live or hop limit.
    pub ttl: u8,
    /// The Quick-Start option as on the wire, without kind and length: six bytes, so that a segment and its facts are moved
    /// without a call of `memcpy`.
    option: [u8; 6],
}

/// No Quick-Start option: a function that none has.
const NO_OPTION: [u8; 6] = [0xff; 6];

impl IpFacts {
    /// Those of a plain packet: no marks, no options, and the time to live that hosts begin with (RFC 1700, "IP time to live
    /// parameter").
    pub const PLAIN: Self = Self { ecn: Ecn::NotCapable, ttl: 64, option: NO_OPTION };

    /// Without an option.
    pub const fn new(ecn: Ecn, ttl: u8) -> Self {
        Self { ecn, ttl, ..Self::PLAIN }
    }

    /// The Quick-Start option (RFC 4782 §3.1).
    pub fn quick_start(&self) -> Option<QuickStart> {
        if self.option == NO_OPTION {
            return None;
        }
        let [field, ttl, n0, n1, n2, n3] = self.option;
        QuickStart::parse(&[quick_start::OPTION, quick_start::OPTION_LEN as u8, field, ttl, n0, n1, n2, n3])
    }

    /// The same with another Quick-Start option, or none.
    #[must_use]
    pub fn with_quick_start(self, option: Option<QuickStart>) -> Self {
        let bytes = option.map(|option| {
            let [_, _, field, ttl, n0, n1, n2, n3] = option.emit();
            [field, ttl, n0, n1, n2, n3]
        });
        Self { option: bytes.unwrap_or(NO_OPTION), ..self }
    }

    /// Whether they are [`IpFacts::PLAIN`].
    #[inline]
    pub fn is_plain(&self) -> bool {
        *self == Self::PLAIN
    }
}

/// Bits of an IPv6 flow label.
pub(crate) const FLOW_LABEL: u32 = 0x000f_ffff;
/// Protocol number of ICMP for IPv4.
pub(crate) const ICMP: u8 = 1;
/// Protocol number of IPv4 in IP (RFC 2003).
pub(crate) const IPV4: u8 = 4;
/// Protocol number of TCP.
pub(crate) const TCP: u8 = 6;
/// Protocol number of UDP.
pub(crate) const UDP: u8 = 17;
/// Protocol number of IPv6 in IP (RFC 4213 §3.5).
pub(crate) const IPV6: u8 = 41;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_codepoints_are_those_of_rfc_3168() {
        // RFC 3168 §5: "00 Not-ECT, 01 ECT(1), 10 ECT(0), 11 CE"; the other six bits are DSCP.
        let points = [Ecn::NotCapable, Ecn::Capable1, Ecn::Capable0, Ecn::Congested];
        for (bits, ecn) in points.into_iter().enumerate() {
            let class = 0xb8 | bits as u8;
            assert_eq!((Ecn::of(class), ecn.within(0xbb), ecn.within(0xb8)), (ecn, class, class));
        }
    }

    #[test]
    fn marks_are_combined_as_in_figure_4_of_rfc_6040() {
        use Ecn::{Capable0, Capable1, Congested, NotCapable};
        let all = [NotCapable, Capable0, Capable1, Congested];
        // Rows: inner; columns: outer.
        let figure = [
            [Some(NotCapable), Some(NotCapable), Some(NotCapable), None],
            [Some(Capable0), Some(Capable0), Some(Capable1), Some(Congested)],
            [Some(Capable1), Some(Capable1), Some(Capable1), Some(Congested)],
            [Some(Congested); 4],
        ];
        for (inner, row) in all.into_iter().zip(figure) {
            assert_eq!(all.map(|outer| inner.out_of(outer)), row);
        }
    }
}
