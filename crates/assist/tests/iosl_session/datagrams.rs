//! Sessions that carry datagrams, as frames and beside their paths.

use std::collections::BTreeSet;

use bytes::Bytes;
use handfast_assist::iosl::end::{Config, End, PathId};
use handfast_assist::iosl::frame::{Frame, Reason, Target, emitted, parse};
use handfast_assist::iosl::ids::{Connection, Id, Socket};
use handfast_assist::iosl::secure::{Channel, Entropy};
use handfast_assist::iosl::session::{Event, Read, Unsent};
use handfast_core::Duration;
use proptest::prelude::*;

use crate::beside::{Beside, Faults, ROOM};
use crate::insider::{Insider, hello, said};
use crate::memory::{NOW, Pair};
use crate::programs::Program;
use crate::world::{CLIENT, SERVER, World, address, identity, keys, ms};

fn port(number: u16) -> Target {
    Target::of_datagrams("server.example", 1_000 + number).unwrap()
}

/// One whose programs have nothing else to say.
fn world(beside: Option<Beside>) -> World {
    let mut world = World::new(&[Config::default(); 2]);
    world.beside = beside;
    let programs = [1, 2].map(|seed| Program::new(seed, u64::MAX, (1_000, Duration::ZERO)));
    world.open_to(programs, true, port(0));
    world.run_for(ms(300));
    world
}

fn came(world: &World, end: usize) -> usize {
    let all = &world.programs[0][end].datagrams;
    let different: BTreeSet<_> = all.iter().collect();
    assert_eq!(different.len(), all.len(), "one came twice");
    all.len()
}

/// 50 a second in each direction.
fn call(world: &mut World, span: Duration) {
    for _ in 0..span.as_millis() / 20 {
        world.datagram(CLIENT);
        world.datagram(SERVER);
        world.run_for(ms(20));
    }
}

#[test]
fn datagrams_go_both_ways_and_octets_do_not() {
    let mut world = world(None);
    call(&mut world, ms(1_000));
    world.run_for(ms(100));
    assert_eq!([CLIENT, SERVER].map(|end| came(&world, end)), [50; 2]);
    let sockets = [CLIENT, SERVER].map(|end| world.programs[0][end].socket.unwrap());
    for end in [CLIENT, SERVER] {
        let (target, _) = world.ends[end].target(sockets[end]).unwrap();
        assert_eq!(*target, port(0));
        assert_eq!(
            world.ends[end].write(world.now, sockets[end], b"octets"),
            Ok(0),
            "it has no room for octets"
        );
    }
}

/// What a peer without sessions of datagrams makes of the request: a frame that it does not know.
#[test]
fn a_request_that_nobody_understands_is_refused_and_harms_nothing_else() {
    let mut server = End::new(identity(SERVER, 0), Config::default());
    let mut other = Insider::open(&mut server, NOW);
    let mut offer = emitted(&[hello()]);
    let at = offer.len();
    offer.extend(emitted(&[Frame::Open { target: port(0), epoch: 1 }, Frame::Migrated(Id([2; 16]))]));
    assert_eq!(offer[at], 15);
    offer[at] = 16;
    let path = server.on_accepted(NOW, address(CLIENT));
    let peer = keys(SERVER).public();
    let mut channel = Channel::initiator(&keys(CLIENT), Some(&peer), Entropy::new([9; 32])).unwrap();
    server.on_octets(NOW, path, &channel.pattern().preamble());
    server.on_octets(NOW, path, &channel.write_prefixed(&offer).unwrap());
    let answer = said(&mut server, NOW, path);
    let refused = parse(Bytes::from(channel.read(&answer[2..]).unwrap())).unwrap();
    assert_eq!(refused, [Frame::Reset(Reason::Protocol)]);
    other.say(&mut server, NOW, &[Frame::Ping]);
    assert!(matches!(other.hear(&mut server, NOW)[..], [Frame::Ack { .. }]));
}

#[test]
fn an_end_that_takes_no_datagrams_leads_to_no_port_of_udp() {
    let mut config = Config::default();
    config.session.capabilities.datagrams = false;
    let mut server = End::new(identity(SERVER, 0), config);
    let offer = [hello(), Frame::Open { target: port(0), epoch: 1 }, Frame::Migrated(Id([1; 16]))];
    let mut insider = Insider::dial(&mut server, NOW, &keys(CLIENT), 50, &offer);
    assert_eq!(insider.hear(&mut server, NOW), [Frame::Reset(Reason::TargetRefused)]);
    assert_eq!(server.sessions().count(), 0);
}

#[test]
fn a_peer_that_sends_octets_there_breaks_the_rules() {
    let mut server = End::new(identity(SERVER, 0), Config::default());
    let offer = [hello(), Frame::Open { target: port(0), epoch: 1 }, Frame::Migrated(Id([1; 16]))];
    let mut insider = Insider::dial(&mut server, NOW, &keys(CLIENT), 50, &offer);
    assert!(matches!(insider.hear(&mut server, NOW)[..], [_, Frame::Ack { offset: 0, credit: 0 }, _]));
    insider.say(&mut server, NOW, &[Frame::Ping]);
    assert_eq!(server.poll_event(NOW), Some((Socket(0), Event::Opened)));
    insider.say(&mut server, NOW, &[Frame::Data { offset: 0, bytes: Bytes::from_static(b"x") }]);
    assert_eq!(server.poll_event(NOW), Some((Socket(0), Event::Failed(Reason::Protocol))));
}

/// Nobody acknowledges a datagram, but somebody who is there says something.
#[test]
fn a_path_that_dies_silently_under_a_call_is_replaced() {
    for beside in [None, Some(Beside::new(Faults::default(), 1))] {
        let mut world = world(beside);
        call(&mut world, ms(500));
        world.cut_silently();
        let before = came(&world, SERVER);
        call(&mut world, ms(7_000));
        assert!(came(&world, SERVER) <= before + 1);
        call(&mut world, ms(1_000));
        assert!(came(&world, SERVER) >= before + 35, "{} after {before}", came(&world, SERVER));
    }
}

#[test]
fn a_call_loses_little_when_its_address_changes() {
    for beside in [None, Some(Beside::new(Faults::default(), 1))] {
        let mut world = world(beside);
        call(&mut world, ms(400));
        world.each(CLIENT, End::migrate);
        call(&mut world, ms(100));
        world.cut_all_but_newest([Duration::ZERO; 2]);
        call(&mut world, ms(400));
        world.run_for(ms(100));
        // The path of before is over as soon as there is another one: what is under way there then is lost.
        for end in [CLIENT, SERVER] {
            assert!(came(&world, end) >= 43, "{}", came(&world, end));
        }
    }
}

#[test]
fn a_frozen_session_takes_no_datagrams_and_brings_none_twice() {
    let mut world = world(Some(Beside::new(Faults { doubled: 50, ..Faults::default() }, 3)));
    call(&mut world, ms(200));
    world.each(CLIENT, End::suspend);
    world.run_for(ms(100));
    let before = [CLIENT, SERVER].map(|end| came(&world, end));
    assert_eq!(before, [10; 2]);
    for end in [CLIENT, SERVER] {
        let socket = world.programs[0][end].socket.unwrap();
        assert_eq!(world.ends[end].send_datagram(world.now, socket, b"?"), Err(Unsent::Away));
    }
    world.each(CLIENT, End::resume);
    world.run_for(ms(100));
    call(&mut world, ms(200));
    world.run_for(ms(100));
    assert_eq!([CLIENT, SERVER].map(|end| came(&world, end)), [20; 2]);
}

/// Two ends with a session of datagrams, and the paths at both.
fn opened() -> (Pair, [Socket; 2]) {
    let mut pair = Pair::new(Config::default());
    let application = pair.ends[CLIENT].open_application().unwrap();
    let connection = Connection::Tcp([([127, 0, 0, 1], 5).into(), ([10, 0, 0, 2], 6).into()]);
    let peer = Some(keys(SERVER).public());
    let one = pair.ends[CLIENT].open(NOW, application, connection, port(0), peer).unwrap();
    pair.settle();
    let (other, event) = pair.ends[SERVER].poll_event(NOW).unwrap();
    assert_eq!(event, Event::Opened);
    (pair, [one, other])
}

fn path(pair: &Pair, end: usize, socket: Socket) -> PathId {
    pair.ends[end].paths(socket).last().unwrap()
}

#[test]
fn a_session_of_datagrams_ends_as_others_do() {
    let (mut pair, [one, other]) = opened();
    for (end, socket) in [(CLIENT, one), (SERVER, other)] {
        pair.ends[end].finish(NOW, socket);
        pair.settle();
        assert_eq!(pair.ends[1 - end].read(NOW, if end == CLIENT { other } else { one }, 0), Ok(Read::End));
    }
    pair.settle();
    for (end, socket) in [(CLIENT, one), (SERVER, other)] {
        let events: Vec<_> = std::iter::from_fn(|| pair.ends[end].poll_event(NOW)).collect();
        assert!(events.contains(&(socket, Event::Done)), "{events:?}");
    }
    pair.settle();
    assert_eq!(pair.ends.each_ref().map(|end| end.sessions().count()), [0; 2], "nothing is left");
}

#[test]
fn what_is_too_long_to_go_beside_goes_as_a_frame() {
    let (mut pair, [one, other]) = opened();
    let most = ROOM - 20;
    for len in [0, most, most + 1, 16_000] {
        pair.ends[CLIENT].send_datagram(NOW, one, &vec![9; len]).unwrap();
        let at = path(&pair, CLIENT, one);
        let sealed = pair.ends[CLIENT].poll_datagram(NOW, at, ROOM);
        assert_eq!(sealed.is_some(), len <= most, "{len}");
        if let Some(sealed) = sealed {
            let there = path(&pair, SERVER, other);
            pair.ends[SERVER].on_datagram(NOW, there, &sealed);
        }
        pair.settle();
        assert_eq!(pair.ends[SERVER].receive_datagram(other).map(|datagram| datagram.len()), Some(len));
    }
    assert_eq!(pair.ends[SERVER].counters().strange, 0);
}

#[test]
fn what_waits_has_a_bound_and_the_oldest_give_way() {
    let (mut pair, [one, other]) = opened();
    for number in 0..200u8 {
        pair.ends[CLIENT].send_datagram(NOW, one, &[number; 1_000]).unwrap();
        assert!(pair.ends[CLIENT].memory() <= 64 << 10);
    }
    let at = path(&pair, CLIENT, one);
    while let Some(sealed) = pair.ends[CLIENT].poll_datagram(NOW, at, ROOM) {
        let there = path(&pair, SERVER, other);
        pair.ends[SERVER].on_datagram(NOW, there, &sealed);
        assert!(pair.ends[SERVER].memory() <= 64 << 10);
    }
    let came: Vec<_> = std::iter::from_fn(|| pair.ends[SERVER].receive_datagram(other))
        .map(|datagram| datagram[0])
        .collect();
    assert_eq!(came, (139..200).collect::<Vec<_>>());
    let dropped = pair.ends[CLIENT].session(one).unwrap().dropped_datagrams();
    assert_eq!(dropped, [139, 0]);
}

#[test]
fn a_datagram_of_another_path_or_from_before_or_made_up_is_dropped_and_nothing_else() {
    let (mut pair, [one, other]) = opened();
    let seal = |pair: &mut Pair| {
        pair.ends[CLIENT].send_datagram(NOW, one, b"datagram").unwrap();
        let at = path(pair, CLIENT, one);
        pair.ends[CLIENT].poll_datagram(NOW, at, ROOM).unwrap()
    };
    let (first, late) = (seal(&mut pair), seal(&mut pair));
    let there = path(&pair, SERVER, other);
    let hear = |pair: &mut Pair, at: PathId, sealed: &[u8]| {
        pair.ends[SERVER].on_datagram(NOW, at, sealed);
        pair.ends[SERVER].receive_datagram(other).is_some()
    };
    assert!(hear(&mut pair, there, &first));
    assert!(!hear(&mut pair, there, &first), "it came before");
    let mut changed = late.clone();
    changed[3] ^= 1;
    assert!(!hear(&mut pair, there, &changed) && !hear(&mut pair, there, &[7; 40]));
    pair.ends[CLIENT].migrate(NOW, one);
    pair.settle();
    let now_there = path(&pair, SERVER, other);
    assert_ne!(now_there, there);
    assert!(!hear(&mut pair, there, &late), "its path is over");
    assert!(!hear(&mut pair, now_there, &late), "this one has other keys");
    let next = seal(&mut pair);
    assert!(!hear(&mut pair, there, &next) && hear(&mut pair, now_there, &next));
    assert_eq!(pair.ends[SERVER].counters().strange, 6);
    assert_eq!(pair.ends.each_ref().map(|end| end.sessions().count()), [1; 2], "the session goes on");
}

#[test]
fn such_a_session_is_not_written_down() {
    let mut config = Config::default();
    config.session.keeps = true;
    let mut end = End::new(identity(CLIENT, 0), config);
    let application = end.open_application().unwrap();
    let connection = Connection::Tcp([([127, 0, 0, 1], 5).into(), ([10, 0, 0, 2], 6).into()]);
    let socket = end.open(NOW, application, connection, port(0), None).unwrap();
    assert_eq!((end.poll_changed(), end.saved(socket)), (Some(socket), None));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Whatever the network does to them: none comes twice, none is made up, and without faults all come.
    #[test]
    fn datagrams_come_once_or_not_at_all(
        lost in 0u64..40, doubled in 0u64..40, late in 0u64..40, seed in any::<u64>(),
        steps in prop::collection::vec(0u8..8, 1..30),
    ) {
        let mut world = world(Some(Beside::new(Faults { lost, doubled, late }, seed)));
        for step in steps {
            match step {
                0..=3 => call(&mut world, ms(60)),
                4 => world.each(CLIENT, End::migrate),
                5 => world.cut([ms(5), ms(30)]),
                6 => world.each(SERVER, End::suspend),
                _ => world.each(SERVER, End::resume),
            }
        }
        world.each(SERVER, End::resume);
        world.run_for(ms(3_000));
        let before = [CLIENT, SERVER].map(|end| came(&world, end));
        call(&mut world, ms(1_000));
        world.run_for(ms(100));
        for end in [CLIENT, SERVER] {
            let all = came(&world, end) - before[end];
            prop_assert!(all <= 50);
            prop_assert!(all as u64 >= 50 - lost / 2 - 20, "{} of 50 came, {} of 100 are lost", all, lost);
        }
    }
}
