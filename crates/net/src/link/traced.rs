//! A link that follows a trace. The trace is known beforehand: a packet's departure follows from when it comes to the line, as
//! with any other.

use std::sync::Arc;

use handfast_core::{BitRate, Duration, Instant, Stream};

use super::Link;
use crate::fifo::{Entry, clamp};
use crate::impair::Impairments;
use crate::queue::{Handle, PacketMeta};
use crate::trace::{Served, Trace};
use crate::{Direction, DownMode};

impl<H: Handle> Link<H> {
    /// As [`Link::new`], with a trace in place of what it says of the rate, the delay or the losses.
    ///
    /// A packet has the delay, and the loss, of the moment at which its last bit leaves. Where the delay falls it arrives at
    /// the earliest with the one before it: a trace reorders nothing.
    pub fn following(direction: &Direction, trace: Arc<Trace>, mut stream: Stream) -> Self {
        let seed = stream.bits();
        let losses = if trace.has_loss() { Vec::new() } else { direction.losses.clone() };
        // Rate zero is how a line stands still.
        let rate = if trace.has_rate() { direction.rate.max(BitRate::from_bps(1)) } else { direction.rate };
        let mut link = Self::new(&Direction { rate, losses, ..direction.clone() }, stream);
        if trace.has_loss() {
            let own = Stream::new(seed, "trace");
            let impairments = link.rest.impairments.take();
            link.rest.impairments = Some(Impairments::with_trace(impairments, trace.clone(), own));
            link.unusual = true;
        }
        link.rest.traced = Some(Box::new(Served::new(trace)));
        link.unchecked = link.unchecked();
        link
    }
}

impl<H: Copy> Link<H> {
    /// Takes a packet in that is accepted, whatever serves it.
    pub(super) fn enter_any(&mut self, now: Instant, handle: H, size: u32, has_payload: bool) {
        if self.rest.traced.is_none() {
            return self.enter(now, handle, size, has_payload);
        }
        let departure = self.depart(now, size);
        self.put_on(departure, handle, size, has_payload);
    }

    /// Puts a packet on the line that a discipline has given for the moment `at`; `since` is of a line without a trace.
    pub(super) fn send_traced(&mut self, at: Instant, since: Instant, packet: &PacketMeta<H>) {
        let size = clamp(packet.size);
        let departure = match &mut self.rest.traced {
            Some(traced) if traced.has_rate() => traced.serve(at, true, size),
            _ => self.line.serve(since, size),
        };
        self.put_on(departure, packet.handle, size, packet.has_payload);
    }

    /// When a packet has left that comes now.
    fn depart(&mut self, now: Instant, size: u32) -> Instant {
        match &mut self.rest.traced {
            Some(traced) if traced.has_rate() && !self.line.is_stopped() => traced.enter(now, size),
            // Stopped: never.
            _ => self.line.serve(now, size),
        }
    }

    fn put_on(&mut self, departure: Instant, handle: H, size: u32, has_payload: bool) {
        let arrival = departure + self.delay_at(departure);
        let entry = Entry::new(handle, size, has_payload, departure, arrival);
        self.next = self.next.min(self.fifo.push(entry));
    }

    fn delay_at(&self, departure: Instant) -> Duration {
        self.rest.traced.as_ref().map_or(self.delay, |traced| traced.delay(departure, self.delay))
    }

    /// [`Link::retime`] where a trace gives the rate. It goes on whatever happens to the link: nothing leaves at another
    /// moment than before, except where the link is held, was held, or has lost all.
    pub(super) fn retime_traced(&mut self, now: Instant, start_over: bool) {
        let held = self.rest.down[DownMode::Hold as usize] > 0;
        let anew = start_over || held != self.line.is_stopped();
        let delay = self.delay;
        if anew {
            self.line.restart(now, if held { BitRate::default() } else { self.rest.rate });
        }
        let Some(traced) = &mut self.rest.traced else { return };
        if anew {
            traced.restart(now);
        }
        self.fifo.retime(now, |entry| {
            let departure = match (anew, held) {
                (false, _) => entry.departure,
                (true, true) => Instant::MAX,
                (true, false) => traced.enter(now, entry.size()),
            };
            (departure, departure + traced.delay(departure, delay))
        });
        self.resume(now, start_over);
        self.next = self.next_exit();
    }

    /// Whether the trace says when packets leave.
    pub(super) fn has_traced_rate(&self) -> bool {
        self.rest.traced.as_ref().is_some_and(|traced| traced.has_rate())
    }
}
