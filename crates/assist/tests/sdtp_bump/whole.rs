//! Packets that are not TCP's, where all are protected.

use bytes::Bytes;
use handfast_assist::sdtp::auth::Key;
use handfast_assist::sdtp::bump::Mode;
use handfast_assist::sdtp::{Config, Sealing};
use handfast_wire::sdtp::Carriage;
use handfast_wire::tcp::Flags;
use handfast_wire::{Body, Datagram, Packet, Payload};

use crate::fidelity::mend;
use crate::world::{Sent, World, sent};

/// A datagram, as QUIC sends them.
fn quic(packet: &mut Packet) {
    let payload = Payload::Bytes(Bytes::from_static(b"\x40 a short header"));
    packet.body = Body::Udp(Datagram { src_port: 50_000, dst_port: 443, payload });
}

/// ESP (RFC 4303): its first octets are the SPI and the sequence number.
fn esp(packet: &mut Packet) {
    let payload = Payload::Bytes(Bytes::from_static(&[7; 64]));
    packet.body = Body::Other { protocol: 50, payload };
}

/// The same, too long for the core.
fn long(packet: &mut Packet) {
    let payload = Payload::Bytes(Bytes::from_static(&[7; 1480]));
    packet.body = Body::Other { protocol: 50, payload };
}

fn with(change: fn(&mut Packet), number: u16) -> Sent {
    let mut one = sent(false, Flags::ACK, 1, 1, b"");
    one.change = change;
    // So that each can be told from the others.
    one.segment.window = number;
    one
}

fn twenty(change: fn(&mut Packet), config: Config) -> (World, Vec<Vec<u8>>) {
    let mut world = World::with(Mode::Act, config);
    // The first ones pass as they are, until the controller has answered.
    for _ in 0..3 {
        world.send(&with(change, 0));
        world.pass(20);
    }
    world.came[1].clear();
    world.lose = Some(4);
    let frames = (0..20)
        .map(|number| {
            world.pass(1);
            world.send(&with(change, number))
        })
        .collect();
    world.pass(300);
    (world, frames)
}

#[test]
fn a_lost_datagram_comes_all_the_same() {
    for carriage in [Carriage::Udp, Carriage::Ip, Carriage::Native] {
        for change in [quic, esp] {
            let (world, frames) = twenty(change, Config { all: true, carriage, ..Config::default() });
            assert_eq!(world.came[1], frames, "{carriage:?}: each comes once, and as it was sent");
            assert_eq!(world.node_counter(1, "repeats"), 1);
            assert!(world.bumps.iter().all(|bump| bump.counters().0.unsendable == 0));
        }
    }
}

/// Streams begin anew at the place of another node: what that one had is not asked for again.
#[test]
fn an_edge_that_follows_another_one_delivers_nothing_twice() {
    for follows in [true, false] {
        let sealing = Some(Sealing { key: Key::new([7; 32]), first: 0 });
        let (mut world, _) = twenty(quic, Config { all: true, sealing, ..Config::default() });
        world.restart(2);
        if follows {
            world.bumps[2].follow(world.now);
        }
        world.clear();
        let frames: Vec<_> = (0..5).map(|number| world.send(&with(quic, 100 + number))).collect();
        world.pass(100);
        assert_eq!(world.came[1] == frames, follows, "{}", world.came[1].len());
        assert!(frames.iter().all(|frame| world.came[1].contains(frame)));
    }
}

/// As RSVP and IGMP have them: a packet does not keep IP options.
#[test]
fn a_datagram_with_ip_options_passes_as_it_came() {
    let (mut world, _) = twenty(quic, Config { all: true, ..Config::default() });
    world.clear();
    let mut frame = with(quic, 0).frame();
    // Router alert (RFC 2113).
    frame.splice(34..34, [148, 4, 0, 0]);
    frame[14] += 1;
    frame[17] += 4;
    mend(&mut frame);
    world.inject(false, frame.clone());
    assert_eq!(world.came[1], std::slice::from_ref(&frame));
    assert_eq!(world.crossed[0].2, frame, "it is not put into an SDTP packet");
}

/// The controls.
#[test]
fn what_is_not_protected_or_too_long_is_passed_and_lost() {
    for (change, all) in [(quic as fn(&mut Packet), false), (long, true)] {
        let (world, frames) = twenty(change, Config { all, ..Config::default() });
        let but_one: Vec<_> = frames[..4].iter().chain(&frames[5..]).cloned().collect();
        assert_eq!(world.came[1], but_one);
        assert_eq!(world.node_counter(1, "repeats"), 0);
        assert_eq!(world.node_counter(0, "protected"), 0);
        assert_eq!(world.node_counter(0, "too_long") > 0, all);
    }
}
