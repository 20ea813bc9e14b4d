//! Explicit loss and handoff notification at both ends ([eln] §3.4 and §3.6).
//!
//! The receiver marks its acknowledgements, the base station takes marks back where it has dropped the segment itself, the
//! sender repairs what is still marked and leaves its window alone.

use std::collections::BTreeMap;

use handfast_core::Instant;
use handfast_wire::tcp::{Flags, Segment};

use crate::cc::{self, Undo, UndoRule};
use crate::phase::Phase;
use crate::send::piece::{Piece, Why};
use crate::send::scoreboard::{Range, Scoreboard};
use crate::send::sender::Sender;

/// Segments that each acknowledgement lets go after a handoff notification, as ns-2's `maxburst_` bounds them: nothing is in
/// flight then, and a whole window at once would fill the new cell's queue.
const MAX_BURST: u8 = 4;

/// How often marks make the same octets go again: as often as Linux's timer would (`tcp_retries2`; R2 of RFC 9293 §3.8.3). Each repair of
/// the first hole restarts that timer, so marks that nobody judges, of a path without a base station, would go on without end.
const MOST_REPAIRS: u8 = 15;

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
    /// How often its first octet was.
    times: u8,
    at: Instant,
    /// SND.MAX then.
    max: u64,
}

/// The state before a timeout.
#[derive(Clone, Debug)]
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

    /// The last repair of an octet.
    fn repair(&self, octet: u64) -> Option<&Repair> {
        let (_, repair) = self.repairs.range(..=octet).next_back()?;
        Some(repair).filter(|repair| repair.end > octet)
    }

    /// Where what marks do not send from `start` on ends: it is still to be waited for, or has gone too often.
    fn rests_until(&self, tx: &Sender, now: Instant, start: u64) -> Option<u64> {
        let spent = self.repair(start).filter(|repair| repair.times >= MOST_REPAIRS);
        spent.map(|repair| repair.end).or_else(|| self.waits_until(tx, now, start))
    }

    /// Where the repair of the octet at `start` ends, if it is still to be waited for: "once a round trip", which is over when
    /// something that left after it has arrived. Where nothing has left the clock decides.
    fn waits_until(&self, tx: &Sender, now: Instant, start: u64) -> Option<u64> {
        let repair = self.repair(start)?;
        let overtaken =
            repair.number < self.arrived || tx.board.highest().is_some_and(|highest| highest > repair.max);
        let silent = tx.max == repair.max && now.since(repair.at) >= tx.rtt.two_round_trips();
        (!overtaken && !silent).then_some(repair.end)
    }

    /// The first octets of `hole` that may go again now.
    fn sendable(&self, tx: &Sender, now: Instant, hole: Range) -> Option<Range> {
        let mut start = hole.start;
        while let Some(end) = self.rests_until(tx, now, start).filter(|_| start < hole.end) {
            start = end;
        }
        let after = self.repairs.range(start..).map(|(&next, _)| next);
        let end = after.into_iter().find(|&next| self.rests_until(tx, now, next).is_some());
        let end = end.map_or(hole.end, |next| next.min(hole.end));
        (start < end).then_some(Range { start, end })
    }
}

/// Whether an acknowledgement says that the radio has lost what it asks for.
#[inline]
pub(crate) fn is_marked(segment: &Segment) -> bool {
    segment.flags.contains(Flags::ELN | Flags::ELN_LOSS)
}

impl Eln {
    /// [eln] §3.6, ELN bit 1: "only retransmit the loss packet without window reduction".
    #[cold]
    pub(crate) fn on_loss_notice(&mut self, tx: &Sender, now: Instant, segment: &Segment) {
        let blocks = segment.sack.as_slice().iter().filter_map(|block| {
            let (start, end) = (tx.position(block.start)?, tx.position(block.end)?);
            (start > tx.una && start < end && end <= tx.max).then_some(Range { start, end })
        });
        let blocks = blocks.collect();
        self.settle(tx.una, &tx.board);
        self.name_holes(tx.una, blocks);
        self.marked_at = now;
    }

    /// An acknowledgement without a mark: the base station may have taken it back.
    pub(crate) fn end_loss_notice(&mut self) {
        self.due.clear();
    }

    /// [eln] §3.6, ELN bit 0: the mobile is at another base station. False where nothing is outstanding.
    #[cold]
    pub(crate) fn on_handoff_notice(&mut self, tx: &mut Sender) -> bool {
        if tx.una == tx.max {
            return false;
        }
        self.due.clear();
        self.repairs.clear();
        // "If retransmission timer is not expired … restart transmission without window reduction; else restore cwnd and
        // ssthresh to previous value stored by sender."
        let saved = self.saved.take().filter(|saved| saved.recover > tx.una);
        if let Some(Saved { cc, .. }) = saved.filter(|_| tx.progress.phase == Phase::Loss) {
            let undo = Undo { rule: UndoRule::Handoff, cwnd: cc.cwnd, ssthresh: cc.ssthresh };
            tx.cc.on_spurious(&mut tx.window, &cc, &undo);
        }
        // "Adjust send window in response to SN of ACK": everything outstanding was on its way to the old cell.
        self.burst = Some(Burst { until: tx.max, left: MAX_BURST });
        tx.progress.after_timeout(tx.max);
        tx.progress.head_due = false;
        tx.nxt = tx.una;
        tx.retries = 0;
        tx.timed = None;
        tx.rtt.forget_backoff();
        true
    }

    /// An acknowledgement has come: the next few segments may leave.
    #[cold]
    pub(crate) fn refill_burst(&mut self, nxt: u64) {
        self.burst = self.burst.filter(|burst| nxt < burst.until);
        if let Some(burst) = &mut self.burst {
            burst.left = MAX_BURST;
        }
    }

    /// Whether the connection may send from SND.NXT on.
    pub(crate) fn may_go_on(&self, nxt: u64) -> bool {
        self.burst.is_none_or(|burst| burst.left > 0 || nxt >= burst.until)
    }

    /// A recovery need not repeat what marks have made go again a moment ago.
    #[cold]
    pub(crate) fn skip_repaired(&self, tx: &mut Sender, now: Instant) {
        while let Some(hole) = tx.board.hole(tx.progress.high_rxt.max(tx.una))
            && let Some(end) = self.waits_until(tx, now, hole.start)
        {
            tx.progress.high_rxt = end;
        }
    }

    /// What a mark lets go again: at most `room` octets, whatever cwnd says; they have left the network without a trace.
    #[cold]
    pub(crate) fn marked_piece(&self, tx: &Sender, room: u64) -> Option<Piece> {
        let now = self.marked_at;
        // After a timeout or a handoff what lies beyond SND.NXT goes again in any case.
        let within = |hole: &Range| Range { start: hole.start.max(tx.una), end: hole.end.min(tx.nxt) };
        self.due.iter().map(within).find_map(|hole| {
            // Earlier acknowledgements may have filled some of it.
            let mut from = hole.start;
            while let Some(missing) = tx.board.gap(from, hole.end) {
                if let Some(Range { start, end }) = self.sendable(tx, now, missing) {
                    return Some(Piece { start, end: end.min(start + room), why: Why::Marked });
                }
                from = missing.end;
            }
            None
        })
    }

    /// A segment has left; SND.MAX is `max` before it.
    #[cold]
    pub(crate) fn on_sent(&mut self, now: Instant, max: u64, piece: Piece, end: u64) {
        match piece.why {
            Why::Marked => {
                self.count += 1;
                let times = self.repair(piece.start).map_or(1, |repair| repair.times.saturating_add(1));
                self.repairs.insert(piece.start, Repair { end, number: self.count, times, at: now, max });
            }
            Why::Next => {
                if let Some(burst) = &mut self.burst {
                    burst.left = burst.left.saturating_sub(1);
                }
            }
            _ => {}
        }
    }

    /// The retransmission timer has expired, and nothing is changed yet.
    #[cold]
    pub(crate) fn before_timeout(&mut self, tx: &Sender) {
        let state = Saved { cc: tx.cc.save(&tx.window), recover: tx.max };
        // What goes again after a timeout goes by the timeout's rules.
        self.burst = None;
        self.due.clear();
        self.repairs.clear();
        // Frozen until new data is acknowledged: what a second timeout finds is not what the path carried.
        self.saved = Some(self.saved.take().filter(|saved| saved.recover > tx.una).unwrap_or(state));
    }
}
