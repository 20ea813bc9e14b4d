//! What holds on any link, whatever happens to it.

use std::collections::BTreeSet;

use handfast_core::{BitRate, Bytes, Duration, Instant, Stream};
use handfast_net::{Direction, DownMode, Exit, Link, Loss, Queue, QueueLimit};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Enqueue { size: u16, has_payload: bool },
    SetRate(u64),
    SetDelay(u64),
    Down(DownMode),
    Up(DownMode),
}

fn probability() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), 0.0..0.3, Just(1.0)]
}

fn loss() -> impl Strategy<Value = Loss> {
    let chain = (probability(), probability(), probability(), probability());
    prop_oneof![
        probability().prop_map(Loss::Packet),
        (0.0..1e-4).prop_map(Loss::Bit),
        chain.prop_map(|(good_to_bad, bad_to_good, loss_good, loss_bad)| Loss::GilbertElliott {
            good_to_bad,
            bad_to_good,
            loss_good,
            loss_bad
        }),
        prop::collection::vec(0..20_u64, 0..5).prop_map(Loss::List),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let mode = prop_oneof![Just(DownMode::Drop), Just(DownMode::Hold)];
    prop_oneof![
        20 => (0..3000_u16, any::<bool>()).prop_map(|(size, has_payload)| Step::Enqueue { size, has_payload }),
        1 => (0..100_000_000_u64).prop_map(Step::SetRate),
        1 => (0..30_u64).prop_map(Step::SetDelay),
        1 => mode.clone().prop_map(Step::Down),
        2 => mode.prop_map(Step::Up),
    ]
}

prop_compose! {
    fn direction()(
        bps in 1..100_000_000_u64,
        delay in 0..30_u64,
        limit in prop::option::of(1..10_u32),
        losses in prop::collection::vec(loss(), 0..3),
        reorder in prop::option::of((probability(), 0..20_u64)),
        duplicate in probability(),
    ) -> Direction {
        Direction {
            queue: limit.map_or(Queue::UNLIMITED, Queue::packets),
            losses,
            reorder: reorder.map(|(p, by)| (p, Duration::from_millis(by))),
            duplicate,
            ..Direction::plain(BitRate::from_bps(bps), Duration::from_millis(delay))
        }
    }
}

/// Polls all that is due by `now`, and checks what must hold of every exit.
fn drain(link: &mut Link<u32>, now: Instant, inside: &mut BTreeSet<u32>) -> Result<(), TestCaseError> {
    while let Some(at) = link.deadline().filter(|&at| at <= now) {
        while let Some(exit) = link.poll(at) {
            match exit {
                Exit::Delivered { handle, .. } | Exit::Lost { handle, .. } => {
                    prop_assert!(inside.remove(&handle));
                }
                Exit::Duplicated { handle, .. } | Exit::Marked { handle } => {
                    prop_assert!(inside.contains(&handle));
                }
            }
        }
        prop_assert!(link.deadline().is_none_or(|next| next > at));
    }
    Ok(())
}

fn apply(link: &mut Link<u32>, now: Instant, handle: u32, step: &Step) -> bool {
    match *step {
        Step::Enqueue { size, has_payload } => {
            return link.enqueue(now, handle, Bytes(u64::from(size)), has_payload).is_ok();
        }
        Step::SetRate(bps) => link.set_rate(now, BitRate::from_bps(bps)),
        Step::SetDelay(ms) => link.set_delay(now, Duration::from_millis(ms)),
        Step::Down(mode) => link.down(now, mode),
        Step::Up(mode) => link.up(now, mode),
    }
    false
}

proptest! {
    /// Every accepted handle leaves exactly once, the counters add up, and the queue keeps its limit.
    #[test]
    fn packets_are_conserved(
        direction in direction(),
        steps in prop::collection::vec((0..3_000_000_u64, step()), 1..150),
    ) {
        let mut link = Link::new(&direction, Stream::new(1, "link"));
        let mut inside = BTreeSet::new();
        let (mut now, mut offered) = (Instant::ZERO, 0);
        for (handle, (wait, step)) in (0..).zip(steps) {
            now += Duration::from_nanos(wait);
            drain(&mut link, now, &mut inside)?;
            offered += u64::from(matches!(step, Step::Enqueue { .. }));
            if apply(&mut link, now, handle, &step) {
                inside.insert(handle);
            }
            let held = link.queue(now).packets;
            prop_assert!(held <= inside.len());
            if let Some(QueueLimit::Packets(limit)) = direction.queue.limit() {
                prop_assert!(held <= limit as usize);
            }
            prop_assert_eq!(link.counters().offered, offered);
        }
        for mode in [DownMode::Drop, DownMode::Hold] {
            (0..200).for_each(|_| link.up(now, mode));
        }
        link.set_rate(now, BitRate::from_bps(1_000_000));
        drain(&mut link, now + Duration::from_secs(100), &mut inside)?;
        prop_assert!(inside.is_empty(), "{:?} never left", inside);
        let counters = link.counters();
        prop_assert_eq!(counters.offered, counters.delivered + counters.lost());
    }

    /// Without reordering packets arrive in order, none before its serialisation and propagation are over.
    #[test]
    fn order_is_kept_and_nothing_is_early(
        bps in 1_000_000..1_000_000_000_u64,
        delay in 0..20_u64,
        packets in prop::collection::vec((0..2_000_000_u64, 40..1500_u64), 1..100),
    ) {
        let rate = BitRate::from_bps(bps);
        let delay = Duration::from_millis(delay);
        let mut link = Link::new(&Direction::plain(rate, delay), Stream::new(1, "link"));
        let mut now = Instant::ZERO;
        let mut earliest = Vec::new();
        for (handle, &(wait, size)) in (0..).zip(&packets) {
            now += Duration::from_nanos(wait);
            link.enqueue(now, handle, Bytes(size), true).unwrap();
            earliest.push(now + Duration::from_nanos(size * 8_000_000_000 / bps) + delay);
        }
        let mut order = Vec::new();
        while let Some(at) = link.deadline() {
            while let Some(exit) = link.poll(at) {
                let Exit::Delivered { handle, .. } = exit else { panic!("{exit:?}") };
                prop_assert!(at >= earliest[handle as usize]);
                order.push(handle);
            }
        }
        prop_assert!(order.iter().copied().eq(0..packets.len() as u32));
    }

    /// What a link says ahead of a packet is what would have come out, and it refuses the same packets.
    #[test]
    fn a_link_that_foresees_is_the_link_that_is_polled(
        bps in 1_000_000..1_000_000_000_u64,
        delay in 0..5_u64,
        queue in prop_oneof![Just(Queue::UNLIMITED), (1..10_u32).prop_map(Queue::packets)],
        packets in prop::collection::vec((0..400_000_u64, 40..1500_u64), 1..100),
    ) {
        let plain = Direction::plain(BitRate::from_bps(bps), Duration::from_millis(delay));
        let mut polled = Link::new(&Direction { queue, ..plain }, Stream::new(1, "link"));
        let mut foreseen = polled.foreseen().unwrap();
        let (mut now, mut said, mut came) = (Instant::ZERO, Vec::new(), Vec::new());
        for (handle, &(wait, size)) in (0_u32..).zip(&packets) {
            now += Duration::from_nanos(wait);
            while let Some(at) = polled.deadline().filter(|&at| at <= now) {
                came.extend(polled.poll(at).map(|exit| (at, exit)));
            }
            let arrival = foreseen.enter(now, Bytes(size));
            prop_assert_eq!(arrival.map(|_| ()), polled.enqueue(now, handle, Bytes(size), true));
            said.extend(arrival.ok().map(|at| (at, Exit::Delivered { handle, corrupted: false })));
        }
        while let Some(at) = polled.deadline() {
            came.extend(polled.poll(at).map(|exit| (at, exit)));
        }
        prop_assert_eq!(said, came);
    }

    /// A backlog of n packets has left after exactly its bits divided by the rate.
    #[test]
    fn the_rate_is_exact_in_the_long_run(bps in 1_000..10_000_000_000_u64, size in 1..2000_u64, n in 1..3000_u32) {
        let mut link = Link::new(&Direction::plain(BitRate::from_bps(bps), Duration::ZERO), Stream::new(1, "link"));
        for handle in 0..n {
            link.enqueue(Instant::ZERO, handle, Bytes(size), true).unwrap();
        }
        let mut last = Instant::ZERO;
        while let Some(at) = link.deadline() {
            while link.poll(at).is_some() {}
            last = at;
        }
        let exact = (u128::from(n) * u128::from(size) * 8_000_000_000).div_ceil(u128::from(bps));
        prop_assert_eq!(u128::from(last.as_nanos()), exact);
    }
}
