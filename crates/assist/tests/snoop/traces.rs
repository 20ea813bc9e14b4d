//! Random traces: whatever comes, bounds hold, nothing is made up, and timers end.

use handfast_assist::Agent;
use handfast_assist::snoop::Config;
use handfast_core::Bytes;
use proptest::prelude::*;

use crate::world::{Left, World};

#[derive(Clone, Debug)]
enum Step {
    Data(u32),
    Ack(u32, Option<(u32, u32)>),
    Wait(u64),
    Timer,
    Port(u16),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0_u32..40).prop_map(Step::Data),
        4 => (0_u32..40, prop::option::of((0_u32..40, 1_u32..10)))
            .prop_map(|(ack, sack)| Step::Ack(ack, sack.map(|(start, len)| (start, start + len)))),
        2 => (0_u64..3_000).prop_map(Step::Wait),
        1 => Just(Step::Timer),
        1 => (1_u16..5).prop_map(Step::Port),
    ]
}

proptest! {
    #[test]
    fn whatever_comes_bounds_hold_and_nothing_is_made_up(
        steps in prop::collection::vec(step(), 1..300),
        isn in any::<u32>(),
    ) {
        let config = Config { per_connection: Bytes(8_000), connections: 3, ..Config::default() };
        let mut world = World::with(config, isn);
        let mut sent = std::collections::BTreeSet::new();
        let mut acked = std::collections::BTreeSet::new();
        for step in steps {
            let left = match step {
                Step::Data(number) => {
                    sent.insert(number);
                    world.data(number)
                }
                Step::Ack(number, sack) => {
                    acked.insert(number);
                    world.sack(number, sack.as_slice())
                }
                Step::Wait(ms) => {
                    world.wait(ms);
                    // A driver is never late.
                    let mut left = Vec::new();
                    while world.snoop.deadline().is_some_and(|due| due <= world.now) {
                        left.extend(world.timer().map(|(_, left)| left).unwrap_or_default());
                    }
                    left
                }
                Step::Timer => world.timer().map(|(_, left)| left).unwrap_or_default(),
                Step::Port(port) => {
                    world.port = port;
                    Vec::new()
                }
            };
            for left in left {
                match left {
                    Left::Data(number) => prop_assert!(sent.contains(&number)),
                    Left::Ack(number) | Left::Sack(number) => prop_assert!(acked.contains(&number)),
                }
            }
            prop_assert!(world.snoop.bytes() <= 3 * 8_000);
        }
        // Left alone it falls silent.
        let silent = (0..100).any(|_| world.timer().is_none());
        prop_assert!(silent);
    }
}
