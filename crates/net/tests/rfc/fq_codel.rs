//! FQ-CoDel as RFC 8290 §4 tells it in words, over the pseudocode of RFC 8289. It shares nothing with the crate.

use std::collections::{BTreeMap, VecDeque};

use crate::codel::CodelQueue;
use crate::compare::{Arrival, Event, Model};

/// RFC 8290 §4.1: at most so many packets make room at once.
const BATCH: usize = 64;

/// A queue, and the bytes that it may still send in this turn.
#[derive(Default)]
struct Queue {
    codel: CodelQueue,
    credits: i64,
}

/// Two places where Linux (`net/sched/sch_fq_codel.c`), ns-3 and ours do not follow the words of the RFC
/// (docs/explanation/deviations.md).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// The RFC's words.
    Words,
    /// A queue with no credits gets a quantum, as one with a negative number does: it "has already dequeued at least a quantum".
    /// And an empty queue from the list of new ones is removed where no old one is waiting.
    Linux,
}

pub(crate) struct FqCodel {
    reading: Reading,
    quantum: i64,
    limit: usize,
    /// A queue for each flow: the hash puts no two of them together here.
    queues: BTreeMap<u32, Queue>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    /// What had to make room, and was not reported yet.
    thrown: Vec<Event>,
}

impl FqCodel {
    pub(crate) fn new(reading: Reading, quantum: i64, limit: usize) -> Self {
        Self {
            reading,
            quantum,
            limit,
            queues: BTreeMap::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            thrown: Vec::new(),
        }
    }

    fn is_active(&self, flow: u32) -> bool {
        self.new.contains(&flow) || self.old.contains(&flow)
    }

    /// §4.1: half of the packets of the queue with the most bytes are dropped from its head, 64 at most; half is rounded up.
    fn make_room(&mut self) {
        let fattest = self.queues.values_mut().max_by_key(|queue| queue.codel.bytes());
        let Some(Queue { codel, .. }) = fattest else { return };
        for _ in 0..codel.len().div_ceil(2).min(BATCH) {
            self.thrown.extend(codel.pop().map(|p| Event::Dropped(p.handle)));
            codel.count_one_more();
        }
    }

    /// §4.2: the queue at the head of the list of new queues, or of old ones, once it has credits: "if that queue has a negative
    /// number of credits (i.e., it has already dequeued at least a quantum of bytes), it is given an additional quantum".
    fn select(&mut self) -> Option<(u32, bool)> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let flow = *list.front()?;
            let queue = self.queues.entry(flow).or_default();
            let has_credits = match self.reading {
                Reading::Words => queue.credits >= 0,
                Reading::Linux => queue.credits > 0,
            };
            if has_credits {
                return Some((flow, is_new));
            }
            // "it is given an additional quantum of credits, the queue is put onto the end of the list of old queues"
            queue.credits += self.quantum;
            list.pop_front();
            self.old.push_back(flow);
        }
    }
}

impl Model for FqCodel {
    /// §4.1.
    fn enqueue(&mut self, packet: Arrival) {
        let flow = packet.flow;
        if !self.is_active(flow) {
            // "added to the end of the list of new queues … initiated with a number of credits equal to the quantum"
            self.new.push_back(flow);
            self.queues.entry(flow).or_default().credits = self.quantum;
        }
        self.queues.entry(flow).or_default().codel.push(packet);
        if self.queues.values().map(|queue| queue.codel.len()).sum::<usize>() > self.limit {
            self.make_room();
        }
    }

    /// §4.2.
    fn dequeue(&mut self, now: u64) -> Vec<Event> {
        let mut events = std::mem::take(&mut self.thrown);
        while let Some((flow, is_new)) = self.select() {
            let Some(queue) = self.queues.get_mut(&flow) else { break };
            if let Some(packet) = queue.codel.dequeue(now, &mut events) {
                queue.credits -= packet.size as i64;
                events.push(Event::Sent(packet.handle));
                break;
            }
            // "If the queue selected for dequeue came from the list of new queues, it is moved to the end of the list of old
            // queues. If instead it came from the list of old queues, that queue is removed from the list".
            if is_new {
                self.new.pop_front();
                if self.reading == Reading::Words || !self.old.is_empty() {
                    self.old.push_back(flow);
                }
            } else {
                self.old.pop_front();
            }
        }
        events
    }
}
