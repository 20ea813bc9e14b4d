//! Two endpoints and the wire between them, in virtual time: what every test of this crate drives.
#![allow(
    dead_code,
    unreachable_pub,
    missing_docs,
    reason = "each test binary uses its part of the support code"
)]

use std::collections::BTreeMap;
use std::sync::Arc;

use handfast_core::{Bytes, Duration, Instant, SeqNum};
use handfast_tcp::{Config, Endpoint, Event, Received, Transmit};
use handfast_wire::tcp::Segment;
use handfast_wire::{Ecn, IpFacts, Packet, Payload, QuickStart};

/// Which endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The one that connects.
    Client,
    /// The one that listens.
    Server,
}

/// What the wire does to a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It arrives after the pair's delay.
    Deliver,
    /// It arrives this much later than that.
    Late(Duration),
    /// It arrives twice, the copy this much later.
    Twice(Duration),
    /// It arrives, its packet marked "congestion experienced".
    Mark,
    /// It is lost.
    Drop,
}

/// A segment as it left: when, from which side, and what became of it.
#[derive(Clone, Debug)]
pub struct Sent {
    pub at: Instant,
    pub from: Side,
    pub segment: Segment,
    /// The IP option that it went with.
    pub option: Option<QuickStart>,
    /// The mark of its packet.
    pub ecn: Ecn,
    pub fate: Fate,
}

/// A client, a server, and a wire with a fixed delay each way.
pub struct Pair {
    pub now: Instant,
    pub client: Endpoint,
    pub server: Endpoint,
    pub delay: Duration,
    /// Everything that was sent, oldest first.
    pub log: Vec<Sent>,
    /// What each side reported.
    pub events: Vec<(Instant, Side, Event)>,
    /// Octets that each side's application has read, checked against the synthetic stream.
    pub read_by_client: u64,
    pub read_by_server: u64,
    /// Whether the applications read what arrives.
    pub reading: bool,
    /// What the one router on the way makes of a Quick-Start option.
    pub router: fn(QuickStart) -> QuickStart,
    in_flight: BTreeMap<(Instant, u64), (Side, Segment, IpFacts)>,
    count: u64,
}

/// The client's initial sequence number: a few segments below the wrap.
pub const CLIENT_ISS: SeqNum = SeqNum(u32::MAX - 5000);
/// The server's.
pub const SERVER_ISS: SeqNum = SeqNum(u32::MAX - 99);
/// Synthetic stream of the client's data; the server's is the next.
pub const CLIENT_STREAM: u32 = 1;
/// Synthetic stream of the server's data.
pub const SERVER_STREAM: u32 = 2;

impl Pair {
    /// Not yet connected: the client's SYN is the first thing sent. Initial sequence numbers are just below the wrap.
    pub fn new(client: Config, server: Config, delay: Duration) -> Self {
        let now = Instant::from_millis(1000);
        Self {
            now,
            client: Endpoint::connect(Arc::new(client), 4000, 80, CLIENT_ISS, now),
            server: Endpoint::listen(Arc::new(server), 80, SERVER_ISS),
            delay,
            log: Vec::new(),
            events: Vec::new(),
            read_by_client: 0,
            read_by_server: 0,
            reading: true,
            router: approve,
            in_flight: BTreeMap::new(),
            count: 0,
        }
    }

    /// Connected over a 50 ms wire, nothing sent yet, the log empty.
    pub fn connected(client: Config, server: Config) -> Self {
        let mut pair = Self::new(client, server, Duration::from_millis(50));
        pair.run_for(Duration::from_millis(200), |_| Fate::Deliver);
        assert_eq!(pair.client.state(), handfast_tcp::State::Established);
        assert_eq!(pair.server.state(), handfast_tcp::State::Established);
        pair.log.clear();
        pair.events.clear();
        pair
    }

    /// Queues `len` synthetic octets at the client; its stream goes on from `offset`.
    pub fn client_writes(&mut self, offset: u64, len: u32) {
        self.client.write(Payload::Synthetic { stream: CLIENT_STREAM, offset, len });
    }

    /// Runs until `until`, asking `wire` about each segment.
    pub fn run_until(&mut self, until: Instant, mut wire: impl FnMut(&Sent) -> Fate) {
        self.flush(&mut wire);
        while let Some(next) = self.next_moment().filter(|&t| t <= until) {
            assert!(next >= self.now, "time runs backwards: {next} after {}", self.now);
            self.now = next;
            self.step(&mut wire);
        }
        self.now = until;
    }

    /// Runs for a span.
    pub fn run_for(&mut self, span: Duration, wire: impl FnMut(&Sent) -> Fate) {
        self.run_until(self.now + span, wire);
    }

    /// Hands a made-up segment to one side and lets it answer.
    pub fn inject(&mut self, to: Side, segment: &Segment, wire: impl FnMut(&Sent) -> Fate) {
        let now = self.now;
        self.side(to).on_segment(now, &Received::plain(segment));
        self.collect();
        let mut wire = wire;
        self.flush(&mut wire);
    }

    /// When something happens next.
    pub fn next_moment(&self) -> Option<Instant> {
        let arrival = self.in_flight.keys().next().map(|&(at, _)| at);
        [arrival, self.client.deadline(), self.server.deadline()].into_iter().flatten().min()
    }

    /// Segments with payload that the client sent, as (octet offset in its stream, length).
    pub fn client_data(&self) -> Vec<(u64, u64)> {
        self.log.iter().filter(|s| s.from == Side::Client).filter_map(|s| data_of(&s.segment)).collect()
    }

    fn side(&mut self, side: Side) -> &mut Endpoint {
        match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }

    /// What is due now, one thing after the other: an endpoint answers each segment before it sees the next.
    fn step(&mut self, wire: &mut impl FnMut(&Sent) -> Fate) {
        let now = self.now;
        while let Some(entry) = self.in_flight.first_entry().filter(|e| e.key().0 <= now) {
            let (to, segment, ip) = entry.remove();
            self.side(to).on_segment(now, &Received { segment: &segment, ip });
            self.collect();
            self.flush(wire);
        }
        for side in [Side::Client, Side::Server] {
            let endpoint = self.side(side);
            if endpoint.deadline().is_some_and(|at| at <= now) {
                endpoint.on_timer(now);
                let next = endpoint.deadline();
                assert!(next.is_none_or(|at| at > now), "{side:?}: the deadline {next:?} is not after {now}");
            }
        }
        self.collect();
        self.flush(wire);
    }

    fn collect(&mut self) {
        for side in [Side::Client, Side::Server] {
            while let Some(event) = self.side(side).poll_event() {
                let now = self.now;
                self.events.push((now, side, event));
            }
        }
        if self.reading {
            self.read_all();
        }
    }

    /// Reads what has arrived and checks every octet's place in its stream.
    pub fn read_all(&mut self) {
        while let Some(payload) = self.client.read(usize::MAX) {
            self.read_by_client += check(&payload, SERVER_STREAM, self.read_by_client);
        }
        while let Some(payload) = self.server.read(usize::MAX) {
            self.read_by_server += check(&payload, CLIENT_STREAM, self.read_by_server);
        }
    }

    fn flush(&mut self, wire: &mut impl FnMut(&Sent) -> Fate) {
        for from in [Side::Client, Side::Server] {
            let now = self.now;
            while let Some(Transmit { segment, ip }) = self.side(from).poll_transmit(now, Bytes(u64::MAX)) {
                let (option, ecn) = (ip.quick_start(), ip.ecn);
                let mut sent = Sent { at: now, from, segment, option, ecn, fate: Fate::Deliver };
                sent.fate = wire(&sent);
                self.carry(&sent);
                self.log.push(sent);
            }
        }
        self.collect();
    }

    fn carry(&mut self, sent: &Sent) {
        let to = if sent.from == Side::Client { Side::Server } else { Side::Client };
        let at = self.now + self.delay;
        let copies = match sent.fate {
            Fate::Deliver | Fate::Mark => vec![at],
            Fate::Late(by) => vec![at + by],
            Fate::Twice(by) => vec![at, at + by],
            Fate::Drop => vec![],
        };
        for at in copies {
            self.count += 1;
            let ecn = if sent.fate == Fate::Mark { Ecn::Congested } else { sent.ecn };
            let ip = IpFacts::new(ecn, Packet::HOP_LIMIT - 1).with_quick_start(sent.option.map(self.router));
            self.in_flight.insert((at, self.count), (to, sent.segment.clone(), ip));
        }
    }
}

/// A router that approves what it is asked for (RFC 4782 §3.3).
pub fn approve(option: QuickStart) -> QuickStart {
    match option {
        QuickStart::Request { rate, ttl, nonce } => {
            QuickStart::Request { rate, ttl: ttl.wrapping_sub(1), nonce }
        }
        report @ QuickStart::Report { .. } => report,
    }
}

/// (offset, length) of a segment's synthetic payload, if it has one.
pub fn data_of(segment: &Segment) -> Option<(u64, u64)> {
    match segment.payload {
        Payload::Synthetic { offset, len, .. } if len > 0 => Some((offset, u64::from(len))),
        _ => None,
    }
}

fn check(payload: &Payload, stream: u32, at: u64) -> u64 {
    match payload {
        Payload::Synthetic { stream: s, offset, len } => {
            assert_eq!((*s, *offset), (stream, at), "the application reads the wrong octets");
            u64::from(*len)
        }
        Payload::Bytes(bytes) => bytes.len() as u64,
    }
}

/// Profile `name`, with segments of 1000 octets of payload and no timestamps, so that sequence numbers are easy to read.
pub fn plain(name: &str) -> Config {
    let config = handfast_tcp::profile(name).expect("the profile exists").config();
    Config {
        mss: 1000,
        timestamps: false,
        delayed_ack: Duration::ZERO,
        cwnd_validation: false,
        rto_variance_min: Duration::ZERO,
        ..config
    }
}
