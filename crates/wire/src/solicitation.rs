//! "Who has this address?": ARP messages (RFC 826) and IPv6 neighbor discovery (RFC 4861 §4.3, §4.4).

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
const SOLICITED_OVERRIDE: u8 = 0x60;
const SOURCE_LINK_LAYER: u8 = 1;
const TARGET_LINK_LAYER: u8 = 2;

/// Who has an address: what an answer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Announcement {
    /// The address.
    pub address: IpAddr,
    /// Where it is.
    pub mac: [u8; 6],
}

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
        let (sender, target) = arp(data, ARP_REQUEST)?;
        let is_answerable = sender.address != IpAddr::from(Ipv4Addr::UNSPECIFIED);
        is_answerable.then_some(Self { asker: sender.address, asker_mac: sender.mac, target })
    }

    fn parse_neighbor(frame: &Bytes, asker_mac: [u8; 6]) -> Option<Self> {
        let (src, target, _) = neighbor(frame, NEIGHBOR_SOLICITATION)?;
        (!src.is_unspecified()).then_some(Self { asker: src, asker_mac, target })
    }

    /// The frame that asks, to everybody (ARP) or to those whose address ends like the one asked for (RFC 4291 §2.7.1).
    pub fn ask(&self) -> Vec<u8> {
        let mut frame = Vec::with_capacity(86);
        match (self.asker, self.target) {
            (IpAddr::V4(asker), IpAddr::V4(target)) => {
                frame.put_slice(&[0xff; 6]);
                put_arp(&mut frame, ARP_REQUEST, (self.asker_mac, asker), ([0; 6], target));
            }
            (IpAddr::V6(_), IpAddr::V6(target)) => {
                let [.., a, b, c] = target.octets();
                let group =
                    Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00 | u16::from(a), u16::from_be_bytes([b, c]));
                let ends = ((self.asker_mac, self.asker), ([0x33, 0x33, 0xff, a, b, c], group.into()));
                put_neighbor(&mut frame, [NEIGHBOR_SOLICITATION, 0, SOURCE_LINK_LAYER], target, ends);
            }
            // Nobody has an address of another family than the asker's.
            _ => {}
        }
        frame
    }

    /// The frame that says: `mac` has it.
    pub fn answer(&self, mac: [u8; 6]) -> Vec<u8> {
        let mut frame = Vec::with_capacity(86);
        match (self.asker, self.target) {
            (IpAddr::V4(asker), IpAddr::V4(target)) => {
                frame.put_slice(&self.asker_mac);
                put_arp(&mut frame, ARP_REPLY, (mac, target), (self.asker_mac, asker));
            }
            (IpAddr::V6(_), IpAddr::V6(target)) => {
                let ends = ((mac, self.target), (self.asker_mac, self.asker));
                let kind = [NEIGHBOR_ADVERTISEMENT, SOLICITED_OVERRIDE, TARGET_LINK_LAYER];
                put_neighbor(&mut frame, kind, target, ends);
            }
            _ => {}
        }
        frame
    }
}

impl Announcement {
    /// Reads an Ethernet frame; [`None`]: it is anything else. Keeps the contract of [`Packet::parse`].
    pub fn parse(frame: &Bytes) -> Option<Self> {
        let (header, ether_type, data) = ethernet::parse(frame).ok()?;
        match ether_type {
            ARP => arp(data, ARP_REPLY).map(|(sender, _)| sender),
            ethernet::IPV6 => {
                let (_, target, option) = neighbor(frame, NEIGHBOR_ADVERTISEMENT)?;
                // RFC 4861 §4.4: without the option it is where the frame came from.
                let mac = match option.as_ref() {
                    [TARGET_LINK_LAYER, 1, mac @ ..] => *mac.first_chunk::<6>()?,
                    _ => header.src,
                };
                Some(Self { address: target, mac })
            }
            _ => None,
        }
    }
}

/// The sender of an ARP message with that operation, and the address it is about.
fn arp(data: &[u8], operation: u8) -> Option<(Announcement, IpAddr)> {
    let arp = data.first_chunk::<ARP_LEN>()?;
    let ip = |at: usize| Ipv4Addr::new(arp[at], arp[at + 1], arp[at + 2], arp[at + 3]).into();
    let sender = Announcement { address: ip(14), mac: [arp[8], arp[9], arp[10], arp[11], arp[12], arp[13]] };
    (arp[..7] == ARP_START && arp[7] == operation).then(|| (sender, ip(24)))
}

/// Appends an ARP message, and in front of it what a frame lacks after its destination.
fn put_arp(frame: &mut Vec<u8>, operation: u8, sender: ([u8; 6], Ipv4Addr), target: ([u8; 6], Ipv4Addr)) {
    frame.put_slice(&sender.0);
    frame.put_u16(ARP);
    frame.put_slice(&ARP_START);
    frame.put_u8(operation);
    for (mac, ip) in [sender, target] {
        frame.put_slice(&mac);
        frame.put_slice(&ip.octets());
    }
}

/// The source of a neighbor message of that type, its target and its options.
fn neighbor(frame: &Bytes, kind: u8) -> Option<(IpAddr, IpAddr, Bytes)> {
    let packet = Packet::parse(LinkType::Ethernet, frame, Checksums::Verify).ok()?;
    let Body::Other { protocol: ICMPV6, payload: Payload::Bytes(message) } = &packet.body else {
        return None;
    };
    let sum = pseudo_header(packet.src, packet.dst, ICMPV6, message.len()).add(message).fold();
    let (&[found, code, ..], rest) = message.split_first_chunk::<8>()?;
    let (target, _) = rest.split_first_chunk::<16>()?;
    // RFC 4861 §7.1: no router has passed it on, its checksum is right, its code is 0.
    let is_valid = packet.hop_limit == 255 && sum == 0xffff && (found, code) == (kind, 0);
    is_valid.then(|| (packet.src, Ipv6Addr::from(*target).into(), message.slice(24..)))
}

/// An Ethernet and an IP address.
type End = ([u8; 6], IpAddr);

/// Appends a neighbor message from one end to another: type, first byte of flags, and the option that says where its sender
/// is.
fn put_neighbor(
    frame: &mut Vec<u8>,
    [kind, flags, option]: [u8; 3],
    target: Ipv6Addr,
    (from, to): (End, End),
) {
    let mut message = Vec::with_capacity(32);
    message.put_slice(&[kind, 0, 0, 0, flags, 0, 0, 0]);
    message.put_slice(&target.octets());
    message.put_slice(&[option, 1]);
    message.put_slice(&from.0);
    let sum = pseudo_header(from.1, to.1, ICMPV6, message.len()).add(&message).checksum();
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    let packet = Packet {
        ethernet: Some(Ethernet { dst: to.0, src: from.0, vlan: None }),
        src: from.1,
        dst: to.1,
        hop_limit: 255,
        traffic_class: 0,
        identification: 0,
        may_fragment: false,
        flow_label: 0,
        quick_start: None,
        corrupted: false,
        body: Body::Other { protocol: ICMPV6, payload: Payload::Bytes(message.into()) },
    };
    // Both ends are IPv6 addresses, or the callers would have made an ARP message: that has a form on the wire.
    let _ = packet.emit(frame);
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
        let bytes_of_answer =
            "aabbccddeeff 020000000009 0806 0001 0800 06 04 0002 020000000009 0a000002 aabbccddeeff 0a000001";
        assert_eq!(asked.answer(ME), bytes(bytes_of_answer));
        assert_eq!(asked.ask(), arp_request());
        let answer = asked.answer(ME).into();
        assert_eq!(Solicitation::parse(&answer), None, "an answer is no question");
        assert_eq!(Announcement::parse(&answer), Some(Announcement { address: ip("10.0.0.2"), mac: ME }));
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
        assert_eq!(asked.ask(), solicitation());
        let said = Announcement { address: asked.target, mac: ME };
        assert_eq!(Announcement::parse(&answer), Some(said));
        let mut frame = solicitation().to_vec();
        frame[ICMP_AT + 2] ^= 1;
        assert_eq!(Solicitation::parse(&frame.into()), None, "a wrong checksum");
    }

    /// `frame` with other bytes at these places, and a right checksum.
    fn altered(frame: &[u8], changes: &[(usize, &[u8])]) -> Bytes {
        let mut frame = frame.to_vec();
        for &(at, bytes) in changes {
            frame[at..at + bytes.len()].copy_from_slice(bytes);
        }
        frame[ICMP_AT + 2..ICMP_AT + 4].fill(0);
        let [src, dst] = [22, 38].map(|at| IpAddr::from(*frame[at..].first_chunk::<16>().unwrap()));
        let sum = pseudo_header(src, dst, ICMPV6, frame.len() - ICMP_AT).add(&frame[ICMP_AT..]).checksum();
        frame[ICMP_AT + 2..ICMP_AT + 4].copy_from_slice(&sum.to_be_bytes());
        frame.into()
    }

    #[test]
    fn a_neighbor_message_that_a_router_passed_on_or_nobody_knows_is_none() {
        // RFC 4861 §7.1.1 and §7.1.2: a hop limit of 255, code 0, and nothing else with either type.
        let (question, mac) = (solicitation(), ME);
        let answer = Solicitation::parse(&question).unwrap().answer(mac);
        assert!(Solicitation::parse(&altered(&question, &[])).is_some());
        assert!(Announcement::parse(&altered(&answer, &[])).is_some());
        for change in [(21, &[254][..]), (ICMP_AT, &[134]), (ICMP_AT + 1, &[1])] {
            assert_eq!(Solicitation::parse(&altered(&question, &[change])), None, "{change:?}");
            assert_eq!(Announcement::parse(&altered(&answer, &[change])), None, "{change:?}");
        }
        assert_eq!(Announcement::parse(&question), None, "a question is no answer");
        assert_eq!(Solicitation::parse(&answer.into()), None, "an answer is no question");
    }

    #[test]
    fn an_asker_without_an_address_is_not_answered() {
        // RFC 4862 §5.4.3 and RFC 5227 §2.1.1: it looks whether anybody has the address it wants.
        assert_eq!(Solicitation::parse(&altered(&solicitation(), &[(22, &[0; 16])])), None);
        let mut probe = arp_request().to_vec();
        probe[28..32].fill(0);
        assert_eq!(Solicitation::parse(&probe.into()), None);
    }

    #[test]
    fn an_answer_without_the_option_comes_from_where_its_address_is() {
        // RFC 4861 §4.4: the option may be left out of a unicast answer; others say nothing of the target.
        let asked = Solicitation::parse(&solicitation()).unwrap();
        let answer = asked.answer(ME);
        for (option, mac) in [([2, 1], [7; 6]), ([1, 1], ME), ([2, 2], ME)] {
            let frame = altered(&answer, &[(ICMP_AT + 24, &option), (ICMP_AT + 26, &[7; 6])]);
            let said = Announcement { address: asked.target, mac };
            assert_eq!(Announcement::parse(&frame), Some(said), "{option:?}");
        }
    }

    #[test]
    fn arp_for_other_networks_is_none() {
        // RFC 826: hardware 1 with addresses of 6 octets, protocol 0x0800 with addresses of 4, operation 1.
        for at in 14..22 {
            let mut frame = arp_request().to_vec();
            frame[at] ^= 4;
            assert_eq!(Solicitation::parse(&frame.into()), None, "octet {at}");
        }
    }

    #[test]
    fn whatever_the_bytes_it_returns() {
        for whole in [arp_request(), solicitation()] {
            for len in 0..whole.len() {
                assert_eq!(Solicitation::parse(&whole.slice(..len)), None, "{len}");
                assert_eq!(Announcement::parse(&whole.slice(..len)), None, "{len}");
            }
        }
    }
}
