//! The link against a naive one that does its work nanosecond by nanosecond: the same arrivals, to the nanosecond.

use std::collections::VecDeque;

use handfast_core::{BitRate, Bytes, Duration, Instant, Stream};
use handfast_net::{Cause, Direction, DownMode, Exit, Link, Queue, QueueLimit};
use proptest::prelude::*;

/// What the driver does, and how long after the step before.
#[derive(Clone, Debug)]
enum Step {
    Enqueue(u16),
    SetRate(u64),
    SetDelay(u64),
    Down(DownMode),
    Up(DownMode),
}

/// Serves by spending `rate` nanobits every nanosecond.
struct Naive {
    rate: u64,
    delay: u64,
    limit: Option<QueueLimit>,
    down: [u32; 2],
    /// Handle and size; the first one is in serialisation.
    queue: VecDeque<(u32, u64)>,
    /// Nanobits left of the first one.
    left: u64,
    /// Arrival and handle.
    air: VecDeque<(u64, u32)>,
    last_arrival: u64,
    delivered: Vec<(u64, u32)>,
    lost: Vec<u32>,
}

const NANOBITS: u64 = 8_000_000_000;

impl Naive {
    fn new(direction: &Direction) -> Self {
        Self {
            rate: direction.rate.as_bps(),
            delay: direction.delay.as_nanos(),
            limit: direction.queue.limit(),
            down: [0; 2],
            queue: VecDeque::new(),
            left: 0,
            air: VecDeque::new(),
            last_arrival: 0,
            delivered: Vec::new(),
            lost: Vec::new(),
        }
    }

    /// The nanosecond that ends at `t`.
    fn tick(&mut self, t: u64) {
        let mut credit = if self.down == [0; 2] { self.rate } else { 0 };
        while let Some(&(handle, _)) = self.queue.front().filter(|_| credit > 0) {
            let spent = credit.min(self.left);
            self.left -= spent;
            credit -= spent;
            if self.left > 0 {
                break;
            }
            self.queue.pop_front();
            self.start();
            self.last_arrival = self.last_arrival.max(t + self.delay);
            self.air.push_back((self.last_arrival, handle));
        }
        let due = self.air.partition_point(|&(arrival, _)| arrival <= t);
        self.delivered.extend(self.air.drain(..due));
    }

    fn start(&mut self) {
        self.left = self.queue.front().map_or(0, |&(_, size)| size * NANOBITS);
    }

    fn enqueue(&mut self, handle: u32, size: u64) -> Result<(), Cause> {
        if self.down[0] > 0 {
            return Err(Cause::Outage);
        }
        let bytes: u64 = self.queue.iter().map(|&(_, size)| size).sum();
        let full = match self.limit {
            None => false,
            Some(QueueLimit::Packets(n)) => self.queue.len() >= n as usize,
            Some(QueueLimit::Bytes(n)) => bytes + size > n.get(),
        };
        if full {
            return Err(Cause::QueueFull);
        }
        self.queue.push_back((handle, size));
        if self.queue.len() == 1 {
            self.start();
        }
        Ok(())
    }

    fn down(&mut self, mode: DownMode) {
        self.down[mode as usize] += 1;
        if mode == DownMode::Drop {
            self.lost.extend(self.air.drain(..).map(|(_, handle)| handle));
            self.lost.extend(self.queue.drain(..).map(|(handle, _)| handle));
            self.last_arrival = 0;
        }
        self.start();
    }

    fn up(&mut self, mode: DownMode) {
        self.down[mode as usize] = self.down[mode as usize].saturating_sub(1);
    }
}

/// How long after the step before, what, and whether the driver looks at the link afterwards.
fn step() -> impl Strategy<Value = (u64, Step, bool)> {
    let mode = prop_oneof![Just(DownMode::Drop), Just(DownMode::Hold)];
    let what = prop_oneof![
        20 => (1..40_u16).prop_map(Step::Enqueue),
        2 => rate().prop_map(Step::SetRate),
        1 => Just(Step::SetRate(0)),
        2 => (0..200_u64).prop_map(Step::SetDelay),
        1 => mode.clone().prop_map(Step::Down),
        2 => mode.prop_map(Step::Up),
    ];
    (prop_oneof![3 => Just(0), 3 => 0..20_u64, 2 => 0..300_u64], what, any::<bool>())
}

/// Rates that do not divide: a packet of these sizes takes a few to a few hundred nanoseconds.
fn rate() -> impl Strategy<Value = u64> {
    prop_oneof![900_000_000..40_000_000_000_u64, Just(8_000_000_000), Just(3_000_000_001)]
}

fn limit() -> impl Strategy<Value = Queue> {
    prop_oneof![
        Just(Queue::UNLIMITED),
        (1..8_u32).prop_map(Queue::packets),
        (10..200_u64).prop_map(Queue::bytes),
    ]
}

/// Takes everything out of the link that is due by `now`.
fn drain(link: &mut Link<u32>, now: u64, delivered: &mut Vec<(u64, u32)>, lost: &mut Vec<u32>) {
    while let Some(at) = link.deadline().filter(|at| at.as_nanos() <= now) {
        while let Some(exit) = link.poll(at) {
            match exit {
                Exit::Delivered { handle, corrupted: false } => delivered.push((at.as_nanos(), handle)),
                Exit::Lost { handle, cause: Cause::Outage } => lost.push(handle),
                other => panic!("{other:?} from a link without impairments"),
            }
        }
        assert!(link.deadline().is_none_or(|next| next > at), "a deadline that is not in the future");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn the_analytic_link_is_the_naive_link(
        rate in rate(),
        delay in 0..300_u64,
        queue in limit(),
        steps in prop::collection::vec(step(), 1..80),
    ) {
        let direction = Direction { queue, ..Direction::plain(BitRate::from_bps(rate), Duration::from_nanos(delay)) };
        let mut naive = Naive::new(&direction);
        let mut link = Link::new(&direction, Stream::new(1, "link"));
        let (mut delivered, mut lost) = (Vec::new(), Vec::new());
        let mut now = 0;
        for (handle, (wait, step, look)) in (0..).zip(steps) {
            for t in now + 1..=now + wait {
                naive.tick(t);
            }
            now += wait;
            let at = Instant::from_nanos(now);
            match step {
                Step::Enqueue(size) => {
                    let got = link.enqueue(at, handle, Bytes(u64::from(size)), true);
                    prop_assert_eq!(got, naive.enqueue(handle, u64::from(size)));
                }
                Step::SetRate(rate) => {
                    naive.rate = rate;
                    link.set_rate(at, BitRate::from_bps(rate));
                }
                Step::SetDelay(delay) => {
                    naive.delay = delay;
                    link.set_delay(at, Duration::from_nanos(delay));
                }
                Step::Down(mode) => {
                    naive.down(mode);
                    link.down(at, mode);
                }
                Step::Up(mode) => {
                    naive.up(mode);
                    link.up(at, mode);
                }
            }
            if look {
                drain(&mut link, now, &mut delivered, &mut lost);
                let held = link.queue(at);
                prop_assert_eq!(held.packets, naive.queue.len());
                prop_assert_eq!(held.bytes.get(), naive.queue.iter().map(|&(_, size)| size).sum::<u64>());
            }
        }
        for mode in [DownMode::Drop, DownMode::Hold] {
            while naive.down[mode as usize] > 0 {
                naive.up(mode);
                link.up(Instant::from_nanos(now), mode);
            }
        }
        naive.rate = 8_000_000_000;
        link.set_rate(Instant::from_nanos(now), BitRate::from_bps(8_000_000_000));
        for t in now + 1..=now + 5000 {
            naive.tick(t);
        }
        drain(&mut link, now + 5000, &mut delivered, &mut lost);
        prop_assert!(naive.queue.is_empty() && naive.air.is_empty());
        prop_assert_eq!(&delivered, &naive.delivered);
        prop_assert_eq!(&lost, &naive.lost);
        prop_assert_eq!(link.deadline(), None);
    }
}
