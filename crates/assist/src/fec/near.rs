//! The near end: it sends packets as they come, and behind each block its repair symbols.

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

#[derive(Debug)]
pub(super) struct Near {
    config: Config,
    /// The packets of the open block.
    block: Vec<Bytes>,
    /// The number of the first of them.
    first: SeqNum,
    due: Option<Instant>,
    losses: Losses,
    /// The last report.
    report: Option<SeqNum>,
    pub(super) counters: Counters,
}

impl Near {
    pub(super) fn new(config: Config) -> Self {
        Self {
            config,
            block: Vec::new(),
            first: SeqNum(0),
            due: None,
            losses: Losses::default(),
            report: None,
            counters: Counters::default(),
        }
    }

    pub(super) fn send(&mut self, now: Instant, packet: Bytes, class: u8, made: &mut Made) {
        let sequence = self.first + self.block.len() as u32;
        self.block.push(packet.clone());
        made.out.push(Outgoing { shim: Shim { sequence, message: Message::Source(packet) }, class });
        self.due.get_or_insert(now + self.config.wait);
        if self.block.len() >= usize::from(self.config.packets) {
            self.close(made);
        }
    }

    pub(super) fn on_timer(&mut self, now: Instant, made: &mut Made) {
        if self.due.is_some_and(|due| due <= now) {
            self.close(made);
        }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.due
    }

    pub(super) fn on_report(&mut self, number: SeqNum, received: u32, lost: u32) {
        // What was overtaken is old. A far end that has begun anew counts from zero, and its numbers do.
        if self.report.is_none_or(|last| number.after(last) || number.0 == 0) {
            self.report = Some(number);
            self.losses.on_report(received, lost);
        }
    }

    /// The block ends: its repair symbols go.
    fn close(&mut self, made: &mut Made) {
        self.due = None;
        let (sequence, count) = (self.first, self.block.len() as u8);
        let number = self.losses.repairs(self.block.len(), self.config.residual(), self.config.most_repairs);
        let symbols = repairs(&self.block, usize::from(number));
        self.first += u32::from(count);
        self.block.clear();
        self.counters.blocks += 1;
        self.counters.repairs += symbols.len() as u64;
        made.out.extend((0..).zip(symbols).map(|(index, symbol)| {
            let message = Message::Repair { index, count, repairs: number, symbol };
            Outgoing { shim: Shim { sequence, message }, class: 0 }
        }));
    }
}
