//! The receiving edge puts the packets of one connection in order before it passes them on.
//!
//! A repaired packet comes late. A host that saw those behind it first would take them for a loss, and send again. So a packet
//! behind a hole waits, until the hole fills, until an RI `Never` says that it will not, or for [`Bounds::persistence`]
//! (RFC 3366 §3.3: a subnetwork must not repair for longer than the hosts wait).
//!
//! Each packet that comes leaves exactly once, but for repairs of what was not lost: a host that got one would take it for a
//! retransmission of its peer and say so (RFC 2883). At a bound the first ones leave; none is dropped.

use std::collections::VecDeque;

use handfast_core::{Bytes, Duration, Instant, SeqNum};

use crate::ranges::Ranges;

/// How long and how much may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// So long a packet waits at most.
    pub persistence: Duration,
    /// So many packets wait at most.
    pub packets: usize,
    /// So many bytes wait at most.
    pub bytes: Bytes,
}

impl Default for Bounds {
    fn default() -> Self {
        // 200 ms is the shortest retransmission timeout of Linux.
        Self { persistence: Duration::from_millis(200), packets: 4_096, bytes: Bytes(4_000_000) }
    }
}

/// What the resequencer must know of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incoming {
    /// The number of its first byte.
    pub seq: SeqNum,
    /// The numbers that it takes; 0: it has nothing to put in order, such as a pure acknowledgment.
    pub len: u32,
    /// What it counts against [`Bounds::bytes`].
    pub bytes: u32,
    /// The value of the TCP timestamps option, if the packet has one.
    pub timestamp: Option<u32>,
    /// Whether no host can have sent it again: it is an RD. If its numbers have left before, it is one too many.
    pub only: bool,
}

impl Incoming {
    fn end(&self) -> SeqNum {
        self.seq + self.len
    }

    /// Whether the host has sent it later than another one.
    fn is_newer_than(&self, other: &Self) -> bool {
        match (self.timestamp, other.timestamp) {
            (Some(own), Some(of_other)) => SeqNum(own).after(SeqNum(of_other)),
            _ => false,
        }
    }
}

/// What became of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that waited.
    pub held: u64,
    /// Packets that came again.
    pub repeated: u64,
    /// Packets that came again, and that nobody waited for: dropped.
    pub needless: u64,
    /// Holes that were given up because a packet behind them had waited for the persistence.
    pub expired: u64,
    /// Holes that were given up because too much waited.
    pub full: u64,
    /// Holes that were given up because the host itself sends again what is missing.
    pub taken_over: u64,
}

#[derive(Debug)]
struct Held<P> {
    facts: Incoming,
    /// When the first of those came that wait from here on. A packet that comes in before others came after them, so this
    /// never changes.
    oldest: Instant,
    packet: P,
}

/// What waits of one connection in one direction.
#[derive(Debug)]
pub struct Resequencer<P> {
    bounds: Bounds,
    /// All before this has left, or was given up.
    next: SeqNum,
    /// In order of sequence numbers, all behind `next`.
    held: VecDeque<Held<P>>,
    bytes: u64,
    /// What is behind `next` and will not come.
    never: Ranges,
    /// What is before `next` and has not left: the last ones.
    skipped: Ranges,
    counters: Counters,
}

/// Ranges that are remembered of what will not come. Of those beyond, the persistence gives the first one up.
const MOST_RANGES: usize = 64;

/// Beyond a quarter of the sequence space the order of two numbers means nothing.
const FAR: u32 = 1 << 30;

impl<P> Resequencer<P> {
    /// Nothing waits; the connection begins with `start`.
    pub fn new(start: SeqNum, bounds: Bounds) -> Self {
        Self {
            bounds,
            next: start,
            held: VecDeque::new(),
            bytes: 0,
            never: Ranges::default(),
            skipped: Ranges::default(),
            counters: Counters::default(),
        }
    }

    /// What it has counted.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// The first number that has not left.
    pub fn next(&self) -> SeqNum {
        self.next
    }

    /// Packets that wait.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// Bytes that wait.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// A packet has come.
    pub fn on_data(&mut self, now: Instant, facts: Incoming, packet: P, out: &mut Vec<P>) {
        if facts.len == 0 {
            out.push(packet);
            return;
        }
        if self.is_far(facts.seq) {
            self.begin_anew(facts.seq, out);
        }
        if facts.only && self.has_come(&facts) {
            self.counters.needless += 1;
            return;
        }
        self.give_way(&facts, out);
        self.in_order(now, facts, packet, out);
    }

    /// Whether all of a packet has left, or waits.
    fn has_come(&self, facts: &Incoming) -> bool {
        let left = !facts.end().after(self.next) && !self.skipped.touch(facts.seq, facts.end());
        left || self.waits(facts)
    }

    /// Another connection has the same number.
    fn begin_anew(&mut self, start: SeqNum, out: &mut Vec<P>) {
        self.flush(out);
        (self.never, self.skipped) = (Ranges::default(), Ranges::default());
        self.next = start;
    }

    /// A packet with a lower number and a later timestamp is a retransmission by the host. If it left first, the receiver would
    /// drop what waits behind it as old (PAWS, RFC 7323 §5.3, R1). So what waits leaves first, as it would have without us.
    fn give_way(&mut self, facts: &Incoming, out: &mut Vec<P>) {
        // Several may wait with one number: of different lengths, or with and without a timestamp.
        let from = self.held.partition_point(|held| held.facts.seq.before(facts.seq));
        if self.held.iter().skip(from).any(|held| facts.is_newer_than(&held.facts)) {
            self.counters.taken_over += 1;
            self.flush(out);
        }
    }

    fn in_order(&mut self, now: Instant, facts: Incoming, packet: P, out: &mut Vec<P>) {
        if facts.seq.after(self.next) && !self.waits(&facts) {
            self.hold(now, facts, packet);
            self.keep_within_bounds(out);
            return;
        }
        // What came before passes at once: a host that sends again waits for it.
        self.counters.repeated += u64::from(facts.seq != self.next);
        self.leaves(&facts);
        out.push(packet);
        if !facts.seq.after(self.next) {
            self.proceed_to(facts.end());
            self.release(out);
        }
    }

    /// These will not come: nothing waits for them.
    pub fn on_never(&mut self, start: SeqNum, end: SeqNum, out: &mut Vec<P>) {
        if end.after(start) && end.after(self.next) && !self.is_far(start) && !self.is_far(end) {
            self.never.insert(start, end, MOST_RANGES);
            self.release(out);
        }
    }

    /// What has waited for the persistence leaves, and all before it.
    pub fn on_timer(&mut self, now: Instant, out: &mut Vec<P>) {
        while self.deadline().is_some_and(|due| due <= now) {
            self.counters.expired += 1;
            self.give_up_hole(out);
        }
    }

    /// When [`Resequencer::on_timer`] is due.
    pub fn deadline(&self) -> Option<Instant> {
        self.held.front().map(|first| first.oldest + self.bounds.persistence)
    }

    /// All that waits leaves, in order.
    pub fn flush(&mut self, out: &mut Vec<P>) {
        while !self.held.is_empty() {
            self.give_up_hole(out);
        }
    }

    fn is_far(&self, seq: SeqNum) -> bool {
        seq.distance(self.next).unsigned_abs() > FAR
    }

    /// Whether a packet that waits has all of it.
    fn waits(&self, facts: &Incoming) -> bool {
        let before = self.place(facts.seq).checked_sub(1).and_then(|place| self.held.get(place));
        before.is_some_and(|held| !facts.end().after(held.facts.end()))
    }

    /// Where a packet stands that begins at `seq`: behind those that begin there too.
    fn place(&self, seq: SeqNum) -> usize {
        match self.held.back() {
            Some(last) if last.facts.seq.after(seq) => {
                self.held.partition_point(|held| !held.facts.seq.after(seq))
            }
            _ => self.held.len(),
        }
    }

    fn hold(&mut self, now: Instant, facts: Incoming, packet: P) {
        let place = self.place(facts.seq);
        let oldest = self.held.get(place).map_or(now, |behind| behind.oldest);
        self.held.insert(place, Held { facts, oldest, packet });
        self.bytes += u64::from(facts.bytes);
        self.counters.held += 1;
    }

    fn keep_within_bounds(&mut self, out: &mut Vec<P>) {
        while self.held.len() > self.bounds.packets || self.bytes > self.bounds.bytes.get() {
            self.counters.full += 1;
            self.give_up_hole(out);
        }
    }

    /// Nothing waits any longer for what is missing before the first packet.
    fn give_up_hole(&mut self, out: &mut Vec<P>) {
        if let Some(first) = self.held.front().map(|first| first.facts.seq) {
            self.skip_to(first);
            self.release(out);
        }
    }

    /// All leaves that nothing is missing before.
    fn release(&mut self, out: &mut Vec<P>) {
        self.skip();
        while self.held.front().is_some_and(|first| !first.facts.seq.after(self.next))
            && let Some(first) = self.held.pop_front()
        {
            self.bytes -= u64::from(first.facts.bytes);
            self.proceed_to(first.facts.end());
            self.leaves(&first.facts);
            out.push(first.packet);
        }
    }

    fn leaves(&mut self, facts: &Incoming) {
        if !self.skipped.is_empty() {
            self.skipped.remove(facts.seq, facts.end(), MOST_RANGES);
        }
    }

    fn proceed_to(&mut self, end: SeqNum) {
        self.next = later(self.next, end);
        self.skip();
    }

    fn skip(&mut self) {
        while let Some((start, end)) = self.never.first()
            && !start.after(self.next)
        {
            self.skip_to(end);
            self.never.forget_below(self.next);
        }
    }

    /// Nothing waits any longer for what is missing before `end`.
    fn skip_to(&mut self, end: SeqNum) {
        if end.after(self.next) {
            self.skipped.insert(self.next, end, MOST_RANGES);
            self.next = end;
        }
    }
}

fn later(one: SeqNum, other: SeqNum) -> SeqNum {
    if other.after(one) { other } else { one }
}
