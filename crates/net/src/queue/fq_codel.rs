//! `FQ-CoDel`, flow queueing with controlled delay (RFC 8290): a queue for each flow under `CoDel`, served in turns of a quantum of
//! bytes, and flows that have just begun to send before those that keep sending.
//!
//! A flow here is what the driver names by [`PacketMeta::flow`]; RFC 8290 hashes the 5-tuple, and so flows may share a queue.
//! Each queue's `CoDel` looks at that queue's own backlog, as in RFC 8290 §4.2 and ns-3; Linux hands it the whole one's.

use std::collections::VecDeque;

use handfast_core::{Bytes, Duration, Instant, Stream, fnv1a};

use super::{
    Discipline, Handle, Occupancy, PacketMeta, Parameter, QueueLimit, Value, Verdict, codel, drop_tail,
};
use crate::Cause;

/// RFC 8290 §5.2.5, `flows`: "The default value is 1024".
const FLOWS: u64 = 1024;

/// RFC 8290 §4.1: of the queue with the most bytes half is dropped, and at most so many packets at once.
const BATCH: usize = 64;

/// The parameters of `FQ-CoDel`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// How much all queues hold together.
    pub limit: Option<QueueLimit>,
    /// Of each queue.
    pub target: Duration,
    /// Of each queue.
    pub interval: Duration,
    /// Bytes that a queue may send in its turn.
    pub quantum: Bytes,
}

impl Default for Config {
    fn default() -> Self {
        let codel::Config { target, interval, .. } = codel::Config::default();
        Self {
            // RFC 8290 §5.2.3: "The default packet limit is 10240 packets".
            limit: Some(QueueLimit::Packets(10_240)),
            target,
            interval,
            // RFC 8290 §5.2.4: "The default is set to the MTU size … plus the hardware header length of 14 bytes". Packets here
            // are IP packets, without that header.
            quantum: Bytes(1500),
        }
    }
}

impl super::Config for Config {
    fn name(&self) -> &'static str {
        "fq-codel"
    }

    fn about(&self) -> &'static str {
        "flow queueing with controlled delay (RFC 8290): a queue a flow, in turns, each under codel"
    }

    fn parameters(&mut self) -> Vec<Parameter<'_>> {
        let limit = "How much all queues hold together, the packet in serialisation included";
        let target = "The delay in a flow's queue that is accepted for long";
        let interval = "For how long that delay must stay above `target` before a packet is dropped";
        let quantum = "What a flow may send in its turn";
        vec![
            Parameter { key: "limit", about: limit, value: Value::Limit(&mut self.limit) },
            Parameter { key: "target", about: target, value: Value::Time(&mut self.target) },
            Parameter { key: "interval", about: interval, value: Value::Time(&mut self.interval) },
            Parameter { key: "quantum", about: quantum, value: Value::Size(&mut self.quantum) },
        ]
    }

    fn limit(&self) -> Option<QueueLimit> {
        self.limit
    }
}

/// One queue.
#[derive(Debug)]
struct Flow<H> {
    codel: codel::CoDel<H>,
    /// The bytes that it may still send in this turn; below zero by less than a packet.
    deficit: i64,
    /// It stands in one of the two lists.
    listed: bool,
}

/// All queues.
#[derive(Debug)]
pub struct FqCoDel<H> {
    config: Config,
    random: Stream,
    /// Chosen at random, so that nobody knows which flows share a queue (RFC 8290 §5.3).
    perturbation: u64,
    /// By hash; one that nothing has come for yet is [`None`].
    flows: Vec<Option<Box<Flow<H>>>>,
    /// Queues by their places: those that have begun to send, and those that have had a turn.
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    /// Packets that had to make room, and that nobody has been told of.
    thrown: VecDeque<PacketMeta<H>>,
    held: Occupancy,
}

impl<H: Handle> FqCoDel<H> {
    /// Empty queues. It draws one number.
    pub fn new(config: &Config, mut random: Stream) -> Self {
        Self {
            config: config.clone(),
            perturbation: random.bits(),
            random,
            flows: Vec::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            thrown: VecDeque::new(),
            held: Occupancy::default(),
        }
    }

    /// RFC 8290 §4.1: "hashes … modulo the number of queues".
    fn place(&self, flow: u32) -> usize {
        let mut bytes = [0; 12];
        bytes[..8].copy_from_slice(&self.perturbation.to_le_bytes());
        bytes[8..].copy_from_slice(&flow.to_le_bytes());
        (fnv1a(&bytes) % FLOWS) as usize
    }

    fn flow(&mut self, place: usize) -> &mut Flow<H> {
        if self.flows.is_empty() {
            self.flows.resize_with(FLOWS as usize, || None);
        }
        let Config { target, interval, .. } = self.config;
        let random = &self.random;
        self.flows[place].get_or_insert_with(|| {
            let config = codel::Config { limit: None, target, interval };
            Box::new(Flow { codel: codel::CoDel::new(&config, random.clone()), deficit: 0, listed: false })
        })
    }

    fn fits(&self, sending: Occupancy) -> bool {
        let held = self.held + sending;
        match self.config.limit {
            None => true,
            Some(QueueLimit::Packets(most)) => held.packets <= most as usize,
            Some(QueueLimit::Bytes(most)) => held.bytes <= most,
        }
    }

    fn left(&mut self, packet: &PacketMeta<H>) {
        self.held.packets -= 1;
        self.held.bytes = self.held.bytes - packet.size;
    }

    /// RFC 8290 §4.1: "the queue with the largest current byte count … half of the packets … up to 64" give way, from its head.
    fn make_room(&mut self) {
        let of =
            |flow: &Option<Box<Flow<H>>>| flow.as_ref().map_or(0, |flow| flow.codel.occupancy().bytes.get());
        // The first of several: an order that no platform changes.
        let fattest = (0..self.flows.len()).rev().max_by_key(|&place| of(&self.flows[place]));
        let Some(place) = fattest else { return };
        let half = of(&self.flows[place]).div_ceil(2);
        let mut dropped = 0;
        for _ in 0..BATCH {
            // The last of all is what has just come, and has room.
            if dropped >= half || self.held.packets <= 1 {
                return;
            }
            let Some(packet) = self.flow(place).codel.throw_out() else { return };
            dropped += packet.size.get();
            self.left(&packet);
            self.thrown.push_back(packet);
        }
    }

    /// The queue whose turn it is (RFC 8290 §4.2), and whether it stands among the new ones.
    fn turn(&mut self) -> Option<(usize, bool)> {
        loop {
            let is_new = !self.new.is_empty();
            let place = *if is_new { self.new.front() } else { self.old.front() }?;
            let quantum = self.config.quantum.get() as i64;
            let flow = self.flow(place);
            if flow.deficit > 0 {
                return Some((place, is_new));
            }
            // "If so, … adds a quantum … puts the queue onto the back of the list of old queues, and starts over".
            flow.deficit += quantum;
            self.take(is_new);
            self.old.push_back(place);
        }
    }

    fn take(&mut self, is_new: bool) {
        if is_new {
            self.new.pop_front()
        } else {
            self.old.pop_front()
        };
    }
}

impl<H: Handle> Discipline<H> for FqCoDel<H> {
    /// RFC 8290 §4.1.
    fn enqueue(&mut self, now: Instant, packet: PacketMeta<H>, sending: Occupancy) -> Result<(), Cause> {
        let limit = self.config.limit;
        if !drop_tail::has_room(limit, sending, packet.size) {
            return Err(Cause::QueueFull);
        }
        if self.thrown.len() >= BATCH && !drop_tail::has_room(limit, self.held + sending, packet.size) {
            // The line stands still, and takes nothing back.
            return Err(Cause::QueueFull);
        }
        let (place, quantum) = (self.place(packet.flow), self.config.quantum.get() as i64);
        let flow = self.flow(place);
        flow.codel.enqueue(now, packet, Occupancy::default())?;
        if !std::mem::replace(&mut flow.listed, true) {
            // §4.1: "If the queue is not currently active …, it is added to the end of the list of new queues".
            flow.deficit = quantum;
            self.new.push_back(place);
        }
        self.held = self.held + Occupancy { packets: 1, bytes: packet.size };
        // What has just come fits by itself, and is never the last to go.
        while !self.fits(sending) && self.held.packets > 1 {
            self.make_room();
        }
        Ok(())
    }

    /// RFC 8290 §4.2.
    fn dequeue(&mut self, now: Instant) -> Option<Verdict<H>> {
        if let Some(packet) = self.thrown.pop_front() {
            return Some(Verdict::Drop(packet));
        }
        loop {
            let (place, is_new) = self.turn()?;
            let verdict = self.flow(place).codel.dequeue(now);
            match &verdict {
                // A drop takes nothing of the turn: the same queue is asked again.
                Some(Verdict::Drop(packet)) => self.left(packet),
                Some(Verdict::Send(packet) | Verdict::Mark(packet)) => {
                    self.flow(place).deficit -= packet.size.get() as i64;
                    self.left(packet);
                }
                None => {
                    self.take(is_new);
                    // "If the queue … was from the list of new queues, it is moved to the end of the list of old queues. If it
                    // was from the list of old queues, that queue is removed": else a flow that sends one packet at a time
                    // would always be new.
                    if is_new && !self.old.is_empty() {
                        self.old.push_back(place);
                    } else {
                        self.flow(place).listed = false;
                    }
                    continue;
                }
            }
            return verdict;
        }
    }

    fn occupancy(&self) -> Occupancy {
        self.held
    }

    fn clear(&mut self) -> Vec<PacketMeta<H>> {
        let waiting = self.flows.iter_mut().flatten().flat_map(|flow| flow.codel.clear());
        let mut all: Vec<_> = self.thrown.drain(..).chain(waiting).collect();
        all.sort_by_key(|packet| packet.enqueued_at);
        (self.new, self.old, self.held) = (VecDeque::new(), VecDeque::new(), Occupancy::default());
        self.flows.clear();
        all
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Config as _, Ecn};
    use super::*;

    fn queues(limit: Option<QueueLimit>) -> FqCoDel<u32> {
        FqCoDel::new(&Config { limit, ..Config::default() }, Stream::new(1, "queue"))
    }

    fn offer(queues: &mut FqCoDel<u32>, ms: u64, flow: u32, handle: u32, size: u64) -> Result<(), Cause> {
        let enqueued_at = Instant::from_millis(ms);
        let ecn = Ecn::NotEct;
        let packet = PacketMeta { handle, size: Bytes(size), flow, ecn, has_payload: true, enqueued_at };
        queues.enqueue(enqueued_at, packet, Occupancy::default())
    }

    fn offer_all(queues: &mut FqCoDel<u32>, ms: u64, flow: u32, handles: std::ops::Range<u32>, size: u64) {
        for handle in handles {
            offer(queues, ms, flow, handle, size).unwrap();
        }
    }

    /// The next packet that is sent.
    fn next(queues: &mut FqCoDel<u32>, ms: u64) -> Option<u32> {
        loop {
            match queues.dequeue(Instant::from_millis(ms))? {
                Verdict::Send(packet) | Verdict::Mark(packet) => return Some(packet.handle),
                Verdict::Drop(_) => {}
            }
        }
    }

    fn all(queues: &mut FqCoDel<u32>) -> Vec<u32> {
        std::iter::from_fn(|| next(queues, 0)).collect()
    }

    #[test]
    fn flows_take_turns() {
        let mut queues = queues(None);
        offer_all(&mut queues, 0, 7, 0..3, 1500);
        offer_all(&mut queues, 0, 8, 10..13, 1500);
        assert_eq!(all(&mut queues), [0, 10, 1, 11, 2, 12]);
    }

    #[test]
    fn a_turn_is_a_number_of_bytes() {
        let mut queues = queues(None);
        offer_all(&mut queues, 0, 7, 0..3, 1500);
        // Three of 600 bytes: the third is begun with 300 left of 1500, and owes 300 in the turn after.
        offer_all(&mut queues, 0, 8, 10..17, 600);
        assert_eq!(all(&mut queues), [0, 10, 11, 12, 1, 13, 14, 2, 15, 16]);
    }

    #[test]
    fn who_begins_to_send_goes_first() {
        let mut queues = queues(None);
        offer_all(&mut queues, 0, 7, 0..4, 1500);
        assert_eq!([next(&mut queues, 0), next(&mut queues, 0)], [Some(0), Some(1)]);
        offer(&mut queues, 0, 8, 10, 40).unwrap();
        assert_eq!(all(&mut queues), [10, 2, 3]);
    }

    #[test]
    fn who_sends_one_packet_at_a_time_is_not_new_each_time() {
        // RFC 8290 §4.2: its queue, empty now, goes to the end of the old ones before it may be new again.
        let mut queues = queues(None);
        offer_all(&mut queues, 0, 7, 0..6, 1500);
        assert_eq!(next(&mut queues, 0), Some(0));
        offer(&mut queues, 0, 8, 10, 40).unwrap();
        assert_eq!([next(&mut queues, 0), next(&mut queues, 0)], [Some(10), Some(1)]);
        offer(&mut queues, 0, 8, 11, 40).unwrap();
        offer(&mut queues, 0, 8, 12, 40).unwrap();
        assert_eq!(queues.new.len(), 0);
        assert_eq!(all(&mut queues), [11, 12, 2, 3, 4, 5]);
        offer(&mut queues, 0, 8, 13, 40).unwrap();
        assert_eq!((queues.new.len(), queues.old.len()), (1, 0), "all was empty");
    }

    #[test]
    fn the_fattest_queue_makes_room() {
        // RFC 8290 §4.1
        let mut queues = queues(Some(QueueLimit::Packets(12)));
        offer_all(&mut queues, 0, 7, 0..10, 1500);
        offer_all(&mut queues, 0, 8, 10..12, 1500);
        offer(&mut queues, 0, 9, 12, 40).unwrap();
        // Of ten half, from the head.
        assert_eq!(queues.occupancy(), Occupancy { packets: 8, bytes: Bytes(7 * 1500 + 40) });
        let thrown: Vec<_> = (0..5).map(|_| queues.dequeue(Instant::ZERO)).collect();
        let handles = thrown.iter().map(|verdict| match verdict {
            Some(Verdict::Drop(packet)) => packet.handle,
            other => panic!("{other:?}"),
        });
        assert!(handles.eq(0..5));
        assert_eq!(all(&mut queues), [5, 10, 12, 6, 11, 7, 8, 9]);
        let dropped = queues.flows.iter().flatten().map(|flow| flow.codel.drops()).sum::<u32>();
        assert_eq!(dropped, 5, "and its CoDel has counted them");
    }

    #[test]
    fn at_most_64_make_room_at_once() {
        let mut queues = queues(Some(QueueLimit::Packets(1_000)));
        offer_all(&mut queues, 0, 7, 0..1_000, 100);
        offer(&mut queues, 0, 7, 1_000, 100).unwrap();
        assert_eq!(queues.occupancy().packets, 1_001 - 64);
    }

    #[test]
    fn room_is_made_until_what_has_come_fits() {
        let mut queues = queues(Some(QueueLimit::Bytes(Bytes(4_000))));
        for flow in 0..40 {
            offer(&mut queues, 0, flow, flow, 100).unwrap();
        }
        assert_eq!(queues.occupancy(), Occupancy { packets: 40, bytes: Bytes(4_000) });
        offer(&mut queues, 0, 50, 50, 1_500).unwrap();
        assert!(queues.occupancy().bytes >= Bytes(2_500), "and no more than that");
        assert!(queues.occupancy().bytes <= Bytes(4_000));
        assert_eq!(offer(&mut queues, 0, 51, 51, 4_001), Err(Cause::QueueFull));
    }

    #[test]
    fn while_nothing_leaves_what_comes_is_refused_once_a_batch_was_thrown_out() {
        let mut queues = queues(Some(QueueLimit::Packets(100)));
        let taken =
            (0..10_000).filter(|&handle| offer(&mut queues, 0, handle % 7, handle, 1_500).is_ok()).count();
        assert!((150..400).contains(&taken), "{taken}");
        assert!(queues.thrown.len() < 2 * BATCH && queues.occupancy().packets <= 100);
    }

    #[test]
    fn who_has_room_is_taken_after_a_batch_was_thrown_out() {
        let mut queues = queues(Some(QueueLimit::Packets(200)));
        offer_all(&mut queues, 0, 7, 0..201, 100);
        assert_eq!((queues.thrown.len(), queues.occupancy().packets), (BATCH, 137));
        offer_all(&mut queues, 0, 7, 201..264, 100);
        assert_eq!(offer(&mut queues, 0, 7, 264, 100), Err(Cause::QueueFull), "nothing is thrown out for it");
        assert_eq!((queues.thrown.len(), queues.occupancy().packets), (BATCH, 200));
    }

    #[test]
    fn each_flow_has_a_codel_of_its_own() {
        let mut queues = queues(None);
        let mut dropped = Vec::new();
        for ms in 0..1_000 {
            // One sends twice as much as its share, the other half of it.
            offer(&mut queues, ms, 7, 7, 1500).unwrap();
            if ms % 4 == 0 {
                offer(&mut queues, ms, 8, 8, 1500).unwrap();
            }
            while let Some(Verdict::Drop(packet)) = queues.dequeue(Instant::from_millis(ms)) {
                dropped.push(packet.flow);
            }
        }
        assert!(dropped.len() > 5 && dropped.iter().all(|&flow| flow == 7), "{dropped:?}");
    }

    #[test]
    fn an_outage_takes_all_in_order() {
        let mut queues = queues(Some(QueueLimit::Packets(5)));
        for ms in 0..7 {
            offer(&mut queues, ms, ms as u32 % 3, ms as u32, 1500).unwrap();
        }
        let cleared: Vec<_> = queues.clear().iter().map(|packet| packet.handle).collect();
        assert_eq!(cleared, [0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(
            (queues.occupancy(), queues.dequeue(Instant::from_millis(9))),
            (Occupancy::default(), None)
        );
        offer(&mut queues, 10, 0, 9, 40).unwrap();
        assert_eq!(all(&mut queues), [9]);
    }

    #[test]
    fn its_parameters_are_those_of_the_rfc() {
        let mut config = Config::default();
        let said: Vec<_> =
            config.parameters().iter().map(|one| format!("{} {}", one.key, one.value)).collect();
        assert_eq!(said, ["limit 10240pkt", "target 5ms", "interval 100ms", "quantum 1500B"]);
        assert!(config.about().contains("RFC 8290"));
        assert_eq!((config.name(), config.limit()), ("fq-codel", Some(QueueLimit::Packets(10_240))));
    }
}
