//! What is lost between nodes is repaired there, in frames that the hosts' would have had.

use handfast_assist::sdtp::bump::{Mode, Side};
use handfast_wire::sdtp::{Carriage, Message};
use handfast_wire::tcp::Flags;
use handfast_wire::{Body, Ethernet};

use crate::world::{CLIENT, World, edge, sent};

fn lose(nth: Option<usize>, carriage: Carriage) -> (World, Vec<Vec<u8>>) {
    let mut world = World::new(Mode::Act, carriage);
    world.open(false, |_| ());
    world.lose = nth;
    let frames: Vec<_> = (0..20)
        .map(|number| {
            world.pass(1);
            world.send(&sent(false, Flags::ACK, 101 + 5 * number, 501, b"hello"))
        })
        .collect();
    world.pass(50);
    (world, frames)
}

#[test]
fn a_lost_packet_comes_in_order_and_the_host_sees_nothing() {
    for carriage in [Carriage::Udp, Carriage::Ip, Carriage::Native] {
        let (world, frames) = lose(Some(4), carriage);
        assert_eq!(world.came[1], frames, "{carriage:?}");
        assert_eq!(world.came[0], Vec::<Vec<u8>>::new(), "nothing of the nodes comes to a host");
        assert_eq!(world.node_counter(1, "repeats"), 1, "the cache next to the loss answers");
        let back: Ethernet = Ethernet { dst: CLIENT.src, src: CLIENT.dst, vlan: None };
        let requests = world.packets(1, Side::Outside);
        let is_request = |message: &Message| matches!(message, Message::Request(_));
        let request = requests
            .iter()
            .find(|packet| matches!(&packet.body, Body::Sdtp(sdtp) if is_request(&sdtp.message)));
        let request = request.expect("an RR goes upstream");
        assert_eq!((request.ethernet, request.src, request.dst), (Some(back), edge(2), edge(0)));
        let is_repeat = |message: &Message| matches!(message, Message::Repeat(_));
        let repeats = world.packets(2, Side::Outside);
        let repeat = repeats
            .iter()
            .find(|packet| matches!(&packet.body, Body::Sdtp(sdtp) if is_repeat(&sdtp.message)));
        assert_eq!(repeat.expect("an RD goes downstream").ethernet, Some(CLIENT));
        assert!(world.bumps.iter().all(|bump| bump.counters().0.unsendable == 0));
    }
}

/// The control of the test before.
#[test]
fn without_the_cache_the_host_misses_it() {
    let mut world = World::new(Mode::Act, Carriage::Udp);
    world.open(false, |_| ());
    for bump in &mut world.bumps[..2] {
        // The caches are gone; edges go on.
        bump.set_mode(Mode::Observe);
        bump.set_mode(Mode::Act);
    }
    world.lose = Some(4);
    let frames: Vec<_> =
        (0..20).map(|number| world.send(&sent(false, Flags::ACK, 101 + 5 * number, 501, b"hello"))).collect();
    world.pass(1000);
    assert_eq!(world.came[1].len(), frames.len() - 1);
    assert!(!world.came[1].contains(&frames[4]));
}
