//! Who is not where he says.

use std::net::SocketAddr;

use bytes::Bytes;
use handfast_assist::iosl::inside::{Config, Connections, Kind, Stands};
use handfast_core::{Duration, Instant};
use handfast_wire::tcp::in_udp::{InUdp, emit_segment};
use handfast_wire::tcp::{Flags, Segment};

use crate::tcp::open;
use crate::world::{DELAY, Faults, World, octets, own, server, server_address};

/// Somebody who has sent nothing.
pub(super) fn victim() -> SocketAddr {
    ([203, 0, 113, 5], 53).into()
}

/// The first datagram of a new connection.
pub(super) fn syn(client: &mut Connections, now: Instant, first: &[u8]) -> Bytes {
    let id = client.connect(now, Kind::Tcp, server_address(), &[own(1)]).unwrap();
    client.write(id, first);
    let mut out = Vec::new();
    client.poll_transmit(now, &mut out, |_| true).unwrap();
    out.into()
}

#[test]
fn an_address_that_has_shown_nothing_gets_three_times_what_came_from_it() {
    for has_finished in [false, true] {
        assert_is_not_flooded(has_finished);
    }
}

/// `has_finished`: nothing is written behind what waits for it, as RFC 9293 §3.10.4 has it in SYN-RECEIVED.
fn assert_is_not_flooded(has_finished: bool) {
    let mut server = server(2);
    let mut client = Connections::new(Config::default(), [1; 32]);
    let mut now = Instant::from_millis(5_000);
    let forged = syn(&mut client, now, &octets(400));
    server.on_datagram(now, victim(), None, &forged);
    let (id, _) = server.accept().unwrap();
    // As much as a window holds waits for it.
    server.write(id, &octets(100_000));
    if has_finished {
        server.finish(now, id);
    }
    let mut sent = 0;
    for _ in 0..400 {
        let mut out = Vec::new();
        while server.poll_transmit(now, &mut out, |_| true).is_some() {}
        sent += out.len();
        now += Duration::from_millis(50);
        server.on_timer(now);
    }
    assert!(sent > 40 && sent <= 3 * forged.len(), "{sent} octets for {}", forged.len());
    assert!(matches!(server.stands(id), Stands::Over(Some(_))), "it is given up: {:?}", server.stands(id));
    server.release(now, id);
    while server.poll_transmit(now, &mut Vec::new(), |_| true).is_some() {}
    assert!(server.is_empty());
}

#[test]
fn a_flood_of_made_up_addresses_takes_a_bounded_place_and_keeps_nobody_out() {
    let mut world = World::new(Faults::default(), 1);
    let mut stranger = Connections::new(Config::default(), [7; 32]);
    let mut answers = 0;
    for port in 1..2_000 {
        let (now, from) = (world.now, ([203, 0, 113, 5], port).into());
        let forged = syn(&mut stranger, now, b"");
        world.server.on_datagram(now, from, None, &forged);
        let mut out = Vec::new();
        while world.server.poll_transmit(now, &mut out, |_| true).is_some() {
            assert!(out.len() <= 3 * forged.len());
            answers +=
                usize::from(matches!(InUdp::parse(&Bytes::copy_from_slice(&out)), Some(InUdp::Retry { .. })));
            assert!(out[0] != 0x14 || out.len() <= forged.len());
            out.clear();
        }
    }
    assert_eq!((world.server.len(), answers), (64, 1_999 - 64), "of the others nothing is kept");
    // Somebody who is there comes again with the token, and what his SYN carried is not lost.
    let begin = world.now;
    let client = open(&mut world, b"who is there");
    let server = world.accepted();
    assert_eq!(world.now, begin + DELAY * 3, "a round trip more");
    assert_eq!(world.server.read(world.now, server, 100).unwrap(), b"who is there"[..]);
    assert!(world.until(|world| world.client.stands(client) == Stands::Open));
}

/// What resets the connection of a SYN before its handshake is over.
fn reset_of(syn: &Bytes) -> Bytes {
    let Some(InUdp::Segment { number, segment, .. }) = InUdp::parse(syn) else { panic!("no SYN") };
    let reset = Segment { seq: segment.seq + segment.seq_len(), flags: Flags::RST, ..Segment::EMPTY };
    let mut out = Vec::new();
    emit_segment(number, None, false, &reset, &mut out).unwrap();
    out.into()
}

#[test]
fn a_syn_and_its_reset_leave_nothing() {
    let mut server = server(2);
    let mut client = Connections::new(Config::default(), [1; 32]);
    let now = Instant::from_millis(5_000);
    for round in 0..300 {
        let forged = syn(&mut client, now, b"");
        server.on_datagram(now, victim(), None, &forged);
        assert_eq!(server.len(), 1, "round {round}: its handshake goes on");
        assert!(server.poll_touched().is_none(), "nobody was told of it");
        server.on_datagram(now, victim(), None, &reset_of(&forged));
        while server.poll_transmit(now, &mut Vec::new(), |_| true).is_some() {}
        assert!(server.is_empty() && server.deadline().is_none(), "round {round}");
        assert!(server.accept().is_none() && server.poll_touched().is_none());
    }
}

#[test]
fn who_does_not_know_the_number_changes_nothing() {
    let mut world = World::new(Faults::default(), 1);
    let client = open(&mut world, b"hello");
    let server = world.accepted();
    assert!(world.until(|world| world.client.stands(client) == Stands::Open));
    let reset = |number: u8| {
        let sequence = [0; 8];
        let mut datagram = vec![0x10, 0, 0, 0, 0, 0, 0, number];
        datagram.extend(sequence);
        datagram.extend([0x50, 0x04, 0, 0]);
        Bytes::from(datagram)
    };
    assert!(matches!(InUdp::parse(&reset(1)), Some(InUdp::Segment { .. })));
    for number in 0..=255 {
        world.client.on_answer(world.now, client, own(1), &reset(number));
        world.server.on_datagram(world.now, (own(1), 4_000).into(), None, &reset(number));
    }
    assert_eq!((world.client.stands(client), world.server.stands(server)), (Stands::Open, Stands::Open));
}

/// RFC 6528.
#[test]
fn nobody_knows_where_the_sequence_numbers_of_a_connection_begin() {
    let mut client = Connections::new(Config::default(), [1; 32]);
    let begins = |_| match InUdp::parse(&syn(&mut client, Instant::from_millis(5_000), b"")) {
        Some(InUdp::Segment { segment, .. }) => segment.seq.0,
        other => panic!("{other:?}"),
    };
    assert_eq!((0..20).map(begins).collect::<std::collections::BTreeSet<_>>().len(), 20);
}
