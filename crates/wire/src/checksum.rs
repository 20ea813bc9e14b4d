//! The Internet checksum (RFC 1071), of IPv4 headers, TCP segments and UDP datagrams.

use std::net::IpAddr;

/// Whether a parser looks at checksums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Checksums {
    /// A wrong IPv4 header checksum is an error, a wrong TCP or UDP checksum sets [`crate::Packet::corrupted`].
    #[default]
    Verify,
    /// Whatever stands there is taken as right: frames from a host whose network card completes the sums later.
    Trust,
}

/// A one's complement sum under way, of words as this machine's memory has them: their order does not matter before the end (RFC
/// 1071 §2 (B)). Only the last piece added may have an odd number of bytes.
#[derive(Clone, Copy, Default)]
pub(crate) struct Sum(u64);

impl Sum {
    /// Adds `bytes`, a trailing odd byte as if a zero followed (RFC 1071 §1).
    pub(crate) fn add(mut self, bytes: &[u8]) -> Self {
        let (words, rest) = bytes.as_chunks::<8>();
        // RFC 1071 §2 (C): 2^16 is 1 modulo 2^16 - 1, so wider words may be summed and folded afterwards. A packet
        // has at most 2^14 of the halves: no overflow. Two sums, so that a compiler can take several words at once.
        let (mut low, mut high) = (0, 0);
        for word in words {
            let word = u64::from_ne_bytes(*word);
            low += word & 0xffff_ffff;
            high += word >> 32;
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        let last = u64::from_ne_bytes(last);
        self.0 += low + high + (last & 0xffff_ffff) + (last >> 32);
        self
    }

    /// The sum folded to 16 bits: 0xffff where the bytes hold a right checksum.
    pub(crate) fn fold(self) -> u16 {
        let mut sum = self.0;
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        u16::from_be(sum as u16)
    }

    /// The checksum to write: the complement of the sum over everything else.
    pub(crate) fn checksum(self) -> u16 {
        !self.fold()
    }
}

/// The pseudo-header of RFC 9293 §3.1 (IPv4) and RFC 8200 §8.1 (IPv6); both sum to the same shape.
pub(crate) fn pseudo_header(src: IpAddr, dst: IpAddr, protocol: u8, len: usize) -> Sum {
    let addresses = address(address(Sum::default(), src), dst);
    addresses.add(&(len as u32).to_be_bytes()).add(&[0, protocol])
}

fn address(sum: Sum, address: IpAddr) -> Sum {
    match address {
        IpAddr::V4(v4) => sum.add(&v4.octets()),
        IpAddr::V6(v6) => sum.add(&v6.octets()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 1071 §3: the worked example.
    #[test]
    fn the_example_of_rfc_1071() {
        let sum = Sum::default().add(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]);
        assert_eq!(sum.fold(), 0xddf2);
        assert_eq!(sum.checksum(), 0x220d);
    }

    #[test]
    fn an_odd_byte_is_the_high_half_of_a_word() {
        assert_eq!(Sum::default().add(&[0x12]).fold(), 0x1200);
        assert_eq!(Sum::default().add(&[0x12, 0x34, 0x56]).fold(), 0x1234 + 0x5600);
        assert_eq!(Sum::default().add(&[1, 2, 3, 4, 5]).fold(), 0x0102 + 0x0304 + 0x0500);
    }

    #[test]
    fn carries_come_around() {
        assert_eq!(Sum::default().add(&[0xff; 64]).fold(), 0xffff);
        assert_eq!(Sum::default().add(&[0xff, 0xff, 0x00, 0x01]).fold(), 1);
    }
}
