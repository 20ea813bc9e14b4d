//! Whom a program concerns: a host or a network.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

/// Addresses with the same beginning. An IPv4 address is kept as RFC 4291 §2.5.5.2 maps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Network {
    address: Ipv6Addr,
    prefix_len: u8,
}

/// Bits before an IPv4 address that is mapped.
const MAPPED: u8 = 96;

impl Network {
    /// The key of a program's map (`struct network` of `bpf/include/peers.h`).
    pub(crate) fn key(self) -> [u8; 20] {
        let mut key = [0; 20];
        key[..4].copy_from_slice(&u32::from(self.prefix_len).to_ne_bytes());
        key[4..].copy_from_slice(&self.address.octets());
        key
    }

    /// Whether an address is one of it.
    pub fn contains(self, address: IpAddr) -> bool {
        Self::masked(Self::from(address).address, self.prefix_len) == self
    }

    /// Whether all addresses of another one are of it.
    pub fn covers(self, other: Self) -> bool {
        other.prefix_len >= self.prefix_len && Self::masked(other.address, self.prefix_len) == self
    }

    /// What is beyond the prefix is zero.
    fn masked(address: Ipv6Addr, prefix_len: u8) -> Self {
        let mask = u128::MAX.checked_shl(u32::from(128 - prefix_len)).unwrap_or(0);
        Self { address: (u128::from(address) & mask).into(), prefix_len }
    }
}

impl From<IpAddr> for Network {
    fn from(address: IpAddr) -> Self {
        let address = match address {
            IpAddr::V4(four) => four.to_ipv6_mapped(),
            IpAddr::V6(six) => six,
        };
        Self { address, prefix_len: 128 }
    }
}

impl FromStr for Network {
    type Err = String;

    /// An address, or one with the length of its prefix.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{}` is no address and no network such as 192.0.2.0/24", text.escape_debug());
        let (address, len) = text.split_once('/').map_or((text, None), |(address, len)| (address, Some(len)));
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let before = if address.is_ipv4() { MAPPED } else { 0 };
        let Some(len) = len else { return Ok(address.into()) };
        let len: u8 = len.parse().map_err(|_| wrong())?;
        let prefix_len = len.checked_add(before).filter(|len| *len <= 128).ok_or_else(wrong)?;
        Ok(Self::masked(Self::from(address).address, prefix_len))
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (address, len) = match self.address.to_ipv4_mapped().filter(|_| self.prefix_len >= MAPPED) {
            Some(four) => (IpAddr::from(four), self.prefix_len - MAPPED),
            None => (IpAddr::from(self.address), self.prefix_len),
        };
        let is_whole = self.prefix_len == 128;
        if is_whole { write!(f, "{address}") } else { write!(f, "{address}/{len}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_is_an_address_or_a_prefix() {
        for (text, is) in [
            ("192.0.2.7", "192.0.2.7"),
            ("192.0.2.7/24", "192.0.2.0/24"),
            ("0.0.0.0/0", "0.0.0.0/0"),
            ("2001:db8::1", "2001:db8::1"),
            ("2001:db8::1/32", "2001:db8::/32"),
            ("::/0", "::/0"),
            ("192.0.2.7/32", "192.0.2.7"),
        ] {
            assert_eq!(
                text.parse::<Network>().map(|network| network.to_string()),
                Ok(is.to_owned()),
                "{text}"
            );
        }
        for wrong in
            ["", "host", "192.0.2.7/33", "192.0.2.7/-1", "2001:db8::/129", "192.0.2.7/255", "1.2.3/8"]
        {
            assert!(wrong.parse::<Network>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_network_contains_what_begins_as_it_does() {
        let network: Network = "192.0.2.0/24".parse().unwrap();
        for (address, is_in) in
            [("192.0.2.255", true), ("192.0.3.0", false), ("::ffff:192.0.2.1", true), ("::1", false)]
        {
            assert_eq!(network.contains(address.parse().unwrap()), is_in, "{address}");
        }
        assert!("::/0".parse::<Network>().unwrap().contains([192, 0, 2, 1].into()));
    }

    #[test]
    fn a_network_covers_itself_and_what_is_narrower() {
        let parse = |text: &str| text.parse::<Network>().unwrap();
        for (wide, narrow) in
            [("192.0.2.0/24", "192.0.2.0/24"), ("192.0.2.0/24", "192.0.2.7"), ("::/0", "0.0.0.0/0")]
        {
            assert!(parse(wide).covers(parse(narrow)), "{wide} {narrow}");
        }
        for (wide, narrow) in
            [("192.0.2.7", "192.0.2.0/24"), ("192.0.2.0/24", "192.0.3.7"), ("0.0.0.0/0", "::")]
        {
            assert!(!parse(wide).covers(parse(narrow)), "{wide} {narrow}");
        }
    }

    #[test]
    fn a_key_is_the_prefix_s_length_and_the_address() {
        let key = "192.0.2.7/24".parse::<Network>().unwrap().key();
        assert_eq!(key[..4], 120_u32.to_ne_bytes());
        assert_eq!(key[4..], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 0]);
    }
}
