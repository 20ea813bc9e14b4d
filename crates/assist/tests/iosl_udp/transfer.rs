//! Octets between two ends.

use handfast_assist::iosl::udp::{Config, Stands, StreamId, Streams};
use handfast_tcp::Death;
use proptest::prelude::*;

use crate::world::{DELAY, Faults, World, octets};

/// One direction as a program has it.
struct Way {
    sent: usize,
    finished: bool,
    came: Vec<u8>,
}

impl Way {
    fn new() -> Self {
        Self { sent: 0, finished: false, came: Vec::new() }
    }

    fn write(&mut self, world: &mut Streams, now: handfast_core::Instant, id: StreamId, all: &[u8]) {
        self.sent += world.write(id, &all[self.sent..]);
        if self.sent == all.len() && !std::mem::replace(&mut self.finished, self.sent == all.len()) {
            world.finish(now, id);
        }
    }

    fn read(&mut self, world: &mut Streams, id: StreamId) {
        while let Some(read) = world.read(id, 7_000) {
            self.came.extend_from_slice(&read);
        }
    }
}

/// Sends so much both ways at once, and finishes: how many milliseconds it took.
fn transfer(faults: Faults, seed: u64, len: usize) -> u64 {
    let mut world = World::new(&Config::default(), faults, seed);
    let (there, back) = (octets(len), octets(len / 2 + 1));
    let begin = world.now;
    let client = world.open(&there[..300]);
    let server = world.accepted();
    let (mut up, mut down) = (Way { sent: 300, ..Way::new() }, Way::new());
    let done = world.until(|world| {
        let now = world.now;
        up.write(&mut world.client, now, client, &there);
        down.write(&mut world.server, now, server, &back);
        up.read(&mut world.server, server);
        down.read(&mut world.client, client);
        world.client.is_at_end(client) && world.server.is_at_end(server)
    });
    assert!(done, "{} and {} octets came", up.came.len(), down.came.len());
    assert!(up.came == there && down.came == back);
    let took = world.now.since(begin).as_millis();
    for (streams, id) in [(&mut world.client, client), (&mut world.server, server)] {
        assert!(!matches!(streams.stands(id), Stands::Over(Some(_))));
        streams.release(world.now, id);
    }
    assert!(world.until(|world| world.client.is_empty() && world.server.is_empty()), "nothing is left");
    took
}

#[test]
fn the_first_octets_come_with_the_syn() {
    let mut world = World::new(&Config::default(), Faults::default(), 1);
    let begin = world.now;
    let client = world.open(b"who is there");
    let server = world.accepted();
    assert_eq!(world.now, begin + DELAY, "one way");
    assert_eq!(world.server.read(server, 100).unwrap(), b"who is there"[..]);
    assert_eq!(world.server.write(server, b"somebody"), 8);
    assert!(world.until(|world| world.client.read(client, 100).is_some_and(|read| read == b"somebody"[..])));
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
    let mut world = World::new(&Config::default(), Faults::default(), 1);
    let client = world.client.connect(world.now, crate::world::server_address()).unwrap();
    assert_eq!(world.client.write(client, &octets(1 << 20)), 128 << 10);
    assert_eq!(world.client.write(client, b"more"), 0);
}

#[test]
fn an_end_that_goes_resets_its_connection() {
    let mut world = World::new(&Config::default(), Faults::default(), 1);
    let client = world.open(b"hello");
    let server = world.accepted();
    assert!(world.until(|world| {
        world.client.endpoint(client).is_some_and(|end| end.snapshot(world.now).srtt > DELAY)
    }));
    world.server.release(world.now, server);
    assert!(world.until(|world| world.client.stands(client) == Stands::Over(Some(Death::Reset))));
    assert!(world.server.is_empty());
}

#[test]
fn a_peer_that_has_forgotten_a_connection_says_so() {
    let mut world = World::new(&Config::default(), Faults::default(), 1);
    let client = world.open(b"hello");
    world.accepted();
    assert!(world.until(|world| world.client.stands(client) == Stands::Open));
    world.server = Streams::new(Config::default(), true, [9; 32]);
    world.client.write(client, b"are you there");
    assert!(world.until(|world| world.client.stands(client) == Stands::Over(Some(Death::Reset))));
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
    let mut world = World::new(&Config::default(), Faults::default(), 1);
    let all = octets(6_000_000);
    let (first, mut up) = (world.open(&all[..300]), Way { sent: 300, ..Way::new() });
    let server = world.accepted();
    assert!(world.until(|world| {
        up.write(&mut world.client, world.now, first, &all);
        up.read(&mut world.server, server);
        up.came.len() > 1_500_000
    }));
    let window = world.client.window(world.now, first).unwrap();
    assert!(window.cwnd > 40 * 1_180, "{window:?}");
    world.client.release(world.now, first);
    let (second, mut up) = (world.open(&all[..300]), Way { sent: 300, ..Way::new() });
    if is_restored {
        world.client.take_over(world.now, second, window);
    }
    let server = world.accepted();
    let begin = world.now;
    (1..=8)
        .map(|turn| {
            world.until(|world| {
                up.write(&mut world.client, world.now, second, &all);
                up.read(&mut world.server, server);
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
