//! The rules of each header, byte by byte.

use std::net::IpAddr;

use bytes::Bytes;
use handfast_core::SeqNum;
use handfast_wire::tcp::{Flags, Segment};
use handfast_wire::{
    Body, Checksums, Ecn, EmitError, Ethernet, Header, IpFacts, LinkType, Packet, ParseError, Payload,
    QuickStart, QuickStartNonce, QuickStartRate, Vlan,
};

/// A segment between 192.0.2.1 and 192.0.2.2 that carries "hi", made by hand. The checksums are scapy's.
#[rustfmt::skip]
const V4: [u8; 42] = [
    // IPv4
    0x45, 0xb8, 0x00, 0x2a, 0x12, 0x34, 0x40, 0x00, 0x3f, 0x06, 0xa4, 0xde, 192, 0, 2, 1, 192, 0, 2, 2,
    // TCP
    0x30, 0x39, 0x00, 0x50, 0x00, 0x00, 0x03, 0xe8, 0x00, 0x00, 0x07, 0xd0,
    0x50, 0x18, 0x10, 0x00, 0x77, 0x1c, 0x00, 0x00,
    b'h', b'i',
];

fn v4_packet() -> Packet {
    let segment = Segment {
        src_port: 12345,
        dst_port: 80,
        seq: SeqNum(1000),
        ack: SeqNum(2000),
        flags: Flags::ACK | Flags::PSH,
        window: 4096,
        payload: Payload::Bytes(Bytes::from_static(b"hi")),
        ..Segment::EMPTY
    };
    Packet {
        hop_limit: 63,
        traffic_class: 0xb8,
        identification: 0x1234,
        ..Packet::tcp([192, 0, 2, 1].into(), [192, 0, 2, 2].into(), segment)
    }
}

fn v6_packet() -> Packet {
    let mut packet = v4_packet();
    packet.src = "2001:db8::1".parse().unwrap();
    packet.dst = "2001:db8::2".parse().unwrap();
    packet.identification = 0;
    packet
}

fn parse(frame: &[u8]) -> Result<Packet, ParseError> {
    Packet::parse(LinkType::RawIp, &Bytes::copy_from_slice(frame), Checksums::Verify)
}

fn emit(packet: &Packet) -> Vec<u8> {
    let mut frame = Vec::new();
    packet.emit(&mut frame).unwrap();
    frame
}

/// [`V4`] with other bytes, its header checksum made right again.
fn v4_with(changes: &[(usize, u8)]) -> Vec<u8> {
    let mut frame = V4.to_vec();
    for &(at, byte) in changes {
        frame[at] = byte;
    }
    summed(frame)
}

/// `frame` with a right header checksum.
fn summed(mut frame: Vec<u8>) -> Vec<u8> {
    frame[10..12].fill(0);
    let header_len = usize::from(frame[0] & 0xf) * 4;
    let mut sum: u32 = frame[..header_len].chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(w[1])).sum();
    sum = (sum & 0xffff) + (sum >> 16);
    frame[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    frame
}

#[test]
fn ipv4_and_tcp_fields_stand_where_the_rfcs_say() {
    assert_eq!(parse(&V4), Ok(v4_packet()));
    assert_eq!(emit(&v4_packet()), V4);
}

#[test]
fn leave_to_fragment_is_kept() {
    let packet = Packet { may_fragment: true, ..v4_packet() };
    let frame = emit(&packet);
    assert_eq!(frame[6..8], [0, 0]);
    assert_eq!(parse(&frame), Ok(packet));
}

#[test]
fn ipv6_fields_stand_where_rfc_8200_says() {
    let frame = emit(&v6_packet());
    assert_eq!(frame[..8], [0x6b, 0x80, 0, 0, 0, 22, 6, 63]);
    assert_eq!(frame[8..24], [0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    assert_eq!(frame[39], 2);
    assert_eq!(parse(&frame), Ok(v6_packet()));
    let labelled = Packet { flow_label: 0x5_4321, ..v6_packet() };
    let frame = emit(&labelled);
    assert_eq!(frame[..4], [0x6b, 0x85, 0x43, 0x21]);
    assert_eq!(parse(&frame), Ok(labelled));
}

#[test]
fn ethernet_carries_at_most_one_tag() {
    let vlan = Vlan { priority: 5, drop_eligible: true, id: 0xabc };
    let ethernet = Ethernet { dst: [1, 2, 3, 4, 5, 6], src: [7, 8, 9, 10, 11, 12], vlan: Some(vlan) };
    let packet = Packet { ethernet: Some(ethernet), ..v4_packet() };
    let frame = emit(&packet);
    assert_eq!(frame[..18], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0x81, 0x00, 0xba, 0xbc, 0x08, 0x00]);
    assert_eq!(frame[18..], V4);
    let on_ethernet =
        |frame: &[u8]| Packet::parse(LinkType::Ethernet, &Bytes::copy_from_slice(frame), Checksums::Verify);
    assert_eq!(on_ethernet(&frame), Ok(packet));
    let mut double = frame.clone();
    double.splice(12..12, [0x81, 0x00, 0, 1]);
    assert_eq!(on_ethernet(&double), Err(ParseError::EtherType(0x8100)));
    let cut = Err(ParseError::Truncated { header: Header::Vlan, needed: 4, have: 3 });
    assert_eq!(on_ethernet(&frame[..17]), cut);
}

#[test]
fn ethernet_type_and_ip_version_must_agree() {
    let ethernet = Ethernet { dst: [2; 6], src: [4; 6], vlan: None };
    let mut frame = emit(&Packet { ethernet: Some(ethernet), ..v4_packet() });
    frame[12..14].copy_from_slice(&[0x86, 0xdd]);
    let parsed = Packet::parse(LinkType::Ethernet, &frame.clone().into(), Checksums::Verify);
    assert_eq!(parsed, Err(ParseError::IpVersion(4)));
    let mut version6 = emit(&Packet { ethernet: Some(ethernet), ..v6_packet() });
    version6[12..14].copy_from_slice(&[0x08, 0x00]);
    let parsed = Packet::parse(LinkType::Ethernet, &version6.into(), Checksums::Verify);
    assert_eq!(parsed, Err(ParseError::IpVersion(6)));
    frame[12..14].copy_from_slice(&[0x08, 0x06]);
    let parsed = Packet::parse(LinkType::Ethernet, &frame.into(), Checksums::Verify);
    assert_eq!(parsed, Err(ParseError::EtherType(0x0806)));
    assert_eq!(parse(&v4_with(&[(0, 0x55)])), Err(ParseError::IpVersion(5)));
}

#[test]
fn an_ipv4_header_with_a_wrong_checksum_is_an_error() {
    let mut frame = V4;
    frame[11] ^= 0x10;
    assert_eq!(parse(&frame), Err(ParseError::Ipv4Checksum { found: 0xa4ce, expected: 0xa4de }));
    let trusted = Packet::parse(LinkType::RawIp, &Bytes::copy_from_slice(&frame), Checksums::Trust);
    assert_eq!(trusted, Ok(v4_packet()));
}

#[test]
fn a_segment_with_a_wrong_checksum_is_corrupted() {
    let mut frame = V4;
    frame[36] ^= 0x10;
    assert_eq!(parse(&frame), Ok(Packet { corrupted: true, ..v4_packet() }));
    let trusted = Packet::parse(LinkType::RawIp, &Bytes::copy_from_slice(&frame), Checksums::Trust);
    assert_eq!(trusted, Ok(v4_packet()));
}

#[test]
fn a_corrupted_packet_is_emitted_with_a_wrong_checksum() {
    for packet in [v4_packet(), v6_packet()] {
        let (good, bad) = (emit(&packet), emit(&Packet { corrupted: true, ..packet.clone() }));
        let differ: Vec<usize> = (0..good.len()).filter(|&at| good[at] != bad[at]).collect();
        assert_eq!(differ, [packet.ip_len() - 22 + 17]);
        assert!(parse(&bad).unwrap().corrupted);
    }
}

#[test]
fn what_a_sender_decides_of_the_ip_header_comes_through_the_wire() {
    let option = QuickStart::Report { rate: QuickStartRate::from_field(7), nonce: QuickStartNonce::new(9) };
    let [v4, v6]: [IpAddr; 2] = ["192.0.2.1", "2001:db8::1"].map(|address| address.parse().unwrap());
    for (address, quick_start) in [(v4, Some(option)), (v6, None)] {
        for ecn in [Ecn::NotCapable, Ecn::Capable1, Ecn::Capable0, Ecn::Congested] {
            let ip = IpFacts::new(ecn, 7).with_quick_start(quick_start);
            let packet = Packet::tcp_with(address, address, Segment::EMPTY, ip);
            assert_eq!(packet.through_wire().unwrap().ip_facts(), ip);
        }
        assert_eq!(Packet::tcp(address, address, Segment::EMPTY).ip_facts(), IpFacts::PLAIN);
    }
}

#[test]
fn a_quick_start_option_lengthens_the_header_and_its_checksum() {
    // RFC 4782 §3.1, figure 3.
    let (rate, nonce) = (QuickStartRate::from_field(10), QuickStartNonce::new(0x2aaa_aaaa));
    let request = QuickStart::Request { rate, ttl: 91, nonce };
    let packet = Packet { quick_start: Some(request), ..v4_packet() };
    let frame = emit(&packet);
    assert_eq!(frame.len(), packet.ip_len());
    assert_eq!(packet.ip_len(), v4_packet().ip_len() + 8);
    assert_eq!(frame[0], 0x47);
    assert_eq!(frame[20..28], [25, 8, 0x0a, 91, 0xaa, 0xaa, 0xaa, 0xa8]);
    assert_eq!(parse(&frame), Ok(packet.clone()));
    let mut damaged = frame.clone();
    damaged[23] -= 1;
    assert!(matches!(parse(&damaged), Err(ParseError::Ipv4Checksum { .. })));
    // Behind other options it is found, behind the end or a malformed one it is not.
    let behind = |first: [u8; 4]| {
        let mut frame = frame.clone();
        frame[0] = 0x48;
        frame[3] += 4;
        frame.splice(20..20, first);
        Packet::parse(LinkType::RawIp, &frame.into(), Checksums::Trust).unwrap().quick_start
    };
    assert_eq!(behind([1, 7, 3, 4]), Some(request));
    for first in [[0; 4], [1, 7, 1, 1], [1, 1, 1, 7]] {
        assert_eq!(behind(first), None, "{first:?}");
    }
}

#[test]
fn ipv4_options_are_stepped_over() {
    let mut frame = V4.to_vec();
    (frame[0], frame[3]) = (0x46, 46);
    // Router alert (RFC 2113).
    frame.splice(20..20, [0x94, 0x04, 0, 0]);
    let frame = summed(frame);
    assert_eq!(parse(&frame), Ok(v4_packet()));
}

#[test]
fn ipv4_lengths_are_checked() {
    let header = Header::Ipv4;
    assert_eq!(
        parse(&v4_with(&[(0, 0x44)])),
        Err(ParseError::HeaderLength { header, stated: 16, min: 20, max: 42 })
    );
    let mut short = V4[..30].to_vec();
    short[0] = 0x4f;
    assert_eq!(parse(&short), Err(ParseError::HeaderLength { header, stated: 60, min: 20, max: 30 }));
    assert_eq!(
        parse(&v4_with(&[(3, 43)])),
        Err(ParseError::PacketLength { header, stated: 43, min: 20, max: 42 })
    );
    assert_eq!(
        parse(&v4_with(&[(3, 19)])),
        Err(ParseError::PacketLength { header, stated: 19, min: 20, max: 42 })
    );
    let needed = Err(ParseError::Truncated { header: Header::Tcp, needed: 20, have: 0 });
    assert_eq!(parse(&v4_with(&[(3, 20)])), needed);
}

#[test]
fn ipv4_fragments_are_errors_and_dont_fragment_is_none() {
    assert_eq!(parse(&v4_with(&[(6, 0x20)])), Err(ParseError::Fragment { offset: 0, more: true }));
    assert_eq!(
        parse(&v4_with(&[(6, 0x1f), (7, 0xff)])),
        Err(ParseError::Fragment { offset: 0xfff8, more: false })
    );
    // Neither the reserved bit nor the absence of "don't fragment" makes a fragment.
    let may_fragment = Packet { may_fragment: true, ..v4_packet() };
    for flags in [0x80, 0x00] {
        assert_eq!(parse(&v4_with(&[(6, flags)])), Ok(may_fragment.clone()));
    }
}

#[test]
fn ipv6_extension_headers_stay_in_the_body() {
    let mut frame = emit(&v6_packet());
    // A destination-options header of 8 bytes, next header TCP.
    frame[6] = 60;
    frame[5] += 8;
    frame.splice(40..40, [6, 0, 1, 4, 0, 0, 0, 0]);
    let body = Bytes::copy_from_slice(&frame[40..]);
    let expected =
        Packet { body: Body::Other { protocol: 60, payload: Payload::Bytes(body) }, ..v6_packet() };
    assert_eq!(parse(&frame), Ok(expected.clone()));
    assert_eq!(emit(&expected), frame);
}

#[test]
fn ipv6_lengths_are_checked() {
    let mut frame = emit(&v6_packet());
    frame[5] += 1;
    let header = Header::Ipv6;
    assert_eq!(parse(&frame), Err(ParseError::PacketLength { header, stated: 23, min: 0, max: 22 }));
    assert_eq!(parse(&frame[..39]), Err(ParseError::Truncated { header, needed: 40, have: 39 }));
    frame[5] = 0;
    frame[6] = 0;
    assert_eq!(parse(&frame), Err(ParseError::Jumbogram));
    frame[6] = 59;
    let nothing = Packet { body: Body::Other { protocol: 59, payload: Payload::EMPTY }, ..v6_packet() };
    assert_eq!(parse(&frame), Ok(nothing));
}

#[test]
fn tcp_header_length_is_checked() {
    let header = Header::Tcp;
    let stated = |words: u8| parse(&v4_with(&[(32, words << 4)]));
    assert_eq!(stated(4), Err(ParseError::HeaderLength { header, stated: 16, min: 20, max: 22 }));
    assert_eq!(stated(6), Err(ParseError::HeaderLength { header, stated: 24, min: 20, max: 22 }));
    // The field states at most 60, however many bytes there are.
    let mut long = v4_with(&[(3, 120), (32, 0x40)]);
    long.resize(120, 0);
    assert_eq!(parse(&long), Err(ParseError::HeaderLength { header, stated: 16, min: 20, max: 60 }));
    long[0] = 0x44;
    let header = Header::Ipv4;
    assert_eq!(parse(&long), Err(ParseError::HeaderLength { header, stated: 16, min: 20, max: 60 }));
}

#[test]
fn reserved_bits_and_the_urgent_pointer_are_kept() {
    let mut packet = v4_packet();
    let Body::Tcp(segment) = &mut packet.body else { panic!("it is TCP") };
    segment.flags = Flags(0xfff);
    segment.urgent = 0x1234;
    let frame = emit(&packet);
    assert_eq!(frame[32..34], [0x5f, 0xff]);
    assert_eq!(frame[38..40], [0x12, 0x34]);
    assert_eq!(parse(&frame), Ok(packet));
}

#[test]
fn what_has_no_form_on_the_wire_is_refused() {
    let refused = |packet: &Packet| {
        let mut out = vec![7];
        let error = packet.emit(&mut out).unwrap_err();
        assert_eq!(out, [7]);
        assert_eq!(packet.emit_into(&mut [0; 2000]), Err(error));
        error
    };
    let vlan = Vlan { priority: 0, drop_eligible: false, id: 0 };
    let tagged =
        |vlan| Packet { ethernet: Some(Ethernet { vlan: Some(vlan), ..Ethernet::default() }), ..v4_packet() };
    let largest = tagged(Vlan { id: 4095, priority: 7, ..vlan });
    assert_eq!(largest.through_wire(), Ok(largest));
    assert_eq!(refused(&tagged(Vlan { id: 4096, ..vlan })), EmitError::VlanId(4096));
    assert_eq!(refused(&tagged(Vlan { priority: 8, ..vlan })), EmitError::VlanPriority(8));
    assert_eq!(refused(&Packet { dst: v6_packet().dst, ..v4_packet() }), EmitError::AddressFamilies);
    assert_eq!(refused(&Packet { src: v6_packet().src, ..v4_packet() }), EmitError::AddressFamilies);
    let report = QuickStart::Report { rate: QuickStartRate::NONE, nonce: QuickStartNonce::default() };
    assert_eq!(refused(&Packet { quick_start: Some(report), ..v6_packet() }), EmitError::Ipv6QuickStart);
    assert_eq!(refused(&Packet { identification: 9, ..v6_packet() }), EmitError::Ipv6Identification(9));
    assert_eq!(refused(&Packet { may_fragment: true, ..v6_packet() }), EmitError::Ipv6Fragment);
    assert_eq!(refused(&Packet { flow_label: 1, ..v4_packet() }), EmitError::FlowLabel(1));
    assert_eq!(refused(&Packet { flow_label: 1 << 20, ..v6_packet() }), EmitError::FlowLabel(1 << 20));
    let other = |protocol| Body::Other { protocol, payload: Payload::EMPTY };
    assert_eq!(refused(&Packet { body: other(6), ..v4_packet() }), EmitError::Protocol(6));
    assert_eq!(refused(&Packet { body: other(0), ..v6_packet() }), EmitError::Protocol(0));
    assert!(Packet { body: other(0), ..v4_packet() }.emit(&mut Vec::new()).is_ok());
    let flags = Body::Tcp(Segment { flags: Flags(0x1000), ..Segment::EMPTY });
    assert_eq!(refused(&Packet { body: flags, ..v4_packet() }), EmitError::Flags(0x1000));
}

#[test]
fn the_longest_packet_is_what_the_length_field_can_state() {
    let with = |len| {
        Body::Tcp(Segment { payload: Payload::Synthetic { stream: 0, offset: 0, len }, ..Segment::EMPTY })
    };
    let v4 = |len| Packet { body: with(len), ..v4_packet() };
    let v6 = |len| Packet { body: with(len), ..v6_packet() };
    assert_eq!(v4(65_495).through_wire(), Ok(v4(65_495)));
    assert_eq!(v4(65_496).emit(&mut Vec::new()), Err(EmitError::PacketLength(65_536)));
    assert_eq!(v6(65_515).through_wire(), Ok(v6(65_515)));
    assert_eq!(v6(65_516).emit(&mut Vec::new()), Err(EmitError::PacketLength(65_576)));
}

#[test]
fn the_mark_of_corruption_crosses_the_wire_whatever_the_body() {
    let udp = Body::Other { protocol: 17, payload: Payload::Synthetic { stream: 1, offset: 2, len: 3 } };
    for packet in [v4_packet(), Packet { body: udp, ..v6_packet() }] {
        let packet = Packet { corrupted: true, ..packet };
        assert_eq!(packet.through_wire(), Ok(packet));
    }
}

#[test]
fn an_empty_payload_comes_back_as_it_was_written() {
    for payload in [Payload::Bytes(Bytes::new()), Payload::Synthetic { stream: 7, offset: 9, len: 0 }] {
        let packet = Packet::tcp(v4_packet().src, v4_packet().dst, Segment { payload, ..Segment::EMPTY });
        assert_eq!(packet.through_wire(), Ok(packet));
    }
}
