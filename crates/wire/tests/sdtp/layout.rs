//! The layout, byte by byte: `[sdtp]` Figure 3 (24 bytes required, 20 optional), and what the project puts into its fields.

use handfast_core::SeqNum;
use handfast_wire::sdtp::{
    Carriage, Content, Data, Expected, InnerIp, Message, Outcome, Request, Sdtp, Seal, Trigger,
};
use handfast_wire::tcp::Segment;
use handfast_wire::{Body, Ethernet, Packet, Payload};

use crate::samples::{
    EXPECTED, IPV4, between_edges, data, emit, information, ip, notification, packet, parse, repeat, request,
    sdtp, whole,
};

/// The required fields of a packet: protocol, total length, data offset, checksum (0), Flag; edges; ports; sequence.
fn required(protocol: u8, len: u8, flag: [u8; 2]) -> Vec<u8> {
    let [f0, f1] = flag;
    let first = [protocol, 0, len, 11, 0, 0, f0, f1];
    let edges = [192, 0, 2, 1, 192, 0, 2, 2];
    let ports_and_sequence = [1, 2, 3, 4, 5, 6, 7, 8];
    [first, edges, ports_and_sequence].concat()
}

/// The optional field of [`data`], its TCP options and its payload.
const DATA: [u8; 34] = [
    0x11, 0x12, 0x13, 0x14, // acknowledgement
    0x84, 0x18, 0x21, 0x22, // TCP's data offset, reserved bits and flags; window
    0x00, 0x00, 0x61, 0x62, // TCP's checksum, since_start
    0x3f, 0xb8, 0x51, 0x52, // hop limit, traffic class, identification
    0x80, 0x00, 0x00, 0x00, // do not fragment, the host's number, flow label
    1, 1, 8, 10, 0x31, 0x32, 0x33, 0x34, 0x41, 0x42, 0x43, 0x44, b'h', b'i',
];

/// RFC 1071 §1: the sum of the 16-bit words, the checksum included, is all ones.
fn is_summed(bytes: &[u8]) -> bool {
    let words = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)));
    let sum: u32 = words.sum();
    (sum & 0xffff) + (sum >> 16) == 0xffff
}

/// The packet is these bytes, but for a checksum, and these bytes are the packet.
fn lies_so(packet: &Packet, expected: &[u8]) {
    let frame = emit(packet);
    assert!(is_summed(&frame), "{frame:x?}");
    let mut unsummed = frame.clone();
    unsummed[4..6].fill(0);
    assert_eq!(unsummed, expected);
    assert_eq!(parse(&frame).as_ref(), Ok(packet));
}

#[test]
fn data_is_type_0() {
    let header = required(6, 24 + 34, [0, 0]);
    lies_so(&packet(Message::Data(data())), &[&header[..], &DATA].concat());
}

#[test]
fn rr_is_type_1_with_its_trigger_and_its_end() {
    // Type 1, trigger R, end known: 001 10 00 1 | 0.
    let field = [
        0x71, 0x72, 0x73, 0x74, 0x81, 0x82, 0x83, 0x84, // StartSeq, EndSeq
        0x91, 0x92, 0x00, 0x00, 0xa1, 0xa2, 0xa3, 0xa4, // StartNum, zero, timestamp
        0x00, 0x00, 0x00, 0x00,
    ];
    lies_so(&packet(request()), &[&required(253, 44, [0x31, 0])[..], &field].concat());
}

#[test]
fn an_unknown_end_is_0_and_known_ends_may_be_0() {
    for (end, flag) in [(None, 0x28), (Some(SeqNum(0)), 0x29)] {
        let expected = Expected { end, ..EXPECTED };
        let message = Message::Request(Request { trigger: Trigger::Time, expected, timestamp: 0 });
        let field = [[0x71, 0x72, 0x73, 0x74], [0; 4], [0x91, 0x92, 0, 0], [0; 4], [0; 4]].concat();
        lies_so(&packet(message), &[required(253, 44, [flag, 0]), field].concat());
    }
}

#[test]
fn rd_is_type_2_with_the_data_after_its_field() {
    // Type 2, trigger T: 010 01 00 0 | 0.
    let field = [
        0x71, 0x72, 0x73, 0x74, 0x91, 0x92, 0x00, 0x00, // StartSeq, StartNum, zero
        0xa1, 0xa2, 0xa3, 0xa4, 0, 0, 0, 0, 0, 0, 0, 0, // timestamp, zero
    ];
    let header = required(6, 24 + 20 + 34, [0x48, 0]);
    lies_so(&packet(repeat()), &[&header[..], &field, &DATA].concat());
}

#[test]
fn ri_is_type_3_with_add_l_or_never() {
    // Type 3, trigger C, end known: 011 00 00 1 | 0; "never" is bit 5 of the lower byte.
    for (outcome, flag, add_l) in
        [(Outcome::Later { add_l: 0xb1b2 }, 0, [0xb1, 0xb2]), (Outcome::Never, 0x20, [0, 0])]
    {
        let field = [
            [0x71, 0x72, 0x73, 0x74],
            [0x81, 0x82, 0x83, 0x84],
            [0x91, 0x92, add_l[0], add_l[1]],
            [0; 4],
            [0; 4],
        ];
        lies_so(&packet(information(outcome)), &[required(253, 44, [0x61, flag]), field.concat()].concat());
    }
}

#[test]
fn cn_is_type_4_with_one_number() {
    let field = [&[0x71, 0x72, 0x73, 0x74][..], &[0; 16]].concat();
    lies_so(&packet(notification()), &[required(253, 44, [0x80, 0]), field].concat());
}

/// Ours: the paper has no such packet.
#[test]
fn pd_is_type_5_with_what_it_is_made_of_and_the_sum() {
    let field = [
        &[0x71, 0x72, 0x73, 0x74, 0x81, 0x82, 0x83, 0x84, 0, 2, 0xc1, 0xc2, 0xa1, 0xa2, 0xa3, 0xa4][..],
        &[0xd1, 0xd2, 0xd3, 0xd4],
        b"sum",
    ];
    lies_so(&packet(crate::samples::parity()), &[required(6, 47, [0xa8, 0]), field.concat()].concat());
}

#[test]
fn a_whole_packet_follows_its_optional_field() {
    let data = whole();
    let Content::Packet(inner) = &data.content else { unreachable!() };
    let mut field = [0; 20];
    field[10..12].copy_from_slice(&[0x61, 0x62]);
    let header = required(4, 24 + 20 + 21, [0, 0]);
    let inner = emit(inner);
    lies_so(&packet(Message::Data(data)), &[&header[..], &field, &inner].concat());
}

#[test]
fn a_whole_packet_of_ipv6_is_protocol_41() {
    let [src, dst] = ["2001:db8::1", "2001:db8::2"].map(|text| text.parse().unwrap());
    let body = Body::Other { protocol: 59, payload: Payload::EMPTY };
    let inner = Packet { body, ..Packet::tcp(src, dst, Segment::EMPTY) };
    let bytes = emit(&inner);
    let mut data = whole();
    data.content = Content::Packet(Box::new(inner));
    data.ip.v6 = true;
    let mut field = [0; 20];
    field[10..12].copy_from_slice(&[0x61, 0x62]);
    let header = required(41, 24 + 20 + 40, [0, 0x80]);
    lies_so(&packet(Message::Data(data)), &[&header[..], &field, &bytes].concat());
}

#[test]
fn hosts_that_speak_ipv6_have_a_flow_label() {
    let mut data = data();
    data.ip = InnerIp { v6: true, dont_fragment: false, flow_label: 0xf_1234, ..ip() };
    let frame = emit(&packet(Message::Data(data.clone())));
    assert_eq!((frame[7], &frame[40..44]), (0x80, &[0, 0x0f, 0x12, 0x34][..]));
    assert_eq!(parse(&frame), Ok(packet(Message::Data(data))));
}

#[test]
fn the_number_of_the_host_has_eleven_bits_before_the_flow_label() {
    for (host, bytes) in [(0, [0x80, 0]), (1, [0x80, 0x10]), (0x7ff, [0xff, 0xf0])] {
        let message = Message::Data(Data { host, ..data() });
        let frame = emit(&packet(message.clone()));
        assert_eq!((frame[40..42].to_vec(), parse(&frame)), (bytes.to_vec(), Ok(packet(message))), "{host}");
    }
}

#[test]
fn ecn_is_two_bits_of_the_flag() {
    for (traffic_class, bits) in [(0, 0), (1, 0x02), (2, 0x04), (3, 0x06)] {
        let marked = Packet { traffic_class, ..packet(notification()) };
        let frame = emit(&marked);
        assert_eq!(frame[6], 0x80 | bits);
        assert_eq!(parse(&frame), Ok(marked));
    }
}

#[test]
fn a_seal_stands_at_the_end() {
    let tag = std::array::from_fn(|at| 0xe0 + at as u8);
    let seal = Seal { node: 0xc1c2_c3c4, counter: 0xd1d2_d3d4_d5d6_d7d8, tag };
    for message in [notification(), repeat()] {
        let plain = emit(&packet(message.clone()));
        let sealed = between_edges(Sdtp { seal: Some(seal), ..sdtp(message) });
        let mut expected = plain;
        expected.extend([0xc1, 0xc2, 0xc3, 0xc4, 0xd1, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6, 0xd7, 0xd8]);
        expected.extend(tag);
        expected[2] += 28;
        expected[7] |= 0x40;
        expected[4..6].fill(0);
        lies_so(&sealed, &expected);
    }
}

#[test]
fn an_ip_header_of_protocol_253_or_udp_s_with_the_edges_ports_may_stand_before_it() {
    let native = emit(&packet(notification()));
    let of = |carriage| emit(&between_edges(Sdtp { carriage, ..sdtp(notification()) }));
    let ip = of(Carriage::Ip);
    assert_eq!((ip[9], &ip[12..20]), (253, &[192, 0, 2, 1, 192, 0, 2, 2][..]));
    assert_eq!(ip[IPV4..], native);
    let udp = of(Carriage::Udp);
    assert_eq!((udp[9], &udp[IPV4..IPV4 + 6]), (17, &[1, 2, 3, 4, 0, 52][..]));
    assert_eq!(udp[IPV4 + 8..], native);
    let framed = Packet { ethernet: Some(Ethernet::default()), ..packet(notification()) };
    let framed = emit(&framed);
    assert_eq!((&framed[12..14], &framed[14..]), (&[0x88, 0xb5][..], &native[..]));
}

#[test]
fn of_ipv6_edges_the_last_32_bits_are_in_the_header() {
    let [src, dst] = ["2001:db8::102:304", "2001:db8::506:708"].map(|text| text.parse().unwrap());
    let packet = Packet::sdtp(src, dst, Sdtp { carriage: Carriage::Ip, ..sdtp(notification()) });
    let frame = emit(&packet);
    assert_eq!((frame[6], &frame[48..56]), (253, &[1, 2, 3, 4, 5, 6, 7, 8][..]));
    assert_eq!(parse(&frame), Ok(packet));
}
