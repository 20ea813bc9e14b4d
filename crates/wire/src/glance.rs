//! A look at a frame that stays bytes: what a link must know of it, without a packet being made.

use crate::checksum::Checksums;
use crate::{ethernet, ip, ipv4, ipv6, sdtp, tcp};

/// What a link must know of an Ethernet frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Glance {
    /// Bytes of the IP packet, or of SDTP in its place, as [`crate::Packet::ip_len`] counts them (padding of the frame not included).
    pub ip_len: usize,
    /// Where in the frame it ends.
    pub end: usize,
    /// Whether it is a TCP segment with payload.
    pub has_tcp_payload: bool,
}

impl Glance {
    /// Looks at a frame; [`None`]: it carries no whole IP or SDTP packet, or one that [`crate::Packet::parse`] would refuse before
    /// the TCP header. Checksums are not looked at.
    pub fn at(frame: &[u8]) -> Option<Self> {
        let (_, ether_type, data) = ethernet::parse(frame).ok()?;
        let begin = frame.len() - data.len();
        if ether_type == ethernet::SDTP {
            let ip_len = sdtp::packet_len(data)?;
            return Some(Self { ip_len, end: begin + ip_len, has_tcp_payload: false });
        }
        let (header, body) = match ether_type {
            ethernet::IPV4 => ipv4::parse(data, Checksums::Trust).ok()?,
            ethernet::IPV6 => ipv6::parse(data).ok()?,
            _ => return None,
        };
        // `body` ends where the packet does, somewhere in `data`, which ends where the frame does.
        let end = body.as_ptr_range().end.addr() - frame.as_ptr().addr();
        let ip_len = end - begin;
        let has_tcp_payload =
            header.protocol == ip::TCP && tcp::header_len_of(body).is_some_and(|len| len < body.len());
        Some(Self { ip_len, end, has_tcp_payload })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::{Segment, Timestamps};
    use crate::{Body, Ethernet, Packet, Payload, Vlan};
    use std::net::IpAddr;

    fn packet(v6: bool, vlan: bool, len: u32) -> Packet {
        let address: IpAddr = if v6 { "fd00::1".parse() } else { "10.0.0.1".parse() }.unwrap();
        let payload = Payload::Synthetic { stream: 0, offset: 0, len };
        let segment = Segment { payload, timestamps: Some(Timestamps::default()), ..Segment::EMPTY };
        let vlan = vlan.then_some(Vlan { priority: 0, drop_eligible: false, id: 5 });
        let ethernet = Some(Ethernet { vlan, ..Ethernet::default() });
        Packet { ethernet, ..Packet::tcp(address, address, segment) }
    }

    fn bytes(packet: &Packet) -> Vec<u8> {
        let mut frame = Vec::new();
        packet.emit(&mut frame).unwrap();
        frame
    }

    #[test]
    fn it_says_what_the_packet_would() {
        for (v6, vlan) in [(false, false), (true, false), (false, true), (true, true)] {
            for len in [0, 1, 1448] {
                let packet = packet(v6, vlan, len);
                let mut frame = bytes(&packet);
                let end = frame.len();
                // Ethernet pads frames to 60 bytes.
                frame.resize(end.max(60) + 3, 0);
                let expected = Glance { ip_len: packet.ip_len(), end, has_tcp_payload: len > 0 };
                assert_eq!(Glance::at(&frame), Some(expected), "{packet:?}");
            }
        }
    }

    #[test]
    fn other_protocols_have_no_tcp_payload() {
        let mut packet = packet(false, false, 0);
        packet.body =
            Body::Other { protocol: 17, payload: Payload::Synthetic { stream: 0, offset: 0, len: 30 } };
        let glance = Glance::at(&bytes(&packet)).unwrap();
        assert_eq!((glance.ip_len, glance.has_tcp_payload), (50, false));
    }

    #[test]
    fn whatever_the_bytes_it_returns() {
        let whole = bytes(&packet(true, true, 10));
        for len in 0..whole.len() {
            assert_eq!(Glance::at(&whole[..len]), None, "{len}");
        }
        let mut arp = whole;
        arp[16..18].copy_from_slice(&[0x08, 0x06]);
        assert_eq!(Glance::at(&arp), None);
    }
}
