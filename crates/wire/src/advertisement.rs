//! What base stations say of themselves: agent advertisements of Mobile IPv4 (RFC 5944 §2.1), which are ICMP router
//! advertisements (RFC 1256 §3) with an extension. A mobile finds out from them that it is somewhere else (§2.4.2.1).

use std::net::{IpAddr, Ipv4Addr};

use crate::checksum::Sum;
use crate::packet::{Body, Packet};
use crate::{Payload, ip};

const ROUTER_ADVERTISEMENT: u8 = 9;
/// The agent routes nothing but what is for mobiles (RFC 5944 §2.1).
const MOBILES_ONLY: u8 = 16;
/// One address, of two words.
const ADDRESSES: [u8; 2] = [1, 2];
const EXTENSION: u8 = 16;
/// Of the extension, without a care-of address: sequence number, lifetime, flags.
const EXTENSION_LEN: u8 = 6;
const LEN: usize = 24;
/// All systems on the link (RFC 1112 §4).
const ALL_SYSTEMS: IpAddr = IpAddr::V4(Ipv4Addr::new(224, 0, 0, 1));

/// An agent advertisement of one base station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advertisement {
    /// The base station's address.
    pub agent: Ipv4Addr,
    /// Seconds for which it holds without another (RFC 1256 §3).
    pub lifetime_s: u16,
    /// Counts the advertisements since the base station began (RFC 5944 §2.1.1).
    pub sequence: u16,
}

impl Advertisement {
    /// The packet that carries it to all systems on the link.
    pub fn packet(&self) -> Packet {
        let mut message = Vec::with_capacity(LEN);
        message.extend([ROUTER_ADVERTISEMENT, MOBILES_ONLY, 0, 0]);
        message.extend(ADDRESSES);
        message.extend(self.lifetime_s.to_be_bytes());
        message.extend(self.agent.octets());
        // Preference: as any other router's.
        message.extend([0; 4]);
        message.extend([EXTENSION, EXTENSION_LEN]);
        message.extend(self.sequence.to_be_bytes());
        // Registration is not what it is for: lifetime zero, no flags.
        message.extend([0; 4]);
        let sum = Sum::default().add(&message).checksum();
        message[2..4].copy_from_slice(&sum.to_be_bytes());
        Packet {
            ethernet: None,
            src: self.agent.into(),
            dst: ALL_SYSTEMS,
            // RFC 5944 §2.1: never beyond the link.
            hop_limit: 1,
            traffic_class: 0,
            identification: 0,
            // As any message of 28 bytes.
            may_fragment: false,
            flow_label: 0,
            corrupted: false,
            quick_start: None,
            body: Body::Other { protocol: ip::ICMP, payload: Payload::Bytes(message.into()) },
        }
    }

    /// Reads a packet; [`None`]: it is anything else, or its checksum is wrong.
    pub fn parse(packet: &Packet) -> Option<Self> {
        let Body::Other { protocol: ip::ICMP, payload: Payload::Bytes(message) } = &packet.body else {
            return None;
        };
        let message: &[u8; LEN] = message.first_chunk()?;
        let [kind, code, _, _, addresses, words, s1, s2, a, b, c, d, ..] = *message;
        let right = (kind, code, [addresses, words]) == (ROUTER_ADVERTISEMENT, MOBILES_ONLY, ADDRESSES)
            && message[16..18] == [EXTENSION, EXTENSION_LEN]
            && packet.dst == ALL_SYSTEMS
            && Sum::default().add(message).fold() == 0xffff;
        right.then(|| Self {
            agent: Ipv4Addr::new(a, b, c, d),
            lifetime_s: u16::from_be_bytes([s1, s2]),
            sequence: u16::from_be_bytes([message[18], message[19]]),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Checksums, LinkType};

    const GIVEN: Advertisement =
        Advertisement { agent: Ipv4Addr::new(10, 0, 0, 7), lifetime_s: 300, sequence: 0x1234 };

    #[test]
    fn its_bytes_are_those_of_the_rfc() {
        let Body::Other { protocol: 1, payload } = GIVEN.packet().body else { panic!() };
        let bytes = payload.to_bytes();
        assert_eq!(bytes[..2], [9, 16]);
        assert_eq!(bytes[4..], [1, 2, 1, 44, 10, 0, 0, 7, 0, 0, 0, 0, 16, 6, 0x12, 0x34, 0, 0, 0, 0]);
        assert_eq!(Sum::default().add(&bytes).fold(), 0xffff);
    }

    #[test]
    fn it_survives_the_wire() {
        let mut frame = Vec::new();
        GIVEN.packet().emit(&mut frame).unwrap();
        let packet = Packet::parse(LinkType::RawIp, &frame.into(), Checksums::Verify).unwrap();
        assert_eq!(Advertisement::parse(&packet), Some(GIVEN));
    }

    #[test]
    fn anything_else_is_none() {
        let packet = GIVEN.packet();
        let Body::Other { payload, .. } = &packet.body else { panic!() };
        let with = |message: Vec<u8>| {
            let body = Body::Other { protocol: 1, payload: Payload::Bytes(message.into()) };
            Advertisement::parse(&Packet { body, ..packet.clone() })
        };
        let bytes = payload.to_bytes().to_vec();
        assert_eq!(with(bytes.clone()), Some(GIVEN));
        for len in 0..LEN {
            assert_eq!(with(bytes[..len].to_vec()), None, "{len} bytes");
        }
        for at in 0..LEN {
            let mut wrong = bytes.clone();
            wrong[at] ^= 1;
            assert_eq!(with(wrong), None, "byte {at}");
        }
        // Right in itself, but something else: the checksum is made anew.
        for at in [0, 1, 4, 5, 16, 17] {
            let mut other = bytes.clone();
            other[at] ^= 1;
            other[2..4].copy_from_slice(&[0, 0]);
            let sum = Sum::default().add(&other).checksum();
            other[2..4].copy_from_slice(&sum.to_be_bytes());
            assert_eq!(with(other), None, "byte {at}");
        }
        let to_one = Packet { dst: Ipv4Addr::new(10, 0, 0, 9).into(), ..packet.clone() };
        assert_eq!(Advertisement::parse(&to_one), None);
        let other = Packet { body: Body::Other { protocol: 17, payload: payload.clone() }, ..packet.clone() };
        assert_eq!(Advertisement::parse(&other), None);
    }
}
