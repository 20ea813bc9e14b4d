//! What is known of stations that stay away, and who loses what is held.

use handfast_assist::sdn::{ApId, Ignored, Notice, Policy, Record, What};
use handfast_core::{Bytes, SeqNum};
use handfast_wire::openflow::EthAddr;
use handfast_wire::tcp::{Flags, Segment};
use handfast_wire::{Body, Payload};

use crate::world::{AP, STATION, World, config, ms, paced};

const OTHERS: [EthAddr; 2] = [[2, 0, 10, 0, 0, 6], [2, 0, 10, 0, 0, 7]];
/// A frame of 1,054 bytes and what it takes to keep it.
const COST: u64 = 1182;

fn spurious() -> World {
    World::with_station(config(Policy::Spurious, paced()), ms(1))
}

fn ignored(world: &World) -> Vec<Ignored> {
    let why = |(_, record): &(_, Record)| match record {
        Record::Ignored { why, .. } => Some(*why),
        _ => None,
    };
    world.records.iter().filter_map(why).collect()
}

fn evicted(world: &World) -> Vec<EthAddr> {
    let who = |(_, record): &(_, Record)| match record {
        Record::Evicted { station, .. } => Some(station.address),
        _ => None,
    };
    world.records.iter().filter_map(who).collect()
}

fn tell(world: &mut World, station: EthAddr, epoch: u64, what: What) {
    world.plane.announce(world.now, Notice { station, ap: ApId(0), epoch, what });
    world.step();
}

fn data_to(world: &mut World, station: EthAddr, seq: u32) {
    let payload = Payload::Bytes(vec![1; 1000].into());
    let segment = Segment { dst_port: 4000, seq: SeqNum(seq), flags: Flags::ACK, payload, ..Segment::EMPTY };
    world.packet_to(station, Body::Tcp(segment));
    world.wait(ms(3));
}

#[test]
fn late_events_of_a_station_that_has_expired_are_ignored() {
    let mut world = spurious();
    world.tell(1, 5, What::Disassociated);
    world.wait(ms(11_000));
    // What the old access points report only now must not send its traffic there.
    world.tell(0, 4, What::Associated);
    world.tell(1, 5, What::Associated);
    world.tell(0, 4, What::Disassociated);
    world.tell(1, 5, What::Disassociated);
    assert_eq!(ignored(&world), [Ignored::Stale, Ignored::Stale, Ignored::Stale, Ignored::Duplicate]);
    world.wait(ms(2));
    assert_eq!(world.plane.switch(0).flow_count(), 1, "only the operator's entry");
    world.tell(1, 6, What::Associated);
    world.wait(ms(2));
    let tag = world.data(4000);
    assert_eq!(world.tags_by(AP[1]), [tag]);
    world.tell(1, 6, What::Disassociated);
    assert_eq!(ignored(&world).len(), 4, "a newer association counts");
}

#[test]
fn events_repeated_by_an_access_point_that_the_station_left_are_ignored() {
    let mut world = spurious();
    // One association is with one access point.
    world.tell(1, 1, What::Associated);
    world.tell(0, 1, What::Associated);
    world.tell(0, 1, What::Disassociated);
    world.tell(0, 1, What::Associated);
    assert_eq!(ignored(&world), [Ignored::Stale, Ignored::Duplicate, Ignored::Stale]);
}

#[test]
fn an_expired_association_is_remembered_for_a_time() {
    let mut config = config(Policy::Spurious, paced());
    config.remember = ms(60_000);
    let mut world = World::with_station(config, ms(1));
    world.tell(0, 9, What::Disassociated);
    world.wait(ms(10_000 + 59_999));
    world.tell(0, 3, What::Associated);
    assert_eq!(ignored(&world), [Ignored::Stale]);
    world.wait(ms(2));
    // Its numbers may have begun again.
    world.tell(0, 3, What::Associated);
    world.wait(ms(2));
    let tag = world.data(4000);
    assert_eq!(world.tags_by(AP[0]), [tag]);
}

#[test]
fn of_expired_associations_as_many_are_remembered_as_there_may_be_stations() {
    let mut config = config(Policy::Spurious, paced());
    config.limits.stations = 1;
    let mut world = World::with_station(config, ms(1));
    world.tell(0, 5, What::Disassociated);
    world.wait(ms(11_000));
    tell(&mut world, OTHERS[0], 5, What::Disassociated);
    world.wait(ms(11_000));
    tell(&mut world, OTHERS[0], 4, What::Associated);
    assert_eq!(ignored(&world), [Ignored::Stale]);
    world.tell(0, 4, What::Associated);
    assert_eq!(ignored(&world).len(), 1, "of the first to expire nothing is known any more");
}

#[test]
fn a_station_that_is_back_is_not_forgotten_with_its_hold() {
    let mut world = spurious();
    world.tell(0, 1, What::Disassociated);
    world.wait(ms(2));
    world.data(4000);
    world.wait(ms(2));
    world.plane.cut(world.now, 0);
    world.tell(1, 2, What::Associated);
    world.wait(ms(11_000));
    let undelivered = |record: &Record| matches!(record, Record::Undelivered { segments: 1, .. });
    assert!(world.records.iter().any(|(_, record)| undelivered(record)), "{:?}", world.records);
    let controller = world.plane.controller();
    assert_eq!((controller.counters().expired, controller.held()), (1, Bytes(0)));
    world.plane.connect(world.now, 0);
    world.wait(ms(10));
    let after = world.data(4000);
    assert_eq!(world.tags_by(AP[1]), [after], "its way is made where its switch is back");
    world.tell(1, 2, What::Associated);
    assert_eq!(ignored(&world), [Ignored::Duplicate]);
}

#[test]
fn what_cannot_be_delivered_at_the_end_was_not_released() {
    let mut world = spurious();
    world.tell(0, 1, What::Disassociated);
    world.wait(ms(2));
    world.data(4000);
    world.wait(ms(2));
    world.plane.cut(world.now, 0);
    world.tell(1, 2, What::Associated);
    world.plane.end(world.now);
    let counters = world.plane.controller().counters();
    assert_eq!((counters.released, counters.expired), (0, 1));
}

/// Three stations have left one after the other, and two segments find room.
fn three_away() -> World {
    let mut config = config(Policy::Spurious, paced());
    config.limits.total = Bytes(2 * COST);
    let mut world = World::with_station(config, ms(1));
    for station in OTHERS {
        tell(&mut world, station, 1, What::Associated);
    }
    for station in [OTHERS[0], STATION, OTHERS[1]] {
        tell(&mut world, station, 1, What::Disassociated);
        world.wait(ms(5));
    }
    world
}

#[test]
fn the_station_of_which_the_most_is_held_gives_way_and_then_who_is_away_the_longest() {
    let mut world = three_away();
    data_to(&mut world, STATION, 0);
    data_to(&mut world, OTHERS[0], 0);
    data_to(&mut world, OTHERS[1], 0);
    assert_eq!(evicted(&world), [OTHERS[0]], "not the one that has held something for the longest time");
    data_to(&mut world, OTHERS[1], 1000);
    assert_eq!(evicted(&world), [OTHERS[0], OTHERS[1]], "it cannot drive out others");
    assert_eq!(world.plane.controller().held(), Bytes(COST));
}

#[test]
fn a_station_of_which_nothing_is_held_has_nothing_to_give() {
    let mut world = three_away();
    data_to(&mut world, OTHERS[0], 0);
    data_to(&mut world, STATION, 0);
    tell(&mut world, OTHERS[0], 2, What::Associated);
    world.wait(ms(5));
    data_to(&mut world, OTHERS[1], 0);
    data_to(&mut world, OTHERS[1], 1000);
    assert_eq!(evicted(&world), [OTHERS[1]]);
}

#[test]
fn of_stations_that_left_together_the_newest_segment_s_own_comes_last() {
    let mut config = config(Policy::Spurious, paced());
    config.limits.total = Bytes(COST);
    let mut world = World::with_station(config, ms(1));
    tell(&mut world, OTHERS[0], 1, What::Associated);
    for station in [STATION, OTHERS[0]] {
        world.plane.announce(world.now, Notice { station, ap: ApId(0), epoch: 1, what: What::Disassociated });
    }
    world.wait(ms(5));
    data_to(&mut world, OTHERS[0], 0);
    data_to(&mut world, STATION, 0);
    data_to(&mut world, OTHERS[0], 1000);
    assert_eq!(evicted(&world), [OTHERS[0], STATION]);
}
