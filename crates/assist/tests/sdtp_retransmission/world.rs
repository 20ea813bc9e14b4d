//! A node on a segment with a round trip of 10 ms, and packets of 100 bytes.

use handfast_assist::sdtp::{Arrival, ExpectedPackets, Output, RepeatOf, Retransmission, Thresholds};
use handfast_core::{Duration, Instant, SeqNum};
use handfast_wire::sdtp::{Expected, Information, Outcome, Request, Trigger};

/// The first number: the third packet begins beyond the wrap.
const START: SeqNum = SeqNum(u32::MAX - 149);

/// Bytes of a packet.
pub(crate) const LEN: u32 = 100;

/// The number of a packet's first byte; packets are counted from 0.
pub(crate) fn seq(packet: u32) -> SeqNum {
    START + packet * LEN
}

/// Microseconds since the epoch.
pub(crate) fn us(n: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(n)
}

pub(crate) struct Node {
    pub(crate) machine: Retransmission,
    out: Vec<Output>,
}

impl Node {
    pub(crate) fn new(change: impl FnOnce(&mut Thresholds)) -> Self {
        let mut config = Thresholds::new(Duration::from_millis(10));
        change(&mut config);
        Self { machine: Retransmission::new(seq(0), &config), out: Vec::new() }
    }

    /// A node that asks for nothing by time.
    pub(crate) fn without_time(change: impl FnOnce(&mut Thresholds)) -> Self {
        Self::new(|config| {
            config.least_interval = Duration::from_secs(1);
            change(config);
        })
    }

    /// A packet arrives, that many microseconds after the epoch. What the node sends.
    pub(crate) fn data(&mut self, at: u64, packet: u32) -> Vec<Output> {
        self.arrive(at, packet, None);
        std::mem::take(&mut self.out)
    }

    pub(crate) fn arrive(&mut self, at: u64, packet: u32, repeat: Option<&RepeatOf>) -> Arrival {
        self.machine.on_data(us(at), seq(packet), LEN, repeat, &mut self.out)
    }

    /// Packets arrive every 15 ms, from 0 on. When the last came, in microseconds.
    pub(crate) fn steady(&mut self, packets: u32) -> u64 {
        for packet in 0..packets {
            assert_eq!(self.data(u64::from(packet) * 15_000, packet), []);
        }
        u64::from(packets - 1) * 15_000
    }

    /// The RD of a request for one packet arrives.
    pub(crate) fn answer(&mut self, at: u64, packet: u32, request: &Request) -> Vec<Output> {
        let Request { trigger, expected, timestamp } = *request;
        let of = RepeatOf { trigger, start: expected.start, start_num: expected.start_num, timestamp };
        self.arrive(at, packet, Some(&of));
        std::mem::take(&mut self.out)
    }

    /// The RD of another node's request arrives.
    pub(crate) fn foreign(&mut self, at: u64, packet: u32) -> Vec<Output> {
        let of = RepeatOf { trigger: Trigger::Count, start: seq(packet), start_num: 0, timestamp: 77 };
        self.arrive(at, packet, Some(&of));
        std::mem::take(&mut self.out)
    }

    /// What the node sends by itself until then, and when.
    pub(crate) fn until(&mut self, at: u64) -> Vec<(u64, Output)> {
        let mut sent = Vec::new();
        while let Some(due) = self.machine.deadline().filter(|&due| due <= us(at)) {
            self.machine.on_timer(due, &mut self.out);
            assert!(self.machine.deadline().is_none_or(|next| next > due), "a deadline is in the future");
            sent.extend(self.out.drain(..).map(|output| (due.as_nanos() / 1_000, output)));
        }
        sent
    }

    /// The entries of the expected packet list but the last.
    pub(crate) fn holes(&self) -> Vec<ExpectedPackets> {
        self.machine.expected().filter(|entry| entry.end_seq.is_some()).collect()
    }

    /// The entry of the expected packet list without an end.
    pub(crate) fn tail(&self) -> ExpectedPackets {
        self.machine.expected().last().expect("there is always one")
    }
}

/// Packets from one up to another.
pub(crate) fn packets(from: u32, to: u32) -> Expected {
    Expected { start: seq(from), end: Some(seq(to)), start_num: 0 }
}

/// The how many-th packet from one on.
pub(crate) fn ahead(from: u32, start_num: u16) -> Expected {
    Expected { start: seq(from), end: None, start_num }
}

pub(crate) fn request(trigger: Trigger, at: u64, expected: Expected) -> Request {
    Request { trigger, expected, timestamp: at as u32 }
}

pub(crate) fn rr(trigger: Trigger, at: u64, expected: Expected) -> Output {
    Output::Request(request(trigger, at, expected))
}

pub(crate) fn later(trigger: Trigger, expected: Expected, add_l: u16) -> Information {
    Information { trigger, expected, outcome: Outcome::Later { add_l } }
}

pub(crate) fn never(trigger: Trigger, expected: Expected) -> Information {
    Information { trigger, expected, outcome: Outcome::Never }
}

/// The requests among outputs.
pub(crate) fn requests(sent: &[(u64, Output)]) -> Vec<(u64, Request)> {
    let request = |&(at, output): &(u64, Output)| match output {
        Output::Request(request) => Some((at, request)),
        Output::Information(_) => None,
    };
    sent.iter().filter_map(request).collect()
}
