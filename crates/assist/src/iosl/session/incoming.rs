//! What has come for a program: in order, once, and no more than this end has said it takes.

use handfast_core::{Duration, Instant};

use super::Violation;
use super::blocks::Blocks;
use super::pool::{Pool, Share};
use super::window::Window;

#[derive(Debug)]
pub(super) struct Incoming {
    /// All before has come.
    next: u64,
    /// Of that, what the program has not read.
    ready: Blocks,
    share: Share,
    window: Window,
    /// How far ahead of its program the peer may send.
    room: u64,
    has_end: bool,
    /// Up to here the peer may send.
    credit: u64,
    /// How far ahead of its program the peer was allowed to send, at most.
    most_room: u64,
}

impl Incoming {
    pub(super) fn new(now: Instant, floor: u64) -> Self {
        Self {
            next: 0,
            ready: Blocks::default(),
            share: Share::new(floor),
            window: Window::new(now, floor),
            room: floor,
            has_end: false,
            credit: 0,
            most_room: floor,
        }
    }

    /// All before has come; the end counts as an octet.
    pub(super) fn received(&self) -> u64 {
        self.next + u64::from(self.has_end)
    }

    /// All before has gone to the program.
    pub(super) fn given(&self) -> u64 {
        self.consumed()
    }

    pub(super) fn most_room(&self) -> u64 {
        self.most_room
    }

    /// Of a session that was kept: the program has got all before `given`, and the peer may have been allowed to send `room` more.
    pub(super) fn restore(&mut self, given: u64, has_end: bool, room: u64, pool: &mut Pool) {
        (self.next, self.has_end) = (given, has_end);
        (self.room, self.most_room, self.credit) = (room, room, given + room);
        self.window.restore(room);
        if !has_end {
            self.share.take(room, pool);
        }
    }

    pub(super) fn credit(&self) -> u64 {
        self.credit
    }

    pub(super) fn room(&self) -> u64 {
        self.room
    }

    /// Whether the peer may not send another octet.
    pub(super) fn is_shut(&self, credit: u64) -> bool {
        credit <= self.next && !self.has_end
    }

    pub(super) fn has_end(&self) -> bool {
        self.has_end
    }

    pub(super) fn ready(&self) -> usize {
        self.ready.len()
    }

    pub(super) fn memory(&self) -> usize {
        self.ready.memory()
    }

    /// Octets of the peer; whether some are new. On a path they are without gaps, and begin at what this end has said to have: one
    /// that is ahead was never sent, or this end has forgotten what it acknowledged.
    pub(super) fn on_data(&mut self, offset: u64, octets: &[u8]) -> Result<bool, Violation> {
        let end = offset + octets.len() as u64;
        if offset > self.next || end > self.credit || self.has_end && end > self.next {
            return Err(Violation);
        }
        if end <= self.next {
            return Ok(false);
        }
        self.ready.push(&octets[(self.next - offset) as usize..]);
        self.next = end;
        Ok(true)
    }

    /// The stream of the peer has this length; whether that is news.
    pub(super) fn on_end(&mut self, offset: u64) -> Result<bool, Violation> {
        if offset != self.next {
            return Err(Violation);
        }
        Ok(!std::mem::replace(&mut self.has_end, true))
    }

    /// Up to `most` octets that are there to read, in place.
    pub(super) fn pieces(&self, most: usize) -> impl Iterator<Item = &[u8]> {
        self.ready.pieces(0, most)
    }

    /// Forgets up to `most` of them: how many.
    pub(super) fn skip(&mut self, most: usize, pool: &mut Pool) -> usize {
        let count = most.min(self.ready.len());
        self.ready.forget(count);
        let used = self.credit.max(self.next) - self.consumed();
        self.share.shrink(used, pool);
        count
    }

    /// The program has read so many octets. `span`: two round trips; `most`: of a window.
    pub(super) fn widen(&mut self, now: Instant, octets: usize, span: Duration, most: u64) {
        self.window.on_read(now, octets as u64, span, most);
    }

    /// Lets the peer send as much as its window has room for, and `most`, and the pool.
    pub(super) fn grant(&mut self, most: u64, pool: &mut Pool) {
        if self.has_end {
            self.share.shrink(self.ready.len() as u64, pool);
            return;
        }
        self.room = self.share.grow(most.min(self.window.size()), pool);
        self.credit = self.credit.max(self.consumed() + self.room);
        self.most_room = self.most_room.max(self.room);
    }

    /// Nothing more is taken. What has come is kept for the program.
    pub(super) fn stop(&mut self, pool: &mut Pool) {
        self.share.shrink(self.ready.len() as u64, pool);
    }

    /// Nothing is kept any more, and nothing taken.
    pub(super) fn clear(&mut self, pool: &mut Pool) {
        self.ready = Blocks::default();
        self.share.shrink(0, pool);
    }

    fn consumed(&self) -> u64 {
        self.next - self.ready.len() as u64
    }
}
