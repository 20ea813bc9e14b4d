//! One address in two VLANs: two stations, of which neither is told of what happens to the other.

use handfast_assist::sdn::{ApId, Config, Notice, Policy, Record, Steering, Unhelped, What};
use handfast_sim::Departure;
use handfast_wire::tcp::{Flags, Segment};
use handfast_wire::{Ethernet, Packet, Vlan};

use crate::world::{AP, STATION, WIRED, World, config, ms, paced};

/// The first access point has VLAN 10, the second `other`.
fn world(other: Option<u16>) -> World {
    let mut config = Config { steering: Steering::Overlay, ..config(Policy::Spurious, paced()) };
    config.fabric.access_points[0].vlan = Some(10);
    config.fabric.access_points[1].vlan = other;
    World::new(config, ms(1))
}

fn tell(world: &mut World, ap: u32, epoch: u64, what: What) {
    let notice = Notice { station: STATION, ap: ApId(ap), epoch, what };
    world.plane.announce(world.now, notice);
    world.wait(ms(10));
}

/// A segment for the address; whether it went on at once.
fn passes(world: &mut World, vlan: Option<u16>) -> bool {
    let [src, dst] = ["10.0.0.1", "10.0.0.5"].map(|address| address.parse().unwrap());
    let segment = Segment { flags: Flags::ACK, ..Segment::EMPTY };
    let vlan = vlan.map(|id| Vlan { priority: 0, drop_eligible: false, id });
    let ethernet = Some(Ethernet { dst: STATION, src: [2, 0, 10, 0, 0, 1], vlan });
    let packet = Packet { ethernet, identification: 7, ..Packet::tcp(src, dst, segment) };
    world.plane.on_packet(world.now, 0, WIRED, packet);
    world.left.clear();
    world.wait(ms(20));
    let normal = |left: &crate::world::Left| matches!(&left.departure, Departure::Normal(_, packet) if packet.identification == 7);
    world.left.iter().any(normal)
}

#[test]
fn a_clone_in_another_vlan_neither_moves_nor_ends_a_station() {
    let mut world = world(Some(20));
    tell(&mut world, 0, 1, What::Associated);
    tell(&mut world, 1, 5, What::Associated);
    tell(&mut world, 1, 5, What::Disassociated);
    assert!(passes(&mut world, Some(10)), "the one in VLAN 10 is there");
    assert!(!passes(&mut world, Some(20)));
    assert!(passes(&mut world, None), "it may be for either");
    // The numbers of one say nothing of the other's.
    tell(&mut world, 0, 2, What::Disassociated);
    assert!(!passes(&mut world, Some(10)));
    assert_eq!(world.plane.controller().counters().ignored_notices, 0);
    tell(&mut world, 1, 6, What::Associated);
    world.wait(ms(300));
    assert!(passes(&mut world, Some(20)) && !passes(&mut world, Some(10)));
}

#[test]
fn what_has_no_tag_is_held_for_the_only_one_and_let_go_when_there_is_another() {
    let mut world = world(Some(20));
    tell(&mut world, 0, 1, What::Associated);
    tell(&mut world, 0, 1, What::Disassociated);
    assert!(!passes(&mut world, None) && !passes(&mut world, Some(10)) && passes(&mut world, Some(20)));
    let alone = world.plane.switch(0).flow_count();
    tell(&mut world, 1, 1, What::Associated);
    assert!(passes(&mut world, None) && !passes(&mut world, Some(10)));
    assert_eq!(world.plane.switch(0).flow_count(), alone - 3, "what has no tag");
    // It is alone again when the other is forgotten.
    tell(&mut world, 1, 1, What::Disassociated);
    world.wait(ms(5_000));
    tell(&mut world, 0, 2, What::Associated);
    world.wait(ms(6_000));
    tell(&mut world, 0, 2, What::Disassociated);
    assert!(!passes(&mut world, None));
}

#[test]
fn without_a_vlan_the_one_of_two_is_not_helped() {
    let mut world = world(None);
    tell(&mut world, 1, 1, What::Associated);
    tell(&mut world, 1, 1, What::Disassociated);
    assert!(!passes(&mut world, None));
    tell(&mut world, 0, 1, What::Associated);
    let unhelped =
        |(_, record): &(_, Record)| matches!(record, Record::Unhelped { why: Unhelped::Ambiguous, .. });
    assert!(world.records.iter().any(unhelped));
    assert!(passes(&mut world, None) && passes(&mut world, Some(10)));
    tell(&mut world, 1, 2, What::Associated);
    tell(&mut world, 1, 2, What::Disassociated);
    assert!(passes(&mut world, None), "nor the next time");
    assert_eq!(world.records.iter().filter(|record| unhelped(record)).count(), 2);
}

#[test]
fn who_is_heard_is_who_has_the_access_points_vlan() {
    let mut world = world(Some(20));
    for ap in [0, 1] {
        tell(&mut world, ap, 1, What::Associated);
        tell(&mut world, ap, 1, What::Disassociated);
    }
    world.wait(ms(300));
    let [src, dst] = ["10.0.0.5", "10.0.0.1"].map(|address| address.parse().unwrap());
    let ethernet = Some(Ethernet { dst: [2, 0, 10, 0, 0, 1], src: STATION, vlan: None });
    let said = Packet { ethernet, ..Packet::tcp(src, dst, Segment { flags: Flags::ACK, ..Segment::EMPTY }) };
    world.plane.on_packet(world.now, 0, AP[1], said);
    world.wait(ms(300));
    assert_eq!(world.plane.controller().counters().false_alarms, 1);
    assert!(passes(&mut world, Some(20)) && !passes(&mut world, Some(10)));
}
