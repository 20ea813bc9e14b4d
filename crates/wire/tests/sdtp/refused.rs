//! Bytes that are no SDTP packet, and what their errors say.

use handfast_wire::sdtp::{Content, Data, Fault, Message, Outcome};
use handfast_wire::{Body, Checksums, Header, LinkType, Packet, ParseError, Payload};

use crate::samples::{
    data, emit, information, messages, notification, packet, parse, repeat, request, whole,
};

/// The error of a message's packet with bytes overwritten.
fn with(message: Message, changes: &[(usize, u8)]) -> ParseError {
    let mut frame = emit(&packet(message));
    for &(at, byte) in changes {
        frame[at] = byte;
    }
    parse(&frame).unwrap_err()
}

fn fault(message: Message, changes: &[(usize, u8)]) -> Fault {
    match with(message, changes) {
        ParseError::Sdtp(fault) => fault,
        other => panic!("{other}"),
    }
}

#[test]
fn a_cut_packet_is_an_error() {
    for message in messages() {
        let frame = emit(&packet(message));
        for len in 1..frame.len() {
            let expected = if len < 24 {
                ParseError::Truncated { header: Header::Sdtp, needed: 24, have: len }
            } else {
                let (stated, max) = (frame.len(), len);
                ParseError::PacketLength { header: Header::Sdtp, stated, min: 24, max }
            };
            assert_eq!(parse(&frame[..len]), Err(expected));
        }
    }
}

#[test]
fn a_length_that_ends_inside_a_field_is_an_error() {
    let optional = |have| ParseError::Truncated { header: Header::SdtpOptional, needed: 20, have };
    let header = Header::Sdtp;
    let max = emit(&packet(notification())).len();
    let short = ParseError::PacketLength { header, stated: 23, min: 24, max };
    assert_eq!(with(notification(), &[(2, 23)]), short);
    assert_eq!(with(notification(), &[(2, 43)]), optional(19));
    assert_eq!(with(Message::Data(data()), &[(2, 24)]), optional(0));
    // RD has two of them.
    assert_eq!(with(repeat(), &[(2, 43)]), optional(19));
    assert_eq!(with(repeat(), &[(2, 63)]), optional(19));
    // With the bit that says so, the packet must hold a seal.
    let sealed = ParseError::Truncated { header: Header::SdtpSeal, needed: 28, have: 20 };
    assert_eq!(with(notification(), &[(7, 0x40)]), sealed);
}

#[test]
fn control_messages_end_with_their_field() {
    let mut frame = emit(&packet(notification()));
    frame.push(0);
    frame[2] += 1;
    let header = Header::SdtpOptional;
    let error = ParseError::PacketLength { header, stated: 21, min: 20, max: 20 };
    assert_eq!(parse(&frame), Err(error));
}

#[test]
fn the_data_offset_is_11_words() {
    for words in [0, 10, 12, 255] {
        let stated = usize::from(words) * 4;
        let error = ParseError::HeaderLength { header: Header::Sdtp, stated, min: 44, max: 44 };
        assert_eq!(with(notification(), &[(3, words)]), error);
    }
}

#[test]
fn the_protocol_is_one_that_the_type_has() {
    for message in [notification(), request(), information(Outcome::Never)] {
        for protocol in [6, 4, 41] {
            assert_eq!(fault(message.clone(), &[(0, protocol)]), Fault::Protocol(protocol));
        }
    }
    for message in [Message::Data(data()), Message::Data(whole()), repeat()] {
        // A packet of IPv6 without the bit that says so.
        for protocol in [253, 41] {
            assert_eq!(fault(message.clone(), &[(0, protocol)]), Fault::Protocol(protocol));
        }
        assert_eq!(fault(message, &[(0, 4), (7, 0x80)]), Fault::Protocol(4));
    }
    // Another protocol is not even taken for SDTP, without an Ethernet type that says so.
    let mut frame = vec![0; 12];
    frame.extend([0x88, 0xb5]);
    frame.extend(emit(&packet(notification())));
    frame[14] = 17;
    let parsed = Packet::parse(LinkType::Ethernet, &frame.into(), Checksums::Verify);
    assert_eq!(parsed, Err(ParseError::Sdtp(Fault::Protocol(17))));
}

#[test]
fn types_and_triggers_that_there_are_not() {
    assert_eq!(fault(notification(), &[(6, 7 << 5)]), Fault::Type(7));
    for message in [request(), repeat(), information(Outcome::Never)] {
        let flag = emit(&packet(message.clone()))[6] | 0x18;
        assert_eq!(fault(message, &[(6, flag)]), Fault::Trigger(3));
    }
}

#[test]
fn each_type_has_only_its_own_bits() {
    // Trigger (2 bits), end known; hosts speak IPv6, never, and the five that are reserved.
    let bits = [0x1000, 0x0800, 0x0100, 0x0080, 0x0020, 0x0010, 0x0008, 0x0004, 0x0002, 0x0001_u16];
    let own = |message: &Message| match message {
        Message::Data(_) => 0x0080,
        Message::Request(_) => 0x1900,
        Message::Repeat(_) | Message::Parity(_) => 0x1880,
        Message::Information(_) => 0x1920,
        Message::Notification(_) | Message::Congestion(_) => 0,
    };
    for message in messages() {
        let frame = emit(&packet(message.clone()));
        let flag = u16::from_be_bytes([frame[6], frame[7]]);
        for bit in bits {
            if own(&message) & bit == 0 {
                let [high, low] = (flag | bit).to_be_bytes();
                assert_eq!(fault(message.clone(), &[(6, high), (7, low)]), Fault::Flag(flag | bit));
            }
        }
    }
}

#[test]
fn what_is_reserved_is_zero() {
    let later = information(Outcome::Later { add_l: 1 });
    let never = information(Outcome::Never);
    let cases = [
        (request(), [34, 35].as_slice(), 40..44),
        (later, &[], 36..44),
        (never, &[34, 35], 36..44),
        (notification(), &[], 28..44),
        (repeat(), &[30, 31], 36..44),
    ];
    for (message, some, more) in cases {
        for at in some.iter().copied().chain(more) {
            assert_eq!(fault(message.clone(), &[(at, 1)]), Fault::Zeros, "{message:?} {at}");
        }
    }
    // An end that is not known.
    assert_eq!(fault(request(), &[(6, 0x30)]), Fault::Zeros);
    // TCP's fields, where there is no segment.
    for at in 24..34 {
        assert_eq!(fault(Message::Data(whole()), &[(at, 1)]), Fault::Zeros, "{at}");
    }
}

#[test]
fn the_segment_is_checked() {
    let header = Header::Tcp;
    let stated = |words: u8| with(Message::Data(data()), &[(28, words << 4)]);
    // 14 bytes are left for options, those of the payload included.
    assert_eq!(stated(4), ParseError::HeaderLength { header, stated: 16, min: 20, max: 34 });
    assert_eq!(stated(9), ParseError::HeaderLength { header, stated: 36, min: 20, max: 34 });
    // The field states at most 60, however many bytes there are.
    let mut frame = emit(&packet(Message::Data(data())));
    frame.resize(100, 0);
    (frame[2], frame[28]) = (100, 0x44);
    assert_eq!(parse(&frame), Err(ParseError::HeaderLength { header, stated: 16, min: 20, max: 60 }));
    // Timestamps of 200 bytes.
    let option = ParseError::TcpOption { kind: 8, stated: 200, room: 10 };
    assert_eq!(with(Message::Data(data()), &[(47, 200)]), option);
    assert_eq!(fault(Message::Data(data()), &[(29, 0x38)]), Fault::Urgent);
}

/// A whole packet as long as an IPv6 header.
fn whole_of_40() -> Data {
    let mut data = whole();
    let Content::Packet(packet) = &mut data.content else { unreachable!() };
    packet.body = Body::Other { protocol: 59, payload: Payload::Bytes(vec![0; 20].into()) };
    data
}

#[test]
fn a_whole_packet_is_checked() {
    let header = Header::Ipv4;
    // Its length, beyond what there is.
    let length = ParseError::PacketLength { header, stated: 22, min: 20, max: 21 };
    assert_eq!(with(Message::Data(whole()), &[(47, 22)]), length);
    // Its version, where the protocol or the header itself says another one.
    let truncated = ParseError::Truncated { header: Header::Ipv6, needed: 40, have: 21 };
    assert_eq!(with(Message::Data(whole()), &[(0, 41), (7, 0x80), (44, 0x65)]), truncated);
    assert_eq!(with(Message::Data(whole_of_40()), &[(0, 41), (7, 0x80)]), ParseError::IpVersion(4));
    assert_eq!(with(Message::Data(whole()), &[(44, 0x65)]), ParseError::IpVersion(6));
    assert_eq!(with(Message::Data(whole()), &[(44, 0x55)]), ParseError::IpVersion(5));
}

#[test]
fn faults_say_what_was_expected() {
    let texts = [
        (Fault::Protocol(17), "SDTP protocol 17: expected 4, 6 or 41 with data, 253 without"),
        (Fault::Type(6), "SDTP type 6: expected 0 to 5"),
        (Fault::Trigger(3), "SDTP trigger 3: expected 0 to 2"),
        (Fault::Flag(0x21), "SDTP Flag 0x0021: expected only bits that its type has"),
        (Fault::Zeros, "SDTP reserved field: expected zeros"),
        (Fault::Edges, "SDTP edges: expected the addresses of the IP header"),
        (Fault::Ports, "SDTP edges' ports: expected those of the UDP header"),
        (Fault::Urgent, "SDTP TCP segment: expected one without urgent data"),
        (Fault::NoDatagram, "SDTP packet: expected a UDP datagram"),
    ];
    for (fault, text) in texts {
        assert_eq!(ParseError::from(fault).to_string(), text);
    }
    let headers = [Header::Sdtp, Header::SdtpOptional, Header::SdtpSeal].map(|header| header.to_string());
    assert_eq!(headers, ["SDTP header", "SDTP optional field", "SDTP seal"]);
}
