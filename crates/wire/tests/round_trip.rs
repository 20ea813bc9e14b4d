//! What is emitted parses back to the same packet, and whatever the bytes, a parse returns.

mod common;

use std::fs;
use std::path::Path;

use bytes::Bytes;
use handfast_wire::sdtp::Carriage;
use handfast_wire::{Body, Checksums, EmitError, LinkType, Packet, ParseError, Payload, Solicitation};
use proptest::collection::vec;
use proptest::prelude::*;

fn emitted(packet: &Packet) -> Bytes {
    let mut frame = Vec::new();
    packet.emit(&mut frame).unwrap();
    frame.into()
}

fn parsed(packet: &Packet, frame: &Bytes) -> Result<Packet, ParseError> {
    let parsed = Packet::parse(packet.link_type(), frame, Checksums::Verify)?;
    match &packet.body {
        Body::Sdtp(sdtp) if sdtp.carriage == Carriage::Udp => parsed.to_sdtp(Checksums::Verify),
        _ => Ok(parsed),
    }
}

/// Both ways to read a frame, with and without a look at its checksums.
fn survive(frame: &Bytes) {
    for checksums in [Checksums::Verify, Checksums::Trust] {
        for link in [LinkType::Ethernet, LinkType::RawIp] {
            common::survive::survive(link, frame, checksums);
        }
    }
}

/// The frame with bytes overwritten, whole and cut off.
fn survive_damage(mut frame: Vec<u8>, damage: Vec<(prop::sample::Index, u8)>, cut: prop::sample::Index) {
    for (at, byte) in damage {
        let at = at.index(frame.len());
        frame[at] = byte;
    }
    let frame = Bytes::from(frame);
    survive(&frame);
    survive(&frame.slice(..cut.index(frame.len())));
}

#[test]
fn the_fuzzer_s_corpus_is_survived() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/parse_frame");
    let inputs: Vec<_> =
        fs::read_dir(corpus).unwrap().map(|entry| fs::read(entry.unwrap().path()).unwrap()).collect();
    assert!(inputs.len() > 100);
    for input in inputs {
        common::survive::survive_input(&input);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn any_packet_parses_back(packet in common::packet()) {
        let frame = emitted(&packet);
        prop_assert_eq!(frame.len(), packet.wire_len());
        prop_assert_eq!(parsed(&packet, &frame).unwrap(), packet);
    }

    #[test]
    fn a_buffer_gets_the_same_bytes(packet in common::packet(), spare in 0..9_usize) {
        let frame = emitted(&packet);
        let mut buffer = vec![0xaa; frame.len() + spare];
        prop_assert_eq!(packet.emit_into(&mut buffer), Ok(frame.len()));
        prop_assert_eq!(&buffer[..frame.len()], &frame[..]);
        prop_assert!(buffer[frame.len()..].iter().all(|&byte| byte == 0xaa));
        let (needed, have) = (frame.len(), frame.len() - 1);
        prop_assert_eq!(packet.emit_into(&mut buffer[..have]), Err(EmitError::Buffer { needed, have }));
    }

    #[test]
    fn a_simulated_packet_comes_through_the_wire(packet in common::simulated_packet()) {
        let through = packet.through_wire().unwrap();
        prop_assert_eq!(through, packet);
    }

    #[test]
    fn options_take_the_bytes_that_options_len_says(segment in common::any_segment(Just(Payload::EMPTY))) {
        let len = segment.options_len();
        let packet = Packet::tcp([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), segment);
        let mut frame = Vec::new();
        match packet.emit(&mut frame) {
            Ok(()) => {
                prop_assert!(len <= 40);
                prop_assert_eq!(usize::from(frame[32] >> 4) * 4, 20 + len);
                prop_assert_eq!(frame.len(), 40 + len);
            }
            Err(error) => {
                prop_assert_eq!(error, EmitError::OptionsLength(len));
                prop_assert!(len > 40);
                prop_assert!(frame.is_empty());
            }
        }
    }

    #[test]
    fn only_sack_blocks_give_way(segment in common::any_segment(Just(Payload::EMPTY))) {
        prop_assume!(segment.options_len() <= 40);
        let packet = Packet::tcp([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), segment.clone());
        let Body::Tcp(back) = parsed(&packet, &emitted(&packet)).unwrap().body else { panic!("it was TCP") };
        let room = segment.sack_room().min(segment.sack.as_slice().len());
        prop_assert_eq!(back.sack.as_slice(), &segment.sack.as_slice()[..room]);
        let mut expected = segment;
        expected.sack = back.sack;
        prop_assert_eq!(back, expected);
    }

    #[test]
    fn a_cut_frame_is_an_error(packet in common::packet()) {
        let frame = emitted(&packet);
        for len in 0..frame.len() {
            prop_assert!(parsed(&packet, &frame.slice(..len)).is_err(), "{} bytes of {:?}", len, packet);
        }
    }

    #[test]
    fn padding_is_not_payload(packet in common::packet(), padding in vec(any::<u8>(), 1..50)) {
        let mut frame = emitted(&packet).to_vec();
        frame.extend(padding);
        prop_assert_eq!(parsed(&packet, &frame.into()).unwrap(), packet);
    }

    #[test]
    fn a_flipped_bit_of_a_segment_is_found(
        packet in common::packet(),
        at in any::<prop::sample::Index>(),
        bit in 0..8_u8,
    ) {
        let len = match &packet.body {
            Body::Tcp(segment) => segment.header_len() + segment.payload.len(),
            Body::Udp(datagram) => 8 + datagram.payload.len(),
            Body::Sdtp(_) | Body::Other { .. } => return Ok(()),
        };
        prop_assume!(!packet.corrupted);
        let mut frame = emitted(&packet).to_vec();
        let start = frame.len() - len;
        frame[start + at.index(len)] ^= 1 << bit;
        let frame = Bytes::from(frame);
        if let Ok(received) = parsed(&packet, &frame) {
            // Without its checksum, or with another length, a datagram is none that this crate judges.
            let unjudged = matches!(received.body, Body::Other { protocol: 17, .. });
            prop_assert!(received.corrupted || unjudged);
            let trusted = Packet::parse(packet.link_type(), &frame, Checksums::Trust).unwrap();
            prop_assert_eq!(trusted, Packet { corrupted: false, ..received });
        }
    }

    #[test]
    fn any_bytes_are_survived(bytes in vec(any::<u8>(), 0..200)) {
        survive(&bytes.into());
    }

    #[test]
    fn damaged_packets_are_survived(
        packet in common::packet(),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
    ) {
        survive_damage(emitted(&packet).to_vec(), damage, cut);
    }

    #[test]
    fn damaged_questions_are_survived(
        v6 in any::<bool>(),
        asker_mac in any::<[u8; 6]>(),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
        cut in any::<prop::sample::Index>(),
    ) {
        let address = |v4: &str, v6_form: &str| if v6 { v6_form.parse() } else { v4.parse() }.unwrap();
        let asker = address("192.0.2.1", "2001:db8::1");
        let question = Solicitation { asker, asker_mac, target: address("192.0.2.2", "2001:db8::2") };
        survive_damage(question.ask(), damage, cut);
    }
}
