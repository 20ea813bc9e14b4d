//! The two ways through a link: drop-tail with departures fixed at entry, and drop-tail as a discipline that is asked at
//! dequeue. Same packets, same moments, to the nanosecond.

use handfast_core::{BitRate, Bytes, Duration, Instant, Stream};
use handfast_net::{Direction, DownMode, Exit, Link, Loss, Queue};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Enqueue(u16),
    SetRate(u64),
    SetDelay(u64),
    Down(DownMode),
    Up(DownMode),
}

/// How long after the step before, what, and whether the driver looks at the links afterwards.
fn step() -> impl Strategy<Value = (u64, Step, bool)> {
    let mode = prop_oneof![Just(DownMode::Drop), Just(DownMode::Hold)];
    let what = prop_oneof![
        25 => (0..40_u16).prop_map(Step::Enqueue),
        2 => rate().prop_map(Step::SetRate),
        1 => Just(Step::SetRate(0)),
        2 => (0..200_u64).prop_map(Step::SetDelay),
        1 => mode.clone().prop_map(Step::Down),
        3 => mode.prop_map(Step::Up),
    ];
    (prop_oneof![4 => Just(0), 3 => 0..20_u64, 2 => 0..300_u64], what, any::<bool>())
}

/// Rates that do not divide: a packet of these sizes takes a few to a few hundred nanoseconds.
fn rate() -> impl Strategy<Value = u64> {
    prop_oneof![900_000_000..40_000_000_000_u64, Just(8_000_000_000), Just(3_000_000_001)]
}

prop_compose! {
    fn direction()(
        rate in rate(),
        delay in 0..300_u64,
        queue in prop_oneof![
            Just(Queue::UNLIMITED),
            (1..8_u32).prop_map(Queue::packets),
            (10..200_u64).prop_map(Queue::bytes),
        ],
        losses in prop::collection::vec((0.0..0.3).prop_map(Loss::Packet), 0..2),
        reorder in prop::option::of((0.0..0.5, (0..100_u64).prop_map(Duration::from_nanos))),
        duplicate in prop_oneof![2 => Just(0.0), 1 => 0.0..0.5],
    ) -> Direction {
        let plain = Direction::plain(BitRate::from_bps(rate), Duration::from_nanos(delay));
        Direction { queue, losses, reorder, duplicate, ..plain }
    }
}

/// Takes everything out that is due by `now`.
fn drain(link: &mut Link<u32>, now: Instant, out: &mut Vec<(Instant, Exit<u32>)>) {
    while let Some(at) = link.deadline().filter(|&at| at <= now) {
        while let Some(exit) = link.poll(at) {
            out.push((at, exit));
        }
        assert!(link.deadline().is_none_or(|next| next > at), "a deadline that is not in the future");
    }
}

/// Whether the link takes the packet, where the step offers one.
fn apply(link: &mut Link<u32>, at: Instant, handle: u32, step: &Step) -> bool {
    match *step {
        Step::Enqueue(size) => {
            return link.enqueue(at, handle, Bytes(u64::from(size)), handle.is_multiple_of(2)).is_ok();
        }
        Step::SetRate(rate) => link.set_rate(at, BitRate::from_bps(rate)),
        Step::SetDelay(delay) => link.set_delay(at, Duration::from_nanos(delay)),
        Step::Down(mode) => link.down(at, mode),
        Step::Up(mode) => link.up(at, mode),
    }
    false
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn drop_tail_at_dequeue_is_drop_tail_at_entry(
        direction in direction(),
        steps in prop::collection::vec(step(), 1..120),
    ) {
        let stream = || Stream::new(1, "link");
        let mut fused = Link::new(&direction, stream());
        let discipline = direction.queue.build(stream());
        let mut queued = Link::with_discipline(&direction, stream(), discipline);
        let (mut came, mut expected) = (Vec::new(), Vec::new());
        let mut now = Instant::ZERO;
        for (handle, (wait, step, look)) in (0..).zip(&steps) {
            now += Duration::from_nanos(*wait);
            prop_assert_eq!(apply(&mut queued, now, handle, step), apply(&mut fused, now, handle, step));
            if *look {
                drain(&mut fused, now, &mut expected);
                drain(&mut queued, now, &mut came);
                prop_assert_eq!(queued.queue(now), fused.queue(now));
                prop_assert_eq!(queued.counters(), fused.counters());
            }
        }
        for link in [&mut fused, &mut queued] {
            for mode in [DownMode::Drop, DownMode::Hold] {
                (0..steps.len()).for_each(|_| link.up(now, mode));
            }
            link.set_rate(now, BitRate::from_bps(8_000_000_000));
        }
        now += Duration::from_millis(1);
        drain(&mut fused, now, &mut expected);
        drain(&mut queued, now, &mut came);
        prop_assert_eq!(came, expected);
        prop_assert_eq!((queued.deadline(), queued.queue(now).packets), (None, 0));
        prop_assert_eq!(queued.counters(), fused.counters());
    }
}
