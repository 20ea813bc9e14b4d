//! Octets between two ends.

use handfast_assist::iosl::inside::{Failure, Kind, Stands, Window};
use proptest::prelude::*;

use crate::tcp::open;
use crate::world::{DELAY, Faults, Way, World, octets, own, server, server_address};

/// Sends so much both ways at once, and finishes: how many milliseconds it took.
fn transfer(faults: Faults, seed: u64, len: usize) -> u64 {
    let mut world = World::new(faults, seed);
    let (there, back) = (octets(len), octets(len / 2 + 1));
    let begin = world.now;
    let client = open(&mut world, &there[..300]);
    let server = world.accepted();
    let (mut up, mut down) = (Way::begun(&there, 300), Way::new(&back));
    let done = world.until(|world| {
        let now = world.now;
        up.finish(now, (&mut world.client, client));
        down.finish(now, (&mut world.server, server));
        up.read(now, (&mut world.server, server));
        down.read(now, (&mut world.client, client));
        world.client.is_at_end(client) && world.server.is_at_end(server)
    });
    assert!(done, "{} and {} octets came", up.came.len(), down.came.len());
    assert!(up.came == there && down.came == back);
    let took = world.now.since(begin).as_millis();
    for (end, id) in [(&mut world.client, client), (&mut world.server, server)] {
        assert!(!matches!(end.stands(id), Stands::Over(Some(_))));
        end.release(world.now, id);
    }
    assert!(world.until(|world| world.client.is_empty() && world.server.is_empty()), "nothing is left");
    took
}

#[test]
fn the_first_octets_come_with_the_syn() {
    let mut world = World::new(Faults::default(), 1);
    let begin = world.now;
    let client = open(&mut world, b"who is there");
    let server = world.accepted();
    assert_eq!(world.now, begin + DELAY, "one way");
    assert_eq!(world.server.read(world.now, server, 100).unwrap(), b"who is there"[..]);
    assert_eq!(world.server.write(server, b"somebody"), 8);
    assert!(world.until(|world| {
        world.client.read(world.now, client, 100).is_some_and(|read| read == b"somebody"[..])
    }));
    assert_eq!(world.now, begin + DELAY * 2, "one round trip");
}

#[test]
fn a_clean_path_without_a_bound_is_used_ever_faster() {
    let took = transfer(Faults::default(), 1, 3_000_000);
    // With the first window alone it would take five seconds.
    assert!((100..1_500).contains(&took), "{took} ms");
}

#[test]
fn what_waits_unsent_is_bounded() {
    let mut world = World::new(Faults::default(), 1);
    let client = world.client.connect(world.now, Kind::Tcp, server_address(), &[own(1)]).unwrap();
    assert_eq!(world.client.write(client, &octets(1 << 20)), 128 << 10);
    assert_eq!(world.client.write(client, b"more"), 0);
}

#[test]
fn an_end_that_goes_resets_its_connection() {
    let mut world = World::new(Faults::default(), 1);
    let client = open(&mut world, b"hello");
    let server = world.accepted();
    assert!(world.until(|world| {
        world.client.endpoint(client).is_some_and(|end| end.snapshot(world.now).srtt > DELAY)
    }));
    world.server.release(world.now, server);
    assert!(world.until(|world| world.client.stands(client) == Stands::Over(Some(Failure::Reset))));
    assert!(world.server.is_empty());
}

#[test]
fn a_peer_that_has_forgotten_a_connection_says_so() {
    let mut world = World::new(Faults::default(), 1);
    let client = open(&mut world, b"hello");
    world.accepted();
    assert!(world.until(|world| world.client.stands(client) == Stands::Open));
    world.server = server(9);
    world.client.write(client, b"are you there");
    assert!(world.until(|world| world.client.stands(client) == Stands::Over(Some(Failure::Reset))));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn every_octet_comes_once_and_in_order(
        lost in 0_u64..1_000,
        doubled in 0_u64..1_000,
        late in 0_u64..2_000,
        seed in any::<u32>(),
        len in 300_usize..200_000,
    ) {
        transfer(Faults { lost, doubled, late }, seed.into(), len);
    }
}

/// How many octets a new connection's peer has got after each of eight round trips. `is_restored`: with the window of the one before.
fn after_a_change(is_restored: bool) -> Vec<usize> {
    let mut world = World::new(Faults::default(), 1);
    let all = octets(6_000_000);
    let (first, mut up) = (open(&mut world, &all[..300]), Way::begun(&all, 300));
    let server = world.accepted();
    assert!(world.until(|world| {
        up.finish(world.now, (&mut world.client, first));
        up.read(world.now, (&mut world.server, server));
        up.came.len() > 1_500_000
    }));
    let window = world.client.window(world.now, first);
    assert!(matches!(window, Some(Window::Tcp(window)) if window.cwnd > 40 * 1_180), "{window:?}");
    world.client.release(world.now, first);
    let (second, mut up) = (open(&mut world, &all[..300]), Way::begun(&all, 300));
    if is_restored {
        assert!(world.client.take_over(world.now, second, window.unwrap()));
    }
    let server = world.accepted();
    let begin = world.now;
    (1..=8)
        .map(|turn| {
            world.until(|world| {
                up.finish(world.now, (&mut world.client, second));
                up.read(world.now, (&mut world.server, server));
                world.now >= begin + DELAY * (2 * turn)
            });
            up.came.len()
        })
        .collect()
}

#[test]
fn a_connection_that_takes_another_one_s_place_begins_with_its_window() {
    let (without, with) = (after_a_change(false), after_a_change(true));
    // The receiver's window, which begins at 64 KiB, is what bounds the first two round trips.
    assert!(with[1] > without[1] && with[4] > 2 * without[4], "{with:?} {without:?}");
}
