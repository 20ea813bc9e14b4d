//! The states in which forged segments find an endpoint, each reached by honest means.

use arbitrary::Arbitrary;
use handfast_core::Duration;

use crate::case::{Direction, Op, Setup, Side};
use crate::world::World;

/// Where the endpoint stands when the attack begins.
#[derive(Arbitrary, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    Listen,
    SynSent,
    SynReceived,
    BothOpen,
    Idle,
    InFlight,
    Recovery,
    TimedOut,
    Holes,
    ZeroWindow,
    FinWait1,
    FinWait2,
    CloseWait,
    Closing,
    LastAck,
    TimeWait,
    Closed,
}

impl Start {
    pub const ALL: [Self; 17] = [
        Self::Listen,
        Self::SynSent,
        Self::SynReceived,
        Self::BothOpen,
        Self::Idle,
        Self::InFlight,
        Self::Recovery,
        Self::TimedOut,
        Self::Holes,
        Self::ZeroWindow,
        Self::FinWait1,
        Self::FinWait2,
        Self::CloseWait,
        Self::Closing,
        Self::LastAck,
        Self::TimeWait,
        Self::Closed,
    ];
}

/// An endpoint in the state that `start` names, by honest means.
pub fn reach(start: Start, setup: &Setup) -> (World, Side) {
    let both_open = start == Start::BothOpen;
    // Deaths by an outage are the other property's; here they would only hide the state.
    let setup = Setup { both_open, ..*setup };
    let mut world = World::new(&setup);
    let one_way = Duration::from_millis(u64::from(setup.delay_ms) + 1);
    let side = if matches!(start, Start::Listen | Start::SynReceived) { Side::Server } else { Side::Client };
    let other = side.other();
    let write = |side, len| Op::Write { side, len, real: false };
    // Half a one-way delay is the unit of time below.
    let until = |halves: u64| (one_way * halves) / 2;
    let (ops, halves): (Vec<Op>, u64) = match start {
        Start::Listen => return (world, side),
        Start::SynSent => (vec![], 1),
        Start::SynReceived | Start::BothOpen => (vec![], 3),
        _ => (vec![], 9),
    };
    world.perform(&ops);
    world.run_until(world.now + until(halves));
    let (ops, halves): (Vec<Op>, u64) = match start {
        Start::InFlight => (vec![write(side, 60_000)], 0),
        Start::Recovery => (vec![write(side, 60_000), Op::Lose { from: side, skip: 2, n: 1 }], 14),
        Start::TimedOut => {
            (vec![write(side, 60_000), Op::Outage { cs: 1000, hold: false, direction: Direction::Both }], 400)
        }
        Start::Holes => (vec![write(other, 60_000), Op::Lose { from: other, skip: 1, n: 1 }], 11),
        Start::ZeroWindow => {
            (vec![Op::StopReading { side: other }, write(side, 60_000), write(side, 60_000)], 400)
        }
        Start::FinWait1 => (vec![write(side, 100), Op::Close { side }], 0),
        Start::FinWait2 => (vec![Op::Close { side }], 5),
        Start::CloseWait | Start::LastAck => (vec![Op::Close { side: other }], 3),
        Start::Closing => (vec![Op::Close { side }, Op::Close { side: other }], 2),
        Start::TimeWait => (vec![Op::Close { side }, Op::Close { side: other }], 7),
        _ => (vec![], 0),
    };
    world.perform(&ops);
    world.run_until(world.now + until(halves));
    match start {
        Start::LastAck => world.perform(&[Op::Close { side }]),
        Start::Closed => world.end(side).endpoint.abort(),
        _ => {}
    }
    (world, side)
}

#[cfg(test)]
mod tests {
    use handfast_tcp::State;

    use super::*;

    #[test]
    fn each_state_is_reached() {
        let state = |start| {
            let (world, side) = reach(start, &Setup { delay_ms: 19, ..Setup::default() });
            world.ends[side as usize].endpoint.state()
        };
        let named = [
            (Start::Listen, State::Listen),
            (Start::SynSent, State::SynSent),
            (Start::SynReceived, State::SynReceived),
            (Start::BothOpen, State::SynReceived),
            (Start::Idle, State::Established),
            (Start::InFlight, State::Established),
            (Start::Recovery, State::Established),
            (Start::TimedOut, State::Established),
            (Start::Holes, State::Established),
            (Start::ZeroWindow, State::Established),
            (Start::FinWait1, State::FinWait1),
            (Start::FinWait2, State::FinWait2),
            (Start::CloseWait, State::CloseWait),
            (Start::Closing, State::Closing),
            (Start::LastAck, State::LastAck),
            (Start::TimeWait, State::TimeWait),
            (Start::Closed, State::Closed),
        ];
        assert_eq!(named.map(|(start, _)| start), Start::ALL);
        for (start, expected) in named {
            assert_eq!(state(start), expected, "{start:?}");
        }
    }
}
