//! `struct place` of `bpf/sockets/places.h`: an address and a port as on the wire.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// Its length.
pub(crate) const PLACE: usize = 20;

pub(crate) fn place(address: SocketAddr) -> [u8; PLACE] {
    let octets = match address.ip() {
        IpAddr::V4(four) => four.to_ipv6_mapped().octets(),
        IpAddr::V6(six) => six.octets(),
    };
    let mut place = [0; PLACE];
    place[..16].copy_from_slice(&octets);
    place[16..18].copy_from_slice(&address.port().to_be_bytes());
    place
}

pub(crate) fn address(place: &[u8; PLACE]) -> SocketAddr {
    let (octets, rest) = place.split_at(16);
    let octets: [u8; 16] = std::array::from_fn(|n| octets[n]);
    (Ipv6Addr::from(octets).to_canonical(), u16::from_be_bytes([rest[0], rest[1]])).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_an_address_as_on_the_wire() {
        for text in ["192.0.2.7:443", "[2001:db8::1]:80"] {
            let of: SocketAddr = text.parse().unwrap();
            assert_eq!(address(&place(of)), of);
        }
        let four = place("192.0.2.7:443".parse().unwrap());
        assert_eq!(four[8..], [0, 0, 0xff, 0xff, 192, 0, 2, 7, 1, 187, 0, 0]);
    }
}
