//! "Who has this address?": ARP requests (RFC 826) and neighbor solicitations (RFC 4861 §4.3), and their answers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use bytes::{BufMut, Bytes};

use crate::checksum::{Checksums, pseudo_header};
use crate::packet::{Body, Ethernet, Packet};
use crate::{LinkType, Payload, ethernet};

const ARP: u16 = 0x0806;
const ARP_LEN: usize = 28;
/// Ethernet and IPv4, with addresses of 6 and 4 bytes; the last byte of the operation is left out.
const ARP_START: [u8; 7] = [0, 1, 8, 0, 6, 4, 0];
const ARP_REQUEST: u8 = 1;
const ARP_REPLY: u8 = 2;

const ICMPV6: u8 = 58;
const NEIGHBOR_SOLICITATION: u8 = 135;
const NEIGHBOR_ADVERTISEMENT: u8 = 136;
/// Solicited, and to override what the asker knew (RFC 4861 §4.4).
const SOLICITED_OVERRIDE: u32 = 0x6000_0000;
const TARGET_LINK_LAYER: u8 = 2;

/// Somebody asks for an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Solicitation {
    /// The asker's own address.
    pub asker: IpAddr,
    /// Where the answer goes.
    pub asker_mac: [u8; 6],
    /// The address asked for.
    pub target: IpAddr,
}

impl Solicitation {
    /// Reads an Ethernet frame; [`None`]: it is anything else, or an asker without an address (RFC 4862's duplicate
    /// detection), to whom nobody answers in private. Keeps the contract of [`Packet::parse`].
    pub fn parse(frame: &Bytes) -> Option<Self> {
        let (header, ether_type, data) = ethernet::parse(frame).ok()?;
        match ether_type {
            ARP => Self::parse_arp(data),
            ethernet::IPV6 => Self::parse_neighbor(frame, header.src),
            _ => None,
        }
    }

    fn parse_arp(data: &[u8]) -> Option<Self> {
        let arp = data.first_chunk::<ARP_LEN>()?;
        let ip = |at: usize| Ipv4Addr::new(arp[at], arp[at + 1], arp[at + 2], arp[at + 3]);
        let is_request = arp[..7] == ARP_START && arp[7] == ARP_REQUEST && ip(14) != Ipv4Addr::UNSPECIFIED;
        is_request.then(|| Self {
            asker: ip(14).into(),
            asker_mac: [arp[8], arp[9], arp[10], arp[11], arp[12], arp[13]],
            target: ip(24).into(),
        })
    }

    fn parse_neighbor(frame: &Bytes, asker_mac: [u8; 6]) -> Option<Self> {
        let packet = Packet::parse(LinkType::Ethernet, frame, Checksums::Verify).ok()?;
        let Body::Other { protocol: ICMPV6, payload: Payload::Bytes(message) } = &packet.body else {
            return None;
        };
        let sum = pseudo_header(packet.src, packet.dst, ICMPV6, message.len()).add(message).fold();
        // RFC 4861 §7.1.1: no router has passed it on, its checksum is right, its code is 0.
        let is_valid = packet.hop_limit == 255 && sum == 0xffff;
        let (&[NEIGHBOR_SOLICITATION, 0, _, _, _, _, _, _], rest) = message.split_first_chunk::<8>()? else {
            return None;
        };
        let target = Ipv6Addr::from(*rest.first_chunk::<16>()?).into();
        let is_answerable = is_valid && !packet.src.is_unspecified();
        is_answerable.then_some(Self { asker: packet.src, asker_mac, target })
    }

    /// The frame that says: `mac` has it.
    pub fn answer(&self, mac: [u8; 6]) -> Vec<u8> {
        let mut frame = Vec::with_capacity(86);
        match (self.asker, self.target) {
            (IpAddr::V4(asker), IpAddr::V4(target)) => self.answer_arp(mac, asker, target, &mut frame),
            _ => self.advertise(mac, &mut frame),
        }
        frame
    }

    fn answer_arp(&self, mac: [u8; 6], asker: Ipv4Addr, target: Ipv4Addr, frame: &mut Vec<u8>) {
        frame.put_slice(&self.asker_mac);
        frame.put_slice(&mac);
        frame.put_u16(ARP);
        frame.put_slice(&ARP_START);
        frame.put_u8(ARP_REPLY);
        frame.put_slice(&mac);
        frame.put_slice(&target.octets());
        frame.put_slice(&self.asker_mac);
        frame.put_slice(&asker.octets());
    }

    fn advertise(&self, mac: [u8; 6], frame: &mut Vec<u8>) {
        let IpAddr::V6(target) = self.target else { return };
        let mut message = Vec::with_capacity(32);
        message.put_u32(u32::from(NEIGHBOR_ADVERTISEMENT) << 24);
        message.put_u32(SOLICITED_OVERRIDE);
        message.put_slice(&target.octets());
        message.put_slice(&[TARGET_LINK_LAYER, 1]);
        message.put_slice(&mac);
        let sum = pseudo_header(self.target, self.asker, ICMPV6, message.len()).add(&message).checksum();
        message[2..4].copy_from_slice(&sum.to_be_bytes());
        let packet = Packet {
            ethernet: Some(Ethernet { dst: self.asker_mac, src: mac, vlan: None }),
            src: self.target,
            dst: self.asker,
            hop_limit: 255,
            traffic_class: 0,
            identification: 0,
            corrupted: false,
            body: Body::Other { protocol: ICMPV6, payload: Payload::Bytes(message.into()) },
        };
        // An asker that is no IPv6 address cannot come out of `parse`; then there is no answer.
        let _ = packet.emit(frame);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: [u8; 6] = [2, 0, 0, 0, 0, 9];
    const ASKER: [u8; 6] = [0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff];

    fn bytes(text: &str) -> Bytes {
        hex::decode(text.replace(' ', "")).unwrap().into()
    }

    /// As arping(8) asks for 10.0.0.2.
    fn arp_request() -> Bytes {
        bytes(
            "ffffffffffff aabbccddeeff 0806 0001 0800 06 04 0001 aabbccddeeff 0a000001 000000000000 0a000002",
        )
    }

    /// As a kernel at `fd00::1` asks for `fd00::2`.
    fn solicitation() -> Bytes {
        let mut frame = bytes(
            "3333ff000002 aabbccddeeff 86dd 60000000 0020 3a ff fd000000000000000000000000000001 \
             ff0200000000000000000001ff000002 8700 0000 00000000 fd000000000000000000000000000002 0101 aabbccddeeff",
        )
        .to_vec();
        let [src, dst] = ["fd00::1", "ff02::1:ff00:2"].map(|ip| ip.parse().unwrap());
        let sum = pseudo_header(src, dst, ICMPV6, 32).add(&frame[ICMP_AT..]).checksum();
        frame[ICMP_AT + 2..ICMP_AT + 4].copy_from_slice(&sum.to_be_bytes());
        frame.into()
    }

    const ICMP_AT: usize = 14 + 40;

    #[test]
    fn an_arp_request_is_answered() {
        let asked = Solicitation::parse(&arp_request()).unwrap();
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        assert_eq!(asked, Solicitation { asker: ip("10.0.0.1"), asker_mac: ASKER, target: ip("10.0.0.2") });
        let answer =
            "aabbccddeeff 020000000009 0806 0001 0800 06 04 0002 020000000009 0a000002 aabbccddeeff 0a000001";
        assert_eq!(asked.answer(ME), bytes(answer));
        assert_eq!(Solicitation::parse(&asked.answer(ME).into()), None, "an answer is no question");
    }

    #[test]
    fn a_neighbor_solicitation_is_answered() {
        let asked = Solicitation::parse(&solicitation()).unwrap();
        assert_eq!((asked.asker.to_string(), asked.target.to_string()), ("fd00::1".into(), "fd00::2".into()));
        let answer: Bytes = asked.answer(ME).into();
        let packet = Packet::parse(LinkType::Ethernet, &answer, Checksums::Verify).unwrap();
        let Body::Other { protocol: 58, payload } = &packet.body else { panic!("{packet:?}") };
        let message = payload.to_bytes();
        assert_eq!((message[0], message[4], &message[24..]), (136, 0x60, &[2, 1, 2, 0, 0, 0, 0, 9][..]));
        let sum = pseudo_header(packet.src, packet.dst, 58, message.len()).add(&message).fold();
        assert_eq!((sum, packet.hop_limit), (0xffff, 255));
        let mut frame = solicitation().to_vec();
        frame[ICMP_AT + 2] ^= 1;
        assert_eq!(Solicitation::parse(&frame.into()), None, "a wrong checksum");
    }

    #[test]
    fn whatever_the_bytes_it_returns() {
        for whole in [arp_request(), solicitation()] {
            for len in 0..whole.len() {
                assert_eq!(Solicitation::parse(&whole.slice(..len)), None, "{len}");
            }
        }
    }
}
