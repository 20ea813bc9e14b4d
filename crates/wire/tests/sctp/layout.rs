//! The layout, byte by byte (RFC 9260 §3).

use bytes::Bytes;
use handfast_core::SeqNum;
use handfast_wire::Checksums;
use handfast_wire::sctp::{Cause, Chunk, Data, Packet, Parameter};

use crate::samples::{chunks, data, init, packet, sack};

/// The packet with this chunk has these bytes behind the common header, and they are the packet.
fn lies_so(chunk: Chunk, expected: &[u8]) {
    let packet = packet(vec![chunk]);
    let bytes = packet.emit().unwrap();
    assert_eq!(bytes[..8], [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(&bytes[12..], expected, "{:x?}", &bytes[12..]);
    assert_eq!(bytes.len(), packet.wire_len());
    assert_eq!(Packet::parse(&bytes, Checksums::Verify).as_ref(), Ok(&packet));
}

#[test]
fn data_is_type_0_with_its_four_flags() {
    let fixed = [
        0x11, 0x12, 0x13, 0x14, 0x21, 0x22, 0x31, 0x32, 0x41, 0x42, 0x43, 0x44, b'h', b'e', b'l', b'l', b'o',
        0, 0, 0,
    ];
    let with = |flags| [&[0, flags, 0, 21][..], &fixed[..]].concat();
    // §3.3.1: I, U, B, E from bit 3 down.
    lies_so(Chunk::Data(data()), &with(3));
    lies_so(Chunk::Data(Data { begin: false, ..data() }), &with(1));
    lies_so(Chunk::Data(Data { end: false, ..data() }), &with(2));
    lies_so(Chunk::Data(Data { unordered: true, ..data() }), &with(7));
    lies_so(Chunk::Data(Data { immediate: true, ..data() }), &with(11));
}

#[test]
fn init_is_type_1_and_its_last_padding_is_not_in_its_length() {
    let mut expected = vec![1, 0, 0, 63];
    expected.extend([
        0x11, 0x12, 0x13, 0x14, 0x21, 0x22, 0x23, 0x24, 0x31, 0x32, 0x41, 0x42, 0x51, 0x52, 0x53, 0x54,
    ]);
    expected.extend([0, 5, 0, 8, 192, 0, 2, 1]);
    expected.extend([0, 6, 0, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    expected.extend([0, 12, 0, 6, 0, 5, 0, 0]);
    expected.extend([0, 7, 0, 7, b'a', b'b', b'c', 0]);
    lies_so(Chunk::Init(init()), &expected);
    expected[0] = 2;
    lies_so(Chunk::InitAck(init()), &expected);
    // §3.2: a robust receiver takes it with the padding in the length, too.
    expected[3] = 64;
    let mut bytes = packet(vec![Chunk::CookieAck]).emit().unwrap()[..12].to_vec();
    bytes.extend(expected);
    let parsed = Packet::parse(&bytes.into(), Checksums::Trust);
    assert_eq!(parsed, Ok(packet(vec![Chunk::InitAck(init())])));
}

#[test]
fn sack_is_type_3() {
    let expected = [
        3, 0, 0, 28, 0x11, 0x12, 0x13, 0x14, 0x21, 0x22, 0x23, 0x24, 0, 2, 0, 1, 0, 2, 0, 3, 0, 5, 6, 7,
        0x31, 0x32, 0x33, 0x34,
    ];
    lies_so(Chunk::Sack(sack()), &expected);
}

#[test]
fn the_others_have_their_types_and_flags() {
    lies_so(Chunk::Heartbeat("beat".into()), &[4, 0, 0, 12, 0, 1, 0, 8, b'b', b'e', b'a', b't']);
    lies_so(Chunk::HeartbeatAck("b".into()), &[5, 0, 0, 9, 0, 1, 0, 5, b'b', 0, 0, 0]);
    lies_so(Chunk::Abort { reflected: false, causes: vec![] }, &[6, 0, 0, 4]);
    lies_so(Chunk::Abort { reflected: true, causes: vec![Cause::plain(12)] }, &[6, 1, 0, 8, 0, 12, 0, 4]);
    lies_so(Chunk::Shutdown { cumulative: SeqNum(0x1112_1314) }, &[7, 0, 0, 8, 0x11, 0x12, 0x13, 0x14]);
    lies_so(Chunk::ShutdownAck, &[8, 0, 0, 4]);
    lies_so(Chunk::Error(vec![Cause::InvalidStream(9)]), &[9, 0, 0, 12, 0, 1, 0, 8, 0, 9, 0, 0]);
    let stale = Chunk::Error(vec![Cause::StaleCookie { microseconds: 0x0102_0304 }]);
    lies_so(stale, &[9, 0, 0, 12, 0, 3, 0, 8, 1, 2, 3, 4]);
    lies_so(Chunk::CookieEcho("cook".into()), &[10, 0, 0, 8, b'c', b'o', b'o', b'k']);
    lies_so(Chunk::CookieAck, &[11, 0, 0, 4]);
    lies_so(Chunk::ShutdownComplete { reflected: true }, &[14, 1, 0, 4]);
    lies_so(Chunk::Unknown { kind: 0xc1, flags: 7, value: "x".into() }, &[0xc1, 7, 0, 5, b'x', 0, 0, 0]);
}

/// An INIT as a browser's stack sends it, with its checksum: ports 5000, Forward-TSN-Supported, Supported Extensions, and what
/// authenticates chunks.
const BROWSER: &str = "1388138800000000\
    81469dfc01000056 55b964a500020000 04000800e86d1030 c000000480080009 c00fc18082000000 800200249febbb5c \
    50c9bf759cb12c57 4fa45a51ba601778 27945c31e65d5b09 47e2220680040006 0001000080030006 80c10000";

#[test]
fn a_packet_from_elsewhere_parses_and_comes_out_the_same() {
    let hex: String = BROWSER.chars().filter(|c| !c.is_whitespace()).collect();
    let bytes = Bytes::from(hex::decode(hex).unwrap());
    let parsed = Packet::parse(&bytes, Checksums::Verify).unwrap();
    assert_eq!((parsed.src_port, parsed.dst_port, parsed.tag), (5000, 5000, 0));
    let [Chunk::Init(init)] = parsed.chunks.as_slice() else { panic!("{parsed:?}") };
    assert_eq!((init.tag, init.a_rwnd), (0x55b9_64a5, 0x2_0000));
    assert_eq!((init.outbound_streams, init.inbound_streams), (1024, 2048));
    let kinds: Vec<_> = init
        .parameters
        .iter()
        .map(|parameter| match parameter {
            Parameter::Unknown { kind, .. } => *kind,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(kinds, [0xc000, 0x8008, 0x8002, 0x8004, 0x8003]);
    assert_eq!(parsed.emit().unwrap(), bytes);
}

#[test]
fn chunks_follow_each_other() {
    let all = packet(chunks());
    let bytes = all.emit().unwrap();
    assert_eq!(Packet::parse(&bytes, Checksums::Verify).as_ref(), Ok(&all));
    assert_eq!(bytes.len(), all.wire_len());
}

#[test]
fn a_report_quotes_without_padding() {
    let chunk = Chunk::Unknown { kind: 0xc1, flags: 7, value: "x".into() };
    assert_eq!(chunk.quoted().as_ref(), [0xc1, 7, 0, 5, b'x']);
    let parameter = Parameter::Unknown { kind: 0xc001, value: "x".into() };
    assert_eq!(parameter.quoted().as_ref(), [0xc0, 1, 0, 5, b'x']);
}

#[test]
fn the_upper_bits_say_what_becomes_of_what_is_unknown() {
    // §3.2: 00 stop, 01 stop and report, 10 skip, 11 skip and report.
    let told = [0x20, 0x60, 0xa0, 0xe0].map(|kind| (Chunk::action(kind).skip, Chunk::action(kind).report));
    assert_eq!(told, [(false, false), (false, true), (true, false), (true, true)]);
    let told = [0x2000, 0x6000, 0xa000, 0xe000].map(Parameter::action).map(|a| (a.skip, a.report));
    assert_eq!(told, [(false, false), (false, true), (true, false), (true, true)]);
}
