//! Drop-tail: a packet's departure is fixed when it enters, so the line needs no event of its own, and what waits, is on the
//! line or in the air stands in one FIFO.

use handfast_core::{Bytes, Instant};

use super::Link;
use crate::counters::Cause;
use crate::fifo::Entry;
use crate::foreseen::Foreseen;
use crate::line::Line;
use crate::queue::{QueueLimit, drop_tail};

impl<H: Copy> Link<H> {
    /// Takes a packet in that is accepted: behind all others.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a hop is so short that calls would be a fifth of it")]
    pub(super) fn enter(&mut self, now: Instant, handle: H, size: u32, has_payload: bool) {
        let departure = self.line.serve(now, size);
        let entry = Entry::new(handle, size, has_payload, departure, departure + self.delay);
        self.next = self.next.min(self.fifo.push(entry));
    }

    /// Whether there is room, now that it must be known what has left the queue.
    pub(super) fn admit(&mut self, now: Instant, size: u32) -> Result<(), Cause> {
        let held = self.on_line(now);
        let room = drop_tail::has_room(self.rest.limit, held, Bytes(u64::from(size)));
        if room { Ok(()) } else { Err(Cause::QueueFull) }
    }

    /// How many packets on the link can be there without a look at the queue: as many as the queue holds.
    pub(super) fn unchecked(&self) -> u32 {
        match self.rest.limit {
            // Nor is the trace's line one of those that a plain hop looks at.
            _ if self.rest.queued.is_some() || self.rest.traced.is_some() => 0,
            None => u32::MAX,
            Some(QueueLimit::Packets(most)) => most,
            Some(QueueLimit::Bytes(_)) => 0,
        }
    }

    /// What it does from now on, for a driver that takes all packets there instead; [`None`] where a packet's arrival does
    /// not follow from its size and time alone, or is not worth foreseeing: a discipline decides at dequeue, some are lost on
    /// the way, some are here already, it stands still, it follows a trace, or bytes are counted.
    pub fn foreseen(&self) -> Option<Foreseen> {
        let most = match self.rest.limit {
            None => None,
            Some(QueueLimit::Packets(most @ 1..)) => Some(most),
            Some(QueueLimit::Packets(0) | QueueLimit::Bytes(_)) => return None,
        };
        let plain = !self.unusual && self.rest.traced.is_none();
        let fit = plain && self.fifo.len() == 0 && !self.line.is_stopped() && !self.is_gone();
        fit.then(|| Foreseen::new(Line::new(self.rest.rate), self.delay, most))
    }
}
