//! What Open vSwitch says to a controller, recorded.

use bytes::Bytes;
use handfast_wire::openflow::{Action, Body, Instruction, Masked, Match, Message, MultipartReply, PortNo};

use crate::layout::bytes;
use crate::messages::emitted;
use crate::survive::survive_stream;

/// The messages, each with the name of its type.
fn recorded() -> Vec<(&'static str, Bytes)> {
    let lines = include_str!("open_vswitch.txt").lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_once(": ")).map(|(name, hex)| (name, bytes(hex))).collect()
}

fn name(body: &Body) -> &'static str {
    match body {
        Body::Hello(_) => "hello",
        Body::Error(_) => "error",
        Body::FeaturesReply(_) => "features reply",
        Body::PacketIn(_) => "packet-in",
        Body::FlowRemoved(_) => "flow-removed",
        Body::PortStatus(_) => "port status",
        Body::MultipartReply(_) => "multipart reply",
        Body::BarrierReply => "barrier reply",
        Body::RoleReply(_) => "role reply",
        Body::Unknown { kind: 8, .. } => "configuration",
        other => panic!("not sent by a switch: {other:?}"),
    }
}

#[test]
fn it_is_read_and_written_as_it_came() {
    let recorded = recorded();
    assert!(recorded.len() >= 15);
    for (expected, frame) in &recorded {
        let message = Message::parse(frame).unwrap();
        assert_eq!(name(&message.body), *expected);
        let again = emitted(&message);
        assert_eq!(Message::parse(&again).as_ref(), Ok(&message));
        // Open vSwitch has its own order of OXM fields; the bytes are the same.
        let has_fields = matches!(message.body, Body::FlowRemoved(_) | Body::MultipartReply(_));
        let sorted = |frame: &Bytes| {
            let mut bytes = frame.to_vec();
            bytes.sort_unstable();
            bytes
        };
        assert!(again == frame || has_fields && sorted(&again) == sorted(frame), "{message:?}");
    }
}

#[test]
fn it_is_cut_into_messages() {
    let frames: Vec<_> = recorded().into_iter().map(|(_, frame)| frame).collect();
    let stream = Bytes::from(frames.concat());
    survive_stream(&stream);
    let mut rest = &stream[..];
    for frame in &frames {
        assert_eq!(Message::framed_len(rest), Ok(Some(frame.len())));
        rest = &rest[frame.len()..];
    }
    assert_eq!(Message::framed_len(rest), Ok(None));
}

/// What the controller of the recording asked for.
fn entry() -> Match {
    Match {
        in_port: Some(PortNo(1)),
        eth_type: Some(0x0800),
        ip_proto: Some(6),
        ipv4_dst: Some(Masked { value: [10, 0, 0, 0].into(), mask: Some([255, 255, 255, 0].into()) }),
        tcp_src: Some(80),
        tcp_flags: Some(Masked { value: 0x02, mask: Some(0x12) }),
        ..Match::default()
    }
}

#[test]
fn an_entry_comes_back_as_it_was_made() {
    let bodies: Vec<_> = recorded().iter().map(|(_, frame)| Message::parse(frame).unwrap().body).collect();
    let removed = bodies.iter().find_map(|body| match body {
        Body::FlowRemoved(removed) if removed.hard_timeout == 1 => Some(removed),
        _ => None,
    });
    let removed = removed.unwrap();
    assert_eq!((removed.cookie, removed.priority), (0x4846_0000_0000_0001, 1000));
    assert_eq!(removed.matches, entry());
    let flows = bodies.iter().find_map(|body| match body {
        Body::MultipartReply(MultipartReply::Flow { flows, .. }) => Some(flows),
        _ => None,
    });
    let flow = flows.unwrap().iter().find(|flow| flow.cookie == removed.cookie).unwrap();
    assert_eq!(flow.matches, entry());
    let out = Action::Output { port: PortNo(2), max_len: 0xffe5 };
    assert_eq!(flow.instructions, [Instruction::ApplyActions(vec![out])]);
}
