//! RACK-TLP (RFC 8985) with proportional rate reduction (RFC 6937): what a sender keeps beside the scoreboard. Other recovery
//! algorithms have none of it.

mod ack;
mod algorithm;
mod criterion;
mod judge;
#[cfg(test)]
mod model;
mod probe;
mod prr;
mod repetitions;
mod timer;
mod transmissions;
mod undo;
mod window;

use handfast_core::{Duration, Instant};

use crate::event::LossCounters;
use crate::send::scoreboard::{Range, Scoreboard};
use crate::send::sender::Sender;
use ack::Arrivals;
use criterion::{Criterion, Losses, Stamp};
use probe::{Answer, Probe, deadline, pto};
use prr::{Delivery, Prr};
use transmissions::Transmissions;
use undo::Undo;
use window::ReorderingWindow;

/// What the one timer of a connection waits for (RFC 8985 §8).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Pending {
    #[default]
    Rto,
    /// What was sent before the newest delivered has waited for the reordering window.
    Reordering,
    /// The probe timeout.
    Probe,
}

/// What the reordering window depends on, beside its own state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    pub(crate) recovering: bool,
    /// `RACK.segs_sacked` has reached `DupThresh`.
    pub(crate) dup_thresh: bool,
    pub(crate) srtt: Duration,
}

/// RFC 8985 §5.3, and what goes with it.
#[derive(Clone, Debug)]
pub(crate) struct Rack {
    pub(crate) log: Transmissions,
    pub(crate) window: ReorderingWindow,
    probe: Probe,
    prr: Prr,
    pub(crate) undo: Undo,
    pending: Pending,
    /// What the acknowledgement at hand has brought.
    arrivals: Arrivals,
    pub(crate) counters: LossCounters,
    /// `RACK.xmit_ts` and `RACK.end_seq`.
    newest: Option<Stamp>,
    /// `RACK.rtt`.
    rtt: Duration,
    /// `RACK.fack`: one past the highest octet delivered.
    fack: u64,
    /// DSACKs taken for those of our own retransmissions.
    pub(crate) dsacks: u64,
}

impl Rack {
    /// Nothing is in flight; the first octet will be `una`.
    pub(crate) fn new(una: u64) -> Self {
        Self {
            log: Transmissions::new(una),
            window: ReorderingWindow::default(),
            probe: Probe::default(),
            prr: Prr::default(),
            undo: Undo::default(),
            pending: Pending::Rto,
            arrivals: Arrivals::default(),
            counters: LossCounters::default(),
            newest: None,
            rtt: Duration::ZERO,
            fack: una,
            dsacks: 0,
        }
    }

    /// RFC 8985 §6.2 steps 1 to 3 for octets that have arrived, which had neither been acknowledged nor SACKed. `is_older`: whether the
    /// acknowledgement echoes a timestamp from before that moment. True where some of them were sent once only.
    pub(crate) fn delivered(
        &mut self,
        now: Instant,
        range: Range,
        is_older: impl Fn(Instant) -> bool,
    ) -> bool {
        let Self { log, window, newest, rtt, fack, arrivals, .. } = self;
        let mut once = false;
        log.delivered(range, |stamp, again| {
            let sample = now.since(stamp.at);
            if again {
                // Step 2: the original may have arrived instead, if the answer is too early for the retransmission.
                if is_older(stamp.at) || sample < window.min_rtt() {
                    return;
                }
            } else {
                once = true;
                window.sample(now, sample);
                // Step 3.
                if stamp.end < *fack {
                    window.reordered(*fack - range.start, arrivals.overtaken);
                    arrivals.overtaken = true;
                }
            }
            *rtt = sample;
            *newest = (*newest).max(Some(stamp));
        });
        *fack = (*fack).max(range.end);
        once
    }

    /// Linux's `tcp_try_undo_partial`: the original of what was repeated from `start` on has arrived, late.
    pub(crate) fn original_came(&mut self, start: u64) {
        self.window.reordered(self.fack - start, false);
    }

    /// Step 5.
    pub(crate) fn detect(&mut self, now: Instant, una: u64, board: &Scoreboard, facts: &Facts) -> Losses {
        let Some(newest) = self.newest else { return Losses::default() };
        let patience = self.rtt + self.window.size(facts);
        self.log.detect(una, board, &Criterion { newest, patience, now })
    }

    /// All up to `upto` was too long for the path.
    pub(crate) fn lose_longer(&mut self, tx: &mut Sender, upto: u64) {
        self.log.lose_longer(tx.una, upto, &tx.board);
        self.probe.forget();
        self.undo.forget();
        tx.nxt = tx.max;
    }

    /// RFC 8985 §6.3: the timer has expired; `head` is one past the first segment.
    fn lose_on_timeout(&mut self, now: Instant, una: u64, head: u64, board: &Scoreboard) {
        // Linux: without the reordering window.
        let patience = self.newest.map(|_| self.rtt);
        self.log.lose_on_timeout(una, head, board, patience, now);
        self.probe.forget();
        self.pending = Pending::Rto;
        self.undo.new_first = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEVER: fn(Instant) -> bool = |_| false;

    /// Octets 0 to 3000, sent at 1 s in segments of 1000.
    fn sent() -> (Rack, Instant) {
        let (mut rack, at) = (Rack::new(0), Instant::from_millis(1000));
        (1..=3).for_each(|n| rack.log.sent(1000 * n, at));
        (rack, at + Duration::from_millis(100))
    }

    #[test]
    fn what_arrives_behind_a_later_one_is_reordered() {
        // RFC 8985 §6.2 step 3: "Elsif Segment.end_seq < RACK.fack". Recovery ends the wait unless reordering was seen.
        let facts = Facts { recovering: true, dup_thresh: false, srtt: Duration::from_secs(1) };
        for (second, seen) in [((2000, 3000), false), ((0, 1000), true), ((1000, 2000), false)] {
            let (mut rack, now) = sent();
            rack.delivered(now, Range { start: 1000, end: 2000 }, NEVER);
            // The same octets once more: the receiver had dropped them (RFC 2018 §8). Nothing has overtaken them.
            rack.delivered(now, Range { start: second.0, end: second.1 }, NEVER);
            assert_eq!(rack.window.size(&facts) > Duration::ZERO, seen, "{second:?}");
        }
    }

    #[test]
    fn an_octet_is_lost_until_it_arrives_or_goes_again() {
        let (mut rack, now) = sent();
        rack.log.sent(4000, now);
        let mut board = Scoreboard::default();
        board.insert(2000, 3000);
        rack.delivered(now, Range { start: 2000, end: 3000 }, NEVER);
        let facts = Facts { recovering: true, dup_thresh: false, srtt: Duration::from_secs(1) };
        let lost = |rack: &Rack, board: &Scoreboard| {
            [0, 999, 1000, 1999, 2000, 3000].map(|octet| u8::from(rack.log.is_lost(octet, board)))
        };
        assert_eq!(lost(&rack, &board), [0; 6]);
        rack.detect(now, 0, &board, &facts);
        assert_eq!(lost(&rack, &board), [1, 1, 1, 1, 0, 0]);
        rack.log.resent(Range { start: 0, end: 1000 }, now);
        assert_eq!(lost(&rack, &board), [0, 0, 1, 1, 0, 0]);
        // The repetition is lost as well: what left after it has arrived.
        let later = now + Duration::from_millis(300);
        rack.log.sent(5000, later - Duration::from_millis(100));
        board.insert(4000, 5000);
        rack.delivered(later, Range { start: 4000, end: 5000 }, NEVER);
        rack.detect(later, 0, &board, &facts);
        assert_eq!(lost(&rack, &board), [1, 1, 1, 1, 0, 1]);
        board.insert(1000, 2000);
        assert_eq!(lost(&rack, &board), [1, 1, 0, 0, 0, 1]);
    }
}
