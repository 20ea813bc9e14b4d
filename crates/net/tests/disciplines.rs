//! What holds of every queue discipline, whatever comes.

use std::collections::BTreeMap;

use handfast_core::{BitRate, Bytes, Duration, Instant, Stream};
use handfast_net::queue::{Class, Discipline, Ecn, PacketMeta, Value, Verdict};
use handfast_net::{Cause, Direction, DownMode, Exit, Link, Occupancy, Queue, QueueLimit};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Enqueue { size: u16, ecn: Ecn, flow: u32, sending: bool },
    Dequeue,
    Clear,
}

fn ecn() -> impl Strategy<Value = Ecn> {
    (0..4_u8).prop_map(Ecn::of_traffic_class)
}

fn step() -> impl Strategy<Value = (u64, Step)> {
    let enqueue = (40..3000_u16, ecn(), 0..5_u32, any::<bool>());
    let enqueue = enqueue.prop_map(|(size, ecn, flow, sending)| Step::Enqueue { size, ecn, flow, sending });
    let what = prop_oneof![60 => enqueue, 50 => Just(Step::Dequeue), 1 => Just(Step::Clear)];
    (0..3_000_000_u64, what)
}

fn limit() -> impl Strategy<Value = Option<QueueLimit>> {
    prop_oneof![
        Just(None),
        (1..30_u32).prop_map(|most| Some(QueueLimit::Packets(most))),
        (3000..60_000_u64).prop_map(|most| Some(QueueLimit::Bytes(Bytes(most)))),
    ]
}

prop_compose! {
    /// Any discipline with any parameters; times around those between the steps.
    fn queue()(
        mut queue in prop::sample::select(Queue::all()),
        limit in limit(),
        times in prop::collection::vec(1..30_000_000_u64, 8),
    ) -> Queue {
        let mut times = times.into_iter();
        for parameter in queue.config_mut().parameters() {
            match parameter.value {
                Value::Limit(at) => *at = limit,
                Value::Time(at) => *at = Duration::from_nanos(times.next().unwrap_or(1)),
                Value::Size(at) => *at = Bytes(times.next().unwrap_or(1) % 5_000 + 1),
                Value::Packets(at) => *at = (times.next().unwrap_or(1) % 40) as u32 + 1,
                Value::Share(at) => *at = (times.next().unwrap_or(1) % 10_000) as u32 + 1,
                Value::Part(at) => *at = (times.next().unwrap_or(1) % 9_999) as u32 + 1,
            }
        }
        queue
    }
}

/// The packets in a queue, by handle.
type Inside = BTreeMap<u32, PacketMeta<u32>>;

fn occupancy(inside: &Inside) -> Occupancy {
    let bytes = inside.values().fold(Bytes::ZERO, |sum, packet| sum + packet.size);
    Occupancy { packets: inside.len(), bytes }
}

fn leaves(inside: &mut Inside, packet: PacketMeta<u32>) -> Result<(), TestCaseError> {
    prop_assert_eq!(inside.remove(&packet.handle), Some(packet));
    Ok(())
}

fn dequeue(
    queue: &mut dyn Discipline<u32>,
    now: Instant,
    inside: &mut Inside,
) -> Result<bool, TestCaseError> {
    let verdict = queue.dequeue(now);
    match verdict {
        None => prop_assert!(inside.is_empty() || queue.deadline().is_some_and(|at| at > now)),
        Some(Verdict::Send(packet) | Verdict::Drop(packet)) => leaves(inside, packet)?,
        Some(Verdict::Mark(packet)) => {
            prop_assert!(packet.ecn.is_capable());
            leaves(inside, packet)?;
        }
    }
    Ok(verdict.is_some())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Each packet that is accepted leaves once, as it came; the occupancy is that of those inside, and never above the limit.
    #[test]
    fn packets_are_conserved(queue in queue(), steps in prop::collection::vec(step(), 1..300)) {
        let mut made = queue.build::<u32>(Stream::new(1, "queue"));
        let (mut inside, mut now) = (Inside::new(), Instant::ZERO);
        for (handle, (wait, step)) in (0..).zip(steps) {
            now += Duration::from_nanos(wait);
            match step {
                Step::Enqueue { size, ecn, flow, sending } => {
                    let size = Bytes(u64::from(size));
                    let packet = PacketMeta { handle, size, flow, ecn, has_payload: true, enqueued_at: now };
                    let sending = Occupancy { packets: usize::from(sending), bytes: Bytes(if sending { 1500 } else { 0 }) };
                    if made.enqueue(now, packet, sending).is_ok() {
                        inside.insert(handle, packet);
                    }
                }
                Step::Dequeue => { dequeue(&mut *made, now, &mut inside)?; }
                Step::Clear => {
                    for packet in made.clear() {
                        leaves(&mut inside, packet)?;
                    }
                    prop_assert!(inside.is_empty());
                }
            }
            let (held, all) = (made.occupancy(), occupancy(&inside));
            // One that throws out others tells of them at the next dequeue.
            let throws = matches!(queue, Queue::FqCoDel(_));
            prop_assert!(held == all || throws && held.packets < all.packets && held.bytes < all.bytes);
            match queue.limit() {
                None => {}
                Some(QueueLimit::Packets(most)) => prop_assert!(held.packets <= most as usize),
                Some(QueueLimit::Bytes(most)) => prop_assert!(held.bytes <= most),
            }
        }
        while dequeue(&mut *made, now, &mut inside)? {}
        prop_assert_eq!(made.occupancy(), Occupancy::default());
    }

    /// On a link: what is offered is delivered, dropped by somebody, or still there; marks are counted and precede arrival.
    #[test]
    fn a_link_accounts_for_every_packet(
        queue in queue(),
        rate in 100_000..50_000_000_u64,
        steps in prop::collection::vec((0..1_000_000_u64, 40..1500_u64, ecn(), 0..40_u8), 1..300),
    ) {
        let direction =
            Direction { queue, ..Direction::plain(BitRate::from_bps(rate), Duration::from_millis(2)) };
        let mut link = Link::new(&direction, Stream::new(1, "link"));
        let (mut inside, mut marked, mut now) = (BTreeMap::new(), 0, Instant::ZERO);
        for (handle, (wait, size, ecn, what)) in (0_u32..).zip(steps) {
            now += Duration::from_nanos(wait);
            drain(&mut link, now, &mut inside, &mut marked)?;
            match what {
                0 => link.down(now, DownMode::Drop),
                1 => link.up(now, DownMode::Drop),
                2 => link.down(now, DownMode::Hold),
                3 => link.up(now, DownMode::Hold),
                4 => link.set_rate(now, BitRate::from_bps(rate / 3)),
                _ => {
                    let class = || Class { flow: 0, ecn };
                    if link.enqueue_classed(now, handle, Bytes(size), true, class).is_ok() {
                        inside.insert(handle, ecn);
                    }
                }
            }
            prop_assert!(link.queue(now).packets <= inside.len());
        }
        for mode in [DownMode::Drop, DownMode::Hold] {
            (0..300).for_each(|_| link.up(now, mode));
        }
        drain(&mut link, now + Duration::from_secs(1_000), &mut inside, &mut marked)?;
        prop_assert!(inside.is_empty(), "{inside:?} never left");
        let counters = link.counters();
        prop_assert_eq!((counters.offered, counters.marked), (counters.delivered + counters.lost(), marked));
    }
}

fn drain(
    link: &mut Link<u32>,
    now: Instant,
    inside: &mut BTreeMap<u32, Ecn>,
    marked: &mut u64,
) -> Result<(), TestCaseError> {
    while let Some(at) = link.deadline().filter(|&at| at <= now) {
        while let Some(exit) = link.poll(at) {
            match exit {
                Exit::Delivered { handle, .. } | Exit::Lost { handle, .. } => {
                    prop_assert!(inside.remove(&handle).is_some());
                }
                Exit::Duplicated { handle, .. } => prop_assert!(false, "{handle} was duplicated"),
                Exit::Marked { handle } => {
                    *marked += 1;
                    prop_assert!(inside.get(&handle).is_some_and(|ecn| ecn.is_capable()));
                }
            }
        }
        prop_assert!(link.deadline().is_none_or(|next| next > at));
    }
    Ok(())
}

/// Lets a packet go every 10 ms, the one that came last; the smallest that may be sent are dropped first.
#[derive(Debug, Default)]
struct Shaper {
    waiting: Vec<PacketMeta<u32>>,
    next: Instant,
}

impl Discipline<u32> for Shaper {
    fn enqueue(&mut self, _: Instant, packet: PacketMeta<u32>, _: Occupancy) -> Result<(), Cause> {
        self.waiting.push(packet);
        Ok(())
    }

    fn dequeue(&mut self, now: Instant) -> Option<Verdict<u32>> {
        if now < self.next {
            return None;
        }
        if let Some(small) = self.waiting.iter().position(|packet| packet.size < Bytes(100)) {
            return Some(Verdict::Drop(self.waiting.remove(small)));
        }
        let packet = self.waiting.pop()?;
        self.next = now + Duration::from_millis(10);
        Some(Verdict::Send(packet))
    }

    fn occupancy(&self) -> Occupancy {
        let bytes = self.waiting.iter().fold(Bytes::ZERO, |sum, packet| sum + packet.size);
        Occupancy { packets: self.waiting.len(), bytes }
    }

    fn clear(&mut self) -> Vec<PacketMeta<u32>> {
        std::mem::take(&mut self.waiting)
    }

    fn deadline(&self) -> Option<Instant> {
        (!self.waiting.is_empty()).then_some(self.next)
    }
}

#[test]
fn a_discipline_of_the_drivers_own_decides_when_and_in_which_order() {
    // 1000 bytes take 1 ms; they propagate for 2 ms.
    let direction = Direction::plain(BitRate::from_bps(8_000_000), Duration::from_millis(2));
    let mut link = Link::with_discipline(&direction, Stream::new(1, "link"), Box::<Shaper>::default());
    let ms = Instant::from_millis;
    for (handle, size) in [(0, 1000), (1, 1000), (2, 1000), (3, 50)] {
        link.enqueue(ms(5), handle, Bytes(size), true).unwrap();
    }
    assert_eq!(link.queue(ms(5)), Occupancy { packets: 4, bytes: Bytes(3050) });
    let mut out = Vec::new();
    while let Some(at) = link.deadline() {
        out.extend(link.poll(at).map(|exit| (at.as_nanos() / 1_000_000, exit)));
    }
    let arrived = |ms, handle| (ms, Exit::Delivered { handle, corrupted: false });
    // The first finds the line idle; the others wait for 15 ms and 25 ms, and the small one is dropped there.
    let dropped = (15, Exit::Lost { handle: 3, cause: Cause::Aqm });
    assert_eq!(out, [arrived(8, 0), dropped, arrived(18, 2), arrived(28, 1)]);
    assert_eq!(link.counters().aqm, 1);
}
