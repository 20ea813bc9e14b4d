//! What has no form on the wire.

use bytes::Bytes;
use handfast_wire::openflow::{
    Action, Body, EmitError, FlowMod, FlowModCommand, FlowModFlags, Instruction, Match, Message,
    MultipartReply, MultipartRequest, PacketIn, PacketInReason, PacketOut, Part, PortNo,
};

use crate::layout::bytes;

fn packet_in(matches: Match, data: Bytes) -> Body {
    let reason = PacketInReason::NoMatch;
    Body::PacketIn(PacketIn { buffer_id: 0, total_len: 0, reason, table_id: 0, cookie: 0, matches, data })
}

fn packet_out(action: Action) -> Body {
    Body::PacketOut(PacketOut { buffer_id: 0, in_port: PortNo(0), actions: vec![action], data: Bytes::new() })
}

fn flow_mod(instructions: Vec<Instruction>) -> Body {
    Body::FlowMod(FlowMod {
        cookie: 0,
        cookie_mask: 0,
        table_id: 0,
        command: FlowModCommand::Add,
        idle_timeout: 0,
        hard_timeout: 0,
        priority: 0,
        buffer_id: 0,
        out_port: PortNo(0),
        out_group: 0,
        flags: FlowModFlags(0),
        matches: Match::default(),
        instructions,
    })
}

/// It is not emitted, and what was in the buffer stays there alone.
#[track_caller]
fn not_emitted(body: Body, expected: EmitError) {
    let mut out = vec![1, 2, 3];
    assert_eq!(Message { xid: 1, body }.emit(&mut out), Err(expected));
    assert_eq!(out, [1, 2, 3]);
}

#[test]
fn the_longest_message_is_emitted_and_a_longer_one_is_not() {
    let of = |len| Body::EchoReply(vec![7; len].into());
    let mut out = Vec::new();
    Message { xid: 1, body: of(0xffff - 8) }.emit(&mut out).unwrap();
    assert_eq!((out.len(), &out[..4]), (0xffff, &[4, 3, 0xff, 0xff][..]));
    not_emitted(of(0x10000 - 8), EmitError::Length(0x10000));
    // Also where a part within is what is too long.
    let action = Action::Other { kind: 1, body: vec![0; 0x1_0004].into() };
    not_emitted(packet_out(action), EmitError::Length(24 + 0x1_0008));
}

#[test]
fn what_would_parse_as_something_else_is_not_emitted() {
    let body = || Bytes::from_static(&[0; 12]);
    let known = |part, kind| EmitError::Known { part, kind };
    for kind in [0, 1, 2, 3, 5, 6, 9, 10, 11, 12, 13, 14, 18, 19, 20, 21, 24, 25] {
        not_emitted(Body::Unknown { kind, body: body() }, known(Part::Message, kind.into()));
    }
    for kind in [1, 13] {
        let request = MultipartRequest::Other { kind, flags: 0, body: body() };
        not_emitted(Body::MultipartRequest(request), known(Part::MultipartRequest, kind));
        for flags in [0, 1] {
            let reply = MultipartReply::Other { kind, flags, body: body() };
            not_emitted(Body::MultipartReply(reply), known(Part::MultipartReply, kind));
        }
    }
    not_emitted(packet_out(Action::Other { kind: 0, body: body() }), known(Part::Action, 0));
    for kind in [1, 3, 4, 5] {
        let instruction = Instruction::Other { kind, body: body() };
        not_emitted(flow_mod(vec![instruction]), known(Part::Instruction, kind));
    }
}

#[test]
fn other_actions_fill_words() {
    for len in [0, 3, 5, 8] {
        let action = Action::Other { kind: 25, body: vec![0; len].into() };
        not_emitted(packet_out(action.clone()), EmitError::ActionLength(len + 4));
        let inside = Instruction::ApplyActions(vec![action]);
        not_emitted(flow_mod(vec![inside]), EmitError::ActionLength(len + 4));
    }
}

#[test]
fn other_fields_are_whole_and_not_known() {
    for field in [
        "80000004 00000001",
        "ffff5406 4f4e4600 0012",
        "80001001 2e 80000a02 0800",
        "80001001",
        "8000",
        "80000003 000000",
    ] {
        let matches = Match { other: bytes(field), ..Match::default() };
        not_emitted(packet_in(matches, Bytes::new()), EmitError::OtherFields);
    }
}
