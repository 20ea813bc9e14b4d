//! What fails, and what becomes of the traffic then.

use handfast_assist::sdn::{Policy, Record, What};
use handfast_core::Bytes;
use handfast_sim::Departure;

use crate::world::{AP, World, config, ms, paced};

fn spurious() -> World {
    World::with_station(config(Policy::Spurious, paced()), ms(1))
}

#[test]
fn a_controller_that_is_started_again_during_the_outage_holds_what_comes_from_then_on() {
    let mut world = spurious();
    world.tell(0, 1, What::Disassociated);
    world.wait(ms(2));
    world.data(4000);
    world.wait(ms(100));
    world.plane.restart(world.now, config(Policy::Spurious, paced()));
    world.wait(ms(10));
    // The access point says again what it knows of its stations, as to every controller that is new.
    world.tell(0, 1, What::Disassociated);
    world.wait(ms(5));
    let again = world.data_at(4000, 0);
    world.wait(ms(5));
    world.tell(1, 2, What::Associated);
    world.wait(ms(20));
    assert_eq!(world.tags_by(AP[1]), [again], "the first was held by the one that died");
    let after = world.data(4000);
    assert_eq!(world.tags_by(AP[1]), [again, after]);
}

#[test]
fn without_a_controller_the_divert_ends_by_itself() {
    let mut world = spurious();
    world.tell(0, 1, What::Disassociated);
    world.wait(ms(2));
    world.plane.cut(world.now, 0);
    world.wait(ms(5_000));
    world.data(4000);
    assert!(world.tags_by(AP[0]).is_empty(), "it goes to a controller that is not there");
    world.wait(ms(6_500));
    let open = world.data(4000);
    let last = world.left.last().unwrap();
    assert!(matches!(last.departure, Departure::Normal(..)), "not the way to where it was");
    assert_eq!(last.tag(), open);
    assert_eq!(world.plane.switch(0).flow_count(), 1, "only the operator's entry is left");
}

#[test]
fn without_a_controller_the_paths_lead_until_their_timeout() {
    let mut world = spurious();
    world.plane.cut(world.now, 0);
    world.wait(ms(55_000));
    let led = world.data(4000);
    assert_eq!(world.tags_by(AP[0]), [led]);
    world.wait(ms(6_500));
    assert_eq!(world.plane.switch(0).flow_count(), 1, "only the operator's entry is left");
    world.data(4000);
    assert!(matches!(world.left.last().unwrap().departure, Departure::Normal(..)));
}

#[test]
fn a_cut_channel_keeps_what_is_held_and_goes_on_when_it_is_back() {
    let mut world = spurious();
    world.tell(0, 1, What::Disassociated);
    world.wait(ms(2));
    let held = world.data(4000);
    world.wait(ms(2));
    world.plane.cut(world.now, 0);
    world.wait(ms(100));
    world.tell(1, 2, What::Associated);
    world.wait(ms(500));
    assert!(world.left.is_empty());
    assert!(world.plane.controller().held() > Bytes(0));
    world.plane.connect(world.now, 0);
    world.wait(ms(30));
    assert_eq!(world.tags_by(AP[1]), [held]);
    let after = world.data(4000);
    assert_eq!(world.tags_by(AP[1]), [held, after]);
}

#[test]
fn a_return_that_nobody_reports_ends_with_the_expiry() {
    let mut world = spurious();
    world.tell(0, 1, What::Disassociated);
    world.wait(ms(2));
    world.data(4000);
    world.wait(ms(11_000));
    let expired = |record: &Record| matches!(record, Record::Expired { segments: 1, .. });
    assert!(world.records.iter().any(|(_, record)| expired(record)));
    // Nothing of ours is left: the switch does what it would without a controller.
    assert_eq!(world.plane.switch(0).flow_count(), 1);
    world.data(4000);
    assert!(matches!(world.left.last().unwrap().departure, Departure::Normal(..)));
}

#[test]
fn an_end_that_nobody_reports_is_as_without_help() {
    let mut world = spurious();
    let lost = world.data(4000);
    world.tell(1, 2, What::Associated);
    world.wait(ms(3));
    let after = world.data(4000);
    assert_eq!((world.tags_by(AP[0]), world.tags_by(AP[1])), (vec![lost], vec![after]));
    assert_eq!(world.plane.controller().counters().held, 0);
}

#[test]
fn repeated_events_do_no_harm() {
    let mut world = spurious();
    for _ in 0..3 {
        world.tell(0, 1, What::Disassociated);
    }
    world.wait(ms(2));
    let held = world.data(4000);
    world.wait(ms(2));
    for _ in 0..3 {
        world.tell(1, 2, What::Associated);
        world.wait(ms(1));
    }
    world.wait(ms(20));
    assert_eq!(world.tags_by(AP[1]), [held]);
    assert_eq!(world.plane.controller().counters().ignored_notices, 4);
}

#[test]
fn a_silent_switch_is_given_up() {
    let mut world = spurious();
    world.wait(ms(60_000));
    let gone = world.records.iter().filter(|(_, record)| matches!(record, Record::SwitchGone { .. }));
    assert_eq!(gone.count(), 0, "one that answers is not");
}
