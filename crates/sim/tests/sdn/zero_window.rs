//! The zero-window scheme ([sdn] §3.1), rule by rule.

use handfast_assist::sdn::{Counters, Policy, What};
use handfast_core::{Bytes, SeqNum};
use handfast_sim::Departure;
use handfast_wire::Body;
use handfast_wire::tcp::{Flags, Segment, Timestamps};

use crate::world::{AP, World, config, ms, paced};

const PORT: u16 = 4000;

/// A station with a connection that has got its handshake and `segments` segments of 1,000 bytes.
fn world(segments: usize) -> World {
    let mut world = World::with_station(config(Policy::ZeroWindow, paced()), ms(1));
    open(&mut world);
    for _ in 0..segments {
        world.data(PORT);
    }
    world
}

fn open(world: &mut World) {
    let syn = Segment { seq: SeqNum(u32::MAX), flags: Flags::SYN, ..Segment::EMPTY };
    world.segment(PORT, syn);
    world.wait(ms(5));
}

/// It leaves, and its access point has delivered all but `missing` of what it got.
fn leave(world: &mut World, ap: u32, epoch: u64, missing: u64) {
    let delivered = world.tags_by(AP[ap as usize]).len() as u64 - missing;
    world.tell(ap, epoch, What::Delivered(delivered));
    world.tell(ap, epoch, What::Disassociated);
    world.left.clear();
}

/// The acknowledgments that went to the sender, with their windows.
fn answers(world: &World) -> Vec<(u32, u16)> {
    let answer = |left: &crate::world::Left| match (&left.departure, &left.packet().body) {
        (Departure::Normal(..), Body::Tcp(segment)) => Some((segment.ack.0, segment.window)),
        _ => None,
    };
    world.left.iter().filter_map(answer).collect()
}

fn counters(world: &World) -> Counters {
    world.plane.controller().counters().clone()
}

#[test]
fn each_segment_for_a_station_that_is_away_is_answered_with_a_window_of_zero() {
    let mut world = world(5);
    leave(&mut world, 0, 1, 0);
    world.wait(ms(5));
    let held: Vec<u16> = (0..3).map(|_| world.data(PORT)).collect();
    world.wait(ms(5));
    assert_eq!(answers(&world), [(6000, 0), (7000, 0), (8000, 0)]);
    assert!(world.plane.controller().held() > Bytes(3000));

    world.tell(1, 2, What::Associated);
    world.wait(ms(20));
    assert_eq!(world.tags_by(AP[1]), held, "it gets itself what was acknowledged in its name");
    assert_eq!(answers(&world).len(), 3, "now it answers itself");
    assert_eq!(counters(&world).given_up, 0);
}

#[test]
fn what_comes_before_the_counters_do_is_held_and_answered_then() {
    let mut world = world(5);
    leave(&mut world, 0, 1, 0);
    // The order to divert takes 1 ms, the question follows it, and so does the answer.
    world.wait(ms(1));
    world.data(PORT);
    assert_eq!(answers(&world), []);
    world.wait(ms(5));
    assert_eq!(answers(&world), [(6000, 0)]);
    assert_eq!(counters(&world).held, 1);
}

#[test]
fn an_answer_carries_the_newest_time_stamp_that_the_sender_has_seen() {
    let mut world = world(0);
    leave(&mut world, 0, 1, 0);
    world.wait(ms(5));
    let timestamps = Some(Timestamps { val: 70, ecr: 50 });
    let payload = handfast_wire::Payload::Bytes(vec![1; 100].into());
    let segment =
        Segment { seq: SeqNum(0), ack: SeqNum(9), flags: Flags::ACK, timestamps, payload, ..Segment::EMPTY };
    world.segment(PORT, segment);
    world.wait(ms(5));
    let [left] = &world.left[..] else { panic!("{:?}", world.left) };
    let Body::Tcp(answer) = &left.packet().body else { panic!() };
    assert_eq!((answer.seq, answer.timestamps), (SeqNum(9), Some(Timestamps { val: 50, ecr: 70 })));
}

#[test]
fn a_segment_that_took_the_stale_path_ends_the_help() {
    let mut world = world(5);
    leave(&mut world, 0, 1, 1);
    world.wait(ms(1));
    world.data(PORT);
    world.wait(ms(5));
    world.data(PORT);
    world.wait(ms(5));
    assert!(world.left.is_empty(), "neither answered nor kept: {:?}", world.left);
    assert_eq!(world.plane.controller().held(), Bytes(0));
    assert_eq!((counters(&world).given_up, counters(&world).unaccounted), (1, 2));

    // As without help: the path follows it at once, and what is new goes there.
    world.tell(1, 2, What::Associated);
    world.wait(ms(10));
    let straight = world.data(PORT);
    assert_eq!(world.tags_by(AP[1]), [straight]);
}

#[test]
fn without_the_access_points_word_nothing_is_answered() {
    let mut world = world(5);
    world.tell(0, 1, What::Disassociated);
    world.left.clear();
    world.wait(ms(5));
    world.data(PORT);
    world.wait(ms(5));
    assert_eq!((answers(&world), counters(&world).unaccounted), (vec![], 1));
}

#[test]
fn a_hole_ends_the_help_but_what_was_answered_is_handed_over() {
    let mut world = world(5);
    leave(&mut world, 0, 1, 0);
    world.wait(ms(5));
    let first = world.data(PORT);
    world.data_at(PORT, 7000);
    world.data_at(PORT, 6000);
    world.wait(ms(5));
    assert_eq!(answers(&world), [(6000, 0)]);
    assert_eq!((counters(&world).given_up, counters(&world).unaccounted), (1, 2));
    world.tell(1, 2, What::Associated);
    world.wait(ms(10));
    assert_eq!(world.tags_by(AP[1]), [first]);
}

#[test]
fn a_repetition_is_answered_again_and_held_once() {
    let mut world = world(5);
    leave(&mut world, 0, 1, 0);
    world.wait(ms(5));
    for seq in [5000, 5000, 6000, 5000] {
        world.data_at(PORT, seq);
    }
    world.wait(ms(5));
    assert_eq!(answers(&world), [(6000, 0), (6000, 0), (7000, 0), (7000, 0)]);
    assert_eq!(counters(&world).held, 2);
}

#[test]
fn a_connection_that_opens_meanwhile_is_held_and_counted_from_its_beginning() {
    let mut world = World::with_station(config(Policy::ZeroWindow, paced()), ms(1));
    world.tell(0, 1, What::Delivered(0));
    world.tell(0, 1, What::Disassociated);
    world.wait(ms(5));
    open(&mut world);
    assert!(world.left.is_empty(), "a SYN is not answered: {:?}", world.left);
    world.tell(1, 2, What::Associated);
    world.wait(ms(10));
    for _ in 0..4 {
        world.data(PORT);
    }
    assert_eq!(world.tags_by(AP[1]).len(), 5);
    leave(&mut world, 1, 2, 0);
    world.wait(ms(5));
    world.data(PORT);
    world.wait(ms(5));
    assert_eq!(answers(&world), [(5000, 0)]);
}

#[test]
fn absences_follow_one_another_and_each_is_accounted_for() {
    let mut world = world(2);
    for epoch in 1..6 {
        let [from, to] = [(epoch as u32 - 1) % 2, epoch as u32 % 2];
        leave(&mut world, from, epoch, 0);
        world.wait(ms(5));
        world.data(PORT);
        world.data(PORT);
        world.wait(ms(100));
        let acked = world.next_seq[&PORT];
        assert_eq!(answers(&world), [(acked - 1000, 0), (acked, 0)], "absence {epoch}");
        world.left.clear();
        world.tell(to, epoch + 1, What::Associated);
        world.wait(ms(20));
        world.data(PORT);
        assert_eq!(world.tags_by(AP[to as usize]).len(), 3, "absence {epoch}");
    }
}

#[test]
fn a_connection_that_is_longer_than_its_rules_last_is_still_counted_as_one() {
    let mut world = world(3);
    world.wait(ms(100_000));
    world.data(PORT);
    leave(&mut world, 0, 1, 0);
    world.wait(ms(5));
    world.data(PORT);
    world.wait(ms(5));
    assert_eq!(answers(&world), [(5000, 0)]);
}

#[test]
fn a_roam_without_a_departure_leaves_nothing_that_leads_to_the_old_place() {
    let mut world = world(3);
    world.tell(1, 2, What::Associated);
    world.wait(ms(5));
    world.left.clear();
    let tag = world.data(PORT);
    assert_eq!(world.tags_by(AP[1]), [tag]);
}

#[test]
fn a_switch_that_is_gone_has_no_counters() {
    let mut world = world(3);
    leave(&mut world, 0, 1, 0);
    world.plane.connect(world.now, 0);
    world.wait(ms(20));
    world.data(PORT);
    world.wait(ms(5));
    assert_eq!((answers(&world), counters(&world).unaccounted), (vec![], 1));
    world.tell(1, 2, What::Associated);
    world.wait(ms(20));
    world.left.clear();
    let tag = world.data(PORT);
    assert_eq!(world.tags_by(AP[1]), [tag]);
}

#[test]
fn an_ended_connection_is_counted_no_more() {
    let entries = |world: &World| world.plane.switch(0).flow_count();
    let mut world = world(3);
    let before = entries(&world);
    let fin = Segment { seq: SeqNum(3000), flags: Flags::FIN | Flags::ACK, ..Segment::EMPTY };
    world.segment(PORT, fin);
    world.wait(ms(5));
    assert_eq!(entries(&world), before - 1);
}
