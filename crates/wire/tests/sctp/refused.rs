//! What is not an SCTP packet, and why.

use bytes::Bytes;
use handfast_wire::Checksums;
use handfast_wire::sctp::{Cause, Chunk, Element, EmitError, Packet, ParseError};

use crate::samples::{chunks, packet};

/// What a packet with these bytes behind its common header is refused for.
fn refused(chunks: &[u8]) -> ParseError {
    let bytes = [&[0; 12][..], chunks].concat();
    Packet::parse(&bytes.into(), Checksums::Trust).expect_err("it is wrong")
}

#[test]
fn every_wrong_bit_fails_the_checksum() {
    let bytes = packet(chunks()).emit().unwrap();
    for bit in 0..bytes.len() * 8 {
        let mut wrong = bytes.to_vec();
        wrong[bit / 8] ^= 1 << (bit % 8);
        let error = Packet::parse(&wrong.into(), Checksums::Verify).expect_err("bit {bit}");
        assert!(matches!(error, ParseError::Checksum { .. }), "bit {bit}: {error}");
    }
}

#[test]
fn what_is_cut_off_is_refused() {
    let error = Packet::parse(&Bytes::from_static(&[0; 11]), Checksums::Trust).unwrap_err();
    assert_eq!(error, ParseError::Truncated { element: Element::CommonHeader, needed: 12, have: 11 });
    assert_eq!(refused(&[]), ParseError::Empty);
    let truncated = |element, needed, have| ParseError::Truncated { element, needed, have };
    assert_eq!(refused(&[11, 0, 0]), truncated(Element::Header, 4, 3));
    assert_eq!(refused(&[10, 0, 0, 8, 1]), truncated(Element::Chunk(10), 8, 5));
    assert_eq!(refused(&[10, 0, 0, 5, 1]), truncated(Element::Chunk(10), 8, 5));
    assert_eq!(refused(&[0, 3, 0, 8, 1, 2, 3, 4]), truncated(Element::Chunk(0), 12, 4));
    assert_eq!(refused(&[1, 0, 0, 4]), truncated(Element::Chunk(1), 16, 0));
    assert_eq!(refused(&[3, 0, 0, 4]), truncated(Element::Chunk(3), 12, 0));
    assert_eq!(refused(&[6, 0, 0, 6, 0, 1, 0, 0]), truncated(Element::Header, 4, 2));
    assert_eq!(refused(&[6, 0, 0, 8, 0, 1, 0, 8]), truncated(Element::Cause(1), 8, 4));
}

#[test]
fn lengths_that_do_not_fit_are_refused() {
    let length = |element, len| ParseError::Length { element, len };
    assert_eq!(refused(&[11, 0, 0, 3]), length(Element::Chunk(11), 3));
    assert_eq!(refused(&[11, 0, 0, 8, 0, 0, 0, 0]), length(Element::Chunk(11), 4));
    assert_eq!(refused(&[7, 0, 0, 4]), length(Element::Chunk(7), 0));
    assert_eq!(refused(&[6, 0, 0, 8, 0, 1, 0, 3]), length(Element::Cause(1), 3));
    assert_eq!(refused(&[6, 0, 0, 8, 0, 1, 0, 4]), length(Element::Cause(1), 0));
    let init = |parameter: &[u8]| {
        let len = 20 + parameter.len() as u8;
        [&[1, 0, 0, len][..], &[0; 16], parameter].concat()
    };
    assert_eq!(refused(&init(&[0, 5, 0, 4])), length(Element::Parameter(5), 0));
    assert_eq!(refused(&init(&[0, 6, 0, 8, 1, 2, 3, 4])), length(Element::Parameter(6), 4));
    assert_eq!(refused(&init(&[0, 12, 0, 5, 1, 0, 0, 0])), length(Element::Parameter(12), 1));
}

#[test]
fn a_sack_that_counts_wrong_or_counts_back_is_refused() {
    let sack = |counts: [u8; 4], words: &[u8]| {
        let len = 16 + words.len() as u8;
        [&[3, 0, 0, len, 0, 0, 0, 0, 0, 0, 0, 0][..], &counts, words].concat()
    };
    let length = ParseError::Length { element: Element::Chunk(3), len: 16 };
    assert_eq!(refused(&sack([0, 2, 0, 0], &[0, 2, 0, 3])), length);
    assert_eq!(refused(&sack([0, 0, 0, 0], &[0, 2, 0, 3])), length);
    assert_eq!(refused(&sack([0, 1, 0, 0], &[0, 3, 0, 2])), ParseError::Gap { start: 3, end: 2 });
    assert_eq!(refused(&sack([0, 1, 0, 0], &[0, 0, 0, 2])), ParseError::Gap { start: 0, end: 2 });
}

#[test]
fn a_heartbeat_has_one_parameter_of_type_1() {
    assert_eq!(refused(&[4, 0, 0, 4]), ParseError::Heartbeat);
    assert_eq!(refused(&[4, 0, 0, 8, 0, 2, 0, 4]), ParseError::Heartbeat);
    assert_eq!(refused(&[5, 0, 0, 12, 0, 1, 0, 4, 0, 1, 0, 4]), ParseError::Heartbeat);
}

#[test]
fn nothing_longer_than_an_ip_packet_is_read_or_written() {
    let long = Bytes::from(vec![0; 65_536]);
    assert_eq!(Packet::parse(&long, Checksums::Trust), Err(ParseError::TooLong { len: 65_536 }));
    let fits = Chunk::CookieEcho(Bytes::from(vec![0; 65_516]));
    assert!(packet(vec![fits.clone()]).emit().is_ok());
    assert_eq!(packet(vec![fits, Chunk::CookieAck]).emit(), Err(EmitError::TooLong { len: 65_536 }));
    let value = Bytes::from(vec![0; 65_528]);
    let error = packet(vec![Chunk::Error(vec![Cause::Other { code: 6, value }])]).emit();
    assert_eq!(error, Err(EmitError::TooLong { len: 65_548 }));
}

#[test]
fn errors_say_what_was_expected() {
    let text = refused(&[10, 0, 0, 8, 1]).to_string();
    assert_eq!(text, "SCTP chunk of type 10: expected at least 8 bytes, 5 are there");
    let text = ParseError::Checksum { found: 1, expected: 0xabcd }.to_string();
    assert_eq!(text, "SCTP common header: CRC32c 0x00000001, expected 0x0000abcd");
}
