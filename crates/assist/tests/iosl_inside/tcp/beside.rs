//! What goes beside a connection.

use bytes::Bytes;
use handfast_assist::iosl::inside::{Config, Connections, InsideId, MOST_BESIDE, Stands};
use handfast_core::{Duration, Instant};
use handfast_wire::tcp::in_udp::{BESIDE_DATAGRAM, InUdp};

use crate::tcp::flood::{syn, victim};
use crate::tcp::open;
use crate::world::{Faults, World, octets, own, server};

/// A connection that has carried something both ways.
fn opened() -> (World, InsideId, InsideId) {
    let mut world = World::new(Faults::default(), 1);
    let client = open(&mut world, b"first");
    let server = world.accepted();
    assert!(world.until(|world| world.server.read(world.now, server, 100).is_some()));
    while world.step() && world.client.deadline().is_none_or(|at| at.since(world.now).as_millis() < 1_000) {}
    (world, client, server)
}

/// What leaves the client now, without what TCP sends.
fn leaving(world: &mut World) -> Vec<Bytes> {
    let mut all = Vec::new();
    let mut out = Vec::new();
    while world.client.poll_transmit(world.now, &mut out, |_| true).is_some() {
        assert!(out.len() <= BESIDE_DATAGRAM);
        all.push(Bytes::from(std::mem::take(&mut out)));
    }
    all.retain(|datagram| matches!(InUdp::parse(datagram), Some(InUdp::Beside { .. })));
    all
}

#[test]
fn it_comes_with_its_connection_and_from_its_address_alone() {
    let (mut world, client, server) = opened();
    let sealed = octets(MOST_BESIDE);
    assert!(world.client.may_send_beside(world.now, client));
    world.client.send_beside(client, &sealed);
    world.client.send_beside(client, &octets(MOST_BESIDE + 1));
    let [datagram] = &leaving(&mut world)[..] else { panic!("one leaves, and what is too long does not") };
    let (home, stranger) = ((own(1), 4_000).into(), (own(99), 4_000).into());
    assert_eq!(world.server.on_datagram(world.now, stranger, None, datagram), None);
    let mut other = datagram.to_vec();
    other[5] ^= 1;
    assert_eq!(world.server.on_datagram(world.now, home, None, &Bytes::from(other)), None);
    assert_eq!(world.server.receive_beside(), None);
    assert_eq!(world.server.on_datagram(world.now, home, None, datagram), Some(server));
    assert_eq!(world.server.receive_beside(), Some((server, Bytes::from(sealed))));
    let mut out = Vec::new();
    assert_eq!(world.server.poll_transmit(world.now, &mut out, |_| true), None, "nobody is answered");
}

#[test]
fn nothing_goes_beside_what_is_not_open() {
    let mut world = World::new(Faults::default(), 1);
    let client = open(&mut world, b"first");
    assert!(!world.client.may_send_beside(world.now, client));
    world.accepted();
    assert!(world.until(|world| world.client.may_send_beside(world.now, client)));
    world.client.release(world.now, client);
    assert!(!world.client.may_send_beside(world.now, client));
    leaving(&mut world);
    assert!(!world.client.has(client), "it has said its last");
    world.client.send_beside(client, b"datagram of one that is gone");
    assert!(leaving(&mut world).is_empty());
}

#[test]
fn a_full_socket_loses_what_has_no_room() {
    let (mut world, client, _) = opened();
    world.client.send_beside(client, &octets(100));
    let mut out = Vec::new();
    assert_eq!(world.client.poll_transmit(world.now, &mut out, |_| false), None);
    assert!(leaving(&mut world).is_empty(), "it is gone");
}

/// A flood beside a connection, and then on it.
#[test]
fn more_than_the_window_goes_on_the_connection() {
    let (mut world, client, server) = opened();
    let mut beside = 0;
    while world.client.may_send_beside(world.now, client) {
        world.client.send_beside(client, &octets(1_000));
        beside += 1;
    }
    assert!((8..=20).contains(&beside), "{beside} in a window");
    assert_eq!(leaving(&mut world).len(), beside);
    let all = octets(60_000);
    assert_eq!(world.client.write(client, &all), all.len());
    let mut came = Vec::new();
    assert!(world.until(|world| {
        while let Some(read) = world.server.read(world.now, server, 7_000) {
            came.extend_from_slice(&read);
        }
        let is_sent = came.len() == all.len();
        assert!(is_sent || !world.client.may_send_beside(world.now, client), "what is behind would overtake");
        is_sent
    }));
    assert!(world.until(|world| world.client.may_send_beside(world.now, client)));
}

#[test]
fn one_that_carries_datagrams_keeps_little_unsent() {
    let (mut world, client, _) = opened();
    world.client.keep_short(client);
    let taken = world.client.write(client, &octets(100_000));
    assert!(taken <= 16 << 10, "{taken}");
}

/// What a stranger sends beside the connection of his own SYN.
fn beside(syn: &Bytes, len: usize) -> Bytes {
    let Some(InUdp::Segment { number, .. }) = InUdp::parse(syn) else { panic!("no SYN") };
    let mut out = Vec::new();
    InUdp::Beside { number, sealed: octets(len).into() }.emit(&mut out).unwrap();
    out.into()
}

/// RFC 9000 §8.1: nor more than three times as much, when what comes beside is counted.
#[test]
fn an_address_that_has_shown_nothing_gets_nothing_beside() {
    let (mut server, mut client) = (server(2), Connections::new(Config::default(), [1; 32]));
    let mut now = Instant::from_millis(5_000);
    let forged = syn(&mut client, now, &octets(400));
    server.on_datagram(now, victim(), None, &forged);
    let (id, _) = server.accept().unwrap();
    assert_eq!(server.stands(id), Stands::Open);
    server.write(id, &octets(100_000));
    let (mut sent, mut received) = (0, forged.len());
    for turn in 0..150 {
        assert!(!server.may_send_beside(now, id));
        if turn == 5 {
            let more = beside(&forged, 1_000);
            received += more.len();
            assert_eq!(server.on_datagram(now, victim(), None, &more), Some(id));
        }
        let mut out = Vec::new();
        while server.poll_transmit(now, &mut out, |_| true).is_some() {}
        sent += out.len();
        assert!(sent <= 3 * received, "{sent} octets for {received}");
        now += Duration::from_millis(50);
        server.on_timer(now);
    }
    assert!(sent > 3 * forged.len(), "what came beside lets more go: {sent}");
}

#[test]
fn what_nobody_takes_is_bounded() {
    let mut world = World::new(Faults::default(), 1);
    world.log = Some(Vec::new());
    open(&mut world, b"first");
    let server = world.accepted();
    let (syn, home) = world.log.as_ref().map(|log| (log[0].octets.clone(), log[0].client)).unwrap();
    for len in 0..2_000 {
        let came = world.server.on_datagram(world.now, home, None, &beside(&syn, 20 + len % 100));
        assert_eq!(came, Some(server));
    }
    let taken: Vec<_> = std::iter::from_fn(|| world.server.receive_beside()).collect();
    assert_eq!(taken.len(), 1_024);
    let is_next =
        |(at, (of, sealed)): (usize, &(InsideId, Bytes))| *of == server && sealed.len() == 20 + at % 100;
    assert!(taken.iter().enumerate().all(is_next), "the first ones, in their order");
}
