//! Quick-Start (RFC 4782): the rate that a sender asks the routers on its way for, in an IPv4 option, and what its receiver
//! answers, in a TCP option.

use handfast_core::BitRate;

/// Bytes of the IPv4 option.
pub(crate) const OPTION_LEN: usize = 8;
/// Copy flag 0, class 0, number 25.
pub(crate) const OPTION: u8 = 25;
/// Function field of a rate request, in the upper half of its byte.
const REQUEST: u8 = 0x00;
/// Function field of a report of the approved rate.
const REPORT: u8 = 0x80;

/// A rate as its four bits say it: 0 is none, N is 40,000 * 2^N bit/s (RFC 4782 §3.1, table 1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct QuickStartRate(u8);

impl QuickStartRate {
    /// No rate: a request denied.
    pub const NONE: Self = Self(0);
    /// The highest, 1.3 Gbit/s.
    pub const MOST: Self = Self(15);
    const UNIT: u64 = 40_000;

    /// From the field; only its lower four bits count.
    pub const fn from_field(field: u8) -> Self {
        Self(field & 0x0f)
    }

    /// The field, 0 to 15.
    pub const fn field(self) -> u8 {
        self.0
    }

    /// The rate.
    pub const fn rate(self) -> BitRate {
        BitRate::from_bps(if self.0 == 0 { 0 } else { Self::UNIT << self.0 })
    }

    /// The lowest that is not below `rate`: what a sender may ask for (RFC 4782 §4.1).
    pub fn at_least(rate: BitRate) -> Self {
        (0..15).map(Self).find(|code| code.rate() >= rate).unwrap_or(Self::MOST)
    }

    /// The highest that is not above `rate`: what a router may approve (RFC 4782 appendix D).
    pub fn at_most(rate: BitRate) -> Self {
        (1..=15).rev().map(Self).find(|code| code.rate() <= rate).unwrap_or(Self::NONE)
    }
}

/// Thirty bits that a sender draws and that whoever reduces the rate overwrites in part (RFC 4782 §3.4, table 2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QuickStartNonce(u32);

impl QuickStartNonce {
    /// The lower thirty bits of `bits`.
    pub const fn new(bits: u32) -> Self {
        Self(bits & 0x3fff_ffff)
    }

    /// The bits.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// With new bits from `random` in the fields of the steps from `from` down to `to`.
    #[must_use]
    pub const fn reduced(self, from: QuickStartRate, to: QuickStartRate, random: u32) -> Self {
        // Table 2: the step from rate K to K - 1 has the two bits whose right end is 2 * (K - 1).
        let changed = Self::rightmost(from) & !Self::rightmost(to);
        Self(self.0 & !changed | random & changed)
    }

    /// Whether the fields of all steps below `rate` are the same: nobody has reduced it further (RFC 4782 §4.4: the rightmost
    /// 2K bits).
    pub const fn agrees_below(self, other: Self, rate: QuickStartRate) -> bool {
        (self.0 ^ other.0) & Self::rightmost(rate) == 0
    }

    const fn rightmost(rate: QuickStartRate) -> u32 {
        (1 << (2 * rate.0)) - 1
    }

    const fn from_bytes(bytes: [u8; 4]) -> Self {
        // The last two bits are reserved.
        Self(u32::from_be_bytes(bytes) >> 2)
    }

    const fn to_bytes(self) -> [u8; 4] {
        (self.0 << 2).to_be_bytes()
    }
}

/// The option in an IPv4 header (RFC 4782 §3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuickStart {
    /// What the sender would like to send, figure 3.
    Request {
        /// The rate, headers included; routers reduce it.
        rate: QuickStartRate,
        /// The Quick-Start TTL, which only routers that approve decrement.
        ttl: u8,
        /// The nonce.
        nonce: QuickStartNonce,
    },
    /// What it was allowed, figure 4.
    Report {
        /// The rate; none where the request was denied.
        rate: QuickStartRate,
        /// The request's nonce.
        nonce: QuickStartNonce,
    },
}

impl QuickStart {
    /// What an IPv4 option says; [`None`]: another option, or another function of this one.
    pub(crate) fn parse(option: &[u8]) -> Option<Self> {
        let &[OPTION, 8, field, ttl, n0, n1, n2, n3] = option else { return None };
        let (rate, nonce) =
            (QuickStartRate::from_field(field), QuickStartNonce::from_bytes([n0, n1, n2, n3]));
        match field & 0xf0 {
            REQUEST => Some(Self::Request { rate, ttl, nonce }),
            REPORT => Some(Self::Report { rate, nonce }),
            _ => None,
        }
    }

    pub(crate) fn emit(self) -> [u8; OPTION_LEN] {
        let (function, rate, ttl, nonce) = match self {
            Self::Request { rate, ttl, nonce } => (REQUEST, rate, ttl, nonce),
            Self::Report { rate, nonce } => (REPORT, rate, 0, nonce),
        };
        let [n0, n1, n2, n3] = nonce.to_bytes();
        [OPTION, OPTION_LEN as u8, function | rate.field(), ttl, n0, n1, n2, n3]
    }
}

/// What the receiver of a request answers, in the TCP header (RFC 4782 §4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuickStartResponse {
    /// The rate that all routers approved, as far as they knew of it.
    pub rate: QuickStartRate,
    /// IP TTL less Quick-Start TTL, as they arrived, modulo 256.
    pub ttl_diff: u8,
    /// The nonce as it arrived.
    pub nonce: QuickStartNonce,
}

impl QuickStartResponse {
    /// From the third byte of the option on.
    pub(crate) const fn parse([field, ttl_diff, n0, n1, n2, n3]: [u8; 6]) -> Self {
        let (rate, nonce) =
            (QuickStartRate::from_field(field), QuickStartNonce::from_bytes([n0, n1, n2, n3]));
        Self { rate, ttl_diff, nonce }
    }

    pub(crate) const fn emit(self) -> [u8; 6] {
        let [n0, n1, n2, n3] = self.nonce.to_bytes();
        [self.rate.field(), self.ttl_diff, n0, n1, n2, n3]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_those_of_table_1() {
        let kbps: Vec<u64> = (0..16).map(|n| QuickStartRate::from_field(n).rate().as_bps() / 1000).collect();
        let table = [
            0, 80, 160, 320, 640, 1280, 2560, 5120, 10_240, 20_480, 40_960, 81_920, 163_840, 327_680,
            655_360, 1_310_720,
        ];
        assert_eq!(kbps, table);
    }

    #[test]
    fn a_sender_rounds_up_and_a_router_down() {
        for (bps, up, down) in [
            (0, 0, 0),
            (1, 1, 0),
            (80_000, 1, 1),
            (80_001, 2, 1),
            (50_000_000, 11, 10),
            (1_310_720_000, 15, 15),
            (u64::MAX, 15, 15),
        ] {
            let rate = BitRate::from_bps(bps);
            let codes = (QuickStartRate::at_least(rate).field(), QuickStartRate::at_most(rate).field());
            assert_eq!(codes, (up, down), "{bps}");
        }
    }

    #[test]
    fn a_reduction_overwrites_the_fields_of_its_steps_alone() {
        let code = QuickStartRate::from_field;
        let nonce = QuickStartNonce::new(0);
        // Table 2: bits are counted from the left, rate 1 -> rate 0 is the last pair.
        assert_eq!(nonce.reduced(code(15), code(14), u32::MAX).bits(), 0b11 << 28);
        assert_eq!(nonce.reduced(code(1), code(0), u32::MAX).bits(), 0b11);
        assert_eq!(nonce.reduced(code(10), code(8), u32::MAX).bits(), 0b1111 << 16);
        let reduced = nonce.reduced(code(10), code(8), u32::MAX);
        assert!(reduced.agrees_below(nonce, code(8)));
        assert!(!reduced.agrees_below(nonce, code(9)) && !reduced.agrees_below(nonce, code(10)));
    }

    #[test]
    fn the_bytes_are_those_of_the_figures() {
        let (rate, nonce) = (QuickStartRate::from_field(9), QuickStartNonce::new(1));
        let request = QuickStart::Request { rate, ttl: 91, nonce };
        assert_eq!(request.emit(), [25, 8, 0x09, 91, 0, 0, 0, 4]);
        assert_eq!(QuickStart::Report { rate, nonce }.emit(), [25, 8, 0x89, 0, 0, 0, 0, 4]);
        // Reserved bits and the unused byte of a report are ignored.
        let noisy = QuickStart::parse(&[25, 8, 0x89, 7, 0, 0, 0, 7]);
        assert_eq!(noisy, Some(QuickStart::Report { rate, nonce }));
        assert_eq!(QuickStart::parse(&[25, 8, 0x19, 7, 0, 0, 0, 7]), None);
        let response = QuickStartResponse { rate, ttl_diff: 28, nonce };
        assert_eq!(response.emit(), [9, 28, 0, 0, 0, 4]);
        assert_eq!(QuickStartResponse::parse([0xf9, 28, 0, 0, 0, 7]), response);
    }
}
