//! No harm: without the controller, after restarts, switched off.

use handfast_assist::sdtp::bump::{Mode, Side};
use handfast_wire::Body;
use handfast_wire::sdtp::Carriage;
use handfast_wire::tcp::Flags;

use crate::world::{World, sent};

/// Both hosts send; whether all came as it was, and whether the client's was converted.
fn goes_both_ways(world: &mut World, seq: u32) -> bool {
    world.clear();
    let there = world.send(&sent(false, Flags::ACK, seq, 501, b"hello"));
    let back = world.send(&sent(true, Flags::ACK, seq + 400, 106, b"there"));
    assert_eq!(world.came, [vec![back], vec![there]]);
    matches!(world.packets(1, Side::Inside)[0].body, Body::Sdtp(_))
}

#[test]
fn without_the_controller_new_connections_are_plain_and_established_ones_go_on() {
    let mut world = World::new(Mode::Act, Carriage::Udp);
    world.open(false, |_| ());
    world.connect(false);
    assert!(goes_both_ways(&mut world, 101));
    world.clear();
    // The same ends again: a new connection.
    let syn = world.send(&sent(false, Flags::SYN, 9000, 0, b""));
    let syn_ack = world.send(&sent(true, Flags::SYN | Flags::ACK, 9500, 9001, b""));
    // Its segment size is lowered all the same.
    assert_eq!(world.came.each_ref().map(Vec::len), [1, 1]);
    assert_ne!((&world.came[1][0], &world.came[0][0]), (&syn, &syn_ack));
    assert!(!goes_both_ways(&mut world, 9001), "neither edge takes it for the old one");
    assert!(world.node_counter(0, "offline") > 0);
    world.connect(true);
    assert!(!goes_both_ways(&mut world, 9100), "it stays plain");
    world.clear();
    world.open(false, |_| ());
    assert!(goes_both_ways(&mut world, 101));
}

#[test]
fn connections_of_an_edge_that_is_started_again_go_on_as_plain_tcp() {
    for restarted in [0, 2] {
        let mut world = World::new(Mode::Act, Carriage::Udp);
        world.open(false, |_| ());
        assert!(goes_both_ways(&mut world, 101));
        world.restart(restarted);
        assert!(!goes_both_ways(&mut world, 106));
        assert_eq!(world.node_counter(restarted, "strangers"), 0);
        world.clear();
        world.open(false, |_| ());
        assert!(goes_both_ways(&mut world, 101));
    }
}

/// The controller was started again too, and the other edge reaches it later than the one that has begun anew.
#[test]
fn an_edge_hears_of_it_from_a_controller_that_has_admitted_nothing() {
    let mut world = World::new(Mode::Act, Carriage::Udp);
    world.open(false, |_| ());
    world.controller = World::new(Mode::Act, Carriage::Udp).controller.numbering_from(77);
    world.away(2);
    world.restart(0);
    world.back(2);
    assert!(!goes_both_ways(&mut world, 106));
    assert_eq!(world.node_counter(0, "strangers"), 0);
    world.clear();
    world.open(false, |_| ());
    assert!(goes_both_ways(&mut world, 101));
}

#[test]
fn a_node_in_the_core_that_is_started_again_gets_its_functions_back() {
    let mut world = World::new(Mode::Act, Carriage::Udp);
    world.open(false, |_| ());
    world.restart(1);
    assert!(goes_both_ways(&mut world, 101));
    world.lose = Some(1);
    let frames: Vec<_> = (0..20)
        .map(|number| {
            world.pass(1);
            world.send(&sent(false, Flags::ACK, 106 + 5 * number, 501, b"hello"))
        })
        .collect();
    world.pass(50);
    assert_eq!(world.came[1][1..], frames);
    assert_eq!(world.node_counter(1, "repeats"), 1);
}

#[test]
fn one_that_is_switched_off_still_reverts() {
    for off in [0, 2] {
        let mut world = World::new(Mode::Act, Carriage::Udp);
        world.open(false, |_| ());
        world.bumps[off].set_mode(Mode::Observe);
        assert_eq!(goes_both_ways(&mut world, 101), off == 2, "its own hosts' packets go as they are");
        let strangers: u64 = (0..3).map(|number| world.node_counter(number, "strangers")).sum();
        assert_eq!(strangers, 0);
    }
}

/// What was converted before comes all the same, and nothing is converted any more; then the next one begins anew.
#[test]
fn an_edge_that_leaves_is_followed_by_another_without_a_loss() {
    for leaving in [0, 2] {
        let mut world = World::new(Mode::Act, Carriage::Udp);
        world.open(false, |_| ());
        for seq in [101, 106, 111, 116] {
            // The next one is asked for when its time has come.
            world.pass(1);
            world.send(&sent(false, Flags::ACK, seq, 501, b"hello"));
        }
        world.clear();
        world.lose = Some(0);
        let lost = world.send(&sent(false, Flags::ACK, 121, 501, b"hello"));
        assert_eq!(world.came[1].len(), 0, "it is missing");
        world.retire(leaving);
        world.crossed.clear();
        let plain = world.send(&sent(false, Flags::ACK, 126, 501, b"there"));
        let back = world.send(&sent(true, Flags::ACK, 501, 126, b"aloha"));
        for packets in [world.packets(2, Side::Outside), world.packets(0, Side::Outside)] {
            assert!(packets.iter().all(|packet| matches!(packet.body, Body::Tcp(_))), "{leaving}");
        }
        world.pass(300);
        assert_eq!(world.came[0], [back]);
        let mut came = world.came[1].clone();
        came.sort();
        let mut expected = vec![lost, plain];
        expected.sort();
        assert_eq!(came, expected, "{leaving}: the repair comes");
        let syn = sent(false, Flags::SYN, 7000, 0, b"");
        world.clear();
        world.send(&syn);
        assert!(matches!(world.packets(2, Side::Outside)[0].body, Body::Tcp(_)), "a new one is plain");
        world.restart(leaving);
        assert!(!goes_both_ways(&mut world, 131));
        let strangers: u64 = (0..3).map(|number| world.node_counter(number, "strangers")).sum();
        assert_eq!(strangers, 0);
        world.clear();
        world.open(false, |_| ());
        assert!(goes_both_ways(&mut world, 101));
    }
}

#[test]
fn a_host_that_makes_sdtp_packets_is_not_believed() {
    let mut world = World::new(Mode::Act, Carriage::Udp);
    world.open(false, |_| ());
    world.send(&sent(false, Flags::ACK, 101, 501, b"hello"));
    let converted = world.crossed[0].2.clone();
    world.clear();
    world.inject(false, converted);
    assert_eq!(world.crossed.len(), 0);
    assert_eq!(world.node_counter(0, "forged"), 1);
}
