//! Two segments in line: what is lost is repaired within the segment, and the second node learns what the first one repairs.

use std::collections::{BTreeMap, BTreeSet};

use handfast_assist::sdtp::{Counters, Inform, Level, Output, Repairs, RepeatOf, Retransmission, Thresholds};
use handfast_core::Duration;
use handfast_wire::sdtp::{Information, Outcome, Request};

use crate::world::{LEN, seq, us};

/// One way over a segment, in microseconds: data takes longer to serialise than the rest.
const WAY: u64 = 5_000;
const SERIALISATION: u64 = 100;

const PACKETS: u32 = 4_000;

#[derive(Clone, Copy)]
enum Message {
    Data(u32, Option<RepeatOf>),
    Information(Information),
    Request(Request),
    Timer,
}

/// A cache that has everything, and two nodes 5 ms apart; the first one has what it has received.
struct Line {
    nodes: [Retransmission; 2],
    /// By time and number: where to (0 the cache, 1 and 2 the nodes).
    events: BTreeMap<(u64, u64), (usize, Message)>,
    number: u64,
    random: u32,
    /// Of 1,000 packets over a segment.
    lost: u32,
    /// Whether RIs arrive.
    informs: bool,
    now: u64,
    /// How many packets have been sent, and by when each was at the first node and the second.
    sent: u32,
    timers: [u64; 2],
    arrived: [BTreeMap<u32, u64>; 2],
    /// What each segment has lost at least once.
    missing: [BTreeSet<u32>; 2],
}

impl Line {
    fn run(interval: u64, lost: u32, change: impl Fn(&mut Thresholds)) -> Self {
        Self::with(interval, lost, true, change)
    }

    /// The second node hears nothing of what the first one repairs.
    fn without_ris(interval: u64, lost: u32, change: impl Fn(&mut Thresholds)) -> Self {
        Self::with(interval, lost, false, change)
    }

    fn with(interval: u64, lost: u32, informs: bool, change: impl Fn(&mut Thresholds)) -> Self {
        let mut config = Thresholds::new(Duration::from_millis(10));
        change(&mut config);
        let nodes = [0, 1].map(|_| Retransmission::new(seq(0), &config));
        let arrived = [BTreeMap::new(), BTreeMap::new()];
        let (events, number, random) = (BTreeMap::new(), 0, 4_711);
        let mut line = Self {
            informs,
            nodes,
            events,
            number,
            random,
            lost,
            now: 0,
            sent: 0,
            timers: [u64::MAX; 2],
            arrived,
            missing: Default::default(),
        };
        for packet in 0..PACKETS {
            line.until(u64::from(packet) * interval);
            line.sent += 1;
            line.send(1, Message::Data(packet, None));
        }
        line.until(u64::MAX);
        line
    }

    fn until(&mut self, until: u64) {
        while let Some(next) = self.events.first_entry().filter(|next| next.key().0 <= until) {
            let ((at, _), (to, message)) = next.remove_entry();
            self.now = at;
            self.take(to, message);
        }
        self.now = until;
    }

    /// Over a segment, which loses what it likes.
    fn send(&mut self, to: usize, message: Message) {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 17;
        self.random ^= self.random << 5;
        if self.random % 1_000 >= self.lost {
            let more = if matches!(message, Message::Data(..)) { SERIALISATION } else { 0 };
            self.at(self.now + WAY + more, to, message);
        } else if let Message::Data(packet, _) = message {
            self.missing[to - 1].insert(packet);
        }
    }

    fn at(&mut self, at: u64, to: usize, message: Message) {
        self.number += 1;
        self.events.insert((at, self.number), (to, message));
    }

    fn take(&mut self, to: usize, message: Message) {
        let mut out = Vec::new();
        let now = us(self.now);
        match message {
            Message::Request(request) => return self.serve(to, &request),
            Message::Data(packet, repeat) => {
                self.nodes[to - 1].on_data(now, seq(packet), LEN, repeat.as_ref(), &mut out);
                self.arrived[to - 1].entry(packet).or_insert(self.now);
            }
            Message::Information(information) => self.nodes[to - 1].on_information(&information),
            Message::Timer if self.timers[to - 1] == self.now => self.nodes[to - 1].on_timer(now, &mut out),
            Message::Timer => return,
        }
        self.pass_on(to, &out, message);
        self.set_timer(to);
    }

    /// Only the last one that was set counts.
    fn set_timer(&mut self, node: usize) {
        let deadline = self.nodes[node - 1].deadline().map_or(u64::MAX, |at| at.as_nanos().div_ceil(1_000));
        let deadline = deadline.max(self.now);
        let is_other = std::mem::replace(&mut self.timers[node - 1], deadline) != deadline;
        if is_other && deadline < u64::MAX {
            self.at(deadline, node, Message::Timer);
        }
    }

    fn pass_on(&mut self, from: usize, out: &[Output], message: Message) {
        for output in out {
            match *output {
                Output::Request(request) => self.send(from - 1, Message::Request(request)),
                Output::Information(information) if self.informs => {
                    self.send_down(from, Message::Information(information));
                }
                Output::Information(_) => {}
            }
        }
        if matches!(message, Message::Data(..) | Message::Information(_)) {
            self.send_down(from, message);
        }
    }

    fn send_down(&mut self, from: usize, message: Message) {
        if from == 1 {
            self.send(2, message);
        }
    }

    /// Sends what was asked for and is there; if there is nothing, says so.
    fn serve(&mut self, at: usize, request: &Request) {
        let Request { trigger, expected, timestamp } = *request;
        let first = expected.start.distance(seq(0)) as u32 / LEN + u32::from(expected.start_num);
        let count = expected.end.map_or(1, |end| end.distance(expected.start) as u32 / LEN);
        let of = RepeatOf { trigger, start: expected.start, start_num: expected.start_num, timestamp };
        let is_there = |packet: &u32| match at {
            0 => *packet < self.sent,
            _ => self.arrived[0].contains_key(packet),
        };
        let found: Vec<_> = (first..first + count).filter(is_there).collect();
        for &packet in &found {
            self.send(at + 1, Message::Data(packet, Some(of)));
        }
        if found.is_empty() {
            let never = Information { trigger, expected, outcome: Outcome::Never };
            self.send(at + 1, Message::Information(never));
        }
    }

    fn counters(&self) -> [Counters; 2] {
        [0, 1].map(|node| self.nodes[node].counters())
    }

    fn needless_downstream(&self) -> u64 {
        let counters = self.counters()[1];
        counters.count + counters.time + counters.timeout - counters.useful
    }

    /// How long packets took, in microseconds.
    fn mean_delay(&self, interval: u64) -> u64 {
        let sum: u64 = self.arrived[1].iter().map(|(&packet, at)| at - u64::from(packet) * interval).sum();
        sum / self.arrived[1].len() as u64
    }
}

#[test]
fn without_loss_nothing_is_asked_for_but_what_may_be_behind_the_last_packet() {
    let line = Line::run(15_000, 0, |_| {});
    for counters in line.counters() {
        assert_eq!((counters.count, counters.timeout, counters.given_up), (0, 0, 0));
        assert!(counters.time <= 3, "{counters:?}");
    }
    assert_eq!(line.mean_delay(15_000), 2 * (WAY + SERIALISATION));
}

#[test]
fn with_loss_nearly_every_packet_arrives() {
    for interval in [1_000, 15_000] {
        let line = Line::run(interval, 50, |_| {});
        let arrived = line.arrived[1].len() as u32;
        assert!(arrived > PACKETS - PACKETS / 500, "{arrived} of {PACKETS}: {:?}", line.counters());
        // Of 4,000 packets 1 in 10 is lost, and waits for one round trip of a segment or little more.
        assert!(
            line.mean_delay(interval) < 2 * (WAY + SERIALISATION) + 2_500,
            "{}",
            line.mean_delay(interval)
        );
    }
}

/// What operators are told of a segment, beside what it has lost.
#[test]
fn repairs_are_counted_packet_by_packet() {
    for interval in [1_000, 15_000] {
        let mut line = Line::run(interval, 20, |_| {});
        for (node, missing) in line.nodes.iter_mut().zip(&line.missing) {
            let repairs = node.take_repairs();
            let (lost, repaired) = (missing.len() as u64, repairs.repaired);
            assert!(repaired.abs_diff(lost) * 50 <= lost, "{repairs:?}: {lost} at {interval}");
            assert!(repairs.noticed >= repaired && repairs.given_up * 100 <= lost, "{repairs:?}");
            let mean = repairs.mean().unwrap().as_millis();
            assert!((10..=14).contains(&mean), "{mean} ms: a round trip, and what is asked for twice");
            assert_eq!(node.take_repairs(), Repairs::default(), "they are told once");
        }
    }
    let repairs = Line::run(15_000, 0, |_| {}).nodes[1].take_repairs();
    assert_eq!((repairs, repairs.mean()), (Repairs::default(), None));
}

/// The second node asks for nothing by time.
fn by_count(config: &mut Thresholds) {
    config.least_interval = Duration::from_secs(1);
}

#[test]
fn ris_of_requests_by_count_spare_the_second_node_needless_requests() {
    for interval in [500, 1_000, 3_000] {
        let with = Line::run(interval, 20, by_count);
        let without = Line::without_ris(interval, 20, by_count);
        let by_segment = Line::run(interval, 20, |config| {
            by_count(config);
            config.level = Level::Segment;
        });
        let needless = [&with, &without, &by_segment].map(Line::needless_downstream);
        assert!(needless[0] * 5 < needless[1] && needless[2] * 5 < needless[1], "{needless:?} at {interval}");
        let delays = [&with, &without, &by_segment].map(|line| line.mean_delay(interval));
        assert!(delays[0] < delays[1] + 100, "{delays:?}: what spares requests delays nothing");
        assert!(delays[0] < delays[2], "{delays:?}: one threshold for all packets waits with each");
    }
}

#[test]
fn ris_of_requests_by_time_spare_the_second_node_needless_requests() {
    let inform = |config: &mut Thresholds| config.inform = Inform::CountAndTime;
    for interval in [1_000, 3_000, 15_000] {
        let [with, without] = [Line::run(interval, 20, inform), Line::run(interval, 20, |_| {})];
        let needless = [&with, &without].map(Line::needless_downstream);
        assert!(needless[0] * 5 < needless[1], "{needless:?} at {interval}: {:?}", with.counters());
        let delays = [&with, &without].map(|line| line.mean_delay(interval));
        assert!(delays[0] < delays[1] + 100, "{delays:?}: what spares requests delays nothing");
    }
}
