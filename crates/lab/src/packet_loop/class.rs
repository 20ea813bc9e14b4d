//! What a queue discipline asks of a frame, and the mark that it may set: a look at the bytes, without a packet being made.

use handfast_net::queue::{Class, Ecn};
use handfast_wire::Glance;

/// Where the IP packet of a frame begins.
fn ip_at(frame: &[u8]) -> Option<usize> {
    let glance = Glance::at(frame)?;
    glance.end.checked_sub(glance.ip_len)
}

/// The class of a frame; of one without an IP packet that of a sender without ECN.
pub(super) fn of(frame: &[u8]) -> Class {
    let class = |ip: &[u8]| Some(Class { flow: flow(ip)?, ecn: Ecn::of_traffic_class(traffic_class(ip)?) });
    ip_at(frame).and_then(|at| class(&frame[at..])).unwrap_or_default()
}

fn is_ipv4(ip: &[u8]) -> bool {
    ip.first().is_some_and(|first| first >> 4 == 4)
}

fn traffic_class(ip: &[u8]) -> Option<u8> {
    let &[first, second, ..] = ip else { return None };
    // RFC 8200 §3: four bits of version, eight of traffic class.
    Some(if is_ipv4(ip) { second } else { first << 4 | second >> 4 })
}

/// A hash of addresses, protocol and ports: FNV-1a.
fn flow(ip: &[u8]) -> Option<u32> {
    let (addresses, protocol, header_len) = if is_ipv4(ip) {
        (ip.get(12..20)?, *ip.get(9)?, usize::from(ip.first()? & 0x0f) * 4)
    } else {
        (ip.get(8..40)?, *ip.get(6)?, 40)
    };
    // What is too short for ports has none.
    let ports = ip.get(header_len..header_len + 4).unwrap_or_default();
    let bytes = addresses.iter().chain([&protocol]).chain(ports);
    Some(bytes.fold(0x811c_9dc5, |hash, &byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)))
}

/// Marks a frame's packet "congestion experienced" (RFC 3168 §5). Its sender does ECN: see [`of`].
pub(super) fn mark(frame: &mut [u8]) {
    let Some(at) = ip_at(frame) else { return };
    let ip = &mut frame[at..];
    let is_ipv4 = is_ipv4(ip);
    let [first, second, ..] = ip else { return };
    if !is_ipv4 {
        *second |= Ecn::CE_BITS << 4;
        return;
    }
    let before = u16::from_be_bytes([*first, *second]);
    *second |= Ecn::CE_BITS;
    let after = u16::from_be_bytes([*first, *second]);
    if let Some([high, low]) = ip.get_mut(10..12) {
        // RFC 1624 §3, equation 3: HC' = ~(~HC + ~m + m').
        let sum = u32::from(!u16::from_be_bytes([*high, *low])) + u32::from(!before) + u32::from(after);
        let folded = (sum & 0xffff) + (sum >> 16);
        [*high, *low] = (!((folded & 0xffff) + (folded >> 16)) as u16).to_be_bytes();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::IpAddr;

    use handfast_wire::tcp::Segment;
    use handfast_wire::{Checksums, Ethernet, LinkType, Packet};

    fn packet(v6: bool, port: u16, traffic_class: u8) -> Packet {
        let address: IpAddr = if v6 { "fd00::1".parse() } else { "10.0.0.1".parse() }.unwrap();
        let segment = Segment { src_port: port, dst_port: 5001, ..Segment::EMPTY };
        let ethernet = Some(Ethernet::default());
        Packet { ethernet, traffic_class, ..Packet::tcp(address, address, segment) }
    }

    fn frame(packet: &Packet) -> Vec<u8> {
        let mut frame = Vec::new();
        packet.emit(&mut frame).unwrap();
        frame
    }

    #[test]
    fn the_class_is_that_of_the_header() {
        for v6 in [false, true] {
            for traffic_class in [0b1011_1000, 0b1011_1001, 0b0100_1010, 0b11] {
                let class = of(&frame(&packet(v6, 7, traffic_class)));
                assert_eq!(class.ecn, Ecn::of_traffic_class(traffic_class), "{v6} {traffic_class:#b}");
            }
            let flows = [7, 7, 8].map(|port| of(&frame(&packet(v6, port, 0))).flow);
            assert!(flows[0] == flows[1] && flows[1] != flows[2], "{flows:?}");
        }
        assert_eq!(of(&[0; 60]), Class::default());
    }

    #[test]
    fn a_mark_changes_the_ecn_field_and_keeps_the_checksum_right() {
        for v6 in [false, true] {
            for traffic_class in [0b1111_1110, 0b1011_1001, 0b10, 0b11] {
                let packet = packet(v6, 7, traffic_class);
                let mut frame = frame(&packet);
                mark(&mut frame);
                let marked = Packet::parse(LinkType::Ethernet, &frame.into(), Checksums::Verify).unwrap();
                assert_eq!(marked, Packet { traffic_class: traffic_class | 0b11, ..packet });
            }
        }
    }
}
