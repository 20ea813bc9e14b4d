//! The retransmission node of one direction of a connection (`[sdtp]` §III-C): it notices what is missing, and asks for it.

mod asking;
mod information;
mod timers;

use handfast_core::{Instant, SeqNum};
use handfast_wire::sdtp::{Expected, Information, Outcome, Request, Trigger};

use super::announced::Announced;
use super::disorder::{Came, Disorder};
use super::expected::{Due, ExpectedList, ExpectedPackets};
use super::interarrival::Interarrival;
use super::repairs::Repairs;
use super::requests::{Counters, RepeatOf, Requests};
use super::retransmission_rtt::RetransmissionRtt;
use super::thresholds::Thresholds;
use super::windows::{Window, Windows, earlier};
use crate::ranges::Ranges;

/// How many ranges that were given up are remembered; beyond, the lowest is forgotten: then it counts as a duplicate if it comes.
const MOST_GIVEN_UP: usize = 64;

/// What the node sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// Upstream.
    Request(Request),
    /// Downstream, before the packet that has caused it: so the nodes there know before they notice themselves.
    Information(Information),
}

/// What a packet brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// Something that has not come here before.
    New,
    /// Nothing. It goes on all the same: it may have been lost further down.
    Duplicate,
}

/// The node.
#[derive(Clone, Debug)]
pub struct Retransmission {
    config: Thresholds,
    windows: Windows,
    /// What counts as received because it is no longer expected.
    given_up: Ranges,
    expected: ExpectedList,
    announced: Announced,
    /// Of what lies beyond the last window what will not come.
    never: Ranges,
    interarrival: Interarrival,
    disorder: Disorder,
    round_trip: RetransmissionRtt,
    requests: Requests,
    /// Since they were last taken.
    repairs: Repairs,
    /// Bytes of the largest packet: where the end of what is missing is not known, packets are taken to be like it.
    largest: u32,
    /// When `expected` has to be looked at, so that it need not be for each packet.
    due: Due,
}

/// A packet that arrives.
struct Packet {
    now: Instant,
    start: SeqNum,
    end: SeqNum,
    /// It is data, no RD.
    is_first: bool,
    /// It is the RD of a request of this node.
    is_answer: bool,
}

impl Retransmission {
    /// Nothing has arrived; `start` comes first.
    pub fn new(start: SeqNum, config: &Thresholds) -> Self {
        Self {
            config: *config,
            windows: Windows::new(start, config.most_windows),
            given_up: Ranges::default(),
            expected: ExpectedList::new(2 * config.most_windows),
            announced: Announced::default(),
            never: Ranges::default(),
            interarrival: Interarrival::new(config),
            disorder: Disorder::new(config.level),
            round_trip: RetransmissionRtt::new(config.segment_round_trip),
            // A hole may be asked for again before the first RD comes.
            requests: Requests::new(4 * config.most_windows),
            repairs: Repairs::default(),
            largest: 0,
            due: Due::NEVER,
        }
    }

    /// Data of `len` bytes arrives, at least one and less than 2^28. An RD says which request it answers: `repeat`.
    pub fn on_data(
        &mut self,
        now: Instant,
        seq: SeqNum,
        len: u32,
        repeat: Option<&RepeatOf>,
        out: &mut Vec<Output>,
    ) -> Arrival {
        if self.windows.is_far(seq) {
            self.restart(seq);
        }
        let (front, end) = (self.windows.front(), seq + len);
        let is_next = self.windows.insert(seq, end);
        let is_new = self.was_given_up(seq, end) || is_next;
        let is_answer = repeat.is_some_and(|of| self.take_answer(now, of, is_new));
        let packet = Packet { now, start: seq, end, is_first: repeat.is_none(), is_answer };
        if is_next {
            self.on_new(&packet, front, out);
        }
        if is_new { Arrival::New } else { Arrival::Duplicate }
    }

    /// What was known of the connection's contents is of no use.
    fn restart(&mut self, start: SeqNum) {
        self.windows.restart(start);
        self.given_up = Ranges::default();
        self.expected.clear();
        self.announced.clear();
        self.never = Ranges::default();
        self.interarrival.front_was_repeated();
        self.requests.clear();
        self.requests.counters.resets += 1;
        self.due = Due::NEVER;
    }

    /// Whether some of a packet was given up, and comes now. Also forgets what is too old to be compared.
    fn was_given_up(&mut self, start: SeqNum, end: SeqNum) -> bool {
        if self.given_up.is_empty() {
            return false;
        }
        self.given_up.forget_below(self.windows.first().left);
        let is_one = self.given_up.touch(start, end);
        if is_one {
            self.given_up.remove(start, end, MOST_GIVEN_UP);
        }
        is_one
    }

    /// An RD arrives. Whether it answers a request of this node: only then its timestamp is by this node's clock, and the time
    /// since is a sample of the retransmission RTT.
    fn take_answer(&mut self, now: Instant, of: &RepeatOf, is_new: bool) -> bool {
        let Some(took) = self.requests.answered(now, of, is_new) else { return false };
        self.round_trip.sample(took);
        if is_new && of.trigger == Trigger::Time {
            self.interarrival.was_useful();
        }
        self.look();
        true
    }

    fn on_new(&mut self, packet: &Packet, front: SeqNum, out: &mut Vec<Output>) {
        self.interarrival.reset(packet.now);
        self.expected.tail.is_over = false;
        if packet.start.before(front) {
            self.fill(packet);
        }
        if packet.end.after(front) {
            self.advance(packet, front);
        }
        if packet.is_first {
            self.count(packet, front);
        }
        self.keep_bounds(out);
        if self.expected.counter >= self.due.counter {
            self.detect(packet.now, out);
        }
    }

    /// What was missing comes.
    fn fill(&mut self, packet: &Packet) {
        let Some(taken) = self.expected.take(packet.start, packet.end) else { return };
        let came = match packet {
            Packet { is_answer: true, .. } => Came::Repaired,
            Packet { is_first: true, .. } => Came::First,
            _ => Came::RepairedUpstream,
        };
        // What comes after a second request, and answers none, is what a host has sent again.
        if packet.is_answer || taken.rt_cnt < 2 {
            self.disorder.came(came, taken.inter_cnt);
        }
        if !packet.is_answer && taken.asked.is_some() {
            self.requests.came_by_itself(packet.start, packet.end);
        }
        // It was on its way, and no pause of the sender has hidden it.
        if came == Came::First && taken.asked == Some(Trigger::Time) {
            self.interarrival.was_needless();
        }
        if packet.is_answer && taken.asked.is_some() {
            self.repairs.repair(packet.now.since(taken.missed));
        }
        self.look();
    }

    /// A packet moves the right edge of the last window.
    fn advance(&mut self, packet: &Packet, front: SeqNum) {
        self.largest = self.largest.max(packet.end.distance(packet.start) as u32);
        if packet.start.after(front) {
            self.open(packet, front);
        } else if self.expected.tail.is_doubted {
            self.settle_tail(packet, front);
        }
        if packet.is_first {
            self.interarrival.front(packet.now, packet.start == front);
        } else {
            self.interarrival.front_was_repeated();
        }
        if !self.announced.is_empty() {
            self.announced.advance(packet.end, &mut self.expected);
            self.look();
        }
        self.skip_to(packet.end);
    }

    /// §III-C 1: an entry from "the right edge of corresponding content window" to the "left edge of its subsequent content
    /// window". What requests by time have asked for already is an entry of its own.
    fn open(&mut self, packet: &Packet, front: SeqNum) {
        self.expected.open(front, packet.start, packet.now);
        let asked = earlier(front + self.ahead(self.expected.tail.asked), packet.start);
        self.expected.asked_as_tail(front, asked);
        self.repairs.noticed += self.packets(front, asked);
        self.expected.tail.asked = 0;
        self.expected.tail.is_doubted = false;
        self.look();
    }

    /// The next packet comes after requests by time: it had been lost, here or further up, or the sender had paused.
    fn settle_tail(&mut self, packet: &Packet, front: SeqNum) {
        let asked = self.expected.tail.asked;
        if let Some(at) = self.expected.tail.missed.filter(|_| packet.is_answer) {
            self.repairs.noticed += 1;
            self.repairs.repair(packet.now.since(at));
        }
        self.expected.tail.asked = if packet.is_first { 0 } else { asked.saturating_sub(1) };
        self.expected.tail.is_doubted = self.expected.tail.asked > 0;
        if packet.is_first {
            self.requests.came_by_itself(front, front + self.ahead(asked));
            self.interarrival.was_needless();
        }
    }

    /// Bytes of so many packets.
    fn ahead(&self, packets: u16) -> u32 {
        self.largest.saturating_mul(packets.into()).min(1 << 28)
    }

    /// Packets that are missing between two places.
    fn packets(&self, start: SeqNum, end: SeqNum) -> u64 {
        let bytes = u64::try_from(end.distance(start)).unwrap_or(0);
        bytes.div_ceil(u64::from(self.largest.max(1)))
    }

    /// §III-C 1 (4): `InterCnt`. An RD does not count: when it is sent does not tell what was sent before.
    fn count(&mut self, packet: &Packet, front: SeqNum) {
        if packet.end.after(front) {
            self.expected.count();
        } else {
            self.expected.count_before(packet.start);
            self.look();
        }
    }

    /// Notes when the expected packets have to be looked at next.
    fn look(&mut self) {
        let base = self.disorder.threshold();
        self.due = self.expected.due(base, &self.round_trip, self.config.persistence);
    }

    /// Gives up the lowest hole while there are too many: the hosts repair it first.
    fn keep_bounds(&mut self, out: &mut Vec<Output>) {
        while let Some((start, end)) = self.windows.close_lowest() {
            self.abandon(start, end, Trigger::Count, out);
            self.look();
        }
    }

    /// Gives up a hole, and says so downstream.
    fn abandon(&mut self, start: SeqNum, end: SeqNum, trigger: Trigger, out: &mut Vec<Output>) {
        let asked = self.forget(start, end);
        self.requests.counters.given_up += 1;
        self.repairs.given_up += self.packets(start, end);
        let expected = Expected { start, end: Some(end), start_num: 0 };
        let trigger = asked.unwrap_or(trigger);
        out.push(Output::Information(Information { trigger, expected, outcome: Outcome::Never }));
    }

    /// Bytes that are missing are no longer expected. How their loss was detected.
    fn forget(&mut self, start: SeqNum, end: SeqNum) -> Option<Trigger> {
        self.windows.insert(start, end);
        self.given_up.insert(start, end, MOST_GIVEN_UP);
        self.expected.take(start, end)?.asked
    }

    /// The first byte that is expected: the right edge of the first content window.
    pub fn next_expected(&self) -> SeqNum {
        self.windows.first().right
    }

    /// The content window list. What was given up counts as received.
    pub fn windows(&self) -> impl Iterator<Item = Window> + '_ {
        self.windows.iter()
    }

    /// The expected packet list.
    pub fn expected(&self) -> impl Iterator<Item = ExpectedPackets> + '_ {
        self.expected.entries(self.disorder.threshold(), self.windows.front())
    }

    /// What became of losses since this was asked last.
    pub fn take_repairs(&mut self) -> Repairs {
        std::mem::take(&mut self.repairs)
    }

    /// What it has done.
    pub fn counters(&self) -> Counters {
        self.requests.counters
    }
}
