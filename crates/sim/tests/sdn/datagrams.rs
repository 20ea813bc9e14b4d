//! UDP, QUIC included, for a station that is away: held for a short while, beside TCP and never at its cost.

use handfast_assist::sdn::{Config, DatagramCounts, Policy, Record, Release, What};
use handfast_core::{BitRate, Bytes, Duration, Instant};
use handfast_wire::openflow::PortNo;

use crate::world::{AP, World, config, ms, paced};

const NONE: DatagramCounts = DatagramCounts { held: 0, released: 0, expired: 0, evicted: 0 };

fn away(config: Config) -> World {
    let mut world = World::with_station(config, ms(1));
    world.tell(0, 1, What::Disassociated);
    world.wait(ms(2));
    world
}

fn spurious() -> Config {
    config(Policy::Spurious, paced())
}

fn back(world: &mut World) {
    world.tell(1, 2, What::Associated);
    world.wait(ms(2_500));
}

fn released(world: &World) -> DatagramCounts {
    let of = |(_, record): &(_, Record)| match record {
        Record::Released { datagrams, .. } => Some(*datagrams),
        _ => None,
    };
    world.records.iter().rev().find_map(of).expect("a release")
}

/// When what left by a port did, by tag.
fn times(world: &World, port: PortNo) -> Vec<(u16, Instant)> {
    let left = world.left.iter().filter(|left| left.by() == Some(port));
    left.map(|left| (left.tag(), left.at)).collect()
}

#[test]
fn datagrams_that_come_in_the_last_second_are_released_in_order() {
    let mut world = away(spurious());
    let old = world.datagram(100);
    world.wait(ms(600));
    let young = [world.datagram(100), world.datagram(200)];
    world.wait(ms(600));
    back(&mut world);
    assert_eq!(world.tags_by(AP[1]), young);
    assert!(!world.tags_by(AP[0]).contains(&old));
    assert_eq!(released(&world), DatagramCounts { held: 3, released: 2, expired: 1, evicted: 0 });
    let counters = world.plane.controller().counters();
    assert_eq!((counters.datagrams_held, counters.datagrams_released, counters.datagrams_expired), (3, 2, 1));
    assert_eq!((counters.held, counters.dropped_other), (0, [0; 8]));
    assert_eq!(world.plane.controller().held_datagrams(), Bytes(0));
}

#[test]
fn a_datagram_leaves_the_hold_at_its_age_and_not_before() {
    let mut config = spurious();
    config.datagrams.age = ms(50);
    let mut world = away(config);
    // It comes to the controller one millisecond later.
    world.datagram(100);
    world.wait(ms(50));
    assert!(world.plane.controller().held_datagrams() > Bytes(0));
    world.wait(ms(1));
    assert_eq!(world.plane.controller().held_datagrams(), Bytes(0));
    assert_eq!(world.plane.controller().counters().datagrams_expired, 1);
}

#[test]
fn at_an_age_of_zero_they_are_dropped_as_before() {
    let mut config = spurious();
    config.datagrams.age = Duration::ZERO;
    let mut world = away(config);
    world.datagram(100);
    world.wait(ms(2));
    back(&mut world);
    let counters = world.plane.controller().counters();
    assert_eq!((counters.datagrams_held, counters.dropped_other[1]), (0, 1));
    assert_eq!(released(&world), NONE);
    assert!(world.tags_by(AP[1]).is_empty());
}

#[test]
fn segments_and_datagrams_take_turns_at_the_pace_of_the_release() {
    let mut world = away(spurious());
    let segments: Vec<u16> = (0..4).map(|_| world.data(4000)).collect();
    let datagrams: Vec<u16> = (0..3).map(|_| world.datagram(972)).collect();
    world.wait(ms(2));
    back(&mut world);
    let turns = [&segments[..1], &datagrams[..1], &segments[1..2], &datagrams[1..2]];
    let rest = [&segments[2..3], &datagrams[2..], &segments[3..]];
    assert_eq!(world.tags_by(AP[1]), [turns.concat(), rest.concat()].concat());
    // 1,040 and 1,000 bytes at 20 Mbit/s.
    let times = times(&world, AP[1]);
    let apart: Vec<u64> = times.windows(2).map(|two| two[1].1.since(two[0].1).as_nanos() / 1000).collect();
    assert_eq!(apart, [416, 400, 416, 400, 416, 400]);
}

#[test]
fn a_flood_of_datagrams_takes_nothing_from_tcp() {
    let mut config = spurious();
    config.limits.per_station = Bytes(20 * 1182);
    config.limits.total = Bytes(20 * 1182);
    config.datagrams.per_station = Bytes(10 * 1182);
    let run = |flood: usize| {
        let mut world = away(config.clone());
        for _ in 0..25 {
            world.data(4000);
            for _ in 0..flood {
                world.datagram(1000);
            }
        }
        world.wait(ms(2));
        back(&mut world);
        let counters = world.plane.controller().counters().clone();
        (world, counters)
    };
    let ((quiet, without), (flooded, with)) = (run(0), run(100));
    let tcp = |world: &World| {
        let payloads = world.tcp_by(AP[1], true);
        payloads.iter().map(|&tag| world.sent[usize::from(tag)].body.clone()).collect::<Vec<_>>()
    };
    assert_eq!(tcp(&quiet).len(), 20);
    assert!(tcp(&quiet) == tcp(&flooded), "the same segments in the same order");
    assert_eq!(
        (with.held, with.refused, with.evicted, with.released),
        (without.held, without.refused, without.evicted, without.released)
    );
    assert!(with.datagrams_evicted > 2000 && with.datagrams_released > 5, "{with:?}");
}

/// The other way round: held segments do not keep datagrams out.
#[test]
fn tcp_takes_nothing_from_datagrams() {
    let mut config = spurious();
    config.limits.per_station = Bytes(2 * 1182);
    let mut world = away(config);
    for _ in 0..5 {
        world.data(4000);
    }
    let datagram = world.datagram(100);
    world.wait(ms(2));
    back(&mut world);
    assert_eq!(world.tcp_by(AP[1], false), [datagram]);
    assert_eq!(world.plane.controller().counters().refused, 3);
}

#[test]
fn the_oldest_give_way_to_the_newest() {
    let mut config = spurious();
    config.datagrams.count = 3;
    let mut world = away(config);
    let tags: Vec<u16> = (0..7).map(|_| world.datagram(10)).collect();
    world.wait(ms(2));
    back(&mut world);
    assert_eq!(world.tags_by(AP[1]), tags[4..]);
    assert_eq!(released(&world), DatagramCounts { held: 7, released: 3, expired: 0, evicted: 4 });
}

#[test]
fn what_comes_during_the_release_does_not_overtake() {
    let mut world = away(spurious());
    let mut tags: Vec<u16> = (0..20).map(|_| world.datagram(1000)).collect();
    world.wait(ms(2));
    world.tell(1, 2, What::Associated);
    world.wait(ms(3));
    tags.push(world.datagram(1000));
    world.wait(ms(300));
    tags.push(world.datagram(1000));
    world.wait(ms(300));
    assert_eq!(world.tags_by(AP[1]), tags);
    assert_eq!(released(&world).held, 21, "the last one went straight");
}

/// Datagrams that come faster than the pace must not keep TCP on the way by the controller.
#[test]
fn a_flood_during_the_release_ends_it_after_one_age_at_most() {
    let mut config = spurious();
    config.datagrams.age = ms(200);
    config.release = Release::Paced { rate: BitRate::from_bps(1_000_000), burst: Bytes(0) };
    let mut world = away(config);
    for _ in 0..10 {
        world.datagram(1000);
    }
    world.wait(ms(2));
    let since = world.now;
    world.tell(1, 2, What::Associated);
    let over =
        |world: &World| world.records.iter().any(|(_, record)| matches!(record, Record::Released { .. }));
    while !over(&world) {
        // 8 Mbit/s, eight times the pace and four times its double.
        world.datagram(1000);
        world.wait(ms(1));
        assert!(world.now < since + ms(230), "the release does not end");
    }
    assert!(world.now > since + ms(200), "what was held is paced");
}

/// Also where TCP comes at nearly the radio's rate: with every second turn for large datagrams its hold would never be empty.
#[test]
fn a_flood_beside_a_busy_connection_ends_it_too() {
    let mut config = spurious();
    config.datagrams.age = ms(200);
    let mut world = away(config);
    for _ in 0..10 {
        world.data(4000);
        world.datagram(1440);
    }
    world.wait(ms(2));
    let since = world.now;
    world.tell(1, 2, What::Associated);
    let over =
        |world: &World| world.records.iter().any(|(_, record)| matches!(record, Record::Released { .. }));
    while !over(&world) {
        // 18 and 25 Mbit/s; the pace is 20 Mbit/s.
        world.data(4000);
        world.datagram(1440);
        world.wait(Duration::from_micros(460));
        assert!(world.now < since + ms(500), "the release does not end");
    }
}

#[test]
fn what_is_held_for_a_station_that_stays_away_is_dropped() {
    let mut config = spurious();
    config.datagrams.age = Duration::from_secs(20);
    let mut world = away(config);
    world.datagram(100);
    world.wait(ms(11_000));
    let expired = world.records.iter().find_map(|(_, record)| match record {
        Record::Expired { datagrams, .. } => Some(*datagrams),
        _ => None,
    });
    assert_eq!(expired, Some(DatagramCounts { held: 1, expired: 1, ..NONE }));
    assert_eq!(world.plane.controller().held_datagrams(), Bytes(0));
}

#[test]
fn a_controller_that_ends_sends_the_datagrams_of_a_station_that_is_back() {
    let mut config = spurious();
    config.release = Release::Paced { rate: BitRate::from_bps(8_000), burst: Bytes(0) };
    let mut world = away(config);
    let tags: Vec<u16> = (0..3).map(|_| world.datagram(100)).collect();
    world.wait(ms(2));
    world.tell(1, 2, What::Associated);
    world.plane.end(world.now);
    world.wait(ms(5));
    assert_eq!(world.tags_by(AP[1]), tags);
}

#[test]
fn datagrams_of_one_absence_are_not_counted_for_the_next() {
    let mut world = away(spurious());
    world.datagram(100);
    world.wait(ms(2));
    back(&mut world);
    world.tell(1, 2, What::Disassociated);
    world.wait(ms(2));
    world.tell(0, 3, What::Associated);
    world.wait(ms(300));
    assert_eq!(released(&world), NONE);
}

/// What was held leaves at the radio's rate, what came since at its double: otherwise the release would not end.
#[test]
fn old_datagrams_leave_at_the_pace_and_new_ones_at_its_double() {
    let mut world = away(spurious());
    for _ in 0..4 {
        world.datagram(972);
    }
    world.wait(ms(2));
    world.tell(1, 2, What::Associated);
    for _ in 0..4 {
        world.datagram(972);
    }
    world.wait(ms(300));
    let times = times(&world, AP[1]);
    let apart: Vec<u64> = times.windows(2).map(|two| two[1].1.since(two[0].1).as_nanos() / 1000).collect();
    // 1,000 bytes at 20 Mbit/s. The new ones come to the controller one millisecond later.
    assert_eq!(apart, [400, 400, 400, 400, 200, 200, 200]);
}

#[test]
fn during_a_release_they_pass_unless_some_are_held_and_none_exceeds_a_bound() {
    for (held, passed, dropped) in [(false, 1, 0), (true, 0, 1)] {
        let mut config = spurious();
        config.datagrams.per_station = Bytes(1_000);
        let mut world = away(config);
        for _ in 0..10 {
            world.data(4000);
        }
        for _ in 0..if held { 4 } else { 0 } {
            world.datagram(10);
        }
        world.wait(ms(2));
        world.tell(1, 2, What::Associated);
        world.datagram(1000);
        world.wait(ms(300));
        let counters = world.plane.controller().counters();
        assert_eq!((counters.passed_other[1], counters.dropped_other[1]), (passed, dropped));
        assert_eq!(counters.datagrams_held, if held { 4 } else { 0 });
    }
}
