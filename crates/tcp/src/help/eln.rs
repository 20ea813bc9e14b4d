//! Explicit loss and handoff notification at both ends ([eln] §3.4 and §3.6).
//!
//! The receiver marks its acknowledgements, the base station takes marks back where it has dropped the segment itself, the
//! sender repairs what is still marked and leaves its window alone.

use std::collections::BTreeMap;

use handfast_core::Instant;
use handfast_wire::tcp::{Flags, Segment};

use crate::cc::{self, Undo, UndoRule};
use crate::endpoint::{Piece, Why};
use crate::recovery::Phase;
use crate::send::scoreboard::{Range, Scoreboard};
use crate::send::sender::Sender;

/// Segments that each acknowledgement lets go after a handoff notification, as ns-2's `maxburst_` bounds them: nothing is in
/// flight then, and a whole window at once would fill the new cell's queue.
const MAX_BURST: u8 = 4;

/// What the sender keeps for it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Eln {
    /// What marks have made it send again, by where that begins.
    repairs: BTreeMap<u64, Repair>,
    /// How many there were.
    count: u64,
    /// The number of the last one that has arrived.
    arrived: u64,
    /// The holes that the last mark named.
    due: Vec<Range>,
    /// When it came: repairs are answers to marks, whatever else makes the connection look for something to send.
    marked_at: Instant,
    /// cwnd and ssthresh "whenever they are changed" ([eln] §3.2), by a timeout.
    saved: Option<Saved>,
    burst: Option<Burst>,
}

/// Octets that were sent again.
#[derive(Clone, Copy, Debug)]
struct Repair {
    end: u64,
    /// Counted from 1.
    number: u64,
    at: Instant,
    /// SND.MAX then.
    max: u64,
}

/// The state before a timeout.
#[derive(Clone, Copy, Debug)]
struct Saved {
    cc: cc::Saved,
    /// What was outstanding then: until it is acknowledged, a further timeout changes nothing here.
    recover: u64,
}

/// Going through what was outstanding at a handoff.
#[derive(Clone, Copy, Debug)]
struct Burst {
    until: u64,
    left: u8,
}

impl Eln {
    /// What the acknowledgement shows to be missing, by its own SACK blocks: this is what the base station has judged.
    fn name_holes(&mut self, una: u64, mut blocks: Vec<Range>) {
        blocks.sort_unstable_by_key(|block| block.start);
        self.due.clear();
        let mut from = una;
        for block in blocks {
            if block.start > from {
                self.due.push(Range { start: from, end: block.start });
            }
            from = from.max(block.end);
        }
    }

    /// What has arrived needs no account.
    fn settle(&mut self, una: u64, board: &Scoreboard) {
        let Self { repairs, arrived, .. } = self;
        repairs.retain(|&start, repair| {
            let there = repair.end <= una || board.gap(start.max(una), repair.end).is_none();
            if there {
                *arrived = (*arrived).max(repair.number);
            }
            !there
        });
    }

    /// Where the repair of the octet at `start` ends, if it is still to be waited for: "once a round trip", which is over when
    /// something that left after it has arrived. Where nothing has left the clock decides.
    fn waits_until(&self, tx: &Sender, now: Instant, start: u64) -> Option<u64> {
        let (_, repair) =
            self.repairs.range(..=start).next_back().filter(|(_, repair)| repair.end > start)?;
        let overtaken =
            repair.number < self.arrived || tx.board.highest().is_some_and(|highest| highest > repair.max);
        let silent = tx.max == repair.max && now.since(repair.at) >= tx.rtt.two_round_trips();
        (!overtaken && !silent).then_some(repair.end)
    }

    /// The first octets of `hole` that may go again now.
    fn sendable(&self, tx: &Sender, now: Instant, hole: Range) -> Option<Range> {
        let mut start = hole.start;
        while let Some(end) = self.waits_until(tx, now, start).filter(|_| start < hole.end) {
            start = end;
        }
        let after = self.repairs.range(start..).map(|(&next, _)| next);
        let end = after.into_iter().find(|&next| self.waits_until(tx, now, next).is_some());
        let end = end.map_or(hole.end, |next| next.min(hole.end));
        (start < end).then_some(Range { start, end })
    }
}

/// Whether an acknowledgement says that the radio has lost what it asks for.
#[inline]
pub(crate) fn is_marked(segment: &Segment) -> bool {
    segment.flags.contains(Flags::ELN | Flags::ELN_LOSS)
}

impl Sender {
    /// [eln] §3.6, ELN bit 1: "only retransmit the loss packet without window reduction".
    #[cold]
    pub(crate) fn on_loss_notice(&mut self, now: Instant, segment: &Segment) {
        let (una, max) = (self.una, self.max);
        let blocks = segment.sack.as_slice().iter().filter_map(|block| {
            let (start, end) = (self.position(block.start)?, self.position(block.end)?);
            (start > una && start < end && end <= max).then_some(Range { start, end })
        });
        let blocks = blocks.collect();
        let Some(eln) = &mut self.eln else { return };
        eln.settle(una, &self.board);
        eln.name_holes(una, blocks);
        eln.marked_at = now;
    }

    /// An acknowledgement without a mark: the base station may have taken it back.
    pub(crate) fn end_loss_notice(&mut self) {
        if let Some(eln) = &mut self.eln {
            eln.due.clear();
        }
    }

    /// [eln] §3.6, ELN bit 0: the mobile is at another base station.
    #[cold]
    pub(crate) fn on_handoff_notice(&mut self) {
        if self.una == self.max {
            return;
        }
        let Some(eln) = &mut self.eln else { return };
        eln.due.clear();
        eln.repairs.clear();
        // "If retransmission timer is not expired … restart transmission without window reduction; else restore cwnd and
        // ssthresh to previous value stored by sender."
        let saved = eln.saved.take().filter(|saved| saved.recover > self.una);
        if let Some(Saved { cc, .. }) = saved.filter(|_| self.progress.phase == Phase::Loss) {
            let undo = Undo { rule: UndoRule::Handoff, cwnd: cc.cwnd, ssthresh: cc.ssthresh };
            self.cc.on_spurious(&mut self.window, &cc, &undo);
        }
        // "Adjust send window in response to SN of ACK": everything outstanding was on its way to the old cell.
        eln.burst = Some(Burst { until: self.max, left: MAX_BURST });
        self.progress.after_timeout(self.max);
        self.progress.head_due = false;
        self.nxt = self.una;
        self.retries = 0;
        self.timed = None;
        self.spurious.give_up_frto();
        self.rtt.forget_backoff();
    }

    /// An acknowledgement has come: the next few segments may leave.
    #[cold]
    pub(crate) fn refill_burst(&mut self) {
        let Some(eln) = &mut self.eln else { return };
        eln.burst = eln.burst.filter(|burst| self.nxt < burst.until);
        if let Some(burst) = &mut eln.burst {
            burst.left = MAX_BURST;
        }
    }

    /// Whether it may send from SND.NXT on.
    pub(crate) fn may_go_on(&self) -> bool {
        let burst = self.eln.as_ref().and_then(|eln| eln.burst);
        burst.is_none_or(|burst| burst.left > 0 || self.nxt >= burst.until)
    }

    /// A recovery need not repeat what marks have made go again a moment ago.
    #[cold]
    pub(crate) fn skip_repaired(&mut self, now: Instant) {
        let Some(eln) = self.eln.take() else { return };
        while let Some(hole) = self.board.hole(self.progress.high_rxt.max(self.una))
            && let Some(end) = eln.waits_until(self, now, hole.start)
        {
            self.progress.high_rxt = end;
        }
        self.eln = Some(eln);
    }

    /// What a mark lets go again: at most `room` octets, whatever cwnd says; they have left the network without a trace.
    #[cold]
    pub(crate) fn marked_piece(&self, room: u64) -> Option<Piece> {
        let eln = self.eln.as_ref()?;
        let now = eln.marked_at;
        // After a timeout or a handoff what lies beyond SND.NXT goes again in any case.
        let within = |hole: &Range| Range { start: hole.start.max(self.una), end: hole.end.min(self.nxt) };
        eln.due.iter().map(within).find_map(|hole| {
            // Earlier acknowledgements may have filled some of it.
            let mut from = hole.start;
            while let Some(missing) = self.board.gap(from, hole.end) {
                if let Some(Range { start, end }) = eln.sendable(self, now, missing) {
                    return Some(Piece { start, end: end.min(start + room), why: Why::Marked });
                }
                from = missing.end;
            }
            None
        })
    }

    /// A segment has left.
    #[cold]
    pub(crate) fn note_eln(&mut self, now: Instant, piece: Piece, end: u64) {
        let max = self.max;
        let Some(eln) = &mut self.eln else { return };
        match piece.why {
            Why::Marked => {
                eln.count += 1;
                eln.repairs.insert(piece.start, Repair { end, number: eln.count, at: now, max });
            }
            Why::Next => {
                if let Some(burst) = &mut eln.burst {
                    burst.left = burst.left.saturating_sub(1);
                }
            }
            _ => {}
        }
    }

    /// The retransmission timer has expired, and nothing is changed yet.
    #[cold]
    pub(crate) fn save_for_handoff(&mut self) {
        let state = Saved { cc: self.cc.save(&self.window), recover: self.max };
        let una = self.una;
        if let Some(eln) = &mut self.eln {
            // What goes again after a timeout goes by the timeout's rules.
            eln.burst = None;
            eln.due.clear();
            eln.repairs.clear();
            // Frozen until new data is acknowledged: what a second timeout finds is not what the path carried.
            eln.saved = Some(eln.saved.filter(|saved| saved.recover > una).unwrap_or(state));
        }
    }
}
