//! The expected packet list (`[sdtp]` §III-C 1).

use std::collections::VecDeque;

use handfast_core::{Duration, Instant, SeqNum};
use handfast_wire::sdtp::Trigger;

use super::retransmission_rtt::RetransmissionRtt;
use super::windows::{earlier, later};

/// An entry of the list, with the paper's fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpectedPackets {
    /// `Num`: the how many-th entry, from 0.
    pub num: usize,
    /// `StartSeq`: the right edge of a content window.
    pub start_seq: SeqNum,
    /// `EndSeq`: the left edge of the next; [`None`]: infinity.
    pub end_seq: Option<SeqNum>,
    /// `StartNum`: how many packets behind `StartSeq` the next request without an end asks for.
    pub start_num: u16,
    /// `InterCnt`: how many packets have overtaken.
    pub inter_cnt: u32,
    /// `CntThres`: how many show a loss.
    pub cnt_thres: u32,
    /// `WaitLen`: `CntThres` less `InterCnt`.
    pub wait_len: u32,
    /// `RTCnt`: how many requests have been sent.
    pub rt_cnt: u32,
    /// `RTType`: how the loss was detected.
    pub rt_type: Option<Trigger>,
    /// `RTTimer`: when it began, with the last request.
    pub rt_timer: Option<Instant>,
}

/// An entry between two windows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hole {
    pub(super) start: SeqNum,
    pub(super) end: SeqNum,
    /// What RIs have added to `CntThres`.
    add_l: u32,
    /// `InterCnt` is what the list has counted since it stood here: so a packet that overtakes all holes costs one addition.
    counted_from: u64,
    pub(super) rt_cnt: u32,
    /// `RTType`, `RTTimer`.
    asked: Option<(Trigger, Instant)>,
    since: Instant,
    /// The first sign that it is missing: later packets, or a request of the tail before.
    missed: Instant,
}

/// The entry behind the last window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tail {
    /// `StartNum`, and `RTCnt`: a request asks for the next packet each time.
    pub(super) asked: u16,
    asked_at: Option<Instant>,
    /// When the first request left since the last packet.
    pub(super) missed: Option<Instant>,
    /// Whether something was asked for since the last packet.
    pub(super) is_doubted: bool,
    /// Nothing more was sent, says a node upstream.
    pub(super) is_over: bool,
}

/// What was missing and has come, or will not.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taken {
    pub(super) inter_cnt: u32,
    pub(super) rt_cnt: u32,
    /// It was asked for; how the loss was detected.
    pub(super) asked: Option<Trigger>,
    /// The first sign that it was missing.
    pub(super) missed: Instant,
}

/// When the list has to be looked at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Due {
    /// When [`ExpectedList::counter`] is this.
    pub(super) counter: u64,
    /// At this time.
    pub(super) at: Instant,
    /// Whether there is a hole for which nothing was asked.
    pub(super) is_one_unasked: bool,
}

impl Due {
    pub(super) const NEVER: Self = Self { counter: u64::MAX, at: Instant::MAX, is_one_unasked: false };
}

/// A choice for a request by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    Hole(usize),
    Tail,
}

/// The list: holes in order, and the tail.
#[derive(Clone, Debug)]
pub(super) struct ExpectedList {
    holes: VecDeque<Hole>,
    pub(super) tail: Tail,
    /// Packets counted; it begins high, so that `counted_from` may lie before.
    pub(super) counter: u64,
    /// With so many holes, none is split for what an RI or a request says of a part of it.
    most: usize,
}

impl ExpectedList {
    pub(super) fn new(most: usize) -> Self {
        Self { holes: VecDeque::new(), tail: Tail::default(), counter: 1 << 32, most }
    }

    pub(super) fn clear(&mut self) {
        self.holes.clear();
        self.tail = Tail::default();
    }

    pub(super) fn len(&self) -> usize {
        self.holes.len()
    }

    pub(super) fn hole(&self, num: usize) -> Option<Hole> {
        self.holes.get(num).copied()
    }

    /// A new last hole.
    pub(super) fn open(&mut self, start: SeqNum, end: SeqNum, since: Instant) {
        let counted_from = self.counter;
        self.holes.push_back(Hole {
            start,
            end,
            add_l: 0,
            counted_from,
            rt_cnt: 0,
            asked: None,
            since,
            missed: since,
        });
    }

    fn overlapped(&self, start: SeqNum, end: SeqNum) -> std::ops::Range<usize> {
        let first = self.holes.partition_point(|hole| !hole.end.after(start));
        let behind = self.holes.partition_point(|hole| hole.start.before(end));
        first..behind.max(first)
    }

    /// The first bytes within a range that are missing, up to the next content window.
    pub(super) fn first_in(&self, start: SeqNum, end: SeqNum) -> Option<(SeqNum, SeqNum)> {
        let mut holes = self.holes.range(self.overlapped(start, end));
        let first = holes.next()?;
        let last = holes.fold(first.end, |last, hole| if hole.start == last { hole.end } else { last });
        Some((later(first.start, start), earlier(last, end)))
    }

    /// These bytes are no longer expected. What the first hole of them was.
    pub(super) fn take(&mut self, start: SeqNum, end: SeqNum) -> Option<Taken> {
        let at = self.overlapped(start, end);
        let first = *self.holes.get(at.start).filter(|_| !at.is_empty())?;
        let last = *self.holes.get(at.end - 1)?;
        let asked = self.holes.range(at.clone()).find_map(|hole| hole.asked);
        self.holes.drain(at.clone());
        if last.end.after(end) {
            self.holes.insert(at.start, Hole { start: end, ..last });
        }
        if first.start.before(start) {
            self.holes.insert(at.start, Hole { end: start, ..first });
        }
        let asked = asked.map(|(trigger, _)| trigger);
        Some(Taken { inter_cnt: self.inter_cnt(&first), rt_cnt: first.rt_cnt, asked, missed: first.missed })
    }

    /// A packet has overtaken all holes.
    #[inline]
    pub(super) fn count(&mut self) {
        self.counter += 1;
    }

    /// A packet at `start` has overtaken the holes before it.
    pub(super) fn count_before(&mut self, start: SeqNum) {
        let behind = self.holes.partition_point(|hole| !hole.end.after(start));
        for hole in self.holes.range_mut(..behind) {
            hole.counted_from -= 1;
        }
    }

    /// §III-C 2: `CntThres` is updated "by adding `AddL` for the retransmitted packet".
    pub(super) fn raise(&mut self, start: SeqNum, end: SeqNum, add_l: u16) {
        for hole in self.cut_out(start, end) {
            hole.add_l = hole.add_l.saturating_add(add_l.into());
        }
    }

    /// Requests of the tail have asked for these bytes, of a hole now.
    pub(super) fn asked_as_tail(&mut self, start: SeqNum, end: SeqNum) {
        let Some(at) = self.tail.asked_at else { return };
        let missed = self.tail.missed.unwrap_or(at);
        for hole in self.cut_out(start, end) {
            hole.asked = Some((Trigger::Time, at));
            hole.missed = missed;
            hole.rt_cnt = 1;
        }
    }

    fn cut_out(&mut self, start: SeqNum, end: SeqNum) -> impl Iterator<Item = &mut Hole> {
        self.cut(start);
        self.cut(end);
        let at = self.overlapped(start, end);
        self.holes.range_mut(at)
    }

    /// Makes two holes of the one around `seq`.
    fn cut(&mut self, seq: SeqNum) {
        let num = self.holes.partition_point(|hole| !hole.end.after(seq));
        let room = self.holes.len() < self.most;
        let Some(hole) = self.holes.get_mut(num).filter(|hole| room && hole.start.before(seq)) else {
            return;
        };
        let second = Hole { start: seq, ..*hole };
        hole.end = seq;
        self.holes.insert(num + 1, second);
    }

    fn inter_cnt(&self, hole: &Hole) -> u32 {
        u32::try_from(self.counter.saturating_sub(hole.counted_from)).unwrap_or(u32::MAX)
    }

    /// `base` is `CntThres` of a packet of which no RI has told.
    pub(super) fn is_lost(&self, hole: &Hole, base: u32) -> bool {
        hole.asked.is_none() && self.wait_len(hole, base) == 0
    }

    fn wait_len(&self, hole: &Hole, base: u32) -> u32 {
        hole.threshold(base).saturating_sub(self.inter_cnt(hole))
    }

    /// §III-C 2: "the packet in the expected packet list with smallest `WaitLen` that has not been retransmitted"; of equal ones
    /// the first. Of the tail `most_ahead` may be asked for.
    pub(super) fn choose(&self, base: u32, most_ahead: u16) -> Option<Choice> {
        let holes = self.holes.iter().enumerate().filter(|(_, hole)| hole.asked.is_none());
        let holes = holes.map(|(num, hole)| (self.wait_len(hole, base), Choice::Hole(num)));
        let tail = self.can_ask_ahead(most_ahead).then_some((base, Choice::Tail));
        holes.chain(tail).min_by_key(|&(wait_len, _)| wait_len).map(|(_, choice)| choice)
    }

    pub(super) fn can_ask_ahead(&self, most_ahead: u16) -> bool {
        self.tail.asked < most_ahead && !self.tail.is_over
    }

    /// A request for a hole leaves.
    pub(super) fn ask(&mut self, num: usize, trigger: Trigger, now: Instant) -> Option<Hole> {
        let hole = self.holes.get_mut(num)?;
        hole.asked = Some((trigger, now));
        hole.rt_cnt += 1;
        Some(*hole)
    }

    /// A request for the next packet of the tail leaves. Its `StartNum`.
    pub(super) fn ask_ahead(&mut self, now: Instant) -> u16 {
        self.tail.asked_at = Some(now);
        if !self.tail.is_doubted {
            self.tail.missed = Some(now);
        }
        self.tail.is_doubted = true;
        self.tail.asked += 1;
        self.tail.asked - 1
    }

    /// When the next hole is lost by count, or needs a request again, or has been asked for long enough.
    pub(super) fn due(&self, base: u32, round_trip: &RetransmissionRtt, persistence: Duration) -> Due {
        let mut due = Due::NEVER;
        for hole in &self.holes {
            due.at = due.at.min(hole.until(persistence)).min(hole.repeat_at(round_trip));
            if hole.asked.is_none() {
                due.is_one_unasked = true;
                due.counter = due.counter.min(hole.counted_from + u64::from(hole.threshold(base)));
            }
        }
        due
    }

    /// All entries; `front` is the right edge of the last window.
    pub(super) fn entries(&self, base: u32, front: SeqNum) -> impl Iterator<Item = ExpectedPackets> + '_ {
        let holes = self.holes.iter().enumerate().map(move |(num, hole)| self.entry(num, hole, base));
        holes.chain(std::iter::once(ExpectedPackets {
            num: self.holes.len(),
            start_seq: front,
            end_seq: None,
            start_num: self.tail.asked,
            inter_cnt: 0,
            cnt_thres: base,
            wait_len: base,
            rt_cnt: self.tail.asked.into(),
            rt_type: (self.tail.asked > 0).then_some(Trigger::Time),
            rt_timer: self.tail.asked_at.filter(|_| self.tail.asked > 0),
        }))
    }

    fn entry(&self, num: usize, hole: &Hole, base: u32) -> ExpectedPackets {
        ExpectedPackets {
            num,
            start_seq: hole.start,
            end_seq: Some(hole.end),
            start_num: 0,
            inter_cnt: self.inter_cnt(hole),
            cnt_thres: hole.threshold(base),
            wait_len: self.wait_len(hole, base),
            rt_cnt: hole.rt_cnt,
            rt_type: hole.asked.map(|(trigger, _)| trigger),
            rt_timer: hole.asked.map(|(_, at)| at),
        }
    }
}

impl Hole {
    fn threshold(&self, base: u32) -> u32 {
        base.saturating_add(self.add_l)
    }

    /// Until when it is expected.
    pub(super) fn until(&self, persistence: Duration) -> Instant {
        self.since + persistence
    }

    /// §III-C 2, retransmission timeout: when it is asked for again.
    pub(super) fn repeat_at(&self, round_trip: &RetransmissionRtt) -> Instant {
        self.asked.map_or(Instant::MAX, |(_, at)| at + round_trip.timeout(self.rt_cnt))
    }
}
