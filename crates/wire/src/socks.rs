//! A datagram between a program and its SOCKS5 relay (RFC 1928 §7): where it goes, or where it has come from, before what it carries.
//!
//! ```text
//! reserved (2 bytes)   fragment   kind of address   address   port (2 bytes)   payload
//! ```

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Kinds of address (RFC 1928 §5).
const V4: u8 = 1;
const NAME: u8 = 3;
const V6: u8 = 4;

/// A host as SOCKS names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SocksHost {
    /// Its address.
    Address(IpAddr),
    /// Its name: up to 255 octets of any kind.
    Name(Vec<u8>),
}

/// A datagram to a relay, or from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SocksDatagram<'a> {
    /// 0: it is whole. Who puts no fragments together drops all others (RFC 1928 §7).
    pub fragment: u8,
    /// Where it goes, or comes from.
    pub host: SocksHost,
    /// At which port.
    pub port: u16,
    /// What it carries.
    pub payload: &'a [u8],
}

impl<'a> SocksDatagram<'a> {
    /// [`None`]: it is cut, has an unknown kind of address, or the reserved field is not zero.
    pub fn parse(datagram: &'a [u8]) -> Option<Self> {
        let (&[0, 0, fragment, kind], rest) = datagram.split_first_chunk()? else { return None };
        let (host, rest) = match kind {
            V4 => {
                let (octets, rest) = rest.split_first_chunk::<4>()?;
                (SocksHost::Address(Ipv4Addr::from(*octets).into()), rest)
            }
            NAME => {
                let (&len, rest) = rest.split_first()?;
                let (name, rest) = rest.split_at_checked(len.into())?;
                (SocksHost::Name(name.to_vec()), rest)
            }
            V6 => {
                let (octets, rest) = rest.split_first_chunk::<16>()?;
                (SocksHost::Address(Ipv6Addr::from(*octets).into()), rest)
            }
            _ => return None,
        };
        let (port, payload) = rest.split_first_chunk()?;
        Some(Self { fragment, host, port: u16::from_be_bytes(*port), payload })
    }

    /// Appends the bytes. Of a longer name than there is room for the first 255 octets are written.
    pub fn emit(&self, out: &mut Vec<u8>) {
        out.extend([0, 0, self.fragment]);
        match &self.host {
            SocksHost::Address(IpAddr::V4(address)) => {
                out.push(V4);
                out.extend(address.octets());
            }
            SocksHost::Address(IpAddr::V6(address)) => {
                out.push(V6);
                out.extend(address.octets());
            }
            SocksHost::Name(name) => {
                let name = &name[..name.len().min(u8::MAX.into())];
                out.extend([NAME, name.len() as u8]);
                out.extend_from_slice(name);
            }
        }
        out.extend(self.port.to_be_bytes());
        out.extend_from_slice(self.payload);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_kind_of_address_has_its_form() {
        let of = |host| SocksDatagram { fragment: 0, host, port: 53, payload: b"?" };
        let cases: [(_, &[u8]); 3] = [
            (SocksHost::Address([192, 0, 2, 1].into()), &[0, 0, 0, 1, 192, 0, 2, 1, 0, 53, b'?']),
            (SocksHost::Name(b"a.io".to_vec()), &[0, 0, 0, 3, 4, b'a', b'.', b'i', b'o', 0, 53, b'?']),
            (
                SocksHost::Address(Ipv6Addr::LOCALHOST.into()),
                &[0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 53, b'?'],
            ),
        ];
        for (host, octets) in cases {
            let mut out = Vec::new();
            of(host.clone()).emit(&mut out);
            assert_eq!((&out[..], SocksDatagram::parse(octets)), (octets, Some(of(host))));
            // What is cut before its payload is none.
            assert!((0..octets.len() - 1).all(|len| SocksDatagram::parse(&octets[..len]).is_none()));
        }
        assert_eq!(SocksDatagram::parse(&[0, 1, 0, 1, 192, 0, 2, 1, 0, 53]), None, "reserved");
        assert_eq!(SocksDatagram::parse(&[0, 0, 0, 2, 192, 0, 2, 1, 0, 53]), None, "no such kind");
    }

    proptest! {
        #[test]
        fn what_is_parsed_is_emitted_alike(first in prop::collection::vec(0u8..6, 0..8), rest in prop::collection::vec(any::<u8>(), 0..300)) {
            let octets = [first, rest].concat();
            if let Some(datagram) = SocksDatagram::parse(&octets) {
                let mut out = Vec::new();
                datagram.emit(&mut out);
                prop_assert_eq!(out, octets);
            }
        }
    }
}
