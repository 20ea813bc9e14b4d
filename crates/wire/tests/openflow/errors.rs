//! What errors say: the part, what stood there, what was expected.

use handfast_wire::openflow::{EmitError, ParseError, Part};

#[test]
fn parse_errors_say_what_was_expected() {
    for (error, text) in [
        (
            ParseError::Truncated { part: Part::FlowMod, needed: 40, have: 3 },
            "OpenFlow flow-mod: expected at least 40 bytes, 3 are there",
        ),
        (ParseError::Version(1), "OpenFlow version 1: expected 4 (OpenFlow 1.3)"),
        (
            ParseError::Length { part: Part::Header, stated: 7, min: 8, max: 0xffff },
            "OpenFlow header: states its length as 7 bytes, expected 8 to 65535",
        ),
        (
            ParseError::Multiple { part: Part::Action, stated: 12, of: 8 },
            "OpenFlow action: states its length as 12 bytes, expected a multiple of 8",
        ),
        (
            ParseError::Trailing { part: Part::BarrierReply, extra: 2 },
            "OpenFlow barrier reply: expected its end, 2 more bytes are there",
        ),
        (
            ParseError::Value { part: Part::PacketIn, found: 9, max: 2 },
            "OpenFlow packet-in: value 9, expected 0 to 2",
        ),
        (ParseError::MatchType(0), "OpenFlow match of type 0: expected 1 (OXM fields)"),
        (
            ParseError::FieldLength { class: 0x8000, field: 5, stated: 3, expected: 2 },
            "OXM field 5 of class 0x8000: states its length as 3 bytes, expected 2",
        ),
        (
            ParseError::DuplicateField { class: 0xffff, field: 42 },
            "OXM field 42 of class 0xffff: expected once, it comes twice",
        ),
    ] {
        assert_eq!(error.to_string(), text);
    }
}

#[test]
fn parts_have_the_specification_s_names() {
    for (part, name) in [
        (Part::Message, "message"),
        (Part::HelloElement, "hello element"),
        (Part::VersionBitmap, "version bitmap"),
        (Part::Error, "error"),
        (Part::FeaturesRequest, "features request"),
        (Part::FeaturesReply, "features reply"),
        (Part::SwitchConfig, "switch configuration"),
        (Part::FlowRemoved, "flow-removed"),
        (Part::PortStatus, "port status"),
        (Part::PacketOut, "packet-out"),
        (Part::MultipartRequest, "multipart request"),
        (Part::MultipartReply, "multipart reply"),
        (Part::FlowStatsRequest, "flow statistics request"),
        (Part::FlowStats, "flow statistics"),
        (Part::BarrierRequest, "barrier request"),
        (Part::Role, "role"),
        (Part::Port, "port"),
        (Part::Match, "match"),
        (Part::OxmField, "OXM field"),
        (Part::OutputAction, "output action"),
        (Part::Instruction, "instruction"),
        (Part::GotoTable, "goto-table instruction"),
        (Part::ClearActions, "clear-actions instruction"),
    ] {
        assert_eq!(part.to_string(), name);
    }
}

#[test]
fn emit_errors_say_what_was_expected() {
    for (error, text) in [
        (EmitError::Length(70_000), "OpenFlow message of 70000 bytes: expected at most 65535"),
        (
            EmitError::Known { part: Part::Instruction, kind: 4 },
            "OpenFlow instruction of type 4: expected one that does not parse as something else",
        ),
        (EmitError::ActionLength(12), "OpenFlow action of 12 bytes: expected a multiple of 8"),
        (EmitError::OtherFields, "other OXM fields: expected whole fields of kinds not parsed"),
    ] {
        assert_eq!(error.to_string(), text);
    }
}
