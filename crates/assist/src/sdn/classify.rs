//! What a frame is, and to which connection it belongs.

use std::net::IpAddr;

use bytes::Bytes;
use handfast_wire::sdtp::Carriage;
use handfast_wire::tcp::Segment;
use handfast_wire::{Body, Checksums, LinkType, Packet, ParseError};

pub use crate::connection::ConnectionKey;

/// Kinds of packets. TCP is held, UDP for a short while: other protocols have timers of their own that a burst of old
/// packets does not help (docs/explanation/deviations.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// TCP over IPv4 or IPv6.
    Tcp,
    /// UDP that is not QUIC by its port.
    Udp,
    /// UDP from or to port 443.
    Quic,
    /// ICMP and `ICMPv6`, neighbor discovery included.
    Icmp,
    /// ARP.
    Arp,
    /// Part of a datagram.
    Fragment,
    /// Another protocol over IP.
    OtherIp,
    /// No IP, or nothing that can be read.
    Unreadable,
}

impl Class {
    /// How many there are.
    pub const COUNT: usize = 8;
    /// Their names, in order.
    pub const NAMES: [&str; Self::COUNT] =
        ["tcp", "udp", "quic", "icmp", "arp", "fragment", "other_ip", "unreadable"];
}

/// A frame that was looked at.
pub(crate) enum Seen {
    Tcp(ConnectionKey, Segment),
    /// UDP, with the address that it is for.
    Datagram(Class, IpAddr),
    Other(Class),
}

/// Looks at a frame. Whatever the bytes, it returns.
pub(crate) fn look(frame: &Bytes) -> Seen {
    // The station's TCP verifies the checksum; a controller that did would only add to the delay.
    match Packet::parse(LinkType::Ethernet, frame, Checksums::Trust) {
        Ok(Packet { src, dst, body: Body::Tcp(segment), .. }) => {
            let key = ConnectionKey { src, dst, src_port: segment.src_port, dst_port: segment.dst_port };
            Seen::Tcp(key, segment)
        }
        Ok(Packet { dst, body: Body::Udp(datagram), .. }) => {
            let [src, dst_port] = [datagram.src_port, datagram.dst_port].map(u16::to_be_bytes);
            Seen::Datagram(class_of(UDP, &[src[0], src[1], dst_port[0], dst_port[1]]), dst)
        }
        Ok(Packet { dst, body: Body::Other { protocol, payload }, .. }) => {
            match class_of(protocol, &payload.slice(0, 4).to_bytes()) {
                class @ (Class::Udp | Class::Quic) => Seen::Datagram(class, dst),
                class => Seen::Other(class),
            }
        }
        // A frame without an IP header is none that a station waits for.
        Ok(Packet { body: Body::Sdtp(sdtp), .. }) if sdtp.carriage == Carriage::Native => {
            Seen::Other(Class::Unreadable)
        }
        Ok(Packet { body: Body::Sdtp(_), .. }) => Seen::Other(Class::OtherIp),
        Err(ParseError::Fragment { .. }) => Seen::Other(Class::Fragment),
        Err(ParseError::EtherType(ETHER_TYPE_ARP)) => Seen::Other(Class::Arp),
        Err(_) => Seen::Other(Class::Unreadable),
    }
}

const ETHER_TYPE_ARP: u16 = 0x0806;
/// IPv4's ICMP, UDP, IPv6's fragment header, `ICMPv6` (IANA protocol numbers).
const ICMP: u8 = 1;
const UDP: u8 = 17;
const IPV6_FRAGMENT: u8 = 44;
const ICMPV6: u8 = 58;
/// RFC 9114 §3.2: HTTP over QUIC is at the port of HTTPS.
const HTTPS: [u8; 2] = 443_u16.to_be_bytes();

/// `ports`: the first four bytes after the IP header.
fn class_of(protocol: u8, ports: &[u8]) -> Class {
    match protocol {
        UDP if ports.chunks_exact(2).any(|port| port == HTTPS) => Class::Quic,
        UDP => Class::Udp,
        ICMP | ICMPV6 => Class::Icmp,
        IPV6_FRAGMENT => Class::Fragment,
        _ => Class::OtherIp,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use handfast_wire::{Datagram, Ethernet, Payload};

    fn class(packet: &Packet, change: impl FnOnce(&mut Vec<u8>)) -> Class {
        let mut frame = Vec::new();
        packet.emit(&mut frame).unwrap();
        change(&mut frame);
        match look(&frame.into()) {
            Seen::Tcp(..) => Class::Tcp,
            Seen::Datagram(class, dst) => {
                assert_eq!(dst, packet.dst);
                class
            }
            Seen::Other(class) => class,
        }
    }

    fn packet(v6: bool) -> Packet {
        let [src, dst] = ["192.0.2.1", "192.0.2.2"].map(|v4| v4.parse().unwrap());
        let [src6, dst6] = ["2001:db8::1", "2001:db8::2"].map(|v6| v6.parse().unwrap());
        let (src, dst) = if v6 { (src6, dst6) } else { (src, dst) };
        Packet { ethernet: Some(Ethernet::default()), ..Packet::tcp(src, dst, Segment::EMPTY) }
    }

    fn other(v6: bool, protocol: u8, body: &'static [u8]) -> Packet {
        let payload = Payload::Bytes(Bytes::from_static(body));
        Packet { body: Body::Other { protocol, payload }, ..packet(v6) }
    }

    #[test]
    fn kinds_are_told_apart() {
        let same = |_: &mut Vec<u8>| {};
        for v6 in [false, true] {
            assert_eq!(class(&packet(v6), same), Class::Tcp);
            assert_eq!(class(&other(v6, 17, &[0, 53, 1, 188]), same), Class::Udp);
            assert_eq!(class(&other(v6, 17, &[1, 187, 200, 0]), same), Class::Quic);
            assert_eq!(class(&other(v6, 17, &[200, 0, 1, 187]), same), Class::Quic);
            assert_eq!(class(&other(v6, 17, &[1]), same), Class::Udp, "cut off");
            assert_eq!(class(&other(v6, 132, &[0; 4]), same), Class::OtherIp);
        }
        for (ports, expected) in
            [((53, 444), Class::Udp), ((443, 50_000), Class::Quic), ((50_000, 443), Class::Quic)]
        {
            let datagram = Datagram { src_port: ports.0, dst_port: ports.1, payload: Payload::EMPTY };
            let packet = Packet { body: Body::Udp(datagram), ..packet(false) };
            assert_eq!(class(&packet, same), expected, "with a checksum");
        }
        assert_eq!(class(&other(false, 1, &[8, 0, 0, 0]), same), Class::Icmp);
        assert_eq!(class(&other(true, 58, &[135, 0, 0, 0]), same), Class::Icmp, "a neighbor solicitation");
        assert_eq!(class(&other(true, 44, &[6, 0, 0, 1]), same), Class::Fragment);
        assert_eq!(class(&packet(false), |frame| frame[12..14].copy_from_slice(&[8, 6])), Class::Arp);
        assert_eq!(class(&packet(false), |frame| frame.truncate(30)), Class::Unreadable);
    }

    #[test]
    fn an_ipv4_fragment_is_none_of_a_connection() {
        let more_fragments = |frame: &mut Vec<u8>| {
            // The flag and the header checksum that goes with it.
            frame[20] |= 0x20;
            let sum = u16::from_be_bytes([frame[24], frame[25]]) - 0x2000;
            frame[24..26].copy_from_slice(&sum.to_be_bytes());
        };
        assert_eq!(class(&packet(false), more_fragments), Class::Fragment);
    }

    #[test]
    fn a_connection_is_named_by_addresses_and_ports() {
        let segment = Segment { src_port: 80, dst_port: 4000, ..Segment::EMPTY };
        let packet = Packet { body: Body::Tcp(segment), ..packet(true) };
        let mut frame = Vec::new();
        packet.emit(&mut frame).unwrap();
        let Seen::Tcp(key, _) = look(&frame.into()) else { panic!() };
        assert_eq!(key, ConnectionKey { src: packet.src, dst: packet.dst, src_port: 80, dst_port: 4000 });
    }
}
