//! What is emitted parses back to the same message, and whatever the bytes, a parse returns.

use std::fs;
use std::path::Path;

use bytes::Bytes;
use handfast_wire::openflow::{
    Action, Body, FlowStats, Instruction, Match, Message, MultipartReply, ParseError, Part, Port,
    TableFeatures, TableStats,
};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::messages::{emitted, message};
use crate::survive::{survive, survive_input, survive_stream, survive_with_header};

#[test]
fn the_fuzzer_s_corpus_is_survived() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/openflow_message");
    let inputs: Vec<_> =
        fs::read_dir(corpus).unwrap().map(|entry| fs::read(entry.unwrap().path()).unwrap()).collect();
    assert!(inputs.len() > 100);
    for input in inputs {
        survive_input(&input);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn any_message_parses_back(message in message()) {
        let frame = emitted(&message);
        let parsed = Message::parse(&frame).unwrap();
        prop_assert_eq!(&parsed, &message);
        prop_assert_eq!(emitted(&parsed), frame);
    }

    #[test]
    fn a_message_is_appended(message in message(), before in vec(any::<u8>(), 0..9)) {
        let mut out = before.clone();
        message.emit(&mut out).unwrap();
        prop_assert_eq!(out, [before, emitted(&message).to_vec()].concat());
    }

    #[test]
    fn a_cut_message_is_an_error(message in message()) {
        let frame = emitted(&message);
        for len in 0..frame.len() {
            let error = Message::parse(&frame.slice(..len)).unwrap_err();
            let expected = if len < 8 {
                ParseError::Truncated { part: Part::Header, needed: 8, have: len }
            } else {
                ParseError::Length { part: Part::Header, stated: frame.len(), min: len, max: len }
            };
            prop_assert_eq!(error, expected);
        }
    }

    #[test]
    fn any_bytes_are_survived(bytes in vec(any::<u8>(), 0..200), kind in 0..32_u8) {
        survive_with_header([vec![4, kind], bytes].concat());
    }

    #[test]
    fn damaged_messages_are_survived(
        message in message(),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut frame = emitted(&message).to_vec();
        for (at, byte) in damage {
            let at = at.index(frame.len());
            frame[at] = byte;
        }
        survive(&Bytes::copy_from_slice(&frame));
        survive_stream(&Bytes::copy_from_slice(&frame));
        survive_with_header(frame[..cut.index(frame.len())].to_vec());
        survive_with_header(frame);
    }
}

#[test]
fn payloads_share_the_message_s_memory() {
    let mut frame = vec![4, 2, 0, 12, 0, 0, 0, 1];
    frame.extend(b"echo");
    let frame = Bytes::from(frame);
    let Body::EchoRequest(data) = Message::parse(&frame).unwrap().body else { panic!("it was an echo") };
    assert_eq!(data.as_ptr(), frame[8..].as_ptr());
}

/// Bytes that a message holds besides those of the frame.
fn allocated(message: &Message) -> usize {
    fn of_actions(actions: &Vec<Action>) -> usize {
        actions.capacity() * size_of::<Action>()
    }
    fn of_match(matches: &Match) -> usize {
        matches.other.len()
    }
    fn of_instructions(instructions: &Vec<Instruction>) -> usize {
        let inner = instructions.iter().map(|instruction| match instruction {
            Instruction::WriteActions(actions) | Instruction::ApplyActions(actions) => of_actions(actions),
            _ => 0,
        });
        instructions.capacity() * size_of::<Instruction>() + inner.sum::<usize>()
    }
    match &message.body {
        Body::PacketOut(packet) => of_actions(&packet.actions),
        Body::FlowMod(change) => of_match(&change.matches) + of_instructions(&change.instructions),
        Body::MultipartReply(MultipartReply::Flow { flows, .. }) => {
            let inner =
                flows.iter().map(|flow| of_match(&flow.matches) + of_instructions(&flow.instructions));
            flows.capacity() * size_of::<FlowStats>() + inner.sum::<usize>()
        }
        Body::MultipartReply(MultipartReply::PortDescription { ports, .. }) => {
            ports.capacity() * size_of::<Port>()
        }
        Body::MultipartReply(MultipartReply::Table { tables, .. }) => {
            tables.capacity() * size_of::<TableStats>()
        }
        Body::MultipartReply(MultipartReply::TableFeatures { tables, .. }) => {
            tables.capacity() * size_of::<TableFeatures>()
        }
        body => panic!("not one that grows: {body:?}"),
    }
}

#[test]
fn what_a_parse_allocates_is_bounded_by_the_message_s_length() {
    let empty_match = [0, 1, 0, 4, 0, 0, 0, 0];
    let short_instruction = [0, 9, 0, 4];
    let one_action = [0, 4, 0, 16, 0, 0, 0, 0, 0, 11, 0, 8, 0, 0, 0, 0];
    let flow_mod = [&[0; 40], &empty_match[..]].concat();
    let flow = |instruction: &[u8]| {
        let fixed = [&[0, 56 + instruction.len() as u8], &[0; 46][..]].concat();
        [&fixed, &empty_match[..], instruction].concat()
    };
    let flows = vec![0, 1, 0, 0, 0, 0, 0, 0];
    let many = |kind: u8, start: Vec<u8>, part: &[u8]| {
        let parts = part.repeat((0xffff - 8 - start.len()) / part.len());
        let len = (8 + start.len() + parts.len()) as u16;
        let [l0, l1] = len.to_be_bytes();
        Bytes::from([vec![4, kind, l0, l1, 0, 0, 0, 0], start, parts].concat())
    };
    for frame in [
        many(14, flow_mod.clone(), &short_instruction),
        many(14, flow_mod, &one_action),
        many(19, flows.clone(), &flow(&[])),
        many(19, flows.clone(), &flow(&short_instruction)),
        many(19, flows, &flow(&one_action)),
        many(19, vec![0, 13, 0, 0, 0, 0, 0, 0], &[0; 64]),
        many(19, vec![0, 3, 0, 0, 0, 0, 0, 0], &[0; 24]),
        many(19, vec![0, 12, 0, 0, 0, 0, 0, 0], &[&[0, 64][..], &[0; 62]].concat()),
    ] {
        let message = Message::parse(&frame).unwrap();
        // While a list grows there are the old one and the new one, of twice its length.
        let most = allocated(&message) * 3 / 2;
        assert!(most <= 32 * frame.len(), "{most} for {}", frame.len());
    }
}
