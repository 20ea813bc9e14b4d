//! Any discipline but drop-tail: packets wait in it, and it decides when the line is free. One packet is in serialisation;
//! for that and for the air the link does what it does under drop-tail. Where a cellular radio sends, any discipline at all.

use std::collections::VecDeque;

use handfast_core::{Bytes, Instant, Stream};

use super::{Exit, Link, Rest};
use crate::Direction;
use crate::cell::Cell;
use crate::counters::Cause;
use crate::fifo::{Entry, clamp};
use crate::line::Line;
use crate::queue::{Class, Discipline, Occupancy, PacketMeta, Verdict};
use crate::trace::Served;

/// The packets that wait for the line.
#[derive(Debug)]
pub(super) struct Queued<H> {
    pub(super) discipline: Box<dyn Discipline<H>>,
    /// The discipline has nothing before then; [`Instant::MAX`]: not before something happens.
    pub(super) ready: Instant,
    /// Losses and marks that the driver has not been told of, and when they were decided.
    pub(super) decided: VecDeque<(Instant, Exit<H>)>,
    /// What sends the packets in place of the line.
    pub(super) cell: Option<Box<Cell<H>>>,
}

impl<H: Copy> Queued<H> {
    pub(super) fn new(discipline: Box<dyn Discipline<H>>, direction: &Direction, seed: u64) -> Self {
        let cell = |profile| Box::new(Cell::new(profile, direction.rate, Stream::new(seed, "cell")));
        Self {
            discipline,
            ready: Instant::MAX,
            decided: VecDeque::new(),
            cell: direction.access.as_deref().map(cell),
        }
    }

    /// When the discipline is asked next, or the driver is to be told of what it has decided.
    pub(super) fn next(&self, line: &Line, traced: Option<&Served>) -> Instant {
        let told = self.decided.front().map_or(Instant::MAX, |&(at, _)| at);
        if self.cell.is_some() {
            return told.min(self.next_in_cell());
        }
        let waits = self.discipline.occupancy().packets > 0 && !line.is_stopped();
        let asked = if waits { self.turn(line, traced) } else { Instant::MAX };
        told.min(asked)
    }

    /// When the line can take the next packet, as far as the discipline has one.
    fn turn(&self, line: &Line, traced: Option<&Served>) -> Instant {
        match traced {
            Some(traced) if traced.has_rate() => traced.ready(self.ready),
            _ => self.ready.max(line.free_at()),
        }
    }
}

impl<H: Copy> Link<H> {
    /// Offers a packet to the discipline.
    pub(super) fn wait(
        &mut self,
        now: Instant,
        handle: H,
        size: u32,
        has_payload: bool,
        class: Class,
    ) -> Result<(), Cause> {
        self.pull(now);
        let sending = self.on_line(now) + self.in_cell();
        let Some(queued) = &mut self.rest.queued else { return Ok(()) };
        let size = Bytes(u64::from(size));
        let packet =
            PacketMeta { handle, size, flow: class.flow, ecn: class.ecn, has_payload, enqueued_at: now };
        // Where a block was full with the last packet, the discipline was not asked again, and `ready` lies in the past: `now` of
        // [`Discipline`] would go back.
        let was_empty = queued.discipline.occupancy().packets == 0;
        queued.discipline.enqueue(now, packet, sending)?;
        queued.ready = if was_empty { now } else { queued.ready.min(now) };
        if let Some(cell) = &mut queued.cell {
            cell.notice(now);
        }
        self.pull(now);
        self.next = self.next_exit();
        Ok(())
    }

    /// Puts on the line what had its turn by `now`, each packet at its moment.
    pub(super) fn pull(&mut self, now: Instant) {
        while let Rest { queued: Some(queued), traced, .. } = &mut *self.rest {
            if queued.cell.is_some() {
                return self.pull_cell(now);
            }
            let at = queued.turn(&self.line, traced.as_deref());
            if at > now || self.line.is_stopped() {
                return;
            }
            if let Some(packet) = self.ask(at) {
                self.send(at, &packet);
            }
        }
    }

    /// The next packet that the discipline lets go at `at`.
    pub(super) fn ask(&mut self, at: Instant) -> Option<PacketMeta<H>> {
        let Rest { queued: Some(queued), counters, .. } = &mut *self.rest else { return None };
        loop {
            match queued.discipline.dequeue(at) {
                None => {
                    let later = queued.discipline.deadline().filter(|&deadline| deadline > at);
                    queued.ready = later.unwrap_or(Instant::MAX);
                    return None;
                }
                Some(Verdict::Send(packet)) => {
                    debug_assert!(packet.enqueued_at <= at, "it leaves before it has come");
                    return Some(packet);
                }
                Some(Verdict::Mark(packet)) => {
                    debug_assert!(packet.enqueued_at <= at, "it leaves before it has come");
                    queued.decided.push_back((at, Exit::Marked { handle: packet.handle }));
                    counters.marked += 1;
                    return Some(packet);
                }
                Some(Verdict::Drop(PacketMeta { handle, .. })) => {
                    queued.decided.push_back((at, Exit::Lost { handle, cause: Cause::Aqm }));
                    counters.count(Cause::Aqm);
                }
            }
        }
    }

    /// Puts a packet on the idle line.
    fn send(&mut self, at: Instant, packet: &PacketMeta<H>) {
        // What waited for the line follows without a gap what was before it, to the fraction of a nanosecond.
        let since = if at == self.line.free_at() { packet.enqueued_at } else { at };
        if self.rest.traced.is_some() {
            return self.send_traced(at, since, packet);
        }
        self.enter(since, packet.handle, clamp(packet.size), packet.has_payload);
    }

    /// [`Link::poll`]: what the discipline has decided comes before what arrives.
    #[inline(never)]
    pub(super) fn poll_queued(&mut self, now: Instant) -> Option<Exit<H>> {
        self.pull(now);
        let exit = self.decided(now).or_else(|| self.pass_one(now));
        self.next = self.next_exit();
        exit
    }

    /// What the discipline has decided by `now`, one by one, before what arrived later.
    fn decided(&mut self, now: Instant) -> Option<Exit<H>> {
        let arrival = self.fifo.next_arrival();
        let Rest { queued: Some(queued), impairments, .. } = &mut *self.rest else { return None };
        let late = impairments.as_ref().and_then(|impairments| impairments.next_due());
        let first = late.map_or(arrival, |late| late.min(arrival)).min(now);
        queued.decided.front().filter(|&&(at, _)| at <= first)?;
        queued.decided.pop_front().map(|(_, exit)| exit)
    }

    /// The line goes on, perhaps at another rate; `start_over`: what it has begun begins anew.
    pub(super) fn resume(&mut self, now: Instant, start_over: bool) {
        if let Some(queued) = &mut self.rest.queued {
            queued.ready = now;
            self.resume_cell(now, start_over);
            self.pull(now);
        }
    }

    /// An outage takes all that waits: it comes out as lost behind what was on the line.
    pub(super) fn doom_waiting(&mut self, now: Instant) {
        let Some(queued) = &mut self.rest.queued else { return };
        let in_cell = queued.cell.as_mut().map(|cell| cell.clear(now)).into_iter().flatten();
        for packet in in_cell.chain(queued.discipline.clear()) {
            self.fifo
                .push(Entry::new(packet.handle, clamp(packet.size), packet.has_payload, now, now).doomed());
        }
    }

    /// What waits in the discipline, and what a cellular radio has begun to send.
    pub(super) fn waiting(&self) -> Occupancy {
        let waiting = |queued: &Queued<H>| queued.discipline.occupancy();
        self.rest.queued.as_deref().map_or_else(Occupancy::default, waiting) + self.in_cell()
    }
}
