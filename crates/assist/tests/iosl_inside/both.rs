//! Both kinds at one socket.

use bytes::Bytes;
use handfast_assist::iosl::inside::{Config, Connections, InsideId, Kind, Stands};
use handfast_core::{Duration, Instant};
use handfast_wire::Checksums;
use handfast_wire::sctp::{Chunk, Packet, UDP_PORT};
use handfast_wire::tcp::in_udp::InUdp;
use proptest::prelude::*;

use crate::world::{DELAY, Faults, Way, World, listening, octets, own, server_address};

const NOW: Instant = Instant::from_millis(5_000);

/// The first datagram of a new connection.
fn first(kind: Kind, seed: u8) -> Bytes {
    let mut client = Connections::new(Config::default(), [seed; 32]);
    client.connect(NOW, kind, server_address(), &[own(1)]).unwrap();
    let mut out = Vec::new();
    client.poll_transmit(NOW, &mut out, |_| true).unwrap();
    out.into()
}

#[test]
fn the_first_octet_says_of_what_kind_a_datagram_is() {
    for seed in 0..=255 {
        assert_eq!(Kind::of(&first(Kind::Tcp, seed)), Some(Kind::Tcp));
        assert_eq!(Kind::of(&first(Kind::Sctp, seed)), Some(Kind::Sctp));
    }
    let of_tcp = |octet: &u8| Kind::of(&[*octet]) == Some(Kind::Tcp);
    let of_sctp = |octet: &u8| Kind::of(&[*octet]) == Some(Kind::Sctp);
    assert!((0..=255).filter(of_tcp).eq(0x10..=0x1f) && (0..=255).filter(of_sctp).eq(0xc0..=0xff));
    assert_eq!(Kind::of(&[]), None);
}

proptest! {
    /// What the one understands never goes to the other.
    #[test]
    fn what_has_the_form_of_one_kind_is_of_that_kind(
        head in 0_u8..6, octets in prop::collection::vec(any::<u8>(), 0..60), port in 1_u16..,
    ) {
        let datagram = Bytes::from([&[0x10 | head][..], &octets].concat());
        if InUdp::parse(&datagram).is_some() {
            prop_assert_eq!(Kind::of(&datagram), Some(Kind::Tcp));
        }
        let chunks = vec![Chunk::CookieAck];
        let packet = Packet { src_port: port, dst_port: UDP_PORT, tag: 7, chunks }.emit().unwrap();
        prop_assert!(Packet::parse(&packet, Checksums::Verify).is_ok());
        prop_assert_eq!(Kind::of(&packet) == Some(Kind::Sctp), port >= 49_152);
    }
}

/// A client by each, and octets both ways at once.
#[test]
fn a_server_has_both_at_once() {
    let mut world = World::new(Faults { lost: 200, doubled: 100, late: 300 }, 3);
    let all = octets(150_000);
    let opened: Vec<[InsideId; 2]> =
        [Kind::Tcp, Kind::Sctp, Kind::Tcp].into_iter().map(|kind| world.opened(kind, &[own(1)])).collect();
    assert!(opened.iter().all(|[client, server]| client.kind() == server.kind()), "{opened:?}");
    let mut ways: Vec<_> = opened.iter().map(|_| [Way::new(&all), Way::new(&all)]).collect();
    assert!(world.until(|world| {
        for ([client, server], [up, down]) in opened.iter().zip(&mut ways) {
            up.write((&mut world.client, *client));
            down.write((&mut world.server, *server));
            up.read(world.now, (&mut world.server, *server));
            down.read(world.now, (&mut world.client, *client));
        }
        ways.iter().flatten().all(Way::is_done)
    }));
    assert!(ways.iter().flatten().all(|way| way.came == all));
}

#[test]
fn a_server_of_one_kind_says_nothing_to_the_other() {
    for (has, other) in [(Kind::Tcp, Kind::Sctp), (Kind::Sctp, Kind::Tcp)] {
        let mut server = listening(Config::default(), &[has], 2);
        assert_eq!(server.on_datagram(NOW, (own(1), 9).into(), None, &first(other, 7)), None);
        assert_eq!(server.poll_transmit(NOW, &mut Vec::new(), |_| true), None);
        assert!(server.is_empty() && server.accept().is_none());
        server.on_datagram(NOW, (own(1), 9).into(), None, &first(has, 7));
        assert!(server.poll_transmit(NOW, &mut Vec::new(), |_| true).is_some());
    }
}

/// Both together have one bound.
#[test]
fn connections_are_bounded_whatever_they_are() {
    let mut client = Connections::new(Config { most: 3, ..Config::default() }, [1; 32]);
    let mut connect = |kind| client.connect(NOW, kind, server_address(), &[own(1)]).is_some();
    assert_eq!(
        [Kind::Tcp, Kind::Sctp, Kind::Sctp, Kind::Tcp, Kind::Sctp].map(&mut connect),
        [true, true, true, false, false]
    );
}

/// An association's window is nothing for a connection of TCP, which begins as any other.
#[test]
fn a_window_is_for_its_own_kind() {
    let mut world = World::new(Faults::default(), 1);
    let all = octets(200_000);
    let [client, server] = world.opened(Kind::Sctp, &[own(1)]);
    let mut up = Way::new(&all);
    assert!(world.until(|world| {
        up.write((&mut world.client, client));
        up.read(world.now, (&mut world.server, server));
        up.is_done()
    }));
    let window = world.client.window(world.now, client).unwrap();
    let next = world.open(Kind::Tcp, &[own(1)]);
    assert!(!world.client.take_over(world.now, next, window));
    assert!(world.until(|world| world.client.stands(next) == Stands::Open));
    world.pass(Duration::from_millis(100));
    assert!(!world.client.on_addresses(world.now, next, |_| true), "TCP has one address");
}

/// Those to which something has happened: a driver looks at them alone.
fn touched(end: &mut Connections) -> Vec<InsideId> {
    std::iter::from_fn(|| end.poll_touched()).collect()
}

#[test]
fn what_happens_to_a_connection_is_told_once_and_to_nobody_who_has_released_it() {
    for kind in [Kind::Tcp, Kind::Sctp] {
        let mut world = World::new(Faults::default(), 1);
        let [client, server] = world.opened(kind, &[own(1)]);
        world.pass(DELAY * 20);
        assert_eq!((touched(&mut world.client), touched(&mut world.server)), (vec![client], vec![server]));
        world.client.write(client, b"news");
        world.pass(DELAY * 2);
        assert_eq!((touched(&mut world.server), touched(&mut world.server)), (vec![server], vec![]));
        world.client.write(client, b"more");
        world.pass(DELAY * 2);
        world.server.release(world.now, server);
        assert_eq!(touched(&mut world.server), [], "what has come is nobody's");
        world.pass(DELAY * 5);
        assert_eq!(touched(&mut world.server), []);
    }
}

#[test]
fn an_end_is_one_when_all_was_read() {
    for kind in [Kind::Tcp, Kind::Sctp] {
        let mut world = World::new(Faults::default(), 1);
        let [client, server] = world.opened(kind, &[own(1)]);
        assert!(!world.client.is_at_end(client) && !world.server.is_at_end(server));
        world.client.write(client, b"the last words");
        world.client.finish(world.now, client);
        world.pass(DELAY * 10);
        assert!(!world.server.is_at_end(server), "it has not begun to read");
        assert_eq!(world.server.read(world.now, server, 3).unwrap(), b"the"[..]);
        assert!(!world.server.is_at_end(server), "nor has it read all");
        assert_eq!(world.server.read(world.now, server, 100).unwrap(), b" last words"[..]);
        assert!(world.server.is_at_end(server));
    }
}

/// Who has shown to be there gets more than three times what came from him.
#[test]
fn a_download_needs_no_upload() {
    for kind in [Kind::Tcp, Kind::Sctp] {
        let mut world = World::new(Faults::default(), 1);
        let [client, server] = world.opened(kind, &[own(1)]);
        let all = octets(500_000);
        let mut down = Way::new(&all);
        let begin = world.now;
        assert!(world.until(|world| {
            down.write((&mut world.server, server));
            down.read(world.now, (&mut world.client, client));
            down.is_done()
        }));
        assert!(down.came == all);
        let took = world.now.since(begin).as_millis();
        assert!(took < 1_000, "{took} ms by a path without a bound");
    }
}
