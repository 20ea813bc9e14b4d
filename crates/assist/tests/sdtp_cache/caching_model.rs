//! A caching node beside a naive model of it, and its bounds.

use std::collections::{BTreeMap, BTreeSet};

use handfast_assist::sdtp::caching::{CachingNode, Config, Output, PACKET_COST, Passing, Quotas, Served};
use handfast_core::{Bytes, Duration, Instant, SeqNum};
use handfast_wire::Ecn;
use handfast_wire::sdtp::{Expected, Information, Notification, Request, Stream, Trigger};
use proptest::prelude::*;

use crate::node::{Sample, config, stream};

#[derive(Clone, Copy, Debug)]
enum Event {
    Data { from: i64, len: u32, capable: bool },
    Ask { trigger: Trigger, from: i64, len: u32 },
    Count { from: i64, number: u16 },
    Release(i64),
    Drop { from: i64, len: u32 },
    Wait(u64),
}

fn event() -> impl Strategy<Value = Event> {
    let trigger = prop::sample::select(vec![Trigger::Count, Trigger::Time, Trigger::Timeout]);
    prop_oneof![
        8 => (0i64..60, 1u32..12, any::<bool>()).prop_map(|(from, len, capable)| Event::Data { from, len, capable }),
        6 => (trigger, 0i64..60, 0u32..20).prop_map(|(trigger, from, len)| Event::Ask { trigger, from, len }),
        2 => (0i64..60, 0u16..4).prop_map(|(from, number)| Event::Count { from, number }),
        1 => (0i64..70).prop_map(Event::Release),
        2 => (0i64..60, 1u32..12).prop_map(|(from, len)| Event::Drop { from, len }),
        1 => (1u64..80).prop_map(Event::Wait),
    ]
}

#[derive(Clone, Debug)]
struct Kept {
    from: i64,
    end: i64,
    name: u32,
    capable: bool,
    answered: Vec<Trigger>,
    copies: u32,
}

/// What the node says: a packet by its name and whether it is marked, or a range that will not come.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Said {
    Again(u32, bool),
    Never(i64, i64),
}

/// Numbers that never wrap, and sets of bytes.
#[derive(Default)]
struct Model {
    kept: Vec<Kept>,
    come: BTreeSet<i64>,
    dropped: BTreeSet<i64>,
    released: i64,
    said: Vec<Said>,
}

impl Model {
    fn data(&mut self, new: Kept) {
        self.come.extend(new.from..new.end);
        (new.from..new.end).for_each(|at| _ = self.dropped.remove(&at));
        let lies_within = |one: &Kept| one.from <= new.from && new.end <= one.end;
        let same = |one: &Kept| (one.from, one.end) == (new.from, new.end);
        if new.end <= self.released || self.kept.iter().any(|one| lies_within(one) && !same(one)) {
            return;
        }
        self.kept.retain(|one| one.from < new.from || one.end > new.end);
        self.kept.push(new);
        self.kept.sort_by_key(|one| one.from);
    }

    fn never(&mut self, from: i64, end: i64) {
        match self.said.last_mut() {
            Some(Said::Never(_, until)) if *until == from => *until = end,
            _ => self.said.push(Said::Never(from, end)),
        }
    }

    fn gap(&mut self, from: i64, end: i64) -> Option<i64> {
        let mut missing = None;
        for at in from..end {
            if self.dropped.contains(&at) {
                self.never(at, at + 1);
            } else {
                missing = Some(at + 1);
            }
        }
        missing
    }

    /// Says what is sent; returns whether something was found, and where the last byte ends that was not.
    fn ask(&mut self, trigger: Trigger, from: i64, end: i64, config: &Config) -> (bool, Option<i64>) {
        let (mut at, mut sent, mut missing, said) = (from, 0, None, self.said.len());
        let mut found = false;
        let asked_from = from;
        for place in 0..self.kept.len() {
            let Kept { from, end: until, name, capable, .. } = self.kept[place].clone();
            if until <= asked_from || from >= end {
                continue;
            }
            missing = self.gap(at, from).or(missing);
            (at, found) = (until, true);
            let dropped = (from..until).any(|at| self.dropped.contains(&at));
            let one = &mut self.kept[place];
            if trigger != Trigger::Timeout && one.answered.contains(&trigger) {
                continue;
            }
            one.answered.push(trigger);
            if dropped && !capable {
                self.never(from, until);
            } else if one.copies < config.copies && sent < config.burst {
                (one.copies, sent) = (one.copies + 1, sent + 1);
                self.said.push(Said::Again(name, dropped));
            }
        }
        missing = self.gap(at, end).or(missing);
        (found || self.said.len() > said, missing)
    }

    fn nth(&self, from: i64, number: u16) -> Option<(i64, i64)> {
        let behind: Vec<_> = self.kept.iter().filter(|one| one.from >= from).collect();
        let counted = behind.get(..=usize::from(number))?;
        let ends = std::iter::once(from).chain(counted.iter().map(|one| one.end));
        let is_whole = ends.zip(counted).all(|(end, one)| end == one.from);
        is_whole.then(|| (counted[usize::from(number)].from, counted[usize::from(number)].end))
    }

    fn edge(&self) -> i64 {
        (self.released..1_000).find(|at| !self.come.contains(at)).unwrap_or(0)
    }
}

fn ecn(capable: bool) -> Ecn {
    if capable { Ecn::Capable0 } else { Ecn::NotCapable }
}

fn wide() -> Config {
    let all = Bytes(1 << 40);
    let quotas = Quotas { per_connection: all, per_host: all, per_slice: all, total: all };
    Config { quotas, patience: Duration::from_secs(1_000), idle: Duration::from_secs(1_000), ..config() }
}

struct Pair {
    machine: CachingNode<Sample>,
    model: Model,
    isn: SeqNum,
    now: u64,
    names: u32,
    out: Vec<Output<Sample>>,
}

impl Pair {
    fn seq(&self, at: i64) -> SeqNum {
        self.isn + at as u32
    }

    fn offset(&self, seq: SeqNum) -> i64 {
        i64::from(seq.distance(self.isn))
    }

    fn time(&self) -> Instant {
        Instant::from_millis(self.now)
    }

    fn said(&mut self) -> Vec<Said> {
        let out = std::mem::take(&mut self.out);
        let said = out.into_iter().map(|output| match output {
            Output::Repeat(repeated) => {
                Said::Again(repeated.packet.place, repeated.packet.ecn == Ecn::Congested)
            }
            Output::Information(_, Information { expected, .. }) => {
                Said::Never(self.offset(expected.start), self.offset(expected.end.unwrap()))
            }
            Output::Notification(_, Notification { until }) => panic!("{until}"),
            Output::Parity(..) => panic!("nobody has asked for parity"),
        });
        said.collect()
    }

    fn request(&mut self, request: Request) -> Served {
        self.machine.on_request(self.time(), &stream(1, 1), &request, &mut self.out)
    }

    fn ask(&mut self, trigger: Trigger, from: i64, end: i64) -> Result<(), TestCaseError> {
        let expected = Expected { start: self.seq(from), end: Some(self.seq(end)), start_num: 0 };
        let request = Request { trigger, expected, timestamp: 1 };
        let served = self.request(request);
        let model = if end > from { self.model.ask(trigger, from, end, &wide()) } else { (true, None) };
        let expected = match model {
            _ if self.names == 0 => Served::None,
            (_, None) => Served::All,
            (true, Some(missing)) => {
                let expected = Expected { end: Some(self.seq(missing)), ..expected };
                Served::Some(Request { expected, ..request })
            }
            (false, Some(_)) => Served::None,
        };
        prop_assert_eq!(served, expected);
        Ok(())
    }

    fn count(&mut self, from: i64, number: u16) -> Result<(), TestCaseError> {
        let expected = Expected { start: self.seq(from), end: None, start_num: number };
        let served = self.request(Request { trigger: Trigger::Time, expected, timestamp: 1 });
        let span = self.model.nth(from, number);
        if let Some((from, end)) = span {
            self.model.ask(Trigger::Time, from, end, &wide());
        }
        prop_assert_eq!(served, if span.is_some() { Served::All } else { Served::None });
        Ok(())
    }

    fn wait(&mut self, ms: u64) -> Result<(), TestCaseError> {
        self.now += ms;
        let now = self.time();
        if self.machine.deadline().is_some_and(|due| due <= now) {
            self.machine.on_timer(now, &mut self.out);
            prop_assert!(self.machine.deadline().is_none_or(|due| due > now));
        }
        for output in self.out.drain(..) {
            let Output::Notification(_, Notification { until }) = output else { panic!("{output:?}") };
            prop_assert_eq!(until, self.isn + self.model.edge() as u32);
        }
        Ok(())
    }

    fn event(&mut self, event: Event) -> Result<(), TestCaseError> {
        let (time, stream) = (self.time(), stream(1, 1));
        match event {
            Event::Data { from, len, capable } => {
                let (seq, name) = (self.seq(from), self.names);
                self.names += 1;
                let passing = Passing { seq, len, bytes: len, since_start: from as u16, host: 1 };
                let sample = Sample { place: name, ecn: ecn(capable) };
                self.machine.on_data(time, &stream, &passing, Some(&sample));
                let end = from + i64::from(len);
                self.model.data(Kept { from, end, name, capable, answered: Vec::new(), copies: 0 });
            }
            Event::Ask { trigger, from, len } => self.ask(trigger, from, from + i64::from(len))?,
            Event::Count { from, number } => self.count(from, number)?,
            Event::Release(until) => {
                let until = until.min(self.model.come.last().map_or(0, |last| last + 1));
                self.machine.on_notification(time, &stream, Notification { until: self.seq(until) });
                self.model.released = self.model.released.max(until);
                self.model.kept.retain(|one| one.end > self.model.released);
                self.model.dropped.retain(|&at| at >= self.model.released);
                self.model.come.extend(0..self.model.released);
            }
            Event::Drop { from, len } => {
                let end = from + i64::from(len);
                self.machine.on_own_drop(&stream, self.seq(from), len);
                if self.names > 0 {
                    self.model.dropped.extend(from.max(self.model.released)..end);
                }
            }
            Event::Wait(ms) => return self.wait(ms),
        }
        let said = std::mem::take(&mut self.model.said);
        prop_assert_eq!(self.said(), said);
        let packets = self.model.kept.len();
        prop_assert_eq!(self.machine.packets(&stream), packets);
        let bytes: i64 = self.model.kept.iter().map(|one| one.end - one.from).sum();
        prop_assert_eq!(self.machine.cost(), bytes as u64 + packets as u64 * PACKET_COST);
        Ok(())
    }
}

/// What a node of many connections has seen, by connection and by place.
#[derive(Default)]
struct Seen {
    passed: BTreeMap<(Stream, u32), u32>,
    again: BTreeMap<(Stream, u32), u32>,
}

proptest! {
    #[test]
    fn it_does_what_the_model_does(isn in any::<u32>(), events in prop::collection::vec(event(), 0..60)) {
        let (machine, model) = (CachingNode::new(wide()), Model::default());
        let mut pair = Pair { machine, model, isn: SeqNum(isn), now: 0, names: 0, out: Vec::new() };
        for event in events {
            pair.event(event)?;
        }
    }

    /// Many connections: each bound holds at each moment, and nothing is sent that has not passed.
    #[test]
    fn its_bounds_hold(
        events in prop::collection::vec((0u16..3, 0u16..4, 0u32..12, 0u32..6, 0u64..40), 0..200),
        bytes in prop::collection::vec(1u32..2_000, 12),
    ) {
        let config = config();
        let (mut machine, mut seen, mut out) = (CachingNode::new(config), Seen::default(), Vec::new());
        let mut now = 0;
        for (slice, connection, place, kind, wait) in events {
            let of = stream(slice, connection);
            let (seq, time) = (SeqNum(u32::MAX - 600) + place * 100, Instant::from_millis(now));
            match kind {
                0..=3 => {
                    let passing = Passing { seq, len: 100, bytes: bytes[place as usize], since_start: u16::MAX, host: 1 };
                    machine.on_data(time, &of, &passing, Some(&Sample { place, ecn: Ecn::NotCapable }));
                    *seen.passed.entry((of, place)).or_default() += 1;
                }
                4 => {
                    let expected = Expected { start: seq, end: Some(seq + 250), start_num: 0 };
                    let request = Request { trigger: Trigger::Timeout, expected, timestamp: 0 };
                    machine.on_request(time, &of, &request, &mut out);
                }
                _ => machine.on_notification(time, &of, Notification { until: seq }),
            }
            for output in out.drain(..) {
                let Output::Repeat(repeated) = output else { continue };
                *seen.again.entry((repeated.stream, repeated.packet.place)).or_default() += 1;
            }
            now += wait;
            if machine.deadline().is_some_and(|due| due <= Instant::from_millis(now)) {
                machine.on_timer(Instant::from_millis(now), &mut out);
                prop_assert!(machine.deadline().is_none_or(|due| due > Instant::from_millis(now)));
            }
            let total = bounds(&mut machine, &config)?;
            prop_assert_eq!(machine.cost() / PACKET_COST >= total, true);
        }
        for (what, again) in seen.again {
            let passed = seen.passed.get(&what).copied().unwrap_or(0);
            prop_assert!(again <= passed * config.copies, "{what:?}: {again} of {passed}");
        }
    }
}

/// Each connection and the node are within their bounds; packets in all.
fn bounds(machine: &mut CachingNode<Sample>, config: &Config) -> Result<u64, TestCaseError> {
    let (mut all, mut known) = (0, 0);
    for slice in 0..3 {
        let packets: Vec<_> =
            (0..4).map(|connection| machine.packets(&stream(slice, connection)) as u64).collect();
        known += packets.iter().filter(|&&packets| packets > 0).count();
        let total: u64 = packets.iter().sum();
        prop_assert!(total * PACKET_COST <= config.quotas.per_slice.get());
        prop_assert!(
            packets.iter().all(|packets| packets * PACKET_COST <= config.quotas.per_connection.get())
        );
        all += total;
    }
    prop_assert!(machine.cost() <= config.quotas.total.get() && known <= config.connections);
    Ok(all)
}
