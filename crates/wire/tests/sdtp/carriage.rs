//! The three carriages on the wire: what is found, what stays as it came, and the mark of corruption.

use bytes::Bytes;
use handfast_core::SeqNum;
use handfast_wire::sdtp::{Carriage, Content, Fault, Message, Notification, Sdtp};
use handfast_wire::{Body, Checksums, EmitError, Ethernet, Glance, LinkType, Packet, ParseError, Payload};

use crate::samples::{IPV4, between_edges, data, emit, messages, notification, packet, parse, sdtp, whole};

const CARRIAGES: [Carriage; 3] = [Carriage::Native, Carriage::Ip, Carriage::Udp];

fn in_each(message: &Message) -> [Packet; 3] {
    CARRIAGES.map(|carriage| between_edges(Sdtp { carriage, ..sdtp(message.clone()) }))
}

/// As a node receives it that knows which ports are slices'.
fn received(frame: &[u8], carriage: Carriage) -> Packet {
    let packet = parse(frame).unwrap();
    if carriage == Carriage::Udp { packet.to_sdtp(Checksums::Verify).unwrap() } else { packet }
}

#[test]
fn every_message_comes_through_the_wire_in_each() {
    for message in messages() {
        for packet in in_each(&message) {
            for corrupted in [false, true] {
                for ethernet in [None, Some(Ethernet::default())] {
                    let packet = Packet { corrupted, ethernet, ..packet.clone() };
                    assert_eq!(packet.through_wire(), Ok(packet));
                }
            }
        }
    }
}

#[test]
fn synthetic_payload_comes_through_the_wire() {
    let payload = Payload::Synthetic { stream: 5, offset: 99, len: 1000 };
    let (mut segment, mut packet) = (data(), whole());
    let Content::Segment(inside) = &mut segment.content else { unreachable!() };
    inside.payload = payload.clone();
    let Content::Packet(inside) = &mut packet.content else { unreachable!() };
    // Its protocol has no checksum that would find it corrupted.
    (inside.body, inside.corrupted) = (Body::Other { protocol: 50, payload: payload.clone() }, true);
    for data in [segment, packet] {
        for packet in in_each(&Message::Data(data)) {
            assert_eq!(packet.body.payload(), &payload);
            assert_eq!(packet.through_wire(), Ok(packet));
        }
    }
}

#[test]
fn a_wrong_checksum_is_a_mark_and_no_error() {
    for packet in in_each(&notification()) {
        let Body::Sdtp(sdtp) = &packet.body else { unreachable!() };
        let carriage = sdtp.carriage;
        let mut frame = emit(&packet);
        // The last byte but 16: of `until`.
        let at = frame.len() - 17;
        frame[at] ^= 1;
        let found = received(&frame, carriage);
        assert!(found.corrupted);
        let Body::Sdtp(sdtp) = found.body else { panic!() };
        let until = SeqNum(0x7172_7375);
        assert_eq!(sdtp.message, Message::Notification(Notification { until }));
        let trusted = Packet::parse(LinkType::RawIp, &frame.into(), Checksums::Trust).unwrap();
        assert!(!trusted.corrupted);
    }
}

#[test]
fn a_packet_that_is_corrupted_never_has_the_right_checksum() {
    // All checksums there are.
    for until in 0..=0xffff {
        let packet = packet(Message::Notification(Notification { until: SeqNum(until) }));
        let packet = Packet { corrupted: true, ..packet };
        assert!(parse(&emit(&packet)).unwrap().corrupted, "{until:#x}");
    }
}

#[test]
fn a_wrong_header_checksum_of_a_whole_packet_marks_the_packet_around_it() {
    let mut frame = emit(&between_edges(sdtp(Message::Data(whole()))));
    // Its checksum; that of SDTP is made right again.
    let (inner, around) = (44 + 10, 4);
    frame[inner] ^= 1;
    let delta = if frame[inner] & 1 == 1 { -0x100 } else { 0x100 };
    let sum = i32::from(u16::from_be_bytes([frame[around], frame[around + 1]])) + delta;
    frame[around..around + 2].copy_from_slice(&(sum as u16).to_be_bytes());
    let received = parse(&frame).unwrap();
    assert_eq!(received, Packet { corrupted: true, ..between_edges(sdtp(Message::Data(whole()))) });
    assert_eq!(received.through_wire(), Ok(received));
}

#[test]
fn in_udp_either_checksum_marks_it() {
    let packet = between_edges(Sdtp { carriage: Carriage::Udp, ..sdtp(notification()) });
    let mut frame = emit(&packet);
    // UDP's alone.
    frame[IPV4 + 7] ^= 1;
    assert!(received(&frame, Carriage::Udp).corrupted);
    // SDTP's alone: the sum of UDP is made right again.
    let mut frame = emit(&packet);
    frame[IPV4 + 8 + 5] ^= 1;
    let delta = i32::from(frame[IPV4 + 8 + 5] & 1) * 2 - 1;
    let sum = i32::from(u16::from_be_bytes([frame[IPV4 + 6], frame[IPV4 + 7]])) - delta;
    frame[IPV4 + 6..IPV4 + 8].copy_from_slice(&(sum as u16).to_be_bytes());
    assert!(!parse(&frame).unwrap().corrupted);
    assert!(received(&frame, Carriage::Udp).corrupted);
    let trusted = parse(&frame).unwrap().to_sdtp(Checksums::Trust).unwrap();
    assert!(!trusted.corrupted);
    // And what is corrupted is so for those who know UDP only.
    assert!(parse(&emit(&Packet { corrupted: true, ..packet })).unwrap().corrupted);
}

#[test]
fn in_udp_one_step_says_what_two_say_whatever_stands_there() {
    let mut verdicts = [0; 3];
    let mut compare = |frame: Vec<u8>| {
        let frame = Bytes::from(frame);
        for checksums in [Checksums::Verify, Checksums::Trust] {
            let two =
                Packet::parse(LinkType::RawIp, &frame, checksums).and_then(|packet| match packet.body {
                    Body::Sdtp(_) => Ok(packet),
                    _ => packet.to_sdtp(checksums),
                });
            let one = Packet::parse_sdtp(LinkType::RawIp, &frame, checksums);
            let is_other = matches!(one, Ok(Packet { body: Body::Other { .. }, .. }));
            assert!(one == two || is_other, "{one:?} {two:?} {frame:x?}");
            verdicts[one.map_or(0, |packet| 1 + usize::from(packet.corrupted))] += 1;
        }
    };
    for message in [notification(), Message::Data(data()), Message::Data(whole())] {
        let packet = between_edges(Sdtp { carriage: Carriage::Udp, ..sdtp(message) });
        let frame = emit(&packet);
        // Something follows SDTP in the datagram.
        let mut longer = parse(&frame).unwrap();
        let Body::Udp(inside) = &mut longer.body else { panic!() };
        inside.payload = Payload::Bytes([&inside.payload.to_bytes()[..], b"more"].concat().into());
        for frame in [frame, emit(&longer)] {
            for (at, value) in (0..frame.len()).flat_map(|at| (0..=u8::MAX).map(move |value| (at, value))) {
                let mut changed = frame.clone();
                changed[at] = value;
                compare(changed);
            }
        }
    }
    assert!(verdicts.iter().all(|&count| count > 100), "{verdicts:?}");
}

#[test]
fn a_datagram_stays_one_until_someone_knows_its_port() {
    let packet = between_edges(Sdtp { carriage: Carriage::Udp, ..sdtp(notification()) });
    let datagram = parse(&emit(&packet)).unwrap();
    let Body::Udp(inside) = &datagram.body else { panic!() };
    assert_eq!((inside.src_port, inside.dst_port), (0x0102, 0x0304));
    assert_eq!(datagram.to_sdtp(Checksums::Verify), Ok(packet));
    for change in [|ports: &mut (u16, u16)| ports.0 += 1, |ports: &mut (u16, u16)| ports.1 += 1] {
        let mut other = datagram.clone();
        let Body::Udp(inside) = &mut other.body else { unreachable!() };
        let mut ports = (inside.src_port, inside.dst_port);
        change(&mut ports);
        (inside.src_port, inside.dst_port) = ports;
        assert_eq!(other.to_sdtp(Checksums::Verify), Err(ParseError::Sdtp(Fault::Ports)));
    }
    let moved = Packet { src: [192, 0, 2, 9].into(), ..datagram };
    assert_eq!(moved.to_sdtp(Checksums::Verify), Err(ParseError::Sdtp(Fault::Edges)));
    let no_datagram = between_edges(sdtp(notification()));
    assert_eq!(no_datagram.to_sdtp(Checksums::Verify), Err(ParseError::Sdtp(Fault::NoDatagram)));
}

#[test]
fn what_is_no_sdtp_under_its_protocol_number_stays_as_it_came() {
    let sdtp = between_edges(Sdtp { carriage: Carriage::Ip, ..sdtp(notification()) });
    let frame = emit(&sdtp);
    let kept = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut frame = frame.clone();
        change(&mut frame);
        let packet = Packet::parse(LinkType::RawIp, &frame.clone().into(), Checksums::Trust).unwrap();
        let payload = Payload::Bytes(Bytes::copy_from_slice(&frame[IPV4..]));
        assert_eq!(packet.body, Body::Other { protocol: 253, payload });
        assert_eq!(packet.through_wire(), Ok(packet));
    };
    // A type that there is not, an edge that is not the IP header's, a notification of [vho], whose version is 1.
    kept(&|frame| frame[IPV4 + 6] = 0xa0);
    kept(&|frame| frame[IPV4 + 11] = 7);
    kept(&|frame| frame[IPV4] = 1);
    // But bytes that would parse as SDTP are no body of another kind.
    let payload = Payload::Bytes(Bytes::copy_from_slice(&frame[IPV4..]));
    let other = Packet { body: Body::Other { protocol: 253, payload }, ..sdtp };
    assert_eq!(other.emit(&mut Vec::new()), Err(EmitError::Protocol(253)));
}

#[test]
fn sdtp_inside_a_whole_packet_is_not_looked_for() {
    let inner = emit(&between_edges(Sdtp { carriage: Carriage::Ip, ..sdtp(notification()) }));
    let payload = Payload::Bytes(Bytes::copy_from_slice(&inner[IPV4..]));
    let mut data = whole();
    let Content::Packet(inside) = &mut data.content else { unreachable!() };
    **inside = Packet { body: Body::Other { protocol: 253, payload }, ..between_edges(sdtp(notification())) };
    for packet in in_each(&Message::Data(data)) {
        assert_eq!(packet.through_wire(), Ok(packet));
    }
}

#[test]
fn a_router_s_mark_is_that_of_the_ip_header() {
    let packet = between_edges(Sdtp { carriage: Carriage::Ip, ..sdtp(notification()) });
    let mut frame = emit(&Packet { traffic_class: 2, ..packet.clone() });
    frame[1] = 3;
    let marked = Packet::parse(LinkType::RawIp, &frame.into(), Checksums::Trust).unwrap();
    assert_eq!(marked, Packet { traffic_class: 3, ..packet });
}

#[test]
fn a_glance_sees_where_a_native_packet_ends() {
    for message in messages() {
        let packet = between_edges(sdtp(message));
        let mut frame = emit(&Packet { ethernet: Some(Ethernet::default()), ..packet.clone() });
        let end = frame.len();
        frame.extend([0; 9]);
        let glance = Glance { ip_len: packet.ip_len(), end, has_tcp_payload: false };
        assert_eq!(Glance::at(&frame), Some(glance));
        assert_eq!(Glance::at(&frame[..end - 1]), None);
    }
}
