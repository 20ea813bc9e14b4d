//! What a parse refuses, what it keeps and what it steps over.

use handfast_wire::openflow::{Body, Match, Message, ParseError, Part};

use crate::layout::bytes;

/// A message of that type with that body; its header is right.
#[track_caller]
fn refused(kind: u8, body: &str, expected: ParseError) {
    let body = bytes(body);
    let len = (8 + body.len()) as u16;
    let frame = [&[4, kind][..], &len.to_be_bytes(), &[0; 4], &body].concat();
    assert_eq!(Message::parse(&frame.into()), Err(expected));
}

const EMPTY_MATCH: &str = "0001 0004 00000000";

fn truncated(part: Part, needed: usize, have: usize) -> ParseError {
    ParseError::Truncated { part, needed, have }
}

fn length(part: Part, stated: usize, min: usize, max: usize) -> ParseError {
    ParseError::Length { part, stated, min, max }
}

#[test]
fn fixed_parts_are_whole_and_nothing_follows() {
    for (kind, part, len, ends) in [
        (1, Part::Error, 4, false),
        (6, Part::FeaturesReply, 24, true),
        (9, Part::SwitchConfig, 4, true),
        (10, Part::PacketIn, 16, false),
        (11, Part::FlowRemoved, 40, false),
        (12, Part::PortStatus, 8, false),
        (13, Part::PacketOut, 16, false),
        (14, Part::FlowMod, 40, false),
        (18, Part::MultipartRequest, 8, false),
        (19, Part::MultipartReply, 8, false),
        (24, Part::Role, 16, true),
        (25, Part::Role, 16, true),
    ] {
        for have in [0, len - 1] {
            refused(kind, &"00".repeat(have), truncated(part, len, have));
        }
        if ends {
            refused(kind, &"00".repeat(len + 3), ParseError::Trailing { part, extra: 3 });
        }
    }
    refused(12, &"00".repeat(8 + 63), truncated(Part::Port, 64, 63));
    refused(12, &"00".repeat(8 + 65), ParseError::Trailing { part: Part::PortStatus, extra: 1 });
}

#[test]
fn messages_without_a_body_have_none() {
    for (kind, part) in [(5, Part::FeaturesRequest), (20, Part::BarrierRequest), (21, Part::BarrierReply)] {
        refused(kind, "00", ParseError::Trailing { part, extra: 1 });
    }
}

#[test]
fn the_header_states_the_message_s_length() {
    for (text, stated, have) in [("04 14 0009 00000000", 9, 8), ("04 02 0008 00000000 00", 8, 9)] {
        assert_eq!(Message::parse(&bytes(text)), Err(length(Part::Header, stated, have, have)));
    }
}

#[test]
fn only_a_hello_has_another_version() {
    assert_eq!(Message::parse(&bytes("01 14 0008 00000000")), Err(ParseError::Version(1)));
    assert_eq!(Message::parse(&bytes("05 01 000c 00000000 00000000")), Err(ParseError::Version(5)));
    assert!(Message::parse(&bytes("05 00 0008 00000000")).is_ok());
}

#[test]
fn a_hello_is_made_of_whole_elements() {
    refused(0, "0001", truncated(Part::HelloElement, 4, 2));
    refused(0, "0001 0003 00000000", length(Part::HelloElement, 3, 4, 8));
    refused(0, "0001 0009 00000000", length(Part::HelloElement, 9, 4, 8));
    refused(0, "0001 000c 00000000 00000000", truncated(Part::HelloElement, 4, 0));
    let multiple = ParseError::Multiple { part: Part::VersionBitmap, stated: 6, of: 4 };
    refused(0, "0001 0006 0000 0000", multiple);
}

#[test]
fn numbers_have_a_meaning() {
    let value = |part, found, max| ParseError::Value { part, found, max };
    refused(10, "00000000 0000 03 00 0000000000000000", value(Part::PacketIn, 3, 2));
    refused(11, &format!("0000000000000000 0000 04 {}", "00".repeat(29)), value(Part::FlowRemoved, 4, 3));
    refused(12, &format!("03 {}", "00".repeat(71)), value(Part::PortStatus, 3, 2));
    refused(14, &format!("{} 00 05 {}", "00".repeat(16), "00".repeat(22)), value(Part::FlowMod, 5, 4));
    refused(24, &format!("00000004 {}", "00".repeat(12)), value(Part::Role, 4, 3));
    refused(24, &format!("ffffffff {}", "00".repeat(12)), value(Part::Role, u32::MAX, 3));
}

/// The match of a packet-in, and its padding.
#[track_caller]
fn refused_match(matches: &str, expected: ParseError) {
    refused(10, &format!("{} {matches}", "00".repeat(16)), expected);
}

#[test]
fn a_match_is_made_of_whole_fields() {
    refused_match("0001", truncated(Part::Match, 4, 2));
    refused_match("0001 0003 00000000", length(Part::Match, 3, 4, 8));
    refused_match("0001 0009 00000000", length(Part::Match, 9, 4, 8));
    refused_match("0001 0005 00 00", truncated(Part::Match, 3, 1));
    refused_match("0000 0004 00000000", ParseError::MatchType(0));
    refused_match("0001 0007 800000 00", truncated(Part::OxmField, 4, 3));
    refused_match("0001 000b 80000004 000000 0000000000", truncated(Part::OxmField, 8, 7));
    // The data of a packet-in begins after two more bytes.
    refused_match(&format!("{EMPTY_MATCH} 00"), truncated(Part::PacketIn, 2, 1));
}

#[test]
fn known_fields_have_their_length() {
    let wrong = |class, field, stated, expected| ParseError::FieldLength { class, field, stated, expected };
    for (field, expected) in [
        (0, 4),
        (3, 6),
        (4, 6),
        (5, 2),
        (6, 2),
        (10, 1),
        (11, 4),
        (12, 4),
        (13, 2),
        (14, 2),
        (15, 2),
        (16, 2),
        (23, 4),
        (26, 16),
        (27, 16),
    ] {
        for stated in [expected - 1, expected + 1] {
            let fields = format!("8000 {:02x} {stated:02x} {}", field << 1, "00".repeat(stated));
            let matches = format!("0001 {:04x} {fields} {}", 8 + stated, "00".repeat(8));
            refused_match(&matches, wrong(0x8000, field, stated, expected));
        }
    }
    refused_match("0001 000a 80000d 02 0000 000000000000", wrong(0x8000, 6, 2, 4));
    // The length of an experimenter's field counts the experimenter.
    refused_match("0001 000d ffff5405 4f4e4600 00 000000", wrong(0xffff, 42, 5, 6));
    refused_match("0001 000e ffff5506 4f4e4600 0000 0000", wrong(0xffff, 42, 6, 8));
    refused_match("0001 000c ffff5404 4f4e4600 00000000", wrong(0xffff, 42, 4, 6));
}

#[test]
fn known_fields_come_once() {
    let twice = |class, field| ParseError::DuplicateField { class, field };
    refused_match("0001 0010 80000a02 0800 80000a02 0800", twice(0x8000, 5));
    refused_match("0001 0012 80000c02 1000 80000d04 1000 1000 000000000000", twice(0x8000, 6));
    refused_match("0001 0018 ffff5406 4f4e4600 0000 ffff5406 4f4e4600 0000", twice(0xffff, 42));
}

#[test]
fn fields_that_are_not_known_are_kept() {
    for field in [
        // Not known, or without a mask in 1.3.
        "80001001 2e",
        "80001b04 0050 00ff",
        "80000108 00000001 00000001",
        // NXM, registers, and experimenters of whom one has no room for a name.
        "00014402 0012",
        "80010008 0000000000000000",
        "ffff5406 00002320 0012",
        "ffff5608 4f4e4600 00000001",
        "ffff5402 0012",
        "80000200",
    ] {
        let field = bytes(field);
        let len = 4 + field.len();
        let padding = len.next_multiple_of(8) - len;
        let body = [&[0; 16][..], &[0, 1, 0, len as u8], &field, &vec![0; padding + 2]].concat();
        let frame = [&[4, 10, 0, 8 + body.len() as u8, 0, 0, 0, 0][..], &body].concat();
        let message = Message::parse(&frame.clone().into()).unwrap();
        let Body::PacketIn(packet) = &message.body else { panic!("{message:?}") };
        assert_eq!(packet.matches, Match { other: field, ..Match::default() });
        let mut out = Vec::new();
        message.emit(&mut out).unwrap();
        assert_eq!(out, frame);
    }
}

/// The actions of a packet-out.
#[track_caller]
fn refused_actions(actions: &str, expected: ParseError) {
    let len = bytes(actions).len();
    refused(13, &format!("0000000000000000 {len:04x} 000000000000 {actions}"), expected);
}

#[test]
fn actions_fill_words_of_eight_bytes() {
    refused_actions("0000", truncated(Part::Action, 4, 2));
    refused_actions("0019 0003 00000000", length(Part::Action, 3, 4, 8));
    refused_actions("0019 0010 00000000", length(Part::Action, 16, 4, 8));
    let multiple = |stated| ParseError::Multiple { part: Part::Action, stated, of: 8 };
    refused_actions("0019 0004", multiple(4));
    refused_actions("0019 000c 0000000000000000", multiple(12));
    refused_actions("0000 0008 00000000", length(Part::OutputAction, 8, 16, 16));
    refused_actions(&format!("0000 0018 {}", "00".repeat(20)), length(Part::OutputAction, 24, 16, 16));
    refused(13, "0000000000000000 0009 000000000000 0000000000000000", length(Part::PacketOut, 9, 0, 8));
}

#[test]
fn instructions_are_whole() {
    let refused = |instructions: &str, expected| {
        refused(14, &format!("{} {EMPTY_MATCH} {instructions}", "00".repeat(40)), expected);
    };
    refused("0001", truncated(Part::Instruction, 4, 2));
    refused("0009 0002", length(Part::Instruction, 2, 4, 4));
    refused("0009 0008", length(Part::Instruction, 8, 4, 4));
    refused("0001 0004", length(Part::GotoTable, 4, 8, 8));
    refused(&format!("0001 0010 {}", "00".repeat(12)), length(Part::GotoTable, 16, 8, 8));
    refused("0003 0006 0000", truncated(Part::Instruction, 4, 2));
    refused("0004 000a 00000000 0000", truncated(Part::Action, 4, 2));
    refused("0005 0010 00000000 0000 0008 00000000", length(Part::ClearActions, 16, 8, 8));
}

#[test]
fn multipart_bodies_are_whole() {
    let header = "0001 0000 00000000";
    refused(18, &format!("{header} 00"), truncated(Part::FlowStatsRequest, 32, 1));
    let request = format!("{header} {} {EMPTY_MATCH} 00", "00".repeat(32));
    refused(18, &request, ParseError::Trailing { part: Part::MultipartRequest, extra: 1 });
    let trailing = ParseError::Trailing { part: Part::MultipartRequest, extra: 1 };
    refused(18, "000d 0000 00000000 00", trailing);
    refused(19, "000d 0000 00000000 00", truncated(Part::Port, 64, 1));
    refused(19, &format!("{header} 00"), truncated(Part::FlowStats, 2, 1));
    refused(19, &format!("{header} 002f {}", "00".repeat(46)), length(Part::FlowStats, 47, 48, 48));
    refused(19, &format!("{header} 0031 {}", "00".repeat(46)), length(Part::FlowStats, 49, 48, 48));
    refused(19, &format!("{header} 0030 {}", "00".repeat(46)), truncated(Part::Match, 4, 0));
    // The match of an entry ends where the entry does, and its padding.
    let entry = format!("{header} 0034 {} 0001 0004 00000000", "00".repeat(46));
    refused(19, &entry, truncated(Part::Match, 4, 0));
}

#[test]
fn removed_entries_end_with_their_match() {
    let body = format!("{} {EMPTY_MATCH} 00", "00".repeat(40));
    refused(11, &body, ParseError::Trailing { part: Part::FlowRemoved, extra: 1 });
}

#[test]
fn elements_of_a_hello_that_are_not_known_are_skipped() {
    let text = "04 00 0028 00000000  0002 0006 abcd 0000  0001 0008 00000010  0001 0008 00000012  ffff 0004 00000000";
    let Body::Hello(hello) = Message::parse(&bytes(text)).unwrap().body else { panic!("it was a hello") };
    assert_eq!((hello.version, hello.bitmaps), (4, vec![0x12]));
}

#[test]
fn padding_is_not_looked_at() {
    let text = "04 18 0018 01020304  00000002 ffffffff 8000000000000001";
    let mut out = Vec::new();
    Message::parse(&bytes(text)).unwrap().emit(&mut out).unwrap();
    assert_eq!(out, bytes(&text.replace("ffffffff", "00000000")));
}
