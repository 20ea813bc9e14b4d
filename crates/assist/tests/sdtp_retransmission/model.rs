//! The machine against sets of bytes.

use std::collections::{BTreeMap, BTreeSet};

use handfast_assist::sdtp::{Arrival, Level, Output, RepeatOf, Retransmission, Thresholds};
use handfast_core::{Duration, Instant, SeqNum};
use handfast_wire::sdtp::{Information, Outcome, Request, Trigger};
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
enum Op {
    Data { at: u32, len: u32 },
    Repeat { at: u32, len: u32, which: usize },
    Wait { us: u64 },
    GiveUp { at: u32, len: u32 },
    Late { at: u32, len: u32, add_l: u16 },
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let (at, len) = (0u32..120, 1u32..9);
    let op = prop_oneof![
        6 => (at.clone(), len.clone()).prop_map(|(at, len)| Op::Data { at, len }),
        2 => (at.clone(), len.clone(), 0usize..9).prop_map(|(at, len, which)| Op::Repeat { at, len, which }),
        2 => (1u64..40_000).prop_map(|us| Op::Wait { us }),
        1 => (at.clone(), len.clone()).prop_map(|(at, len)| Op::GiveUp { at, len }),
        1 => (at, len, 0u16..4).prop_map(|(at, len, add_l)| Op::Late { at, len, add_l }),
    ];
    prop::collection::vec(op, 0..80)
}

/// What is known of a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Byte {
    Missing { inter_cnt: u32, asked_by_count: u32 },
    Received,
    GivenUp,
}

/// The machine, and the bytes up to the last that came.
struct World {
    start: SeqNum,
    machine: Retransmission,
    now: Instant,
    bytes: Vec<Byte>,
    /// What lies beyond, and will not come.
    never: BTreeSet<usize>,
    asked: Vec<Request>,
    config: Thresholds,
}

impl World {
    fn new(start: SeqNum, level: Level, most_windows: usize) -> Self {
        let mut config = Thresholds::new(Duration::from_millis(3));
        (config.level, config.most_windows) = (level, most_windows);
        let machine = Retransmission::new(start, &config);
        let (bytes, never, asked) = (Vec::new(), BTreeSet::new(), Vec::new());
        Self { start, machine, now: Instant::ZERO, bytes, never, asked, config }
    }

    fn seq(&self, at: u32) -> SeqNum {
        self.start + at
    }

    fn offset(&self, seq: SeqNum) -> usize {
        seq.distance(self.start) as usize
    }

    fn step(&mut self, op: Op) {
        match op {
            Op::Data { at, len } => self.data(at, len, None),
            Op::Repeat { at, len, which } => {
                let request = self.asked.get(self.asked.len().wrapping_sub(which + 1)).copied();
                let of = request.map_or(
                    RepeatOf { trigger: Trigger::Count, start: self.seq(at), start_num: 0, timestamp: 1 },
                    |request| RepeatOf {
                        trigger: request.trigger,
                        start: request.expected.start,
                        start_num: request.expected.start_num,
                        timestamp: request.timestamp,
                    },
                );
                self.data(at, len, Some(of));
            }
            Op::Wait { us } => self.wait(us),
            Op::GiveUp { at, len } => {
                if self.machine.windows().count() < self.config.most_windows {
                    self.give_up(at as usize, (at + len) as usize);
                }
                self.never.extend(self.bytes.len().max(at as usize)..(at + len) as usize);
                self.machine.give_up(self.seq(at)..self.seq(at + len));
            }
            Op::Late { at, len, add_l } => {
                let expected = handfast_wire::sdtp::Expected {
                    start: self.seq(at),
                    end: Some(self.seq(at + len)),
                    start_num: 0,
                };
                let outcome = Outcome::Later { add_l };
                self.machine.on_information(&Information { trigger: Trigger::Count, expected, outcome });
            }
        }
    }

    fn data(&mut self, at: u32, len: u32, of: Option<RepeatOf>) {
        let mut out = Vec::new();
        let arrival = self.machine.on_data(self.now, self.seq(at), len, of.as_ref(), &mut out);
        let (from, to) = (at as usize, (at + len) as usize);
        let was_expected = self.receive(from, to);
        let is_new = was_expected || self.bytes[from..to].contains(&Byte::GivenUp);
        assert_eq!(arrival, if is_new { Arrival::New } else { Arrival::Duplicate });
        self.bytes[from..to].fill(Byte::Received);
        self.skip();
        if was_expected && of.is_none() {
            for byte in &mut self.bytes[..from] {
                if let Byte::Missing { inter_cnt, .. } = byte {
                    *inter_cnt += 1;
                }
            }
        }
        self.sent(&out);
    }

    /// Makes room; whether a byte is new that was not given up.
    fn receive(&mut self, from: usize, to: usize) -> bool {
        let (missing, before) = (Byte::Missing { inter_cnt: 0, asked_by_count: 0 }, self.bytes.len());
        self.bytes.resize(before.max(to), missing);
        self.bytes[from..to].iter().any(|byte| matches!(byte, Byte::Missing { .. }))
    }

    /// What was said to never come, and is behind the last byte now, is given up while there is room for a window.
    fn skip(&mut self) {
        let beyond = self.never.split_off(&self.bytes.len());
        let passed: Vec<_> = std::mem::replace(&mut self.never, beyond).into_iter().collect();
        for run in passed.chunk_by(|a, b| a + 1 == *b) {
            if self.runs().len() < self.config.most_windows {
                self.give_up(run[0], run[run.len() - 1] + 1);
            }
        }
    }

    fn give_up(&mut self, from: usize, to: usize) {
        let end = to.min(self.bytes.len());
        for byte in &mut self.bytes[from.min(end)..end] {
            if matches!(byte, Byte::Missing { .. }) {
                *byte = Byte::GivenUp;
            }
        }
    }

    fn wait(&mut self, us: u64) {
        let until = self.now + Duration::from_micros(us);
        while let Some(due) = self.machine.deadline().filter(|&due| due <= until) {
            let mut out = Vec::new();
            self.machine.on_timer(due, &mut out);
            assert!(self.machine.deadline().is_none_or(|next| next > due));
            self.sent(&out);
        }
        self.now = until;
    }

    fn sent(&mut self, out: &[Output]) {
        for output in out {
            match output {
                Output::Request(request) => self.requested(request),
                Output::Information(Information { expected, outcome: Outcome::Never, .. }) => {
                    let end = expected.end.expect("what is given up has an end");
                    let (from, to) = (self.offset(expected.start), self.offset(end));
                    assert!(self.bytes[from..to].iter().all(|byte| matches!(byte, Byte::Missing { .. })));
                    self.give_up(from, to);
                }
                Output::Information(information) => {
                    assert_eq!((information.trigger, self.config.level), (Trigger::Count, Level::Packet));
                }
            }
        }
    }

    /// Only what is missing is asked for, and by count once.
    fn requested(&mut self, request: &Request) {
        self.asked.push(*request);
        let Some(end) = request.expected.end else {
            assert_eq!(request.expected.start, self.seq(self.bytes.len() as u32));
            return assert!(request.expected.start_num < 3 && request.trigger == Trigger::Time);
        };
        let (from, to) = (self.offset(request.expected.start), self.offset(end));
        for byte in &mut self.bytes[from..to] {
            let Byte::Missing { asked_by_count, .. } = byte else { panic!("{request:?} asks for {byte:?}") };
            *asked_by_count += u32::from(request.trigger == Trigger::Count);
            assert!(*asked_by_count <= 1, "{request:?}");
        }
    }

    fn check(&self) {
        self.windows_are_the_runs();
        self.entries_are_the_gaps();
        assert!(self.machine.windows().count() <= self.config.most_windows);
    }

    /// What is there or given up: where each run begins and ends. The first begins at 0, and may be empty.
    fn runs(&self) -> BTreeMap<usize, usize> {
        let mut runs = BTreeMap::new();
        let mut at = 0;
        for run in
            self.bytes.chunk_by(|a, b| matches!(a, Byte::Missing { .. }) == matches!(b, Byte::Missing { .. }))
        {
            if !matches!(run[0], Byte::Missing { .. }) || at == 0 {
                runs.insert(at, if matches!(run[0], Byte::Missing { .. }) { 0 } else { at + run.len() });
            }
            at += run.len();
        }
        runs.entry(0).or_insert(0);
        runs
    }

    fn windows_are_the_runs(&self) {
        let runs = self.runs();
        let windows = self.machine.windows();
        let windows: BTreeMap<_, _> =
            windows.map(|window| (self.offset(window.left), self.offset(window.right))).collect();
        assert_eq!(windows, runs);
        assert_eq!(self.offset(self.machine.next_expected()), runs[&0]);
    }

    fn entries_are_the_gaps(&self) {
        let mut expected: Vec<_> = self.machine.expected().collect();
        let tail = expected.pop().expect("there is always one");
        assert_eq!((self.offset(tail.start_seq), tail.end_seq), (self.bytes.len(), None));
        let mut at = 0;
        for (num, entry) in expected.iter().enumerate() {
            assert_eq!(entry.num, num);
            let (from, to) = (self.offset(entry.start_seq), self.offset(entry.end_seq.expect("a hole")));
            assert!(at <= from && from < to);
            assert!(!self.bytes[at..from].iter().any(|byte| matches!(byte, Byte::Missing { .. })));
            for byte in &self.bytes[from..to] {
                let Byte::Missing { inter_cnt, .. } = *byte else { panic!("{entry:?} expects {byte:?}") };
                assert_eq!(inter_cnt, entry.inter_cnt);
            }
            assert_eq!(entry.wait_len, entry.cnt_thres.saturating_sub(entry.inter_cnt));
            assert!(entry.wait_len > 0 || entry.rt_cnt > 0, "{entry:?} is lost and not asked for");
            at = to;
        }
        assert!(!self.bytes[at..].iter().any(|byte| matches!(byte, Byte::Missing { .. })));
    }
}

proptest! {
    #[test]
    fn the_lists_are_what_sets_of_bytes_say(
        start in prop_oneof![any::<u32>(), (u32::MAX - 150)..=u32::MAX],
        by_packet in any::<bool>(),
        most_windows in prop_oneof![Just(3usize), Just(64)],
        ops in ops(),
    ) {
        let level = if by_packet { Level::Packet } else { Level::Segment };
        let mut world = World::new(SeqNum(start), level, most_windows);
        for op in ops {
            world.step(op);
            world.check();
        }
        world.wait(1_000_000);
        world.check();
        prop_assert!(world.machine.windows().count() == 1, "in the end all has come or is given up");
    }
}
