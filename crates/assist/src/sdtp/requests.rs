//! What was asked for, until it is known whether that helped.

use std::collections::VecDeque;

use handfast_core::{Duration, Instant, SeqNum};
use handfast_wire::sdtp::{Repeat, Request, Trigger};

/// The request that an RD answers, as the RD says it (`[sdtp]` §III-C 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepeatOf {
    /// The trigger of the RR.
    pub trigger: Trigger,
    /// `StartSeq` of the RR.
    pub start: SeqNum,
    /// `StartNum` of the RR.
    pub start_num: u16,
    /// The timestamp of the RR.
    pub timestamp: u32,
}

impl From<&Repeat> for RepeatOf {
    fn from(repeat: &Repeat) -> Self {
        let &Repeat { trigger, start, start_num, timestamp, .. } = repeat;
        Self { trigger, start, start_num, timestamp }
    }
}

/// What the retransmission node of a connection has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// RRs because `InterCnt` has reached `CntThres`.
    pub count: u64,
    /// RRs because `InterTime` has exceeded the expected interarrival time.
    pub time: u64,
    /// RRs because a retransmission has timed out.
    pub timeout: u64,
    /// Of these, the ones whose RD brought what was missing.
    pub useful: u64,
    /// Of these, the ones that were not needed: what was asked for came by itself, came twice, or was never sent. The rest
    /// found no answer.
    pub needless: u64,
    /// Holes that this node has given up.
    pub given_up: u64,
    /// How often a number was so far from the others that all began anew.
    pub resets: u64,
}

/// A request.
#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Instant,
    what: RepeatOf,
    end: SeqNum,
    /// Whether it is counted as useful or needless.
    is_settled: bool,
}

/// The last requests, oldest first.
#[derive(Clone, Debug)]
pub(super) struct Requests {
    log: VecDeque<Sent>,
    most: usize,
    pub(super) counters: Counters,
}

impl Requests {
    /// Remembers so many, at least one.
    pub(super) fn new(most: usize) -> Self {
        Self { log: VecDeque::new(), most: most.max(1), counters: Counters::default() }
    }

    pub(super) fn clear(&mut self) {
        self.log.clear();
    }

    /// A request for these bytes leaves; where the end is not known, `from` and `end` are a guess.
    pub(super) fn sent(&mut self, now: Instant, request: &Request, end: SeqNum) {
        match request.trigger {
            Trigger::Count => self.counters.count += 1,
            Trigger::Time => self.counters.time += 1,
            Trigger::Timeout => self.counters.timeout += 1,
        }
        if self.log.len() >= self.most {
            self.log.pop_front();
        }
        let &Request { trigger, expected, timestamp } = request;
        let what = RepeatOf { trigger, start: expected.start, start_num: expected.start_num, timestamp };
        self.log.push_back(Sent { at: now, what, end, is_settled: false });
    }

    /// How long ago the request left that an RD answers; [`None`]: another node's. `is_new`: the RD brought something.
    pub(super) fn answered(&mut self, now: Instant, what: &RepeatOf, is_new: bool) -> Option<Duration> {
        // Requests stand in the order of their times, and the timestamp is unambiguous for more than an hour.
        let age = timestamp(now).wrapping_sub(what.timestamp);
        let at = micros(now).checked_sub(age.into())?;
        let first = self.log.partition_point(|sent| micros(sent.at) < at);
        let mut candidates =
            self.log.range_mut(first..).take_while(|sent| sent.what.timestamp == what.timestamp);
        let sent = candidates.find(|sent| sent.what == *what)?;
        let took = now.since(sent.at);
        settle(sent, if is_new { &mut self.counters.useful } else { &mut self.counters.needless });
        Some(took)
    }

    /// These bytes came by themselves, or will not: what was asked for them was needless.
    pub(super) fn came_by_itself(&mut self, start: SeqNum, end: SeqNum) {
        for sent in &mut self.log {
            if sent.what.start.before(end) && sent.end.after(start) {
                settle(sent, &mut self.counters.needless);
            }
        }
    }
}

fn settle(sent: &mut Sent, counter: &mut u64) {
    *counter += u64::from(!sent.is_settled);
    sent.is_settled = true;
}

/// A moment as the field Timestamp has it: in microseconds.
pub(super) fn timestamp(at: Instant) -> u32 {
    micros(at) as u32
}

fn micros(at: Instant) -> u64 {
    at.as_nanos() / 1_000
}
