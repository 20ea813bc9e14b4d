//! The controller as an overlay: the switch's own rules lead, and entries divert TCP only while a station is away or its
//! release runs.

use handfast_assist::sdn::{Config, NotTcp, Policy, Record, Steering, TableUse, Treatment, Unhelped, What};
use handfast_sim::Departure;
use handfast_wire::openflow::PortNo;
use handfast_wire::tcp::{Flags, Segment};
use handfast_wire::{Body, Ethernet, Packet, Payload};

use crate::world::{AP, DATAPATH, STATION, WIRED, World, config, ms, paced};

fn overlay() -> Config {
    Config { steering: Steering::Overlay, ..config(Policy::Spurious, paced()) }
}

/// What left the switch as its own rules say, by tag, with the port where it had come in.
fn normal(world: &World) -> Vec<(PortNo, u16)> {
    let went = |left: &crate::world::Left| match &left.departure {
        Departure::Normal(in_port, packet) => Some((*in_port, packet.identification)),
        _ => None,
    };
    world.left.iter().filter_map(went).collect()
}

fn entries(world: &World) -> usize {
    // One is the operator's.
    world.plane.switch(0).flow_count() - 1
}

/// The station sends a segment from an access point's port.
fn says(world: &mut World, port: PortNo) {
    let [src, dst] = ["10.0.0.5", "10.0.0.1"].map(|address| address.parse().unwrap());
    let segment = Segment { flags: Flags::ACK, ..Segment::EMPTY };
    let ethernet = Some(Ethernet { dst: [2, 0, 10, 0, 0, 1], src: STATION, vlan: None });
    let packet = Packet { ethernet, identification: 999, ..Packet::tcp(src, dst, segment) };
    world.plane.on_packet(world.now, 0, port, packet);
    world.step();
}

#[test]
fn a_present_station_has_no_entry() {
    let mut world = World::with_station(overlay(), ms(1));
    assert_eq!(entries(&world), 0);
    let tag = world.data(4000);
    assert_eq!(normal(&world), [(WIRED, tag)]);
    world.tell(1, 2, What::Associated);
    world.wait(ms(10));
    assert_eq!(entries(&world), 0, "nor where it has moved without leaving");
}

#[test]
fn what_is_held_is_handed_back_where_it_came_in_and_in_order() {
    let mut world = World::with_station(overlay(), ms(1));
    world.tell(0, 1, What::Disassociated);
    world.wait(ms(10));
    assert_eq!(entries(&world), 4, "TCP over both, who asks for it, what it says");
    let tags: Vec<u16> = (0..5).map(|_| world.data(4000)).collect();
    world.wait(ms(500));
    assert_eq!(normal(&world), []);
    world.tell(1, 2, What::Associated);
    world.wait(ms(500));
    let back: Vec<_> = tags.iter().map(|&tag| (WIRED, tag)).collect();
    assert_eq!(normal(&world), back);
    assert_eq!(entries(&world), 0, "nothing stays");
    assert!(world.records.iter().any(|(_, record)| matches!(record, Record::Released { segments: 5, .. })));
}

#[test]
fn what_is_no_tcp_passes_unless_it_is_to_be_held_or_dropped() {
    for (udp, passes, later) in
        [(Treatment::Pass, true, false), (Treatment::Hold, false, true), (Treatment::Drop, false, false)]
    {
        let not_tcp = NotTcp { udp, ..NotTcp::PASS };
        let mut world = World::with_station(Config { not_tcp, ..overlay() }, ms(1));
        world.tell(0, 1, What::Disassociated);
        world.wait(ms(10));
        let tag = world.datagram(100);
        world.wait(ms(100));
        assert_eq!(normal(&world).contains(&(WIRED, tag)), passes, "{udp:?}");
        world.left.clear();
        world.tell(1, 2, What::Associated);
        world.wait(ms(500));
        assert_eq!(normal(&world).contains(&(WIRED, tag)), later, "{udp:?}");
    }
}

#[test]
fn each_kind_of_what_is_no_tcp_is_treated_as_it_is_told() {
    // By its protocol and its ports: voice, QUIC, a ping, SCTP.
    let kinds = [(17, [5004, 5004]), (17, [443, 50_000]), (1, [0x0800, 0]), (132, [80, 80])];
    let treatments = [Treatment::Pass, Treatment::Hold, Treatment::Drop];
    for (kind, treatment) in (0..4).flat_map(|kind| treatments.map(|treatment| (kind, treatment))) {
        let of = |other| if kind == other { treatment } else { Treatment::Pass };
        let not_tcp = NotTcp { udp: of(0), quic: of(1), icmp: of(2), other: of(3) };
        let mut world = World::with_station(Config { not_tcp, ..overlay() }, ms(1));
        world.tell(0, 1, What::Disassociated);
        world.wait(ms(10));
        let say = |world: &mut World| {
            kinds.map(|(protocol, ports)| {
                let payload =
                    [&ports.map(u16::to_be_bytes).concat()[..], &[0, 108, 0, 0], &[7; 100]].concat();
                world.packet(Body::Other { protocol, payload: Payload::Bytes(payload.into()) })
            })
        };
        let away = say(&mut world);
        world.wait(ms(100));
        let went = |world: &World, tags: [u16; 4]| tags.map(|tag| normal(world).contains(&(WIRED, tag)));
        let others = [0, 1, 2, 3].map(|other| other != kind || treatment == Treatment::Pass);
        assert_eq!(went(&world, away), others, "{kind} {treatment:?}");
        world.left.clear();
        world.tell(1, 2, What::Associated);
        world.wait(ms(1));
        say(&mut world);
        world.wait(ms(500));
        let held = [0, 1, 2, 3].map(|other| other == kind && treatment == Treatment::Hold);
        assert_eq!(went(&world, away), held, "{kind} {treatment:?}");
        let counters = world.plane.controller().counters();
        assert_eq!(counters.datagrams_held > 0, treatment == Treatment::Hold);
        // What the switch drops it drops until the release has run.
        let least = if treatment == Treatment::Drop { 3 } else { 4 };
        assert!((least..=5).contains(&normal(&world).len()));
    }
}

#[test]
fn what_is_no_tcp_and_was_held_for_as_long_as_it_may_be_goes_on() {
    let not_tcp = NotTcp { udp: Treatment::Hold, ..NotTcp::PASS };
    let mut world = World::with_station(Config { not_tcp, ..overlay() }, ms(1));
    world.tell(0, 1, What::Disassociated);
    world.wait(ms(10));
    let first = world.datagram(100);
    world.wait(ms(500));
    let second = world.datagram(100);
    world.wait(ms(490));
    assert_eq!(normal(&world), []);
    world.wait(ms(20));
    assert_eq!(normal(&world), [(WIRED, first)], "whoever is there hears it, and says something");
    world.tell(1, 2, What::Associated);
    world.wait(ms(100));
    assert_eq!(normal(&world), [(WIRED, first), (WIRED, second)]);
    let counters = world.plane.controller().counters();
    assert_eq!((counters.datagrams_expired, counters.datagrams_released), (1, 1));
}

#[test]
fn who_holds_nothing_makes_no_entry_and_announces_all_the_same() {
    let mut world = World::with_station(Config { policy: Policy::Bare, ..overlay() }, ms(1));
    let announced = |world: &World| world.plane.switch(0).counters().packet_outs;
    world.tell(0, 1, What::Disassociated);
    world.wait(ms(2_000));
    assert_eq!(entries(&world), 0);
    let before = announced(&world) + world.plane.switch(0).counters().unparsable;
    world.tell(1, 2, What::Associated);
    world.wait(ms(100));
    assert_eq!(entries(&world), 0);
    assert_eq!(announced(&world) + world.plane.switch(0).counters().unparsable, before + 1);
}

#[test]
fn the_use_of_a_table_is_asked_within_a_second_of_orders() {
    let used = |world: &World| world.plane.controller().table_use(DATAPATH);
    let mut world = World::with_station(overlay(), ms(1));
    assert_eq!(used(&world), TableUse { entries: Some(1), most: Some(1 << 16) });
    world.wait(ms(2_000));
    world.tell(0, 1, What::Disassociated);
    world.wait(ms(10));
    assert_eq!(used(&world).entries, Some(5), "it was asked longer ago than that");
    world.tell(1, 2, What::Associated);
    world.wait(ms(300));
    assert_eq!((entries(&world), used(&world).entries), (0, Some(5)), "it was asked just now");
    world.wait(ms(1_000));
    assert_eq!(used(&world).entries, Some(1));
}

#[test]
fn entries_live_two_seconds_without_their_controller_and_are_renewed_with_it() {
    let mut world = World::with_station(overlay(), ms(1));
    world.tell(0, 1, What::Disassociated);
    world.wait(ms(5_500));
    assert_eq!(entries(&world), 4, "renewed");
    world.plane.cut(world.now, 0);
    world.wait(ms(1_000));
    assert!(entries(&world) > 0);
    world.wait(ms(1_001));
    assert_eq!(entries(&world), 0);
}

#[test]
fn a_station_that_is_heard_was_not_away() {
    let mut world = World::with_station(overlay(), ms(1));
    world.tell(0, 1, What::Disassociated);
    world.wait(ms(10));
    let tag = world.data(4000);
    says(&mut world, AP[0]);
    world.wait(ms(100));
    assert!(normal(&world).contains(&(AP[0], 999)), "what it says goes on");
    assert!(!normal(&world).contains(&(WIRED, tag)), "it may have said that before it left");
    world.wait(ms(200));
    says(&mut world, AP[0]);
    world.wait(ms(100));
    assert!(normal(&world).contains(&(WIRED, tag)));
    assert_eq!(entries(&world), 0);
    assert_eq!(world.plane.controller().counters().false_alarms, 1);
    // Its next association counts all the same.
    world.tell(1, 2, What::Associated);
    assert_eq!(world.plane.controller().counters().ignored_notices, 0);
}

#[test]
fn repetitions_of_what_is_held_go_on() {
    let mut world = World::with_station(overlay(), ms(1));
    world.tell(0, 1, What::Disassociated);
    world.wait(ms(10));
    let first = world.data_at(4000, 0);
    let again = world.data_at(4000, 0);
    world.wait(ms(10));
    assert_eq!(normal(&world), [(WIRED, again)]);
    world.tell(0, 2, What::Associated);
    world.wait(ms(100));
    assert_eq!(normal(&world), [(WIRED, again), (WIRED, first)]);
}

#[test]
fn an_access_point_at_a_port_that_is_not_there_is_not_helped() {
    let mut config = overlay();
    config.fabric.access_points[0].port = PortNo(9);
    let mut world = World::with_station(config, ms(1));
    assert!(world.records.iter().any(|(_, record)| matches!(record, Record::NoPort { .. })));
    world.tell(0, 1, What::Disassociated);
    world.wait(ms(10));
    assert_eq!(entries(&world), 0);
    let tag = world.data(4000);
    assert_eq!(normal(&world), [(WIRED, tag)]);
    let unhelped =
        |(_, record): &(_, Record)| matches!(record, Record::Unhelped { why: Unhelped::NoPort, .. });
    assert!(world.records.iter().any(unhelped));
}

#[test]
fn no_more_than_so_many_are_helped_at_once() {
    let mut config = overlay();
    config.limits.away = 0;
    let mut world = World::with_station(config, ms(1));
    world.tell(0, 1, What::Disassociated);
    world.wait(ms(10));
    assert_eq!(entries(&world), 0);
    assert_eq!(world.plane.controller().counters().unhelped, 1);
    let tag = world.packet(Body::Tcp(Segment { src_port: 80, dst_port: 1, ..Segment::EMPTY }));
    assert_eq!(normal(&world), [(WIRED, tag)]);
}

#[test]
fn equal_numbers_with_other_octets_are_another_segment() {
    let mut world = World::with_station(overlay(), ms(1));
    world.tell(0, 1, What::Disassociated);
    world.wait(ms(10));
    for content in [1, 2, 1, 2] {
        let payload = Payload::Bytes(vec![content; 1000].into());
        world.segment(4000, Segment { flags: Flags::ACK, payload, ..Segment::EMPTY });
        world.wait(ms(1));
    }
    let counters = world.plane.controller().counters();
    // The third looks like a tail loss probe: the newest once more.
    assert_eq!((counters.held, counters.duplicates), (3, 1));
}
