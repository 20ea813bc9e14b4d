//! The far end: it keeps the last packets, recovers what a block lacks, puts all in order, and reports losses.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use handfast_core::{Duration, Instant, SeqNum};
use handfast_wire::shim::{MOST_INTERLEAVED, Message, Shim};
use handfast_wire::{Ecn, Packet};

use super::code::recover;
use crate::shim::order::{Bounds, Order};
use crate::shim::{Made, Outgoing, opened};

/// Packets and blocks that are kept to recover others. Two of all that can be interleaved fit ([`super::MOST_INTERLEAVED_PACKETS`]);
/// symbols of blocks that are whole go at once.
const MOST_SOURCES: usize = 2 * super::MOST_INTERLEAVED_PACKETS;
const MOST_BLOCKS: usize = 2 * MOST_INTERLEAVED as usize;

/// Between reports.
const REPORT_INTERVAL: Duration = Duration::from_millis(100);

/// Numbers further ahead are those of a peer that has begun anew: nothing is known of what it has lost.
const FAR: i32 = 1 << 16;

/// A block that lacks packets, with what has come to repair it.
#[derive(Debug)]
struct Block {
    first: SeqNum,
    count: u8,
    repairs: u8,
    stride: u8,
    symbols: BTreeMap<usize, Bytes>,
}

impl Block {
    fn numbers(&self) -> impl Iterator<Item = SeqNum> + use<> {
        let (first, stride) = (self.first, u32::from(self.stride));
        (0..u32::from(self.count)).map(move |place| first + place * stride)
    }

    /// Whether a repair symbol is one of this block.
    fn fits(&self, counts: [u8; 3], symbol: &Bytes) -> bool {
        let len = self.symbols.values().next().map_or(symbol.len(), Bytes::len);
        ([self.count, self.repairs, self.stride], len) == (counts, symbol.len())
    }
}

/// What has become of packets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counters {
    pub(super) recovered: u64,
    pub(super) reports: u64,
    pub(super) malformed: u64,
}

#[derive(Debug)]
pub(super) struct Far {
    pub(super) order: Order<Packet>,
    /// The last packets, by number.
    sources: BTreeMap<u32, Bytes>,
    /// Their numbers, the oldest first.
    ages: VecDeque<u32>,
    blocks: VecDeque<Block>,
    highest: Option<SeqNum>,
    received: u32,
    lost: u32,
    reports: SeqNum,
    reported: Option<Instant>,
    pub(super) counters: Counters,
}

impl Far {
    pub(super) fn new(bounds: Bounds) -> Self {
        Self {
            order: Order::new(bounds),
            sources: BTreeMap::new(),
            ages: VecDeque::new(),
            blocks: VecDeque::new(),
            highest: None,
            received: 0,
            lost: 0,
            reports: SeqNum(0),
            reported: None,
            counters: Counters::default(),
        }
    }

    /// Packets and blocks that are kept.
    #[cfg(test)]
    pub(super) fn kept(&self) -> (usize, usize) {
        (self.sources.len(), self.blocks.len())
    }

    /// A packet has come.
    pub(super) fn on_source(&mut self, now: Instant, at: SeqNum, bytes: &Bytes, marks: Ecn, made: &mut Made) {
        if !self.take(now, at, bytes, marks, made) {
            return;
        }
        self.count(at);
        let blocks = self.blocks.iter().filter(|block| block.numbers().any(|number| number == at));
        if let Some(first) = blocks.map(|block| block.first).next() {
            self.repair(now, first, made);
        }
        self.report(now, made);
    }

    /// A repair symbol has come.
    pub(super) fn on_repair(&mut self, now: Instant, first: SeqNum, message: &Message, made: &mut Made) {
        let &Message::Repair { index, count, repairs, stride, ref symbol } = message else { return };
        let place = self.blocks.iter().position(|block| block.first == first).unwrap_or_else(|| {
            if self.blocks.len() == MOST_BLOCKS {
                self.blocks.pop_front();
            }
            self.blocks.push_back(Block { first, count, repairs, stride, symbols: BTreeMap::new() });
            self.blocks.len() - 1
        });
        let block = &mut self.blocks[place];
        if block.fits([count, repairs, stride], symbol) {
            block.symbols.insert(usize::from(index), symbol.clone());
            self.repair(now, first, made);
        }
    }

    /// Recovers what a block lacks, if enough of it is there.
    fn repair(&mut self, now: Instant, first: SeqNum, made: &mut Made) {
        let Some(place) = self.blocks.iter().position(|block| block.first == first) else { return };
        let block = &self.blocks[place];
        let found = block.numbers().enumerate();
        let there: BTreeMap<_, _> =
            found.filter_map(|(place, number)| Some((place, self.sources.get(&number.0)?.clone()))).collect();
        let counts = [block.count, block.repairs].map(usize::from);
        let missing = counts[0] - there.len();
        if missing > block.symbols.len() {
            return;
        }
        let Some(block) = self.blocks.remove(place).filter(|_| missing > 0) else { return };
        for (place, bytes) in recover(&there, &block.symbols, counts) {
            let number = block.first + place as u32 * u32::from(block.stride);
            // Of those that came before the ones that are kept some have gone on.
            self.counters.recovered += u64::from(self.take(now, number, &bytes, Ecn::NotCapable, made));
        }
    }

    /// Keeps a packet for the blocks' sake, and puts it in order. False: it is none, or has come before.
    fn take(&mut self, now: Instant, at: SeqNum, bytes: &Bytes, marks: Ecn, made: &mut Made) -> bool {
        let Some(packet) = opened(bytes, marks) else {
            self.counters.malformed += 1;
            return false;
        };
        if !self.order.insert(now, at, packet, &mut made.delivered) {
            return false;
        }
        if self.sources.insert(at.0, bytes.clone()).is_none() {
            self.ages.push_back(at.0);
        }
        while self.ages.len() > MOST_SOURCES {
            self.ages.pop_front().map(|oldest| self.sources.remove(&oldest));
        }
        true
    }

    /// Counts what came by itself, and what did not.
    fn count(&mut self, at: SeqNum) {
        self.received = self.received.wrapping_add(1);
        let ahead = self.highest.map_or(1, |highest| at.distance(highest));
        if ahead > 0 {
            self.highest = Some(at);
            let missed = if ahead > FAR { 0 } else { ahead as u32 - 1 };
            self.lost = self.lost.wrapping_add(missed);
        } else if ahead > -FAR {
            self.lost = self.lost.wrapping_sub(1);
        } else {
            self.highest = Some(at);
        }
    }

    fn report(&mut self, now: Instant, made: &mut Made) {
        if self.reported.is_some_and(|at| now.since(at) < REPORT_INTERVAL) {
            return;
        }
        self.reported = Some(now);
        self.counters.reports += 1;
        let message = Message::Report { received: self.received, lost: self.lost };
        made.out.push(Outgoing { shim: Shim { sequence: self.reports, message }, class: 0 });
        self.reports += 1;
    }
}
