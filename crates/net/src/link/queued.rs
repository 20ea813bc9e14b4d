//! Any discipline but drop-tail: packets wait in it, and it decides when the line is free. One packet is in serialisation;
//! for that and for the air the link does what it does under drop-tail.

use std::collections::VecDeque;

use handfast_core::{Bytes, Instant};

use super::{Exit, Link, Rest};
use crate::counters::Cause;
use crate::fifo::{Entry, clamp};
use crate::line::Line;
use crate::queue::{Class, Discipline, Occupancy, PacketMeta, Verdict};

/// The packets that wait for the line.
#[derive(Debug)]
pub(super) struct Queued<H> {
    discipline: Box<dyn Discipline<H>>,
    /// The discipline has nothing before then; [`Instant::MAX`]: not before something happens.
    ready: Instant,
    /// Drops and marks that the driver has not been told of, and when they were decided.
    decided: VecDeque<(Instant, Exit<H>)>,
}

impl<H> Queued<H> {
    pub(super) fn new(discipline: Box<dyn Discipline<H>>) -> Self {
        Self { discipline, ready: Instant::MAX, decided: VecDeque::new() }
    }

    /// When the discipline is asked next, or the driver is to be told of what it has decided.
    pub(super) fn next(&self, line: &Line) -> Instant {
        let told = self.decided.front().map_or(Instant::MAX, |&(at, _)| at);
        let waits = self.discipline.occupancy().packets > 0 && !line.is_stopped();
        let asked = if waits { self.ready.max(line.free_at()) } else { Instant::MAX };
        told.min(asked)
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
        let sending = self.on_line(now);
        let Some(queued) = &mut self.rest.queued else { return Ok(()) };
        let size = Bytes(u64::from(size));
        let packet =
            PacketMeta { handle, size, flow: class.flow, ecn: class.ecn, has_payload, enqueued_at: now };
        queued.discipline.enqueue(now, packet, sending)?;
        queued.ready = queued.ready.min(now);
        self.pull(now);
        self.next = self.next_exit();
        Ok(())
    }

    /// Puts on the line what had its turn by `now`, each packet at its moment.
    pub(super) fn pull(&mut self, now: Instant) {
        while let Some(queued) = &mut self.rest.queued {
            let at = queued.ready.max(self.line.free_at());
            if at > now || self.line.is_stopped() {
                return;
            }
            match queued.discipline.dequeue(at) {
                None => {
                    let later = queued.discipline.deadline().filter(|&deadline| deadline > at);
                    queued.ready = later.unwrap_or(Instant::MAX);
                }
                Some(Verdict::Send(packet)) => self.send(at, &packet),
                Some(Verdict::Mark(packet)) => {
                    queued.decided.push_back((at, Exit::Marked { handle: packet.handle }));
                    self.rest.counters.marked += 1;
                    self.send(at, &packet);
                }
                Some(Verdict::Drop(PacketMeta { handle, .. })) => {
                    queued.decided.push_back((at, Exit::Lost { handle, cause: Cause::Aqm }));
                    self.rest.counters.count(Cause::Aqm);
                }
            }
        }
    }

    /// Puts a packet on the idle line.
    fn send(&mut self, at: Instant, packet: &PacketMeta<H>) {
        // What waited for the line follows without a gap what was before it, to the fraction of a nanosecond.
        let since = if at == self.line.free_at() { packet.enqueued_at } else { at };
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

    /// The line goes on, perhaps at another rate.
    pub(super) fn resume(&mut self, now: Instant) {
        if let Some(queued) = &mut self.rest.queued {
            queued.ready = now;
            self.pull(now);
        }
    }

    /// An outage takes all that waits: it comes out as lost behind what was on the line.
    pub(super) fn doom_waiting(&mut self, now: Instant) {
        let Some(queued) = &mut self.rest.queued else { return };
        for packet in queued.discipline.clear() {
            self.fifo
                .push(Entry::new(packet.handle, clamp(packet.size), packet.has_payload, now, now).doomed());
        }
    }

    /// What waits in the discipline.
    pub(super) fn waiting(&self) -> Occupancy {
        self.rest.queued.as_ref().map_or_else(Occupancy::default, |queued| queued.discipline.occupancy())
    }
}
