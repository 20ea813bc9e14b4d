//! Floods: of connections, and of sessions that nobody uses.

use std::net::{IpAddr, Ipv4Addr};

use handfast_assist::iosl::end::{Config, End};
use handfast_assist::iosl::frame::Frame;
use handfast_assist::iosl::ids::Id;
use handfast_assist::iosl::secure::{Keys, MOST_MESSAGE};
use handfast_core::Duration;

use crate::basics::{assert_whole, programs, world};
use crate::insider::{Insider, hello, target};
use crate::memory::NOW;
use crate::world::{CLIENT, SERVER, World, address, identity, keys, ms};

/// So many connections to the server, which announce a long message and do not end it. Each from the address of its number.
fn flood(world: &mut World, numbers: std::ops::Range<u32>, from: fn(u32) -> IpAddr) {
    let mut octets = b"hfiosl\x01\x01".to_vec();
    octets.extend((MOST_MESSAGE as u16).to_be_bytes());
    octets.extend([0; 1_000]);
    for number in numbers {
        let path = world.ends[SERVER].on_accepted(world.now, from(number));
        world.ends[SERVER].on_octets(world.now, path, &octets);
    }
}

/// Each a neighbourhood of its own.
fn far_apart(number: u32) -> IpAddr {
    Ipv4Addr::from_bits(0x0a00_0000 + (number << 8)).into()
}

#[test]
fn a_flood_of_connections_has_a_bound_and_sessions_go_on() {
    let mut world = world();
    world.open(programs([20_000_000, 20_000_000]), true);
    world.run_for(ms(200));
    flood(&mut world, 0..10_000, |_| [203, 0, 113, 1].into());
    let places = Config::default().shaking;
    let most = places * (MOST_MESSAGE + 2) + 3 * 18_000;
    let session = Config::default().session.most_memory();
    assert!(world.ends[SERVER].memory() <= most as u64 + session, "{}", world.ends[SERVER].memory());
    assert_eq!(world.ends[SERVER].counters().crowded, 10_000 - places as u64);
    world.run_for(ms(60_000));
    assert_whole(&world);
}

/// A session is cut and another one opens, while connections come all the time. How long both take.
fn under_flood(each_millisecond: u32, from: fn(u32) -> IpAddr, knows: bool) -> Duration {
    let mut world = world();
    world.open(programs([20_000_000, 20_000_000]), true);
    world.run_for(ms(200));
    world.cut([ms(0), ms(0)]);
    world.open(programs([1_000, 1_000]), knows);
    let (start, mut number) = (world.now, 0);
    while world.ends[SERVER].counters().resumed < 3 && world.now.since(start) < ms(3_000) {
        flood(&mut world, number..number + each_millisecond, from);
        number += each_millisecond;
        world.run_for(ms(1));
    }
    world.now.since(start)
}

/// Between a connection and its first message half a round trip passes here, on first use one and a half.
#[test]
fn a_flood_that_goes_on_keeps_nobody_out() {
    for knows in [true, false] {
        let from_one = under_flood(300, |_| [203, 0, 113, 1].into(), knows);
        let from_neighbours = under_flood(300, |number| [203, 0, 113, number as u8].into(), knows);
        let from_the_clients_own = under_flood(6, |_| address(CLIENT), knows);
        let all = [from_one, from_neighbours, from_the_clients_own];
        assert!(all.iter().all(|took| *took <= ms(100)), "{knows}: {all:?}");
    }
    // Its two handshakes are one more than the client's share of the places: one of them is dialled again.
    let from_everywhere = under_flood(20, far_apart, true);
    assert!(from_everywhere <= ms(200), "{from_everywhere:?}");
    let from_many = under_flood(20, |number| far_apart(number % 100), true);
    assert!(from_many <= ms(100), "{from_many:?}");
}

fn offer(number: u16) -> [Frame; 3] {
    let mut id = [0; 16];
    id[..2].copy_from_slice(&number.to_be_bytes());
    [hello(), Frame::Open { target: target(), epoch: 1 }, Frame::Migrated(Id(id))]
}

/// Each asks for a session of its own, and uses none.
#[test]
fn sessions_that_are_asked_for_and_not_used_have_a_bound() {
    let mut server = End::new(identity(SERVER, 0), Config::default());
    for number in 0..600 {
        let mut insider = Insider::dial(&mut server, NOW, &keys(CLIENT), number as u8, &offer(number));
        insider.hear(&mut server, NOW);
        let sessions = server.sessions().count();
        assert!(sessions <= Config::default().shaking, "{number}: {sessions}");
        assert_eq!(server.free(), Config::default().pool, "they keep none of what others may need");
    }
    assert_eq!(server.poll_event(NOW), None, "nobody is told");
    while let Some(at) = server.deadline() {
        server.on_timer(at);
    }
    assert_eq!((server.sessions().count(), server.free()), (0, Config::default().pool));
}

#[test]
fn a_peer_that_asks_for_many_pushes_out_its_own() {
    let other = Keys::new([77; 32]);
    let mut identity = identity(SERVER, 0);
    identity.allowed.keys.insert(other.public());
    let mut server = End::new(identity, Config::default());
    let mut one = Insider::dial(&mut server, NOW, &other, 9, &offer(0));
    assert_eq!(one.hear(&mut server, NOW).len(), 3);
    for number in 0..600 {
        Insider::dial(&mut server, NOW, &keys(CLIENT), number as u8, &offer(number));
    }
    one.say(&mut server, NOW, &[Frame::Data { offset: 0, bytes: "here".into() }]);
    let opened: Vec<_> =
        server.sessions().filter(|&socket| server.session(socket).unwrap().is_opened()).collect();
    assert_eq!(opened.len(), 1);
    assert_eq!(server.target(opened[0]).unwrap().1, Some(other.public()));
}
