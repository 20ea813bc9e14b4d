//! A roam, rule by rule.

use handfast_assist::sdn::{ApId, Ignored, Mode, Notice, Policy, Record, Release, What};
use handfast_core::{BitRate, Bytes, Instant, SeqNum};
use handfast_net::SwitchSetup;
use handfast_sim::{ControlChannel, Departure};
use handfast_wire::tcp::{Flags, Segment};
use handfast_wire::{Body, Payload};

use crate::world::{AP, DATAPATH, STATION, World, config, ms, paced};

fn spurious() -> World {
    World::with_station(config(Policy::Spurious, paced()), ms(1))
}

#[test]
fn while_a_station_is_there_segments_pass_the_controller_by() {
    let mut world = spurious();
    let tags: Vec<u16> = (0..5).map(|_| world.data(4000)).collect();
    assert_eq!(world.tags_by(AP[0]), tags);
    assert_eq!(world.plane.controller().counters().packet_ins, 0);
}

#[test]
fn what_comes_while_it_is_away_is_held_once_and_released_in_order_at_the_new_access_point() {
    let mut world = spurious();
    world.tell(0, 1, What::Disassociated);
    world.wait(ms(2));
    let tags: Vec<u16> = (0..10).map(|_| world.data(4000)).collect();
    // The sender's retransmissions of the first: they are held already ([sdn] Algorithm 1, line 4).
    for _ in 0..3 {
        world.wait(ms(200));
        world.data_at(4000, 0);
    }
    world.wait(ms(5));
    assert!(world.left.is_empty(), "no acknowledgment is made up, and nothing leaks: {:?}", world.left);
    let counters = world.plane.controller().counters();
    assert_eq!((counters.held, counters.duplicates), (10, 3));
    assert!(world.plane.controller().held() > Bytes(10_000));

    let back = world.now;
    world.tell(1, 2, What::Associated);
    world.wait(ms(50));
    assert_eq!(world.tags_by(AP[1]), tags);
    // 1,040 bytes are 416 µs at 20 Mbit/s; the first leaves after the channel's 1 ms.
    let times: Vec<u64> = world.left.iter().map(|left| left.at.since(back).as_nanos() / 1000).collect();
    assert_eq!(times, [1000, 1416, 1832, 2248, 2664, 3080, 3496, 3912, 4328, 4744]);
    assert_eq!(world.plane.controller().held(), Bytes(0));
    let released =
        |record: &Record| matches!(record, Record::Released { segments: 10, bytes: Bytes(10_540), .. });
    assert!(world.records.iter().any(|(_, record)| released(record)), "{:?}", world.records);

    let ins = world.plane.controller().counters().packet_ins;
    let after = world.data(4000);
    assert_eq!(world.tags_by(AP[1]).last(), Some(&after));
    assert_eq!(
        world.plane.controller().counters().packet_ins,
        ins,
        "the path leads past the controller again"
    );
}

#[test]
fn a_newer_acknowledgment_takes_the_place_of_an_older_one() {
    let mut world = spurious();
    world.tell(0, 1, What::Disassociated);
    world.wait(ms(2));
    let acks = [1000, 2000, 3000]
        .map(|ack| world.segment(4000, Segment { ack: SeqNum(ack), flags: Flags::ACK, ..Segment::EMPTY }));
    world.wait(ms(2));
    let counters = world.plane.controller().counters();
    assert_eq!((counters.held, counters.acks_replaced, counters.duplicates), (1, 2, 0));
    world.tell(1, 2, What::Associated);
    world.wait(ms(10));
    assert_eq!(world.tags_by(AP[1]), acks[2..]);
}

#[test]
fn unpaced_all_leaves_at_once() {
    let mut world = World::with_station(config(Policy::Spurious, Release::Unpaced), ms(1));
    world.tell(0, 1, What::Disassociated);
    world.wait(ms(2));
    for _ in 0..10 {
        world.data(4000);
    }
    world.wait(ms(5));
    world.tell(1, 2, What::Associated);
    world.wait(ms(1));
    assert_eq!(world.tags_by(AP[1]).len(), 10);
}

#[test]
fn a_channel_takes_its_time_for_a_message_s_bytes() {
    // A packet-out of 1,054 bytes is 1,094: 24 before its actions, 16 for one, no padding. At 8.752 Mbit/s that is 1 ms.
    let config = config(Policy::Spurious, Release::Unpaced);
    let channel = ControlChannel { delay: ms(1), rate: Some(BitRate::from_bps(8_752_000)) };
    let mut world = World::by(config, channel, ms(3));
    world.tell(0, 1, What::Associated);
    world.wait(ms(10));
    world.tell(0, 1, What::Disassociated);
    world.wait(ms(10));
    let tags: Vec<u16> = (0..4).map(|_| world.data(4000)).collect();
    world.wait(ms(20));
    let back = world.now;
    world.tell(1, 2, What::Associated);
    world.wait(ms(20));
    assert_eq!(world.tags_by(AP[1]), tags);
    let times: Vec<u64> = world.left.iter().map(|left| left.at.since(back).as_nanos() / 1000).collect();
    let apart: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(apart, [1000, 1000, 1000]);
    // The entry that diverts goes first, then a segment and the delay.
    assert!((2000..2200).contains(&times[0]), "{times:?}");
}

#[test]
fn segments_that_come_during_the_release_queue_behind_what_is_held() {
    let mut world = spurious();
    world.tell(0, 1, What::Disassociated);
    world.wait(ms(2));
    let mut tags: Vec<u16> = (0..10).map(|_| world.data(4000)).collect();
    world.wait(ms(5));
    world.tell(1, 2, What::Associated);
    world.wait(ms(2));
    for _ in 0..5 {
        tags.push(world.data(4000));
        world.wait(ms(1));
    }
    assert!(world.tags_by(AP[1]).len() < 15);
    world.wait(ms(30));
    assert_eq!(world.tags_by(AP[1]), tags);
    assert_eq!(world.plane.controller().counters().late, 0);
}

#[test]
fn a_retransmission_captured_after_a_stale_route_fills_its_own_hole() {
    for timed in [false, true] {
        a_captured_retransmission(timed);
    }
}

fn a_captured_retransmission(timed: bool) {
    let mut world = spurious();
    world.timed = timed;
    let lost = world.data(4000);
    world.tell(0, 1, What::Disassociated);
    world.wait(ms(2));
    let held: Vec<u16> = (0..3).map(|_| world.data(4000)).collect();
    let again = world.data_at(4000, 0);
    world.wait(ms(5));
    world.tell(1, 2, What::Associated);
    world.wait(ms(20));
    assert_eq!(world.tags_by(AP[0]), [lost]);
    let [first, second, third] = held[..] else { panic!() };
    // With timestamps the receiver would take what is older than the retransmission for a segment of long ago.
    let order = if timed { [first, second, third, again] } else { [again, first, second, third] };
    assert_eq!(world.tags_by(AP[1]), order);
}

#[test]
fn under_bare_what_comes_after_the_end_is_dropped_and_the_path_follows() {
    let mut world = World::with_station(config(Policy::Bare, paced()), ms(1));
    world.tell(0, 1, What::Disassociated);
    world.wait(ms(2));
    world.data(4000);
    world.tell(1, 2, What::Associated);
    world.wait(ms(2));
    let after = world.data(4000);
    assert_eq!((world.tags_by(AP[0]), world.tags_by(AP[1])), (vec![], vec![after]));
    assert_eq!(world.plane.controller().counters().packet_ins, 0);
}

#[test]
fn a_station_that_stays_away_loses_what_is_held_and_its_rules() {
    let mut world = spurious();
    world.tell(0, 1, What::Disassociated);
    world.wait(ms(2));
    world.data(4000);
    world.wait(ms(10_100));
    let counters = world.plane.controller().counters();
    assert_eq!((counters.expired, world.plane.controller().held()), (1, Bytes(0)));
    world.data(4000);
    assert!(
        matches!(world.left.last().unwrap().departure, Departure::Normal(..)),
        "no entry of ours is left"
    );
}

#[test]
fn events_of_an_earlier_association_change_nothing() {
    let mut world = spurious();
    world.tell(1, 2, What::Associated);
    world.wait(ms(2));
    // The old access point reports the loss after the new one has reported the arrival.
    world.tell(0, 1, What::Disassociated);
    world.tell(0, 1, What::Associated);
    world.tell(1, 2, What::Associated);
    world.tell(7, 9, What::Associated);
    world.wait(ms(2));
    let tag = world.data(4000);
    assert_eq!(world.tags_by(AP[1]), [tag]);
    let ignored = world.records.iter().filter_map(|(_, record)| match record {
        Record::Ignored { why, .. } => Some(*why),
        _ => None,
    });
    let expected = [Ignored::Stale, Ignored::Stale, Ignored::Duplicate, Ignored::UnknownAccessPoint];
    assert_eq!(ignored.collect::<Vec<_>>(), expected);
    assert_eq!(world.plane.controller().counters().ignored_notices, 4);
}

#[test]
fn a_lost_association_is_learnt_from_its_end() {
    let mut world = spurious();
    world.tell(1, 2, What::Disassociated);
    world.wait(ms(2));
    let held = world.data(4000);
    world.wait(ms(2));
    world.tell(0, 3, What::Associated);
    world.wait(ms(10));
    assert_eq!(world.tags_by(AP[0]), [held]);
}

#[test]
fn a_queue_is_made_at_the_handshake_and_given_up_at_the_end() {
    let mut world = spurious();
    let syn = |flags| Segment { flags, ..Segment::EMPTY };
    let first = world.segment(4000, syn(Flags::SYN));
    let second = world.segment(4001, syn(Flags::SYN | Flags::ACK));
    world.wait(ms(2));
    assert_eq!(
        world.tags_by(AP[0]),
        [first, second],
        "a copy goes to the controller; the segment goes straight"
    );
    assert_eq!(world.plane.controller().connections(), 2);
    assert_eq!(world.plane.controller().counters().handshakes, 2);
    world.segment(4000, syn(Flags::RST));
    world.segment(4001, syn(Flags::FIN | Flags::ACK));
    world.wait(ms(2));
    assert_eq!(world.plane.controller().connections(), 0);
}

#[test]
fn of_connections_beyond_the_bound_the_oldest_idle_one_is_forgotten() {
    let mut config = config(Policy::Spurious, paced());
    config.limits.connections = 2;
    let mut world = World::with_station(config, ms(1));
    for port in 4000..4005 {
        world.segment(port, Segment { flags: Flags::SYN, ..Segment::EMPTY });
        world.wait(ms(3));
    }
    let counters = world.plane.controller().counters();
    assert_eq!((world.plane.controller().connections(), counters.forgotten), (2, 3));
    world.tell(0, 1, What::Disassociated);
    world.wait(ms(3));
    for (port, forgotten) in [(4004, 3), (4003, 3), (4000, 3)] {
        world.data(port);
        world.wait(ms(3));
        assert_eq!(world.plane.controller().counters().forgotten, forgotten, "{port}");
    }
    let counters = world.plane.controller().counters();
    assert_eq!((counters.held, counters.refused), (2, 1), "those that hold something stay");
}

#[test]
fn a_segment_of_a_known_connection_makes_no_other_one_forgotten() {
    let mut config = config(Policy::Spurious, paced());
    config.limits.connections = 2;
    let mut world = World::with_station(config, ms(1));
    for port in [4000, 4001] {
        world.segment(port, Segment { flags: Flags::SYN, ..Segment::EMPTY });
        world.wait(ms(3));
    }
    world.tell(0, 1, What::Disassociated);
    world.wait(ms(3));
    for (port, held, forgotten) in [(4001, 1, 0), (4002, 2, 1)] {
        world.data(port);
        world.wait(ms(3));
        let counters = world.plane.controller().counters();
        assert_eq!((counters.held, counters.forgotten), (held, forgotten), "{port}");
    }
}

#[test]
fn what_exceeds_a_bound_is_not_held() {
    let mut config = config(Policy::Spurious, paced());
    // A frame of 1,054 bytes counts 1,182.
    config.limits.per_connection = Bytes(2 * 1182);
    config.limits.per_station = Bytes(3 * 1182);
    let mut world = World::with_station(config, ms(1));
    world.tell(0, 1, What::Disassociated);
    world.wait(ms(2));
    let tags: Vec<u16> = [4000, 4000, 4000, 4001, 4001].map(|port| world.data(port)).to_vec();
    world.wait(ms(2));
    let counters = world.plane.controller().counters();
    assert_eq!((counters.held, counters.refused), (3, 2));
    world.tell(1, 2, What::Associated);
    world.wait(ms(20));
    assert_eq!(world.tags_by(AP[1]), [tags[0], tags[3], tags[1]], "connections take turns");
}

#[test]
fn other_protocols_are_dropped_while_it_is_away_and_pass_during_the_release() {
    let mut world = spurious();
    let icmp = || Body::Other { protocol: 1, payload: Payload::Bytes(vec![8, 0, 0, 0, 0, 8, 0, 0].into()) };
    world.tell(0, 1, What::Disassociated);
    world.wait(ms(2));
    world.packet(icmp());
    for _ in 0..20 {
        world.data(4000);
    }
    world.wait(ms(2));
    world.tell(1, 2, What::Associated);
    world.wait(ms(2));
    let passes = world.packet(icmp());
    world.wait(ms(20));
    let counters = world.plane.controller().counters();
    assert_eq!((counters.dropped_other[3], counters.passed_other[3]), (1, 1));
    assert!(world.tags_by(AP[1]).contains(&passes));
}

#[test]
fn an_observer_touches_nothing_and_says_what_it_would_do() {
    let mut config = config(Policy::Spurious, paced());
    config.mode = Mode::Observe;
    let mut world = World::with_station(config, ms(1));
    world.tell(0, 1, What::Disassociated);
    world.wait(ms(5));
    world.tell(1, 2, What::Associated);
    world.wait(ms(300));
    assert_eq!(world.plane.switch(0).counters().errors, 0);
    let entries = world.plane.switch(0).flow_count();
    assert_eq!(entries, 1, "the operator's");
    assert!(world.records.iter().any(|(_, record)| matches!(record, Record::Would { .. })));
}

#[test]
fn the_path_is_renewed_before_its_timeout() {
    let mut world = spurious();
    world.wait(ms(200_000));
    let tag = world.data(4000);
    assert_eq!(world.tags_by(AP[0]), [tag]);
}

#[test]
fn a_switch_without_a_part_in_the_network_is_left_alone() {
    let setup = SwitchSetup::new(DATAPATH + 1, []);
    let config = config(Policy::Spurious, paced());
    let mut plane = handfast_sim::ControlPlane::new(Instant::ZERO, config, [setup], ms(0));
    plane.on_timer(Instant::ZERO);
    let unknown = Record::SwitchUnknown { datapath_id: DATAPATH + 1 };
    assert!(plane.records().iter().any(|(_, record)| *record == unknown));
}

#[test]
fn the_station_is_associated_again_where_it_was() {
    let mut world = spurious();
    world.tell(0, 1, What::Disassociated);
    world.wait(ms(2));
    let held = world.data(4000);
    world.tell(0, 2, What::Associated);
    world.wait(ms(10));
    assert_eq!(world.tags_by(AP[0]), [held]);
    let associated = Record::Associated { station: STATION.into(), ap: ApId(0), epoch: 2 };
    assert!(world.records.iter().any(|(_, record)| *record == associated));
}

#[test]
fn of_stations_that_come_back_together_each_waits_for_its_own_barrier() {
    let mut world = spurious();
    let stations = [STATION, [2, 0, 10, 0, 0, 6], [2, 0, 10, 0, 0, 7]];
    for (ap, epoch, what) in [(0, 1, What::Associated), (0, 1, What::Disassociated), (1, 2, What::Associated)]
    {
        for station in stations {
            world.plane.announce(world.now, Notice { station, ap: ApId(ap), epoch, what });
        }
        world.wait(ms(20));
    }
    let released = world.records.iter().filter_map(|(_, record)| match record {
        Record::Released { station, .. } => Some(station.address),
        _ => None,
    });
    assert_eq!(released.collect::<Vec<_>>(), stations);
}

/// Acknowledgments clock new segments at the very rate at which the hold is emptied: at its double the release ends.
#[test]
fn segments_that_came_since_the_return_leave_at_twice_the_pace() {
    let mut world = spurious();
    world.tell(0, 1, What::Disassociated);
    world.wait(ms(2));
    for _ in 0..4 {
        world.data(4000);
    }
    world.wait(ms(2));
    world.tell(1, 2, What::Associated);
    for _ in 0..4 {
        world.data(4000);
    }
    world.wait(ms(100));
    let left: Vec<Instant> =
        world.left.iter().filter(|left| left.by() == Some(AP[1])).map(|left| left.at).collect();
    let apart: Vec<u64> = left.windows(2).map(|two| two[1].since(two[0]).as_nanos() / 1000).collect();
    // 1,040 bytes at 20 Mbit/s. The new ones come to the controller one millisecond later.
    assert_eq!(apart, [416, 416, 416, 416, 208, 208, 208]);
}

/// The answer to a barrier is lost with its connection: the release asks again, and does not wait for its expiry.
#[test]
fn a_barrier_that_is_lost_with_its_connection_is_asked_again() {
    let mut world = spurious();
    world.tell(0, 1, What::Disassociated);
    world.wait(ms(2));
    world.data(4000);
    world.wait(ms(2));
    world.tell(1, 2, What::Associated);
    // The barrier is on its way, one millisecond in each direction.
    world.wait(ms(1));
    world.plane.connect(world.now, 0);
    world.wait(ms(50));
    let released = |(_, record): &(Instant, Record)| matches!(record, Record::Released { .. });
    assert!(world.records.iter().any(released), "{:?}", world.records);
    assert_eq!(world.plane.controller().counters().unsettled, 0);
}

/// Segments do not stop to come: after `settle` the path is opened all the same, and that is counted.
#[test]
fn a_path_that_is_opened_amid_segments_is_counted() {
    let mut world = spurious();
    world.tell(0, 1, What::Disassociated);
    world.wait(ms(2));
    world.tell(1, 2, What::Associated);
    let over =
        |world: &World| world.records.iter().any(|(_, record)| matches!(record, Record::Released { .. }));
    let since = world.now;
    while !over(&world) {
        world.data(4000);
        world.wait(ms(1));
        assert!(world.now < since + ms(300), "the release does not end");
    }
    assert!(world.now > since + ms(190), "it waits for a quiet moment");
    assert_eq!(world.plane.controller().counters().unsettled, 1);
}
