//! The bytes that a seal's tag covers.

use handfast_wire::sdtp::{Carriage, Sdtp, Seal, Unfit, covered};
use handfast_wire::{Body, EmitError, Packet, Payload};

use crate::samples::{IPV4, between_edges, emit, messages, notification, packet, repeat, sdtp};

const SEAL: Seal = Seal { node: 7, counter: 9, tag: [0xee; 16] };

fn sealed_bytes(packet: &Packet) -> Vec<u8> {
    let mut out = vec![1];
    packet.sealed_bytes(&mut out).unwrap();
    assert_eq!(out.remove(0), 1);
    out
}

#[test]
fn all_before_the_tag_is_covered_but_the_checksum_and_ecn() {
    for message in messages() {
        let packet = between_edges(Sdtp { seal: Some(SEAL), ..sdtp(message) });
        let mut expected = emit(&packet);
        expected.truncate(expected.len() - 16);
        expected[4..6].fill(0);
        assert_eq!(sealed_bytes(&packet), expected);
        for traffic_class in 0..4 {
            assert_eq!(sealed_bytes(&Packet { traffic_class, ..packet.clone() }), expected);
        }
    }
}

#[test]
fn the_tag_the_carriage_and_the_mark_change_nothing() {
    let with = |carriage, seal| between_edges(Sdtp { carriage, seal: Some(seal), ..sdtp(repeat()) });
    let expected = sealed_bytes(&with(Carriage::Native, SEAL));
    for carriage in [Carriage::Native, Carriage::Ip, Carriage::Udp] {
        let other = with(carriage, Seal { tag: [3; 16], ..SEAL });
        assert_eq!(sealed_bytes(&other), expected);
        assert_eq!(sealed_bytes(&Packet { corrupted: true, ..other }), expected);
    }
    for seal in [Seal { node: 8, ..SEAL }, Seal { counter: 8, ..SEAL }] {
        assert_ne!(sealed_bytes(&with(Carriage::Native, seal)), expected);
    }
}

#[test]
fn bytes_as_received_give_the_same() {
    let packet = between_edges(Sdtp { carriage: Carriage::Ip, seal: Some(SEAL), ..sdtp(repeat()) });
    let frame = emit(&Packet { traffic_class: 2, ..packet.clone() });
    let mut padded = frame[IPV4..].to_vec();
    padded.extend([0; 5]);
    let mut out = vec![1];
    assert!(covered(&padded, &mut out));
    assert_eq!(out[1..], sealed_bytes(&packet));
}

#[test]
fn without_a_seal_nothing_is_covered() {
    let mut out = vec![1];
    let unsealed = Err(EmitError::Sdtp(Unfit::Unsealed));
    let plain = packet(notification());
    let body = Body::Other { protocol: 50, payload: Payload::EMPTY };
    let other = Packet { body, ..plain.clone() };
    assert_eq!((plain.sealed_bytes(&mut out), other.sealed_bytes(&mut out)), (unsealed, unsealed));
    let frame = emit(&plain);
    assert!(!covered(&frame, &mut out));
    let sealed = emit(&between_edges(Sdtp { seal: Some(SEAL), ..sdtp(notification()) }));
    for len in 0..sealed.len() {
        assert!(!covered(&sealed[..len], &mut out));
    }
    assert_eq!(out, [1]);
}
