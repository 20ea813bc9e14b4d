//! Any bytes as frames, at any node and side: nothing panics, and an observer passes all as it came.

use handfast_assist::sdtp::bump::{Mode, Side};
use handfast_wire::sdtp::Carriage;
use handfast_wire::tcp::Flags;
use proptest::prelude::*;

use crate::world::{World, sent};

/// Frames of a connection: a SYN, data, what edges and caches make of them.
fn genuine(carriage: Carriage) -> (World, Vec<Vec<u8>>) {
    let mut world = World::new(Mode::Act, carriage);
    world.open(false, |_| ());
    world.lose = Some(1);
    for number in 0..6 {
        world.pass(1);
        world.send(&sent(false, Flags::ACK, 101 + 5 * number, 501, b"hello"));
    }
    world.pass(100);
    let mut frames: Vec<_> = world.crossed.iter().map(|(_, _, frame)| frame.clone()).collect();
    frames.push(sent(false, Flags::SYN, 7000, 0, b"").frame());
    frames.push(sent(true, Flags::SYN | Flags::ACK, 7000, 101, b"").frame());
    (world, frames)
}

fn carriages() -> impl Strategy<Value = Carriage> {
    prop_oneof![Just(Carriage::Udp), Just(Carriage::Ip), Just(Carriage::Native)]
}

proptest! {
    #[test]
    fn turned_bits_and_cuts_are_survived(
        carriage in carriages(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0_u8..8, any::<bool>()), 1..40),
    ) {
        let (mut world, frames) = genuine(carriage);
        let mut observer = World::new(Mode::Observe, carriage);
        for (which, at, bit, cuts) in changes {
            let mut frame = which.get(&frames).clone();
            let at = at.index(frame.len());
            frame[at] ^= 1 << bit;
            if cuts {
                frame.truncate(at);
            }
            for number in 0..3 {
                for side in Side::BOTH {
                    world.bumps[number].on_frame(world.now, side, &frame);
                    world.bumps[number].emitted().clear();
                    let bump = &mut observer.bumps[number];
                    bump.on_frame(observer.now, side, &frame);
                    let left: Vec<_> = bump.emitted().frames().map(|(side, left)| (side, left.to_vec())).collect();
                    prop_assert_eq!(left, [(side.other(), frame.clone())]);
                    bump.emitted().clear();
                }
            }
            world.pass(10);
        }
        // The connection goes on: what it loses to forged segments, hosts repair.
        world.pass(1000);
    }
}
