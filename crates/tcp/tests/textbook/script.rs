//! Scripts: a bulk transfer over a wire that loses what the script says, and what was sent in readable form.

use std::fmt::Write as _;

use handfast_core::{Bytes, Duration, Instant, SeqNum};
use handfast_tcp::{Config, Event, InitialWindow, Snapshot};
use handfast_wire::Payload;
use handfast_wire::tcp::{Flags, SackBlock, SackBlocks, Segment};

use crate::support::{CLIENT_ISS, CLIENT_STREAM, Fate, Pair, SERVER_ISS, Sent, Side, data_of, plain};

pub(crate) const MS: fn(u64) -> Duration = Duration::from_millis;

/// A connection whose client sends, and the moment it began to.
pub(crate) struct Script {
    pub(crate) pair: Pair,
    pub(crate) start: Instant,
}

/// Profile `name` with ten segments in flight from the beginning, in congestion avoidance, and without limited transmit: the
/// setting in which Fall and Floyd (1996) compare the algorithms.
pub(crate) fn ten(name: &str) -> Config {
    Config {
        initial_window: InitialWindow::Ten,
        initial_ssthresh: Some(Bytes(1000)),
        limited_transmit: false,
        ..plain(name)
    }
}

/// The same with timestamps, and still 1000 octets a segment (RFC 6691: 12 go to the option).
pub(crate) fn stamped(config: &Config) -> Config {
    Config { timestamps: true, mss: 1012, ..config.clone() }
}

/// A client that has `segments` segments to send to a receiver with the same options, which acknowledges every one.
pub(crate) fn bulk(config: Config, segments: u32) -> Script {
    let server = Config { delayed_ack: Duration::ZERO, ..config.clone() };
    bulk_to(config, server, segments)
}

/// The same with a receiver of its own kind.
pub(crate) fn bulk_to(config: Config, server: Config, segments: u32) -> Script {
    let mut pair = Pair::connected(config, server);
    let start = pair.now;
    pair.client_writes(0, segments * 1000);
    Script { pair, start }
}

impl Script {
    /// Runs until `ms` after the start.
    pub(crate) fn run(&mut self, ms: u64, wire: impl FnMut(&Sent) -> Fate) -> &mut Self {
        self.pair.run_until(self.start + MS(ms), wire);
        self
    }

    /// The same over a wire that loses, of the segments listed, one transmission a mention.
    pub(crate) fn lose(&mut self, ms: u64, segments: &[u64]) -> &mut Self {
        self.run(ms, lose(segments))
    }

    /// Milliseconds since the start.
    pub(crate) fn ms(&self, at: Instant) -> u64 {
        at.since(self.start).as_millis()
    }

    /// What the client sent, a line a moment: the milliseconds, then the segments, runs as `first-last`; a part of a segment as
    /// octets in brackets.
    pub(crate) fn rounds(&self) -> Vec<String> {
        let mut moments: Vec<(u64, Vec<(u64, u64)>)> = Vec::new();
        for sent in self.pair.log.iter().filter(|s| s.from == Side::Client) {
            let Some(data) = data_of(&sent.segment) else { continue };
            let at = self.ms(sent.at);
            match moments.last_mut() {
                Some(last) if last.0 == at => last.1.push(data),
                _ => moments.push((at, vec![data])),
            }
        }
        moments.iter().map(|(at, data)| format!("{at}:{}", in_words(data))).collect()
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        self.pair.client.snapshot(self.pair.now)
    }

    /// cwnd and ssthresh, in octets.
    pub(crate) fn window(&self) -> (u64, u64) {
        (self.snapshot().cwnd, self.snapshot().ssthresh)
    }

    /// The client's events, with their time in milliseconds.
    pub(crate) fn events(&self) -> Vec<(u64, Event)> {
        self.pair.events.iter().filter(|e| e.1 == Side::Client).map(|e| (self.ms(e.0), e.2)).collect()
    }

    /// When the retransmission timer expired.
    pub(crate) fn timeouts(&self) -> Vec<u64> {
        self.events().iter().filter(|e| matches!(e.1, Event::Timeout { .. })).map(|e| e.0).collect()
    }

    /// What the client has sent since the last call, in words.
    pub(crate) fn newly_sent(&mut self) -> String {
        let log = std::mem::take(&mut self.pair.log);
        let data: Vec<_> =
            log.iter().filter(|s| s.from == Side::Client).filter_map(|s| data_of(&s.segment)).collect();
        in_words(&data).trim().to_owned()
    }

    /// Sends the first window into the void: what comes back is up to the test.
    pub(crate) fn in_flight(&mut self) -> &mut Self {
        self.run(0, |_| Fate::Drop);
        self.newly_sent();
        self
    }

    /// Hands the server a segment made up by the test; its answers, which are lost.
    pub(crate) fn give(&mut self, segment: &Segment) -> Vec<Segment> {
        self.pair.log.clear();
        self.pair.inject(Side::Server, segment, |_| Fate::Drop);
        self.replies()
    }

    /// What the server has sent since the last call.
    pub(crate) fn replies(&mut self) -> Vec<Segment> {
        let log = std::mem::take(&mut self.pair.log);
        log.into_iter().filter(|s| s.from == Side::Server).map(|s| s.segment).collect()
    }

    /// Hands the client an acknowledgement made up by the test; what it sends in answer is lost.
    pub(crate) fn answer(&mut self, octet: u64, sacks: &[(u64, u64)]) -> &mut Self {
        let ack = ack(octet, sacks);
        self.pair.inject(Side::Client, &ack, |_| Fate::Drop);
        self
    }
}

/// An acknowledgement from the server up to octet `octet` of the stream, with SACK blocks of octets.
pub(crate) fn ack(octet: u64, sacks: &[(u64, u64)]) -> Segment {
    let first = CLIENT_ISS + 1;
    let mut sack = SackBlocks::NONE;
    for &(start, end) in sacks {
        sack.push(SackBlock { start: first + start as u32, end: first + end as u32 });
    }
    Segment {
        src_port: 80,
        dst_port: 4000,
        seq: SERVER_ISS + 1,
        ack: first + octet as u32,
        flags: Flags::ACK,
        window: 46_875,
        sack,
        ..Segment::EMPTY
    }
}

/// A data segment from the client, made up by the test: `len` octets of its stream from `offset` on.
pub(crate) fn data(offset: u64, len: u32) -> Segment {
    Segment {
        src_port: 4000,
        dst_port: 80,
        seq: CLIENT_ISS + 1 + offset as u32,
        ack: SERVER_ISS + 1,
        flags: Flags::ACK,
        window: 46_875,
        payload: Payload::Synthetic { stream: CLIENT_STREAM, offset, len },
        ..Segment::EMPTY
    }
}

/// What an acknowledgement says of the client's stream: the octet it acknowledges up to, and its SACK blocks.
pub(crate) fn said(ack: &Segment) -> (i32, Vec<(i32, i32)>) {
    let octet = |seq: SeqNum| seq.distance(CLIENT_ISS + 1);
    (octet(ack.ack), ack.sack.as_slice().iter().map(|b| (octet(b.start), octet(b.end))).collect())
}

/// An outage of the client's direction that loses nothing: what is sent from `from` to `to` arrives after it, in order.
pub(crate) fn held(start: Instant, from: u64, to: u64) -> impl FnMut(&Sent) -> Fate + use<> {
    move |sent| {
        let (from, to) = (start + MS(from), start + MS(to));
        let caught = sent.from == Side::Client && sent.at >= from && sent.at < to;
        if caught { Fate::Late(to.since(sent.at)) } else { Fate::Deliver }
    }
}

/// An outage of both directions that loses everything.
pub(crate) fn outage(start: Instant, from: u64, to: u64) -> impl FnMut(&Sent) -> Fate + use<> {
    move |sent| {
        let lost = sent.at >= start + MS(from) && sent.at < start + MS(to);
        if lost { Fate::Drop } else { Fate::Deliver }
    }
}

/// A wire that loses, of the client's segments listed, one transmission a mention.
pub(crate) fn lose(segments: &[u64]) -> impl FnMut(&Sent) -> Fate + use<> {
    let mut left = segments.to_vec();
    move |sent| {
        let number = data_of(&sent.segment).filter(|_| sent.from == Side::Client).map(|d| d.0 / 1000);
        match left.iter().position(|&n| Some(n) == number) {
            Some(i) => {
                left.remove(i);
                Fate::Drop
            }
            None => Fate::Deliver,
        }
    }
}

fn in_words(data: &[(u64, u64)]) -> String {
    let mut text = String::new();
    let mut i = 0;
    while i < data.len() {
        let (first, len) = data[i];
        let mut last = i;
        while last + 1 < data.len()
            && whole(data[last + 1])
            && whole(data[last])
            && data[last + 1].0 == data[last].0 + 1000
        {
            last += 1;
        }
        let _ = if last > i {
            write!(text, " {}-{}", first / 1000, data[last].0 / 1000)
        } else if whole(data[i]) {
            write!(text, " {}", first / 1000)
        } else {
            write!(text, " [{first}+{len}]")
        };
        i = last + 1;
    }
    text
}

fn whole(data: (u64, u64)) -> bool {
    data.0.is_multiple_of(1000) && data.1 == 1000
}
