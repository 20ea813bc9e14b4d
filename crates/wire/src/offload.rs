//! Checksums that a sender has left for its network card, where there is none.

use std::net::IpAddr;

use crate::checksum::{Checksums, pseudo_header};
use crate::{ethernet, ip, ipv4, ipv6};

/// Writes the checksum of the TCP segment or UDP datagram of a frame, in which half a sum stands. False: it carries no whole
/// one.
pub fn complete_checksum(frame: &mut [u8]) -> bool {
    let Some((start, end, place)) = find(frame) else { return false };
    let body = &mut frame[start..end];
    let Some(field) = body.get_mut(place.at..place.at + 2) else { return false };
    field.fill(0);
    let sum = pseudo_header(place.addresses.0, place.addresses.1, place.protocol, body.len()).add(body);
    let checksum = match sum.checksum() {
        // RFC 768: "If the computed checksum is zero, it is transmitted as all ones".
        0 if place.protocol == ip::UDP => 0xffff,
        checksum => checksum,
    };
    body[place.at..place.at + 2].copy_from_slice(&checksum.to_be_bytes());
    true
}

/// Where a checksum stands in the body of an IP packet, and what it covers besides.
struct Place {
    at: usize,
    protocol: u8,
    addresses: (IpAddr, IpAddr),
}

/// Where the body of a frame's IP packet begins and ends.
fn find(frame: &[u8]) -> Option<(usize, usize, Place)> {
    let (_, ether_type, data) = ethernet::parse(frame).ok()?;
    let (header, body) = match ether_type {
        ethernet::IPV4 => ipv4::parse(data, Checksums::Trust).ok()?,
        ethernet::IPV6 => ipv6::parse(data).ok()?,
        _ => return None,
    };
    let at = match header.protocol {
        ip::TCP => 16,
        ip::UDP => 6,
        _ => return None,
    };
    let start = body.as_ptr().addr() - frame.as_ptr().addr();
    let place = Place { at, protocol: header.protocol, addresses: (header.src, header.dst) };
    Some((start, start + body.len(), place))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::Segment;
    use crate::{Body, Datagram, Ethernet, Packet, Payload};

    fn frame(v6: bool, tcp: bool) -> Vec<u8> {
        let address: IpAddr = if v6 { "fd00::1".parse() } else { "10.0.0.1".parse() }.unwrap();
        let payload = Payload::Synthetic { stream: 0, offset: 0, len: 777 };
        let body = if tcp {
            Body::Tcp(Segment { payload, ..Segment::EMPTY })
        } else {
            Body::Udp(Datagram { src_port: 1, dst_port: 2, payload })
        };
        let mut frame = Vec::new();
        let ethernet = Some(Ethernet::default());
        Packet { ethernet, body, ..Packet::tcp(address, address, Segment::EMPTY) }.emit(&mut frame).unwrap();
        frame
    }

    #[test]
    fn half_a_sum_becomes_a_whole_one() {
        for (v6, tcp) in [(false, false), (false, true), (true, false), (true, true)] {
            let right = frame(v6, tcp);
            let at = 14 + if v6 { 40 } else { 20 } + if tcp { 16 } else { 6 };
            let mut half = right.clone();
            half[at..at + 2].copy_from_slice(&[0x12, 0x34]);
            // Padding is not covered.
            half.extend([0xff; 5]);
            assert!(complete_checksum(&mut half));
            assert_eq!(half[..right.len()], right);
        }
    }

    #[test]
    fn what_has_no_checksum_stays_as_it_is() {
        let whole = frame(false, true);
        for len in 0..whole.len() {
            let mut cut = whole[..len].to_vec();
            assert!(!complete_checksum(&mut cut), "{len}");
            assert_eq!(cut, whole[..len]);
        }
        let mut arp = whole;
        arp[12..14].copy_from_slice(&[0x08, 0x06]);
        assert!(!complete_checksum(&mut arp));
    }
}
