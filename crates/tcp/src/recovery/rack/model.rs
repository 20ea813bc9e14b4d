//! The records of transmissions beside a model that has one for every octet, as RFC 8985 §5.2 describes them.

use handfast_core::{Duration, Instant};
use proptest::collection::vec;
use proptest::prelude::*;

use super::criterion::{Criterion, Stamp};
use super::transmissions::{MAX_AGAIN, MAX_FIRSTS, Transmissions};
use crate::send::scoreboard::{Range, Scoreboard};
use crate::trim::KEPT;

#[derive(Clone, Copy, Debug)]
enum Op {
    Send { len: u64 },
    Repair { len: u64 },
    Probe { len: u64 },
    Sack { from: u64, len: u64 },
    Acknowledge { len: u64 },
    Wait { ms: u64 },
    Detect { patience: u64 },
    Timeout { head: u64, patience: Option<u64> },
    Unmark,
    Renege,
}

/// One octet.
#[derive(Clone, Copy, Debug)]
struct Octet {
    at: Instant,
    lost: bool,
    delivered: bool,
    /// What was said of it when somebody asked last what has changed.
    heard: bool,
}

struct Both {
    now: Instant,
    log: Transmissions,
    board: Scoreboard,
    octets: Vec<Octet>,
    una: usize,
    newest: Option<Stamp>,
    /// When the last segment left, and whether it was a repetition: those get times of their own.
    last: (Instant, bool),
    /// The receiver has dropped nothing: the model knows of each octet what the records do.
    is_modelled: bool,
}

impl Both {
    fn new() -> Self {
        Self {
            now: Instant::from_millis(1000),
            log: Transmissions::new(0),
            board: Scoreboard::default(),
            octets: Vec::new(),
            una: 0,
            newest: None,
            last: (Instant::ZERO, false),
            is_modelled: true,
        }
    }

    fn una(&self) -> u64 {
        self.una as u64
    }

    fn max(&self) -> u64 {
        self.octets.len() as u64
    }

    fn leave(&mut self, again: bool) -> Instant {
        let step = Duration::from_nanos(u64::from(again != self.last.1));
        self.last = (self.now.max(self.last.0 + step), again);
        self.last.0
    }

    fn apply(&mut self, op: Op) {
        match op {
            Op::Send { len } => {
                let at = self.leave(false);
                let octet = Octet { at, lost: false, delivered: false, heard: false };
                self.octets.extend(std::iter::repeat_n(octet, len as usize));
                self.log.sent(self.max(), self.now);
            }
            Op::Repair { len } => {
                if let Some(lost) = self.log.next_lost(self.una(), &self.board) {
                    self.resend(Range { start: lost.start, end: lost.end.min(lost.start + len) });
                }
            }
            Op::Probe { len } => {
                // As the endpoint does: the last octets that have not arrived, and only while nothing is lost.
                if let Some(last) = self.board.last_unsacked(self.una(), self.max())
                    && self.log.waiting(self.una(), &self.board) == 0
                {
                    self.resend(Range { start: last.end.saturating_sub(len).max(last.start), end: last.end });
                }
            }
            Op::Sack { from, len } => {
                let start = self.una() + 1 + from;
                let end = (start + len).min(self.max());
                if start < end {
                    self.deliver(Range { start, end });
                    self.board.insert(start, end);
                }
            }
            Op::Acknowledge { len } => {
                let una = (self.una() + len).min(self.max());
                self.deliver(Range { start: self.una(), end: una });
                // A receiver acknowledges what it has up to the next hole.
                let una = self.board.holding(una).map_or(una, |r| r.end);
                self.una = una as usize;
                self.log.advance(una);
                assert!(self.board.advance(una));
            }
            Op::Wait { ms } => self.now += Duration::from_millis(ms),
            Op::Detect { patience } => self.detect(Duration::from_millis(patience)),
            Op::Timeout { head, patience } => self.time_out(head, patience.map(Duration::from_millis)),
            Op::Unmark => {
                self.log.unmark(self.una());
                self.octets.iter_mut().for_each(|o| o.lost = false);
            }
            Op::Renege => {
                // RFC 2018 §8. When what was dropped left last is forgotten: the model knows more than is kept.
                self.board.clear();
                self.log.start_over(self.una());
                self.is_modelled = false;
            }
        }
    }

    fn resend(&mut self, range: Range) {
        let at = self.leave(true);
        self.log.resent(range, self.now);
        for o in &mut self.octets[range.start as usize..range.end as usize] {
            *o = Octet { at, lost: false, delivered: false, heard: false };
        }
    }

    fn deliver(&mut self, range: Range) {
        let mut at = range.start;
        let mut newest = self.newest;
        while let Some(gap) = self.board.gap(at, range.end) {
            let mut told = None;
            self.log.delivered(gap, |stamp, _| told = told.max(Some(stamp)));
            let octets = self.octets.iter_mut().enumerate();
            let mut seen = None;
            for (i, o) in octets.skip(gap.start as usize).take((gap.end - gap.start) as usize) {
                seen = seen.max(Some(Stamp { at: o.at, end: i as u64 + 1 }));
                o.delivered = true;
            }
            assert!(told == seen || !self.is_modelled, "the newest of {gap:?}");
            newest = newest.max(told);
            at = gap.end;
        }
        self.newest = newest;
    }

    fn detect(&mut self, patience: Duration) {
        let Some(newest) = self.newest else { return };
        let c = Criterion { newest, patience, now: self.now };
        let found = self.log.detect(self.una(), &self.board, &c);
        let (mut octets, mut recheck) = (0, None);
        for (i, o) in self.octets.iter_mut().enumerate().skip(self.una) {
            let older = Stamp { at: o.at, end: i as u64 + 1 } < newest;
            if o.delivered || o.lost || !older {
                continue;
            }
            if o.at + patience <= self.now {
                o.lost = true;
                octets += 1;
            } else {
                recheck = recheck.max(Some(o.at + patience));
            }
        }
        assert!((found.octets, found.recheck) == (octets, recheck) || !self.is_modelled);
    }

    fn time_out(&mut self, head: u64, patience: Option<Duration>) {
        if self.una == self.octets.len() {
            return;
        }
        let head = (self.una() + head).min(self.max());
        let head = self.board.next_start(self.una()).map_or(head, |s| s.min(head));
        self.log.lose_on_timeout(self.una(), head, &self.board, patience, self.now);
        for (i, o) in self.octets.iter_mut().enumerate().skip(self.una) {
            o.lost |= !o.delivered && ((i as u64) < head || patience.is_none_or(|p| o.at + p <= self.now));
        }
    }

    /// Who looks only where something has changed sees each octet that is newly lost, or is no longer.
    fn hear(&mut self) {
        let changed = self.log.take_changed();
        for (i, o) in self.octets.iter_mut().enumerate().skip(self.una).filter(|(_, o)| !o.delivered) {
            let is_lost = self.log.is_lost(i as u64, &self.board);
            assert!(
                o.heard == is_lost || (changed.start..changed.end).contains(&(i as u64)),
                "{i}: {changed:?}"
            );
            o.heard = is_lost;
        }
    }

    fn check(&self) {
        self.log.check(self.una(), &self.board);
        if !self.is_modelled {
            return;
        }
        let left = self.octets.iter().enumerate().skip(self.una).filter(|(_, o)| !o.delivered);
        let lost: Vec<u64> = left.clone().filter(|(_, o)| o.lost).map(|(i, _)| i as u64).collect();
        let in_flight = left.filter(|(_, o)| !o.lost).count() as u64;
        assert_eq!(self.log.waiting(self.una(), &self.board), lost.len() as u64, "lost: {lost:?}");
        assert_eq!(self.log.in_flight(self.una(), self.max(), &self.board), in_flight);
        let next = self.log.next_lost(self.una(), &self.board);
        assert_eq!(next.map(|r| r.start), lost.first().copied());
        if let Some(range) = next {
            assert!((range.start..range.end).all(|i| lost.contains(&i)), "{range:?} of {lost:?}");
        }
    }
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (1u64..20).prop_map(|len| Op::Send { len }),
        6 => (1u64..10).prop_map(|len| Op::Repair { len }),
        1 => (1u64..10).prop_map(|len| Op::Probe { len }),
        4 => (0u64..80, 1u64..15).prop_map(|(from, len)| Op::Sack { from, len }),
        2 => (1u64..20).prop_map(|len| Op::Acknowledge { len }),
        4 => (0u64..4).prop_map(|ms| Op::Wait { ms }),
        4 => (0u64..8).prop_map(|patience| Op::Detect { patience }),
        1 => (1u64..10, prop::option::of(0u64..8)).prop_map(|(head, patience)| Op::Timeout { head, patience }),
        1 => Just(Op::Unmark),
        1 => Just(Op::Renege),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn runs_say_what_a_record_an_octet_would(ops in vec(op(), 0..80)) {
        let mut both = Both::new();
        for op in ops {
            both.apply(op);
            both.check();
            if matches!(op, Op::Detect { .. } | Op::Timeout { .. }) {
                both.hear();
            }
        }
    }
}

const NANO: fn(u64) -> Instant = Instant::from_nanos;

#[test]
fn the_memory_of_a_burst_goes_when_it_has_arrived() {
    let (mut log, board) = (Transmissions::new(0), Scoreboard::default());
    (1..=5000).for_each(|k| log.sent(k, NANO(k)));
    log.lose_on_timeout(0, 1, &board, None, NANO(6000));
    (0..5000).for_each(|k| log.resent(Range { start: k, end: k + 1 }, NANO(7000 + k)));
    assert!(log.room() >= 15_000, "{}", log.room());
    // All of them are lost again, and repaired.
    log.lose_on_timeout(0, 1, &board, None, NANO(20_000));
    log.delivered(Range { start: 0, end: 5000 }, |_, _| ());
    log.advance(5000);
    assert!(log.room() <= 4 * KEPT, "{}", log.room());
}

#[test]
fn a_window_of_many_moments_is_bounded() {
    // Beyond the bound the last run grows, and counts as sent when its newest part was.
    let mut log = Transmissions::new(0);
    let most = MAX_FIRSTS as u64;
    (1..=most + 10).for_each(|k| log.sent(k, NANO(k)));
    assert_eq!(log.len(), MAX_FIRSTS);
    let sent = [0, most - 2, most - 1, most + 9, most + 10].map(|octet| log.first_sent(octet));
    assert_eq!(
        sent,
        [Some(NANO(1)), Some(NANO(most - 1)), Some(NANO(most + 10)), Some(NANO(most + 10)), None]
    );
    log.advance(most - 1);
    assert_eq!((log.len(), log.first_sent(most)), (1, Some(NANO(most + 10))));
}

/// `total` octets sent at once, all of them lost at 1 ms.
fn lost(total: u64) -> (Transmissions, Scoreboard) {
    let (mut log, board) = (Transmissions::new(0), Scoreboard::default());
    log.sent(total, NANO(1));
    log.lose_on_timeout(0, 1, &board, None, NANO(1_000_000));
    assert_eq!(log.waiting(0, &board), total);
    (log, board)
}

#[test]
fn repairs_are_bounded_and_wait_until_some_have_arrived() {
    let most = MAX_AGAIN as u64;
    let (mut log, mut board) = lost(6 * most);
    (0..most).for_each(|k| log.resent(Range { start: 4 * k, end: 4 * k + 3 }, NANO(2_000_000)));
    assert_eq!((log.len(), log.waiting(0, &board)), (1 + MAX_AGAIN, 3 * most));
    assert_eq!(log.next_lost(0, &board), None);
    // A run that is cut in two has room for one part; the other waits to be sent again.
    log.delivered(Range { start: 1, end: 2 }, |_, _| ());
    board.insert(1, 2);
    assert_eq!((log.len(), log.waiting(0, &board)), (1 + MAX_AGAIN, 3 * most + 1));
    log.delivered(Range { start: 0, end: 1 }, |_, _| ());
    log.advance(2);
    board.advance(2);
    assert_eq!(log.next_lost(2, &board), Some(Range { start: 2, end: 4 }));
    assert!(log.is_repairing() && !log.sent_once());
}

#[test]
fn a_timeout_joins_what_it_finds_lost() {
    // As if all had left with the earlier; not across a gap, and nothing that is still under way.
    let total = 10 * MAX_AGAIN as u64;
    for (runs, left) in [(MAX_AGAIN / 2 - 3, MAX_AGAIN / 2 - 3), (MAX_AGAIN / 2 - 2, 1)] {
        let (mut log, board) = lost(total);
        let at = |k: u64| NANO(2_000_000 + k);
        let end = runs as u64;
        let apart = [(end + 1, NANO(3_000_000)), (end + 3, NANO(3_500_000)), (end + 2, NANO(8_500_000))];
        for (start, at) in (0..end).map(|k| (k, at(k))).chain(apart) {
            log.resent(Range { start, end: start + 1 }, at);
        }
        assert_eq!(log.len(), 1 + runs + 3);
        log.lose_on_timeout(0, 1, &board, Some(Duration::from_millis(1)), NANO(9_000_000));
        assert_eq!((log.len(), log.is_repairing()), (1 + left + 3, true));
        assert_eq!(log.last_sent(5), Some(if left == 1 { at(0) } else { at(5) }));
        assert_eq!(log.waiting(0, &board), total - 1);
    }
}

#[test]
fn each_octet_has_its_first_and_its_last_time() {
    let mut log = Transmissions::new(0);
    log.sent(10, NANO(10));
    log.sent(20, NANO(20));
    log.resent(Range { start: 5, end: 8 }, NANO(30));
    let octets = [0, 4, 5, 7, 8, 9, 10, 19, 20];
    assert_eq!(
        octets.map(|o| log.first_sent(o)),
        [10, 10, 10, 10, 10, 10, 20, 20, 0].map(|t| Some(NANO(t)).filter(|_| t > 0))
    );
    assert_eq!(
        octets.map(|o| log.last_sent(o)),
        [10, 10, 30, 30, 10, 10, 20, 20, 0].map(|t| Some(NANO(t)).filter(|_| t > 0))
    );
}
