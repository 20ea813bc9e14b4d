//! What a program has written: kept until the peer has acknowledged it, whatever path it took.

use super::Violation;
use super::blocks::Blocks;
use super::pool::{Pool, Share};

#[derive(Debug)]
pub(super) struct Outgoing {
    /// All before has come, as the peer says.
    acked: u64,
    kept: Blocks,
    share: Share,
    /// The program writes no more.
    is_finished: bool,
    end_acked: bool,
    /// Up to here the peer takes it.
    credit: u64,
    /// The highest offset that went out on any path; the end counts as an octet.
    sent: u64,
    /// The program wanted to write more.
    is_full: bool,
    /// Of a session that was kept: up to here its program has written, and the peer may have got it, though it is not kept here yet.
    before: Option<Before>,
}

/// What may have gone out before a session was kept and restored.
#[derive(Clone, Copy, Debug)]
struct Before {
    written: u64,
    has_finished: bool,
}

impl Outgoing {
    pub(super) fn new(floor: u64) -> Self {
        Self {
            acked: 0,
            kept: Blocks::default(),
            share: Share::new(floor),
            is_finished: false,
            end_acked: false,
            credit: 0,
            sent: 0,
            is_full: false,
            before: None,
        }
    }

    /// Of a session that was kept: all before `acked` is the peer's, and the program has written up to `written`.
    pub(super) fn restore(&mut self, acked: u64, written: u64, has_finished: bool) {
        self.acked = acked;
        self.sent = acked;
        self.before = Some(Before { written, has_finished });
    }

    /// Of one that is done: the peer has got all.
    pub(super) fn restore_done(&mut self, acked: u64) {
        (self.acked, self.sent) = (acked, acked + 1);
        (self.is_finished, self.end_acked) = (true, true);
    }

    pub(super) fn acked(&self) -> u64 {
        self.acked
    }

    pub(super) fn written(&self) -> u64 {
        self.acked + self.kept.len() as u64
    }

    pub(super) fn is_finished(&self) -> bool {
        self.is_finished
    }

    /// Whether something has gone out that the peer has not acknowledged.
    pub(super) fn is_under_way(&self) -> bool {
        self.sent > self.acked + u64::from(self.end_acked)
    }

    /// All has come, with the end.
    pub(super) fn is_over(&self) -> bool {
        self.end_acked
    }

    pub(super) fn memory(&self) -> usize {
        self.kept.memory()
    }

    /// How many octets would be taken.
    pub(super) fn room(&self, most: u64, pool: &Pool) -> usize {
        self.share.limit(pool).min(most).saturating_sub(self.kept.len() as u64) as usize
    }

    /// How many of these octets were taken.
    pub(super) fn write(&mut self, octets: &[u8], most: u64, pool: &mut Pool) -> usize {
        let kept = self.kept.len() as u64;
        let room = self.share.grow(most.min(kept + octets.len() as u64), pool).saturating_sub(kept);
        let taken = octets.len().min(room as usize);
        self.kept.push(&octets[..taken]);
        self.is_full = taken < octets.len();
        taken
    }

    pub(super) fn finish(&mut self) {
        self.is_finished = true;
    }

    /// Whether the program may try again, which it could not before: said once.
    pub(super) fn take_writable(&mut self) -> bool {
        std::mem::take(&mut self.is_full)
    }

    /// The peer takes more.
    pub(super) fn on_credit(&mut self, credit: u64) {
        self.credit = self.credit.max(credit);
    }

    /// All before `offset` has come. What was acknowledged once stays so: a message of an older path may be late. Whether it is news.
    pub(super) fn on_ack(&mut self, offset: u64, pool: &mut Pool) -> Result<bool, Violation> {
        // What was written before it was restored may be acknowledged before it is written again.
        let before = self
            .before
            .map_or([0; 2], |before| [before.written, before.written + u64::from(before.has_finished)]);
        if offset > self.sent.max(before[1]) {
            return Err(Violation);
        }
        let octets = offset.min(self.written().max(before[0]));
        self.sent = self.sent.max(offset);
        let is_end = offset > octets;
        let is_news = octets > self.acked || is_end && !self.end_acked;
        if octets > self.acked {
            self.kept.forget((octets - self.acked) as usize);
            self.acked = octets;
            self.share.shrink(self.kept.len() as u64, pool);
        }
        self.end_acked |= is_end;
        Ok(is_news)
    }

    /// How many octets from `offset` on go out, that the peer takes.
    pub(super) fn send(&mut self, offset: u64, most: usize) -> usize {
        let takes = self.credit.min(self.written()).saturating_sub(offset);
        let count = takes.min(most as u64) as usize;
        self.sent = self.sent.max(offset + count as u64);
        count
    }

    /// Those octets, in place.
    pub(super) fn pieces(&self, offset: u64, count: usize) -> impl Iterator<Item = &[u8]> {
        self.kept.pieces(offset.saturating_sub(self.acked) as usize, count)
    }

    /// Whether there are some.
    pub(super) fn has_octets(&self, offset: u64) -> bool {
        offset < self.credit.min(self.written())
    }

    /// The end goes out.
    pub(super) fn send_end(&mut self) -> u64 {
        self.sent = self.written() + 1;
        self.written()
    }

    /// Nothing is kept any more.
    pub(super) fn clear(&mut self, pool: &mut Pool) {
        (self.acked, self.before) = (self.written(), None);
        self.kept = Blocks::default();
        self.share.shrink(0, pool);
    }
}
