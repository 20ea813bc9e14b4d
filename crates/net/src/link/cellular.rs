//! A cellular radio in place of the line: what waits in the discipline goes into transport blocks, and comes out when these
//! have come up at the far end.

use handfast_core::Instant;

use super::queued::Queued;
use super::{Exit, Link};
use crate::cell::Arrival;
use crate::counters::Cause;
use crate::fifo::{Entry, clamp};
use crate::queue::Occupancy;

impl<H: Copy> Queued<H> {
    /// Since when the discipline has something.
    fn waits_since(&self) -> Instant {
        if self.discipline.occupancy().packets > 0 { self.ready } else { Instant::MAX }
    }

    /// When the radio has something to do next.
    pub(super) fn next_in_cell(&self) -> Instant {
        self.cell.as_ref().map_or(Instant::MAX, |cell| cell.next(self.waits_since()))
    }
}

impl<H: Copy> Link<H> {
    /// Does what the radio had to do by `now`, each thing at its moment.
    pub(super) fn pull_cell(&mut self, now: Instant) {
        while let Some(queued) = &self.rest.queued {
            let at = queued.next_in_cell();
            if at > now {
                return;
            }
            self.step_cell(at);
        }
    }

    fn step_cell(&mut self, at: Instant) {
        let Some(queued) = &mut self.rest.queued else { return };
        let waits = queued.waits_since() <= at;
        let Some(mut cell) = queued.cell.take() else { return };
        cell.step(at, waits);
        while let Some(arrival) = cell.arrival() {
            self.arrive(at, arrival);
        }
        if cell.open(at, waits) {
            while cell.wants()
                && let Some(packet) = self.ask(at)
            {
                cell.put(packet);
            }
            cell.send(
                at,
                self.rest.queued.as_ref().is_some_and(|queued| queued.waits_since() < Instant::MAX),
            );
        }
        if let Some(queued) = &mut self.rest.queued {
            queued.cell = Some(cell);
        }
    }

    /// A packet has come up at the far end of the radio; `delay` is what lies behind it.
    fn arrive(&mut self, at: Instant, arrival: Arrival<H>) {
        match arrival {
            Arrival::Complete(packet) => {
                let size = clamp(packet.size);
                self.fifo.push(Entry::new(packet.handle, size, packet.has_payload, at, at + self.delay));
            }
            Arrival::GivenUp(packet) => {
                self.rest.counters.count(Cause::Loss);
                if let Some(queued) = &mut self.rest.queued {
                    let exit = Exit::Lost { handle: packet.handle, cause: Cause::Loss };
                    queued.decided.push_back((at, exit));
                }
            }
        }
    }

    /// The radio goes on at the rate of the line; `start_over`: after a handover, with what has not come up.
    pub(super) fn resume_cell(&mut self, now: Instant, start_over: bool) {
        let rate = self.line.rate();
        let Some(queued) = &mut self.rest.queued else { return };
        let waits = queued.discipline.occupancy().packets > 0;
        let Some(cell) = &mut queued.cell else { return };
        cell.set_rate(now, rate);
        if start_over {
            cell.reestablish(now);
        }
        if waits {
            cell.notice(now);
        }
    }

    /// Packets that a radio has begun to send and not put into blocks to their end.
    pub(super) fn in_cell(&self) -> Occupancy {
        let cell = self.rest.queued.as_ref().and_then(|queued| queued.cell.as_ref());
        cell.map_or_else(Occupancy::default, |cell| cell.waiting())
    }

    /// Packets in blocks that have not come up.
    pub(super) fn in_blocks(&self) -> usize {
        let cell = self.rest.queued.as_ref().and_then(|queued| queued.cell.as_ref());
        cell.map_or(0, |cell| cell.on_the_way())
    }
}
