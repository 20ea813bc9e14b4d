//! What a node does without that cannot keep up, and what its own interface drops.

use handfast_assist::sdtp::Config;
use handfast_assist::sdtp::bump::Mode;
use handfast_assist::sdtp::caching::Congestion;
use handfast_wire::sdtp::Carriage;
use handfast_wire::tcp::Flags;

use crate::world::{World, sent};

const PACKETS: u32 = 20;

/// A connection over which packets go, one of which is lost after node 1. How many came, and whether all came in order.
fn lose_one(world: &mut World, first: u32) -> (usize, bool) {
    world.clear();
    world.lose = Some(4);
    let frames: Vec<_> = (0..PACKETS)
        .map(|number| {
            world.pass(1);
            world.send(&sent(false, Flags::ACK, first + 5 * number, 501, b"hello"))
        })
        .collect();
    world.pass(600);
    (world.came[1].len(), world.came[1] == frames)
}

fn open() -> World {
    let mut world = World::new(Mode::Act, Carriage::Udp);
    world.open(false, |_| ());
    world
}

fn overload(world: &mut World, number: usize) {
    world.bumps[number].on_overrun(world.now);
    assert!(world.bumps[number].is_overloaded());
}

#[test]
fn a_node_of_the_core_that_cannot_keep_up_passes_all_and_comes_back() {
    let mut world = open();
    overload(&mut world, 1);
    // The sending edge has a copy too: it answers.
    assert_eq!(lose_one(&mut world, 101), (PACKETS as usize, true));
    assert_eq!((world.node_counter(1, "repeats"), world.node_counter(0, "repeats")), (0, 1));
    let counted = world.bumps[1].counters().0;
    assert!(counted.overloads == 1 && counted.bypassed >= u64::from(PACKETS), "{counted:?}");
    world.pass(1000);
    assert!(!world.bumps[1].is_overloaded());
    assert_eq!(lose_one(&mut world, 201), (PACKETS as usize, true));
    assert_eq!((world.node_counter(1, "repeats"), world.node_counter(0, "repeats")), (1, 1));
    // It did not ask for what it had not looked at.
    assert_eq!(world.node_counter(1, "requests_of_one"), 0);
}

#[test]
fn a_receiving_edge_that_cannot_keep_up_reverts_and_asks_for_nothing() {
    let mut world = open();
    overload(&mut world, 2);
    assert_eq!(lose_one(&mut world, 101), (PACKETS as usize - 1, false), "the hosts repair it");
    assert_eq!(world.node_counter(2, "reverted"), u64::from(PACKETS) - 1);
    assert_eq!(world.node_counter(2, "requests_of_one"), 0);
    world.pass(1000);
    assert_eq!(lose_one(&mut world, 201), (PACKETS as usize, true), "it asks again");
    assert!(world.node_counter(2, "requests_of_one") > 0);
}

#[test]
fn at_an_edge_that_cannot_keep_up_connections_begin_plain_and_others_go_on() {
    let mut world = open();
    overload(&mut world, 0);
    assert_eq!(lose_one(&mut world, 101), (PACKETS as usize, true), "converted, and repaired further down");
    assert_eq!(world.node_counter(0, "converted"), u64::from(PACKETS));
    world.clear();
    let mut syn = sent(false, Flags::SYN, 7000, 0, b"");
    syn.segment.src_port += 1;
    let (sent_syn, told) = (world.send(&syn), world.node_counter(0, "packet_ins"));
    assert_eq!(world.came[1].len(), 1, "it goes on");
    assert_eq!(world.came[1][0].len(), sent_syn.len());
    assert_eq!(
        (world.node_counter(0, "packet_ins_refused"), told),
        (1, 1),
        "the controller hears of the first only"
    );
    world.pass(1000);
    syn.segment.src_port += 1;
    world.send(&syn);
    assert_eq!(world.node_counter(0, "packet_ins"), 2);
}

#[test]
fn what_its_own_interface_has_dropped_is_not_repaired() {
    let mut world = open();
    world.congested = true;
    assert_eq!(lose_one(&mut world, 101), (PACKETS as usize - 1, false), "the sender has to learn of it");
    assert_eq!([0, 1].map(|number| world.node_counter(number, "repeats")), [0, 0]);
    // The control.
    let mut config = Config { carriage: Carriage::Udp, ..Config::default() };
    config.caching.congestion = Congestion::Mask;
    let mut masking = World::with(Mode::Act, config);
    masking.open(false, |_| ());
    masking.congested = true;
    assert_eq!(lose_one(&mut masking, 101), (PACKETS as usize, true));
}

#[test]
fn what_waits_for_room_at_a_node_of_the_core_goes_on_to_its_host() {
    let mut config = Config { carriage: Carriage::Udp, ..Config::default() };
    config.caching.congestion = Congestion::Cache;
    let mut world = World::with(Mode::Act, config);
    world.open(false, |_| ());
    for (server, seq, ack) in [(false, 101, 501), (true, 501, 101)] {
        world.clear();
        world.full = true;
        let frames: Vec<_> = (0..5)
            .map(|number| world.send(&sent(server, Flags::ACK, seq + 5 * number, ack, b"hello")))
            .collect();
        world.pass(20);
        assert_eq!(world.came[usize::from(!server)], Vec::<Vec<u8>>::new());
        world.full = false;
        world.pass(50);
        assert_eq!(world.came[usize::from(!server)], frames, "from the server: {server}");
    }
    assert_eq!(world.node_counter(1, "held"), 10);
}
