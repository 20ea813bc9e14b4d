//! What a session does where nothing is wrong, and where one thing is.

use handfast_assist::iosl::end::Config;
use handfast_assist::iosl::frame::Reason;
use handfast_core::Duration;

use crate::world::{CLIENT, DELAY, Program, SERVER, World, ms};

const HUNGRY: (usize, Duration) = (usize::MAX, Duration::ZERO);

fn config(end: usize) -> Config {
    let mut config = Config::default();
    config.session.dials = end == CLIENT;
    config
}

fn world() -> World {
    World::new([config(CLIENT), config(SERVER)])
}

fn programs(lengths: [u64; 2]) -> [Program; 2] {
    [Program::new(1, lengths[0], HUNGRY), Program::new(2, lengths[1], HUNGRY)]
}

/// Both have got all.
fn assert_whole(world: &World) {
    for [client, server] in &world.programs {
        assert!(client.is_done && client.has_end && client.failed.is_none(), "{client:?}");
        assert!(server.is_done && server.has_end && server.failed.is_none(), "{server:?}");
        assert_eq!((client.read, server.read), (server.length, client.length));
    }
}

#[test]
fn octets_travel_both_ways_and_nothing_is_left() {
    for knows in [true, false] {
        let mut world = world();
        world.open(programs([300_000, 200_000]), knows);
        world.run_for(ms(5_000));
        assert_whole(&world);
        for end in &world.ends {
            assert_eq!((end.sessions().count(), end.memory(), end.deadline()), (0, 0, None));
        }
    }
}

/// With the key known it takes one round trip more than a connection does; on first use two.
#[test]
fn set_up_takes_one_round_trip_more() {
    for (knows, trips) in [(true, 5u64), (false, 7)] {
        let mut world = world();
        let start = world.now;
        world.open(programs([10, 10]), knows);
        while world.programs[0][SERVER].read == 0 {
            world.run_for(ms(1));
            assert!(world.now.since(start) < ms(1_000));
        }
        let took = world.now.since(start).as_nanos() / DELAY.as_nanos();
        assert_eq!(took, trips, "one way trips, of which a connection takes two, and the octets one");
    }
}
