//! What a sender has left for its network card, where there is none: checksums, and cutting into segments.

use std::net::IpAddr;

use crate::checksum::{Checksums, Sum, pseudo_header};
use crate::tcp::{self, Flags};
use crate::{ethernet, ip, ipv4, ipv6, udp};

/// Writes the checksum of the TCP segment or UDP datagram of a frame, in which half a sum stands. False: it carries no whole
/// one.
pub fn complete_checksum(frame: &mut [u8]) -> bool {
    let Some(place) = find(frame) else { return false };
    let body = &mut frame[place.start..place.end];
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

/// Cuts a frame whose segment or datagram is longer than any of a wire into frames with `size` bytes of payload each, and the rest
/// in the last one, as a card would have. Each is shown in turn; `scratch` is where they are made. False: it carries no whole
/// one.
pub fn cut(frame: &[u8], size: usize, scratch: &mut Vec<u8>, mut show: impl FnMut(&[u8])) -> bool {
    let Some(place) = find(frame) else { return false };
    let body = &frame[place.start..place.end];
    let header_len = if place.protocol == ip::TCP { tcp::header_len_of(body) } else { Some(udp::HEADER_LEN) };
    let Some((header, payload)) = header_len.and_then(|len| body.split_at_checked(len)) else { return false };
    if size == 0 || payload.is_empty() {
        return false;
    }
    let last = (payload.len() - 1) / size;
    for (nth, part) in payload.chunks(size).enumerate() {
        scratch.clear();
        scratch.extend_from_slice(&frame[..place.start]);
        scratch.extend_from_slice(header);
        scratch.extend_from_slice(part);
        let (network, transport) = scratch.split_at_mut(place.start);
        patch_network(&mut network[place.network..], transport.len(), nth);
        if place.protocol == ip::TCP {
            patch_tcp(transport, nth * size, nth == 0, nth == last);
        } else {
            let len = transport.len() as u16;
            transport[4..6].copy_from_slice(&len.to_be_bytes());
        }
        complete_checksum(scratch);
        show(scratch);
    }
    true
}

/// The IP header of the nth part, with a body of so many bytes.
fn patch_network(header: &mut [u8], body: usize, nth: usize) {
    if header[0] >> 4 == 6 {
        header[4..6].copy_from_slice(&(body as u16).to_be_bytes());
        return;
    }
    let len = (header.len() + body) as u16;
    header[2..4].copy_from_slice(&len.to_be_bytes());
    // RFC 6864 §4: distinct for packets that may be fragmented; cards count on.
    let identification = u16::from_be_bytes([header[4], header[5]]).wrapping_add(nth as u16);
    header[4..6].copy_from_slice(&identification.to_be_bytes());
    header[10..12].fill(0);
    let checksum = Sum::default().add(header).checksum();
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
}

/// The TCP header of a part that begins so many bytes behind the first one.
fn patch_tcp(header: &mut [u8], offset: usize, is_first: bool, is_last: bool) {
    let seq = u32::from_be_bytes([header[4], header[5], header[6], header[7]]).wrapping_add(offset as u32);
    header[4..8].copy_from_slice(&seq.to_be_bytes());
    let mut flags = Flags(header[13].into());
    if !is_last {
        flags = flags.without(Flags::FIN | Flags::PSH);
    }
    if !is_first {
        // RFC 3168 §6.1.2: once.
        flags = flags.without(Flags::CWR);
    }
    header[13] = flags.0 as u8;
}

/// Where the body of a frame's IP packet stands, and the checksum in it.
struct Place {
    /// Where the IP header begins, where its body, and where that ends.
    network: usize,
    start: usize,
    end: usize,
    /// Where in the body the checksum is.
    at: usize,
    protocol: u8,
    addresses: (IpAddr, IpAddr),
}

fn find(frame: &[u8]) -> Option<Place> {
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
    Some(Place {
        network: frame.len() - data.len(),
        start,
        end: start + body.len(),
        at,
        protocol: header.protocol,
        addresses: (header.src, header.dst),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::{Segment, Timestamps};
    use crate::{Body, Datagram, Ethernet, LinkType, Packet, Payload, Vlan};
    use handfast_core::SeqNum;

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

    /// A packet with so many bytes.
    fn long(v6: bool, tcp: bool, len: u32) -> Packet {
        let [src, dst]: [IpAddr; 2] = if v6 { ["fd00::1", "fd00::2"] } else { ["10.0.0.1", "10.0.0.2"] }
            .map(|text| text.parse().unwrap());
        let payload = Payload::Synthetic { stream: 3, offset: 0, len };
        let flags = Flags::ACK | Flags::PSH | Flags::FIN | Flags::CWR;
        let timestamps = Some(Timestamps { val: 1, ecr: 2 });
        let seq = SeqNum(u32::MAX - 1000);
        let body = if tcp {
            Body::Tcp(Segment { seq, flags, timestamps, payload, ..Segment::EMPTY })
        } else {
            Body::Udp(Datagram { src_port: 1, dst_port: 2, payload })
        };
        let vlan = Some(Vlan { priority: 1, drop_eligible: false, id: 9 });
        let ethernet = Some(Ethernet { vlan, ..Ethernet::default() });
        let identification = if v6 { 0 } else { 0xffff };
        Packet { ethernet, identification, body, ..Packet::tcp(src, dst, Segment::EMPTY) }
    }

    #[test]
    fn what_is_too_long_is_cut_as_a_card_would() {
        for (v6, tcp) in [(false, false), (false, true), (true, false), (true, true)] {
            let whole = long(v6, tcp, 3 * 1400 + 7);
            let mut frame = Vec::new();
            whole.emit(&mut frame).unwrap();
            let mut parts = Vec::new();
            assert!(cut(&frame, 1400, &mut Vec::new(), |part| parts.push(part.to_vec())));
            let bytes = whole.body.payload().to_bytes();
            let mut joined = Vec::new();
            for (nth, part) in parts.iter().enumerate() {
                let part =
                    Packet::parse(LinkType::Ethernet, &part.clone().into(), Checksums::Verify).unwrap();
                assert!(!part.corrupted, "{part:?}");
                assert_eq!(part.ethernet, whole.ethernet);
                assert_eq!(part.identification, if v6 { 0 } else { 0xffff_u16.wrapping_add(nth as u16) });
                if let Body::Tcp(segment) = &part.body {
                    assert_eq!(segment.seq, SeqNum(u32::MAX - 1000) + (nth as u32 * 1400));
                    assert_eq!(segment.timestamps, Some(Timestamps { val: 1, ecr: 2 }));
                    let flags = [Flags::CWR, Flags::PSH, Flags::FIN].map(|flag| segment.flags.contains(flag));
                    assert_eq!(flags, [nth == 0, nth == 3, nth == 3]);
                }
                joined.extend_from_slice(&part.body.payload().to_bytes());
            }
            assert_eq!((parts.len(), &joined[..]), (4, &bytes[..]));
        }
    }

    #[test]
    fn what_cannot_be_cut_is_not() {
        let mut frame = Vec::new();
        long(false, true, 5000).emit(&mut frame).unwrap();
        let cuts = |frame: &[u8], size| cut(frame, size, &mut Vec::new(), |_| ());
        assert!(cuts(&frame, 1400) && !cuts(&frame, 0));
        for len in 0..frame.len() {
            assert!(!cuts(&frame[..len], 1400), "{len}");
        }
        let mut empty = Vec::new();
        long(true, true, 0).emit(&mut empty).unwrap();
        assert!(!cuts(&empty, 1400));
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
