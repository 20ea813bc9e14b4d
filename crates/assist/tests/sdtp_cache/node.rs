//! A caching node, and what a test says to it.

use std::net::{IpAddr, Ipv4Addr};

use handfast_assist::sdtp::caching::{
    Cacheable, CachingNode, Config, Congestion, Output, PACKET_COST, Passing, Quotas, Served,
};
use handfast_core::{Bytes, Duration, Instant, SeqNum};
use handfast_wire::Ecn;
use handfast_wire::sdtp::{Expected, Information, Notification, Outcome, Request, Stream, Trigger};

pub(crate) const START: SeqNum = SeqNum(u32::MAX - 250);

/// A packet of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    pub(crate) place: u32,
    pub(crate) ecn: Ecn,
}

impl Cacheable for Sample {
    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn mark(&mut self) {
        self.ecn = Ecn::Congested;
    }
}

pub(crate) const fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

pub(crate) fn stream(slice: u16, connection: u16) -> Stream {
    let [from, to] = [1, 2].map(|edge| IpAddr::V4(Ipv4Addr::new(10, 0, 0, edge)));
    Stream { from, to, slice, connection }
}

/// Room for so many packets of 100 bytes.
pub(crate) const fn room(packets: u64) -> Bytes {
    Bytes(packets * (100 + PACKET_COST))
}

pub(crate) const fn config() -> Config {
    Config {
        quotas: Quotas { per_connection: room(8), per_host: room(12), per_slice: room(12), total: room(20) },
        connections: 6,
        idle: Duration::from_secs(10),
        notify: Duration::from_millis(50),
        repetitions: 2,
        patience: Duration::from_secs(1),
        copies: 3,
        burst: 4,
        congestion: Congestion::Signal,
        parity: false,
    }
}

pub(crate) struct Node {
    pub(crate) machine: CachingNode<Sample>,
    pub(crate) out: Vec<Output<Sample>>,
    pub(crate) stream: Stream,
    pub(crate) host: u16,
    pub(crate) now: u64,
}

impl Node {
    pub(crate) fn new(config: Config) -> Self {
        Self { machine: CachingNode::new(config), out: Vec::new(), stream: stream(1, 1), host: 1, now: 0 }
    }

    /// The packet at a place of the connection passes.
    pub(crate) fn data_with(&mut self, place: u32, ecn: Ecn) {
        let passing = Passing { host: self.host, ..passing(place) };
        self.machine.on_data(at(self.now), &self.stream, &passing, Some(&Sample { place, ecn }));
    }

    pub(crate) fn data(&mut self, places: impl IntoIterator<Item = u32>) {
        places.into_iter().for_each(|place| self.data_with(place, Ecn::NotCapable));
    }

    /// A request for places `from` to `to`.
    pub(crate) fn ask(&mut self, trigger: Trigger, from: u32, to: u32) -> Served {
        self.request(&request(trigger, from, Some(to), 0))
    }

    pub(crate) fn request(&mut self, request: &Request) -> Served {
        self.machine.on_request(at(self.now), &self.stream, request, &mut self.out)
    }

    pub(crate) fn notification(&mut self, until: u32) {
        let notification = Notification { until: START + until * 100 };
        self.machine.on_notification(at(self.now), &self.stream, notification);
    }

    pub(crate) fn own_drop(&mut self, place: u32) {
        self.machine.on_own_drop(&self.stream, START + place * 100, 100);
    }

    pub(crate) fn own_drops(&mut self, places: &[u32]) {
        for &place in places {
            self.own_drop(place);
        }
    }

    /// The places that were sent again since.
    pub(crate) fn repeats(&mut self) -> Vec<u32> {
        let places = self.out.drain(..).filter_map(|output| match output {
            Output::Repeat(repeated) => Some(repeated.packet.place),
            Output::Information(..) | Output::Notification(..) | Output::Parity(..) => None,
        });
        places.collect()
    }

    /// The time goes on to `ms`; when CNs left, and what they say.
    pub(crate) fn run_to(&mut self, ms: u64) -> Vec<(u64, u32)> {
        let mut said = Vec::new();
        while let Some(due) = self.machine.deadline().filter(|due| *due <= at(ms)) {
            self.machine.on_timer(due, &mut self.out);
            assert!(self.machine.deadline().is_none_or(|next| next > due));
            for output in self.out.drain(..) {
                let Output::Notification(of, Notification { until }) = output else { panic!("{output:?}") };
                assert_eq!(of, self.stream);
                said.push((due.as_nanos() / 1_000_000, until.distance(START) as u32 / 100));
            }
        }
        self.now = ms;
        said
    }
}

pub(crate) fn passing(place: u32) -> Passing {
    let since_start = u16::try_from(place * 100).unwrap_or(u16::MAX);
    Passing { seq: START + place * 100, len: 100, bytes: 100, since_start, host: 1 }
}

pub(crate) fn request(trigger: Trigger, from: u32, to: Option<u32>, start_num: u16) -> Request {
    let end = to.map(|to| START + to * 100);
    Request { trigger, expected: Expected { start: START + from * 100, end, start_num }, timestamp: 77 }
}

pub(crate) fn never(from: u32, to: u32, trigger: Trigger) -> Output<Sample> {
    let expected = request(trigger, from, Some(to), 0).expected;
    Output::Information(stream(1, 1), Information { trigger, expected, outcome: Outcome::Never })
}
