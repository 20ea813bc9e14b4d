//! Which packets match (§5.3, §7.2.3): each field alone, exact and masked.

use std::net::{Ipv4Addr, Ipv6Addr};

use handfast_core::SeqNum;
use handfast_wire::openflow::{EthAddr, Masked, Match, PortNo};
use handfast_wire::sdtp::{Carriage, Message, Notification, Sdtp};
use handfast_wire::{Body, Ethernet, Packet, Payload, Vlan};

use crate::bench::{
    Bench, IP_A, IP_B, IPV4, MAC_A, MAC_B, P1, P2, P3, TCP, datagram, framed, output, segment,
};

const IPV6: u16 = 0x86dd;
const UDP: u8 = 17;
const IP6_A: Ipv6Addr = Ipv6Addr::new(0xfd00, 1, 2, 3, 4, 5, 6, 0xa);
const IP6_B: Ipv6Addr = Ipv6Addr::new(0xfd00, 1, 2, 3, 4, 5, 6, 0xb);

fn matches(matches: Match, in_port: PortNo, packet: Packet) -> bool {
    let mut bench = Bench::new();
    bench.add(1, matches, vec![output(P3)]);
    bench.out_ports(in_port, packet) == [P3]
}

fn takes(wanted: Match, packet: &Packet) -> bool {
    matches(wanted, P1, packet.clone())
}

fn masked<T>(value: T, mask: T) -> Masked<T> {
    Masked { value, mask: Some(mask) }
}

fn exact<T>(value: T) -> Masked<T> {
    Masked::exact(value)
}

fn v4() -> Match {
    Match { eth_type: Some(IPV4), ..Match::default() }
}

fn v6() -> Match {
    Match { eth_type: Some(IPV6), ..Match::default() }
}

fn tcp() -> Match {
    Match { ip_proto: Some(TCP), ..v4() }
}

fn udp() -> Match {
    Match { ip_proto: Some(UDP), ..v4() }
}

fn segment_v6() -> Packet {
    let Body::Tcp(segment) = segment(5).body else { unreachable!() };
    framed(Packet::tcp(IP6_A.into(), IP6_B.into(), segment))
}

fn udp_of(payload: Payload) -> Packet {
    datagram(IP_A.into(), IP_B.into(), payload)
}

/// Ports 500 and 53, and a length and checksum that nobody looks at.
fn dns() -> Packet {
    udp_of(Payload::Bytes(vec![0x01, 0xf4, 0, 53, 0, 8, 0, 0].into()))
}

fn tagged(id: u16) -> Packet {
    let vlan = Some(Vlan { priority: 5, drop_eligible: true, id });
    Packet { ethernet: Some(Ethernet { dst: MAC_B, src: MAC_A, vlan }), ..segment(1) }
}

#[test]
fn where_it_arrived() {
    let wanted = Match { in_port: Some(P1), ..Match::default() };
    assert!(matches(wanted.clone(), P1, segment(1)));
    assert!(!matches(wanted, P2, segment(1)));
}

#[test]
fn ethernet_addresses() {
    let dst = |field| Match { eth_dst: Some(field), ..Match::default() };
    let src = |field| Match { eth_src: Some(field), ..Match::default() };
    let last: EthAddr = [0, 0, 0, 0, 0, 0xff];
    let first: EthAddr = [0xff, 0, 0, 0, 0, 0];
    let packet = segment(1);
    for (wanted, expected) in [
        (dst(exact(MAC_B)), true),
        (dst(exact(MAC_A)), false),
        (src(exact(MAC_A)), true),
        (src(exact(MAC_B)), false),
        (dst(masked([0, 0, 0, 0, 0, 0xb], last)), true),
        (dst(masked([0, 0, 0, 0, 0, 0xc], last)), false),
        (src(masked([2, 0, 0, 0, 0, 0], first)), true),
        (src(masked([3, 0, 0, 0, 0, 0], first)), false),
    ] {
        assert_eq!(takes(wanted.clone(), &packet), expected, "{wanted:?}");
    }
}

#[test]
fn the_ethernet_type_is_that_after_the_tag() {
    assert!(takes(v4(), &segment(1)));
    assert!(takes(v4(), &tagged(3)));
    assert!(!takes(v6(), &segment(1)));
    assert!(takes(v6(), &segment_v6()));
    assert!(!takes(v4(), &segment_v6()));
}

#[test]
fn vlan_tags() {
    let vlan = |field| Match { vlan_vid: Some(field), ..Match::default() };
    // §7.2.3.7, table 13: OFPVID_NONE, OFPVID_PRESENT with mask, a tag.
    let (none, some, three) = (vlan(exact(0)), vlan(masked(0x1000, 0x1000)), vlan(exact(0x1003)));
    for (packet, expected) in [
        (segment(1), [true, false, false]),
        (tagged(3), [false, true, true]),
        (tagged(4), [false, true, false]),
        (tagged(0), [false, true, false]),
    ] {
        let taken = [&none, &some, &three].map(|wanted| takes(wanted.clone(), &packet));
        assert_eq!(taken, expected);
    }
    assert!(takes(vlan(masked(0x1001, 0x1001)), &tagged(3)));
    assert!(!takes(vlan(masked(0x1001, 0x1001)), &tagged(4)));
}

#[test]
fn ipv4_addresses() {
    let src = |field| Match { ipv4_src: Some(field), ..v4() };
    let dst = |field| Match { ipv4_dst: Some(field), ..v4() };
    let packet = segment(1);
    for (wanted, expected) in [
        (src(exact(IP_A)), true),
        (src(exact(IP_B)), false),
        (dst(exact(IP_B)), true),
        (dst(exact(IP_A)), false),
        (dst(masked(Ipv4Addr::new(10, 0, 0, 0), Ipv4Addr::new(255, 0, 0, 0))), true),
        (src(masked(Ipv4Addr::new(0, 0, 0, 1), Ipv4Addr::new(0, 0, 0, 255))), true),
        (src(masked(Ipv4Addr::new(11, 0, 0, 0), Ipv4Addr::new(255, 0, 0, 0))), false),
    ] {
        assert_eq!(takes(wanted.clone(), &packet), expected, "{wanted:?}");
    }
}

#[test]
fn ipv6_addresses() {
    let src = |field| Match { ipv6_src: Some(field), ..v6() };
    let dst = |field| Match { ipv6_dst: Some(field), ..v6() };
    let high = |value| masked(value, Ipv6Addr::new(0xffff, 0xffff, 0, 0, 0, 0, 0, 0));
    for (wanted, expected) in [
        (src(exact(IP6_A)), true),
        (src(exact(IP6_B)), false),
        (dst(exact(IP6_B)), true),
        (dst(exact(IP6_A)), false),
        (dst(high(Ipv6Addr::new(0xfd00, 1, 0, 0, 0, 0, 0, 0))), true),
        (dst(high(Ipv6Addr::new(0xfd00, 2, 0, 0, 0, 0, 0, 0))), false),
    ] {
        assert_eq!(takes(wanted.clone(), &segment_v6()), expected, "{wanted:?}");
    }
}

#[test]
fn protocols() {
    assert!(takes(tcp(), &segment(1)));
    assert!(!takes(udp(), &segment(1)));
    assert!(takes(udp(), &dns()));
    assert!(!takes(tcp(), &dns()));
    assert!(takes(Match { ip_proto: Some(TCP), ..v6() }, &segment_v6()));
}

#[test]
fn ports() {
    for (wanted, expected) in [
        (Match { tcp_src: Some(1000), ..tcp() }, true),
        (Match { tcp_src: Some(80), ..tcp() }, false),
        (Match { tcp_dst: Some(80), ..tcp() }, true),
        (Match { tcp_dst: Some(1000), ..tcp() }, false),
        (Match { tcp_dst: Some(80), ip_proto: Some(TCP), ..v6() }, false),
    ] {
        assert_eq!(takes(wanted.clone(), &segment(1)), expected, "{wanted:?}");
    }
    for (wanted, expected) in [
        (Match { udp_src: Some(500), ..udp() }, true),
        (Match { udp_src: Some(53), ..udp() }, false),
        (Match { udp_dst: Some(53), ..udp() }, true),
        (Match { udp_dst: Some(500), ..udp() }, false),
    ] {
        assert_eq!(takes(wanted.clone(), &dns()), expected, "{wanted:?}");
    }
}

#[test]
fn ports_of_a_synthetic_datagram_are_those_of_its_bytes() {
    let payload = Payload::Synthetic { stream: 4, offset: 10, len: 4 };
    let bytes = payload.to_bytes();
    let port = |at| Some(u16::from_be_bytes([bytes[at], bytes[at + 1]]));
    assert!(takes(Match { udp_src: port(0), udp_dst: port(2), ..udp() }, &udp_of(payload)));
}

#[test]
fn a_datagram_without_a_header_has_ports_zero() {
    let zeros = Match { udp_src: Some(0), udp_dst: Some(0), ..udp() };
    assert!(takes(zeros.clone(), &udp_of(Payload::Synthetic { stream: 4, offset: 10, len: 3 })));
    assert!(takes(zeros, &udp_of(Payload::Bytes(vec![1, 2, 3].into()))));
}

/// SDTP from A to B, of connection 500 and slice 53.
fn sdtp(carriage: Carriage) -> Packet {
    let message = Message::Notification(Notification { until: SeqNum(0) });
    let (slice, connection, sequence) = (53, 500, SeqNum(0));
    let sdtp = Sdtp { carriage, slice, connection, sequence, message, seal: None };
    framed(Packet::sdtp(IP_A.into(), IP_B.into(), sdtp))
}

#[test]
fn sdtp_is_what_it_travels_in() {
    let ports = |src, dst| Match { udp_src: Some(src), udp_dst: Some(dst), ..udp() };
    let protocol = Match { ip_proto: Some(253), ipv4_dst: Some(exact(IP_B)), ..v4() };
    let ether_type = Match { eth_type: Some(0x88b5), ..Match::default() };
    for (wanted, carriage) in [
        (ports(500, 53), Some(Carriage::Udp)),
        (ports(53, 500), None),
        (protocol, Some(Carriage::Ip)),
        (ether_type, Some(Carriage::Native)),
    ] {
        for each in [Carriage::Native, Carriage::Ip, Carriage::Udp] {
            assert_eq!(takes(wanted.clone(), &sdtp(each)), carriage == Some(each), "{wanted:?} {each:?}");
        }
    }
}

#[test]
fn tcp_flags() {
    let flags = |field| Match { tcp_flags: Some(field), ..tcp() };
    // The segment has ACK (0x10) alone.
    for (wanted, expected) in [
        (flags(exact(0x10)), true),
        (flags(exact(0x12)), false),
        (flags(masked(0x10, 0x10)), true),
        (flags(masked(0x00, 0x02)), true),
        (flags(masked(0x02, 0x02)), false),
    ] {
        assert_eq!(takes(wanted.clone(), &segment(1)), expected, "{wanted:?}");
    }
}

#[test]
fn what_asks_for_arp_matches_no_packet() {
    let arp = Match { eth_type: Some(0x0806), arp_tpa: Some(exact(IP_B)), ..Match::default() };
    assert!(!takes(arp, &segment(1)));
}
