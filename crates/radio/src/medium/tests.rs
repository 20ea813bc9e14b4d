use super::*;
use crate::airtime::Rate;
use handfast_core::Duration;
use handfast_net::Queue;
use handfast_net::queue::Ecn;
use proptest::prelude::*;

fn legacy(downlink: bool, rate: Rate) -> TxQueueConfig {
    let (rate, attempt, aggregation) = (TxRate::Legacy(rate), Attempt::Clean, Aggregation::NONE);
    TxQueueConfig { downlink, rate, attempt, aggregation }
}

fn medium(queues: &[(bool, Rate)]) -> Medium<u32> {
    let mut medium = Medium::new(Physical::G, Retries::default(), Stream::new(1, "medium"));
    for &(downlink, rate) in queues {
        medium.add(legacy(downlink, rate), Queue::packets(50).build(Stream::new(1, "queue")));
    }
    medium
}

fn packet(handle: u32, size: u64) -> PacketMeta<u32> {
    let (flow, ecn, enqueued_at) = (0, Ecn::NotEct, Instant::ZERO);
    PacketMeta { handle, size: Bytes(size), flow, ecn, has_payload: true, enqueued_at }
}

fn served(medium: &mut Medium<u32>, now: Instant) -> Option<Served<u32>> {
    medium.poll(now).map(|event| match event {
        Event::Served(served) => served,
        other => panic!("{other:?} under drop-tail"),
    })
}

/// Serves all; the queues in order, and when the last one was done.
fn drain(medium: &mut Medium<u32>) -> (Vec<TxQueueId>, Instant) {
    let (mut order, mut last) = (Vec::new(), Instant::ZERO);
    while let Some(deadline) = medium.deadline() {
        assert!(deadline > last);
        last = deadline;
        order.push(served(medium, last).unwrap().tx_queue);
        assert_eq!(medium.poll(last), None);
    }
    (order, last)
}

#[test]
fn stations_and_the_access_point_take_turns_frame_by_frame() {
    // Two stations that are sent to and one that sends.
    let mut medium = medium(&[(true, Rate::Ofdm54), (true, Rate::Ofdm54), (false, Rate::Ofdm54)]);
    for number in 0..4 {
        for tx_queue in 0..3 {
            medium.enqueue(Instant::ZERO, tx_queue, packet(number, 1_500)).unwrap();
        }
    }
    let (order, last) = drain(&mut medium);
    // The first frame goes before anybody else has one.
    assert_eq!(order, [0, 1, 2, 0, 2, 1, 2, 0, 2, 1, 0, 1]);
    assert_eq!(last, Instant::ZERO + Duration::from_micros(393) * 12);
    assert!(medium.is_idle());
}

#[test]
fn a_slow_station_slows_all_of_them() {
    // Heusse et al. 2003: turns are frames, not time.
    let mut medium = medium(&[(false, Rate::Ofdm54), (false, Rate::Ofdm6)]);
    for number in 0..40 {
        medium.enqueue(Instant::ZERO, number as usize % 2, packet(number, 1_500)).unwrap();
    }
    let (order, last) = drain(&mut medium);
    assert!(order.iter().enumerate().all(|(index, &tx_queue)| tx_queue == index % 2), "{order:?}");
    let slow = Exchange::new(Physical::G, Rate::Ofdm6, Bytes(1_500)).attempt(0, true);
    assert_eq!(last, Instant::ZERO + (Duration::from_micros(393) + slow) * 20);
}

#[test]
fn a_full_queue_takes_nothing_and_a_cleared_one_gives_back() {
    let mut medium = medium(&[(true, Rate::Ofdm54), (false, Rate::Ofdm54)]);
    for number in 0..50 {
        assert_eq!(medium.enqueue(Instant::ZERO, 0, packet(number, 1_500)), Ok(()));
    }
    assert_eq!(medium.enqueue(Instant::ZERO, 0, packet(50, 1_500)), Err(Cause::QueueFull));
    assert_eq!(medium.enqueue(Instant::ZERO, 7, packet(51, 1_500)), Err(Cause::QueueFull));
    medium.enqueue(Instant::ZERO, 1, packet(60, 40)).unwrap();
    assert_eq!(medium.held(0), Occupancy { packets: 50, bytes: Bytes(75_000) });
    assert_eq!(medium.clear(0), (1..50).collect::<Vec<_>>());
    let until = medium.deadline().unwrap();
    let first = served(&mut medium, until).unwrap();
    assert_eq!((first.handle, first.delivered), (0, false));
    let until = medium.deadline().unwrap();
    let second = served(&mut medium, until).unwrap();
    assert_eq!((second.handle, second.delivered), (60, true));
    assert!(medium.is_idle());
}

#[test]
fn a_bad_signal_costs_time_and_packets() {
    let mut medium = medium(&[(true, Rate::Ofdm54)]);
    medium.adapt(0, TxRate::Legacy(Rate::Ofdm54), Attempt::Frame(1.0));
    medium.enqueue(Instant::ZERO, 0, packet(1, 1_500)).unwrap();
    let until = medium.deadline().unwrap();
    let exchange = Exchange::new(Physical::G, Rate::Ofdm54, Bytes(1_500));
    assert_eq!(until, Instant::ZERO + exchange.attempts(7, false));
    assert!(!served(&mut medium, until).unwrap().delivered);
}

proptest! {
    #[test]
    fn every_packet_comes_out_once_and_in_the_order_of_its_queue(
        queues in prop::collection::vec(prop::bool::ANY, 1..6),
        steps in prop::collection::vec((0_usize..6, 0_u64..2_000, prop::bool::weighted(0.05)), 0..300),
    ) {
        let queues: Vec<_> = queues.into_iter().map(|downlink| (downlink, Rate::Ofdm24)).collect();
        let mut medium = medium(&queues);
        let (mut now, mut out, mut given) = (Instant::ZERO, vec![Vec::new(); queues.len()], vec![0; queues.len()]);
        for (number, (tx_queue, micros, clear)) in (0..).zip(steps) {
            let tx_queue = tx_queue % queues.len();
            if clear {
                given[tx_queue] -= medium.clear(tx_queue).len();
            } else if medium.enqueue(now, tx_queue, packet(number, 1_000)).is_ok() {
                given[tx_queue] += 1;
            }
            now += Duration::from_micros(micros);
            while let Some(served) = served(&mut medium, now) {
                out[served.tx_queue].push(served.handle);
            }
            // No packet waits while the medium is idle.
            let waiting: usize = (0..queues.len()).map(|tx_queue| medium.held(tx_queue).packets).sum();
            prop_assert_eq!(medium.is_idle(), waiting == 0);
        }
        while let Some(deadline) = medium.deadline() {
            let served = served(&mut medium, deadline).unwrap();
            out[served.tx_queue].push(served.handle);
        }
        for (tx_queue, served) in out.iter().enumerate() {
            prop_assert_eq!(served.len(), given[tx_queue], "tx_queue {}", tx_queue);
            prop_assert!(served.is_sorted_by(|a, b| a < b), "tx_queue {}: {:?}", tx_queue, served);
        }
    }
}

/// Marks or drops each second packet, by turns, and lets one go every 5 ms.
#[derive(Debug, Default)]
struct Picky {
    waiting: VecDeque<PacketMeta<u32>>,
    next: Instant,
}

impl Discipline<u32> for Picky {
    fn enqueue(&mut self, _: Instant, packet: PacketMeta<u32>, _: Occupancy) -> Result<(), Cause> {
        self.waiting.push_back(packet);
        Ok(())
    }

    fn dequeue(&mut self, now: Instant) -> Option<Verdict<u32>> {
        if now < self.next {
            return None;
        }
        let packet = self.waiting.pop_front()?;
        if packet.handle % 4 == 1 {
            return Some(Verdict::Drop(packet));
        }
        self.next = now + Duration::from_millis(5);
        Some(if packet.handle % 4 == 3 { Verdict::Mark(packet) } else { Verdict::Send(packet) })
    }

    fn occupancy(&self) -> Occupancy {
        let bytes = self.waiting.iter().fold(Bytes::ZERO, |sum, packet| sum + packet.size);
        Occupancy { packets: self.waiting.len(), bytes }
    }

    fn clear(&mut self) -> Vec<PacketMeta<u32>> {
        self.waiting.drain(..).collect()
    }

    fn deadline(&self) -> Option<Instant> {
        (!self.waiting.is_empty()).then_some(self.next)
    }
}

#[test]
fn a_discipline_decides_when_a_queue_has_its_turn() {
    for downlink in [true, false] {
        let mut medium = Medium::new(Physical::G, Retries::default(), Stream::new(1, "medium"));
        let tx_queue = legacy(downlink, Rate::Ofdm54);
        medium.add(tx_queue, Box::<Picky>::default());
        for number in 0..5 {
            medium.enqueue(Instant::ZERO, 0, packet(number, 1_500)).unwrap();
        }
        assert_eq!(medium.held(0), Occupancy { packets: 5, bytes: Bytes(7_500) });
        let mut out = Vec::new();
        while let Some(deadline) = medium.deadline() {
            while let Some(event) = medium.poll(deadline) {
                out.push((deadline.as_nanos() / 1_000, event));
            }
            assert!(medium.deadline().is_none_or(|next| next > deadline));
        }
        let done = |handle| Event::Served(Served { tx_queue: 0, handle, delivered: true, corrupted: false });
        let expected = [
            (393, done(0)),
            (5_000, Event::Dropped { tx_queue: 0, handle: 1 }),
            (5_393, done(2)),
            (10_000, Event::Marked(3)),
            (10_393, done(3)),
            (15_393, done(4)),
        ];
        assert_eq!(out, expected);
    }
}

#[test]
fn a_queue_that_drops_all_it_has_passes_its_turn_on() {
    let mut medium = Medium::new(Physical::G, Retries::default(), Stream::new(1, "medium"));
    for (downlink, picky) in [(true, true), (true, false), (false, false)] {
        let tx_queue = legacy(downlink, Rate::Ofdm54);
        let usual = || Queue::packets(50).build(Stream::new(1, "queue"));
        medium.add(tx_queue, if picky { Box::<Picky>::default() } else { usual() });
    }
    for (tx_queue, number) in [(2, 0), (0, 1), (0, 5), (1, 2)] {
        medium.enqueue(Instant::ZERO, tx_queue, packet(number, 1_500)).unwrap();
    }
    let mut out = Vec::new();
    while let Some(deadline) = medium.deadline() {
        while let Some(event) = medium.poll(deadline) {
            out.push(match event {
                Event::Served(served) => served.handle,
                Event::Dropped { handle, .. } | Event::Marked(handle) => 100 + handle,
            });
        }
    }
    assert_eq!(out, [0, 101, 105, 2]);
    assert!(medium.is_idle());
}
