//! The near end: it sends packets as they come, and behind each block its repair symbols.

use std::collections::VecDeque;

use bytes::Bytes;
use handfast_core::{Instant, SeqNum};
use handfast_wire::shim::{Message, Shim};

use super::Config;
use super::code::repairs;
use super::rate::Losses;
use crate::shim::{Made, Outgoing};

/// What it has sent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counters {
    pub(super) blocks: u64,
    pub(super) repairs: u64,
}

/// A symbol that waits for its place.
#[derive(Debug)]
struct Waiting {
    /// The number of the packet behind which it goes.
    behind: SeqNum,
    /// It goes then at the latest.
    latest: Instant,
    symbol: Outgoing,
}

#[derive(Debug)]
pub(super) struct Near {
    config: Config,
    /// The packets of the open blocks: the first of the first one, the first of the second one, and so on in turn.
    blocks: Vec<Vec<Bytes>>,
    /// The number of the first of them, and how many have come.
    first: SeqNum,
    count: u32,
    due: Option<Instant>,
    /// The oldest first.
    waiting: VecDeque<Waiting>,
    losses: Losses,
    /// The last report.
    report: Option<SeqNum>,
    pub(super) counters: Counters,
}

impl Near {
    pub(super) fn new(config: Config) -> Self {
        Self {
            config,
            blocks: vec![Vec::new(); config.interleave.max(1).into()],
            first: SeqNum(0),
            count: 0,
            due: None,
            waiting: VecDeque::new(),
            losses: Losses::default(),
            report: None,
            counters: Counters::default(),
        }
    }

    pub(super) fn send(&mut self, now: Instant, packet: Bytes, class: u8, made: &mut Made) {
        let (sequence, place) = (self.first + self.count, self.count as usize % self.blocks.len());
        self.blocks[place].push(packet.clone());
        self.count += 1;
        made.out.push(Outgoing { shim: Shim { sequence, message: Message::Source(packet) }, class });
        self.due.get_or_insert(now + self.config.wait);
        if self.blocks[place].len() >= usize::from(self.config.packets) {
            // Those before it are full as well, and have ended.
            self.close(now, place);
            if place + 1 == self.blocks.len() {
                self.begin_anew();
            }
        }
        self.release(now, sequence, made);
    }

    pub(super) fn on_timer(&mut self, now: Instant, made: &mut Made) {
        if self.due.is_some_and(|due| due <= now) {
            (0..self.blocks.len()).for_each(|place| self.close(now, place));
            self.begin_anew();
            made.out.extend(self.waiting.drain(..).map(|waiting| waiting.symbol));
        }
        self.release(now, self.first - 1, made);
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        let waiting = self.waiting.front().map(|waiting| waiting.latest);
        self.due.into_iter().chain(waiting).min()
    }

    pub(super) fn on_report(&mut self, number: SeqNum, received: u32, lost: u32) {
        // What was overtaken is old. A far end that has begun anew counts from zero, and its numbers do.
        if self.report.is_none_or(|last| number.after(last) || number.0 == 0) {
            self.report = Some(number);
            self.losses.on_report(received, lost);
        }
    }

    /// A block ends: its repair symbols wait for their places. None of a block that is empty, or has ended before.
    fn close(&mut self, now: Instant, place: usize) {
        let block = std::mem::take(&mut self.blocks[place]);
        if block.is_empty() {
            return;
        }
        let (sequence, count) = (self.first + place as u32, block.len() as u8);
        let number = self.losses.repairs(block.len(), self.config.residual(), self.config.most_repairs);
        let symbols = repairs(&block, usize::from(number));
        let (stride, latest) = (self.config.interleave.max(1), now + self.config.wait);
        self.counters.blocks += 1;
        self.counters.repairs += symbols.len() as u64;
        for (index, symbol) in (0..).zip(symbols) {
            let message = Message::Repair { index, count, repairs: number, stride, symbol };
            let symbol = Outgoing { shim: Shim { sequence, message }, class: 0 };
            // As far from what it protects as the packets of a block are from each other: a burst is not to take both. Without
            // interleaving behind the last of them.
            let places = if stride == 1 { u32::from(count) - 1 } else { u32::from(count) + u32::from(index) };
            let behind = sequence + places * u32::from(stride);
            self.waiting.push_back(Waiting { behind, latest, symbol });
        }
    }

    /// Symbols go whose place is behind this packet, and those that have waited for it in vain.
    fn release(&mut self, now: Instant, sent: SeqNum, made: &mut Made) {
        if self.waiting.is_empty() {
            return;
        }
        let (go, wait): (Vec<_>, Vec<_>) = std::mem::take(&mut self.waiting)
            .into_iter()
            .partition(|waiting| !waiting.behind.after(sent) || waiting.latest <= now);
        self.waiting = wait.into();
        made.out.extend(go.into_iter().map(|waiting| waiting.symbol));
    }

    /// All open blocks have ended.
    fn begin_anew(&mut self) {
        self.due = None;
        self.first += self.count;
        self.count = 0;
    }
}
