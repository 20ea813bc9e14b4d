//! What has no business with the controller, and what comes to it when it is too late.

use handfast_assist::sdn::{Policy, What};
use handfast_core::Bytes;
use handfast_wire::tcp::{Flags, Segment};

use crate::world::{AP, World, config, ms, paced};

#[test]
fn under_bare_no_handshake_is_copied() {
    let mut world = World::with_station(config(Policy::Bare, paced()), ms(1));
    let syn = world.segment(4000, Segment { flags: Flags::SYN, ..Segment::EMPTY });
    world.wait(ms(2));
    let counters = world.plane.controller().counters();
    assert_eq!(world.tags_by(AP[0]), [syn]);
    assert_eq!((counters.packet_ins, counters.handshakes), (0, 0));
}

#[test]
fn what_was_on_its_way_to_the_controller_when_the_path_was_opened_is_passed_on_and_counted() {
    let mut world = World::with_station(config(Policy::Spurious, paced()), ms(1));
    world.tell(0, 1, What::Disassociated);
    world.wait(ms(2));
    // Nothing is held: the first barrier ends the release, after one millisecond there and one back ...
    world.tell(1, 2, What::Associated);
    // ... and what diverts goes one millisecond after that.
    world.wait(ms(2));
    let tags = [world.data(4000), world.data(4000)];
    world.wait(ms(5));
    let controller = world.plane.controller();
    assert_eq!(world.tags_by(AP[1]), tags);
    assert_eq!((controller.counters().late, controller.counters().held, controller.held()), (2, 0, Bytes(0)));
}
