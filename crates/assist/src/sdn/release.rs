//! The release of what was held: in order, at a pace, until nothing is on its way through the controller any more.

use handfast_core::{Bytes as Count, Instant};

use super::datagrams::Datagrams;
use super::frame::Frame;
use super::hold::Hold;
use super::pace::Pace;
use super::passage::Passage;
use super::shared::Shared;
use super::{ApId, Outbox, Steering, queue};

/// How many times its rate a release has for what came after the station's return.
const CATCH_UP: u64 = 2;

/// A station is associated again, and gets what was held for it.
#[derive(Debug)]
pub(super) struct Returning {
    pub(super) ap: ApId,
    pub(super) since: Instant,
    /// When what is left leaves at once, or is dropped if that is not possible.
    pub(super) expires: Instant,
    pace: Pace,
    /// How many of the segments that were held at its return are left.
    backlog: u64,
    /// Whether a segment left last: it is a datagram's turn.
    after_segment: bool,
    /// Whether the switch to which they go is not connected.
    pub(super) stuck: bool,
    /// Until when the next packet waits, at most until it is known how it reaches the station.
    waits: Option<Instant>,
    pub(super) segments: u64,
    bytes: u64,
    /// The hold is empty, and its last segments are on their way to the switch.
    settling: Option<Settling>,
}

/// Waiting for a moment in which nothing is on its way through the controller.
#[derive(Clone, Copy, Debug)]
struct Settling {
    since: Instant,
    barrier: Option<u32>,
    /// Whether nothing came since the barrier was sent.
    quiet: bool,
}

/// What a barrier means for a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Passed {
    /// It is not over.
    NotYet,
    /// The path may lead past the controller.
    Done {
        /// Segments released.
        segments: u64,
        /// Their frames' bytes.
        bytes: Count,
    },
}

impl Returning {
    pub(super) fn new(now: Instant, ap: ApId, hold: &Hold, shared: &Shared) -> Self {
        let radio = shared.config.fabric.access_point(ap).and_then(|at| at.rate);
        Self {
            ap,
            since: now,
            expires: now + shared.config.hold_expiry,
            pace: Pace::new(shared.config.release, radio, now),
            backlog: hold.segments(),
            after_segment: false,
            stuck: false,
            waits: None,
            segments: 0,
            bytes: 0,
            settling: None,
        }
    }

    /// A segment has come by way of the controller.
    pub(super) fn disturb(&mut self) {
        if let Some(settling) = &mut self.settling {
            settling.quiet = false;
        }
    }

    /// A barrier that was under way has no answer any more.
    pub(super) fn forget_barrier(&mut self) {
        if let Some(settling) = &mut self.settling {
            settling.barrier = None;
        }
    }

    /// Sends what is held as far as the pace allows, and then begins to settle.
    pub(super) fn send(
        &mut self,
        now: Instant,
        hold: &mut Hold,
        passage: &Passage,
        shared: &mut Shared,
        out: &mut Outbox,
    ) {
        self.stuck = !shared.reaches(self.ap);
        self.waits = self.wait(now, hold, passage, shared);
        let goes = !self.stuck && self.waits.is_none();
        if goes && now >= self.since + shared.config.datagrams.age {
            self.let_datagrams_go(hold, passage, shared, out);
        }
        while !self.stuck && self.waits.is_none() && self.pace.next() <= now {
            // What came since its return is clocked by acknowledgments at the very rate at which the hold is emptied: at
            // this rate it would never end.
            let behind = self.backlog > 0 || hold.datagrams.reach_back_to(self.since);
            let times = if behind { 1 } else { CATCH_UP };
            let Some(frame) = self.next(hold, shared) else { break };
            self.pace.spend(now, frame.len(), times);
            shared.emit(self.ap, &frame, passage, out);
            self.waits = self.wait(now, hold, passage, shared);
        }
        if hold.is_empty() {
            self.settle(now, shared, out);
        } else {
            self.forget_barrier();
        }
    }

    /// Until when what leaves next has to wait, since it is not known how it reaches the station.
    fn wait(&self, now: Instant, hold: &Hold, passage: &Passage, shared: &Shared) -> Option<Instant> {
        if shared.config.steering != Steering::Overlay {
            return None;
        }
        hold.first().filter_map(|frame| passage.wait((now, self.since), self.ap, frame, shared)).max()
    }

    /// What leaves next. While there are both, segments and datagrams take turns: datagrams must not wait for a long hold,
    /// and segments not for a flood.
    fn next(&mut self, hold: &mut Hold, shared: &mut Shared) -> Option<Frame> {
        let datagram = hold.segments() == 0 || self.after_segment && !hold.datagrams.is_empty();
        self.after_segment = !datagram;
        if datagram {
            return shared.datagrams(&mut hold.datagrams, Datagrams::take);
        }
        let frame = hold.take()?;
        self.backlog = self.backlog.saturating_sub(1);
        self.segments += 1;
        self.bytes += frame.len() as u64;
        shared.released(&frame);
        Some(frame)
    }

    /// Datagrams take turns for as long as one may be held: by then all are gone that came before the return. Those that came
    /// since leave at once, as they would without the controller: where they come faster than the pace, the release would
    /// not end.
    fn let_datagrams_go(&self, hold: &mut Hold, passage: &Passage, shared: &mut Shared, out: &mut Outbox) {
        while let Some(frame) = shared.datagrams(&mut hold.datagrams, Datagrams::take) {
            shared.emit(self.ap, &frame, passage, out);
        }
    }

    /// The hold is empty: a barrier, so that what was sent has left the switch before anything goes straight.
    fn settle(&mut self, now: Instant, shared: &mut Shared, out: &mut Outbox) {
        let Some(at) = shared.config.fabric.access_point(self.ap) else { return };
        let settling = self.settling.get_or_insert(Settling { since: now, barrier: None, quiet: true });
        if settling.barrier.is_none() {
            settling.barrier = shared.switches.barrier(at.datapath_id, out);
            settling.quiet = true;
        }
    }

    /// The barrier that it waits for.
    pub(super) fn barrier(&self) -> Option<u32> {
        self.settling.and_then(|settling| settling.barrier)
    }

    /// That barrier is passed.
    pub(super) fn on_barrier(
        &mut self,
        now: Instant,
        (hold, passage): (&mut Hold, &Passage),
        shared: &mut Shared,
        out: &mut Outbox,
    ) -> Passed {
        let Some(settling) = self.settling else { return Passed::NotYet };
        let waited_enough = now.since(settling.since) >= shared.config.settle;
        if !hold.is_empty() || !settling.quiet && !waited_enough {
            self.forget_barrier();
            self.send(now, hold, passage, shared, out);
            return Passed::NotYet;
        }
        shared.counters.unsettled += u64::from(!settling.quiet);
        Passed::Done { segments: self.segments, bytes: Count(self.bytes) }
    }

    /// When something is due.
    pub(super) fn deadline(&self, hold: &Hold) -> Instant {
        let next = match self.waits {
            _ if hold.is_empty() || self.stuck => return self.expires,
            Some(until) => until.max(self.pace.next()),
            None => self.pace.next(),
        };
        next.min(self.expires)
    }
}

impl Shared {
    /// A held frame leaves.
    pub(super) fn released(&mut self, frame: &Frame) {
        self.held -= queue::cost(frame);
        self.counters.released += 1;
    }
}
