//! Segments that no honest peer sends, to an endpoint in each state: nothing panics, nothing grows without bound, and
//! nothing ends the connection but what RFC 9293 and RFC 5961 let end it.

use arbitrary::Arbitrary;
use bytes::Bytes;
use handfast_core::{Bytes as Octets, Duration, Instant, SeqNum};
use handfast_tcp::{Death, Event, MtuProbing, Received, State, Transmit};
use handfast_wire::Payload;
use handfast_wire::tcp::{Flags, SackBlock, SackBlocks, Segment, Timestamps};

use crate::case::{Setup, Side};
use crate::hop;
use crate::reach::{Start, reach};
use crate::world::End;

/// A number near one that matters.
#[derive(Arbitrary, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Near {
    /// RCV.NXT for a sequence number, SND.UNA for an acknowledgement, plus this.
    Low(i8),
    /// The right edge of our window, SND.MAX.
    High(i8),
    /// Between, or a little beyond.
    Within(u16),
    /// Anything.
    Any(u32),
}

/// A segment, relative to the endpoint's variables.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub struct Forged {
    pub seq: Near,
    pub ack: Near,
    pub flags: u8,
    pub window: u16,
    /// `TSval` from the newest, `TSecr` from now, in ticks.
    pub timestamps: Option<(i8, i8)>,
    pub sack: [Option<(Near, Near)>; 4],
    pub len: u16,
    pub mss: Option<u16>,
    pub window_scale: Option<u8>,
    pub sack_permitted: bool,
}

/// What the attacker or the application does.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Deed {
    Send(Forged),
    /// Every `step`th octet of the window, forwards or backwards, in segments of `len`.
    Pepper {
        step: u8,
        len: u8,
        n: u16,
        backwards: bool,
    },
    /// The same with SACK blocks over what the endpoint has sent.
    PepperSacks {
        step: u8,
        n: u16,
    },
    Write {
        len: u16,
    },
    Read {
        len: u16,
    },
    Close,
    Advance {
        ms: u16,
    },
    /// ICMP tells what the path carries.
    PathMss {
        octets: u16,
        resend: bool,
    },
    /// ICMP says that the peer cannot be reached.
    Unreachable {
        seq: Near,
    },
    /// The path's MTU is probed; any numbers, whether they make sense together or not.
    Probe {
        always: bool,
        base: u16,
        floor: u16,
        threshold: u16,
        interval_ms: u16,
    },
}

/// An attack on one endpoint.
#[derive(Arbitrary, Clone, Debug)]
pub struct Attack {
    pub setup: Setup,
    pub start: Start,
    pub deeds: Vec<Deed>,
}

/// Runs it; panics where a promise is broken.
pub fn run(attack: &Attack) {
    let mut victim = Victim::new(attack);
    for &deed in &attack.deeds {
        victim.suffer(deed);
    }
}

struct Victim {
    now: Instant,
    end: End,
    peer_iss: SeqNum,
    newest_ts: u32,
}

impl Victim {
    fn new(attack: &Attack) -> Self {
        let (world, side) = reach(attack.start, &attack.setup);
        let now = world.now;
        let peer_iss = world.ends[side.other() as usize].ledger.iss;
        let [client, server] = world.ends;
        let mut end = if side == Side::Client { client } else { server };
        while end.endpoint.poll_event().is_some() {}
        let newest_ts = end.ledger.newest_ts().unwrap_or(0);
        Self { now, end, peer_iss, newest_ts }
    }

    fn suffer(&mut self, deed: Deed) {
        match deed {
            Deed::Send(forged) => {
                let segment = self.forge(&forged);
                self.hand(&segment);
            }
            Deed::Pepper { step, len, n, backwards } => self.pepper(step, len, n, backwards),
            Deed::PepperSacks { step, n } => self.pepper_sacks(step, n),
            Deed::Write { len } => {
                self.end.endpoint.write(Payload::Synthetic { stream: 9, offset: 0, len: u32::from(len) });
                self.settle();
            }
            Deed::Read { len } => {
                if let Some(payload) = self.end.endpoint.read(usize::from(len)) {
                    self.end.ledger.read += payload.len() as u64;
                }
                self.settle();
            }
            Deed::Close => {
                self.end.endpoint.close(self.now);
                self.settle();
            }
            Deed::Advance { ms } => self.advance(Duration::from_millis(u64::from(ms))),
            Deed::PathMss { octets, resend } => {
                self.end.endpoint.set_path_mss(octets, resend);
                self.settle();
            }
            Deed::Unreachable { seq } => self.cannot_reach(seq),
            Deed::Probe { always, base, floor, threshold, interval_ms } => {
                let interval = Duration::from_millis(u64::from(interval_ms));
                let patience = interval;
                let how = MtuProbing { always, base, floor, threshold, interval, patience };
                self.end.endpoint.set_mtu_probing(self.now, how);
                self.settle();
            }
        }
    }

    fn cannot_reach(&mut self, seq: Near) {
        let (una, _, max) = self.end.endpoint.send_positions();
        let seq = near(seq, self.end.ledger.iss, una, max);
        self.end.endpoint.on_unreachable(self.now, seq);
        self.settle();
    }

    fn pepper(&mut self, step: u8, len: u8, n: u16, backwards: bool) {
        let step = u32::from(step) + 1;
        for k in 0..u32::from(n) % 3000 {
            let k = if backwards { 3000 - k } else { k };
            let mut segment = self.plain(self.next() + 1 + u64::from(k * step));
            segment.payload = Payload::Bytes(Bytes::from(vec![7; usize::from(len % 32) + 1]));
            self.hand(&segment);
        }
    }

    fn pepper_sacks(&mut self, step: u8, n: u16) {
        let (una, _, max) = self.end.endpoint.send_positions();
        let step = u64::from(step) + 2;
        for k in (0..u64::from(n) % 6000).map(|k| una + 1 + k * step).take_while(|&at| at < max) {
            let mut segment = self.plain(self.next());
            let at = |position: u64| self.end.ledger.iss + position as u32;
            segment.sack.push(SackBlock { start: at(k), end: at(k + 1) });
            self.hand(&segment);
        }
    }

    /// A bare acknowledgement of nothing new.
    fn plain(&self, position: u64) -> Segment {
        let (una, _, _) = self.end.endpoint.send_positions();
        Segment {
            src_port: self.end.endpoint.remote_port(),
            dst_port: self.end.endpoint.local_port(),
            seq: self.peer_iss + position as u32,
            ack: self.end.ledger.iss + una as u32,
            flags: Flags::ACK,
            window: 5000,
            timestamps: Some(Timestamps { val: self.newest_ts, ecr: 0 }),
            ..Segment::EMPTY
        }
    }

    fn next(&self) -> u64 {
        self.end.ledger.next_expected(&self.end.endpoint)
    }

    fn forge(&self, f: &Forged) -> Segment {
        let (una, _, max) = self.end.endpoint.send_positions();
        let next = self.next();
        let mine = |n: Near| near(n, self.end.ledger.iss, una, max);
        let mut sack = SackBlocks::NONE;
        for (start, end) in f.sack.into_iter().flatten() {
            sack.push(SackBlock { start: mine(start), end: mine(end) });
        }
        let octets = Bytes::from(vec![0xA5; usize::from(f.len % 9001)]);
        Segment {
            seq: near(f.seq, self.peer_iss, next, self.end.ledger.offered.max(next)),
            ack: mine(f.ack),
            flags: Flags(u16::from(f.flags)),
            window: f.window,
            timestamps: f.timestamps.map(|(val, ecr)| Timestamps {
                val: self.newest_ts.wrapping_add_signed(i32::from(val)),
                ecr: ((self.now.as_nanos() / 1_000_000) as u32)
                    .wrapping_add(self.end.ledger.iss.0)
                    .wrapping_add_signed(i32::from(ecr)),
            }),
            sack,
            mss: f.mss,
            window_scale: f.window_scale,
            sack_permitted: f.sack_permitted,
            payload: if octets.is_empty() { Payload::EMPTY } else { Payload::Bytes(octets) },
            ..self.plain(next)
        }
    }

    fn hand(&mut self, segment: &Segment) {
        let before = self.end.endpoint.state();
        let exact = segment.seq == self.peer_iss + self.next() as u32;
        let (_, _, max) = self.end.endpoint.send_positions();
        let acks_all = max > 0 && segment.ack == self.end.ledger.iss + max as u32;
        self.end.endpoint.on_segment(self.now, &Received::plain(segment));
        let after = self.end.endpoint.state();
        if matches!(before, State::Listen | State::SynSent)
            && !matches!(after, State::Listen | State::SynSent | State::Closed)
        {
            self.peer_iss = segment.seq;
        }
        if let Some(ts) = segment.timestamps
            && after != State::Closed
            && SeqNum(ts.val).after(SeqNum(self.newest_ts))
        {
            self.newest_ts = ts.val;
        }
        if before != after {
            judge(before, after, segment, exact, acks_all);
        }
        self.settle();
    }

    fn advance(&mut self, span: Duration) {
        let until = self.now + span;
        while let Some(at) = self.end.endpoint.deadline().filter(|&at| at <= until) {
            self.now = self.now.max(at);
            self.end.endpoint.on_timer(self.now);
            assert!(
                self.end.endpoint.deadline().is_none_or(|at| at > self.now),
                "a deadline that has passed"
            );
            self.settle();
        }
        self.now = until;
    }

    fn settle(&mut self) {
        let endpoint = &mut self.end.endpoint;
        let mut sent = 0;
        while let Some(Transmit { segment, .. }) = endpoint.poll_transmit(self.now, Octets(u64::MAX)) {
            hop::check(&segment);
            self.end.ledger.offered = self.end.ledger.offered.max(offered(&segment, self.peer_iss));
            sent += 1;
            assert!(sent < 20_000, "sends without end: {segment:?}");
        }
        while let Some(event) = endpoint.poll_event() {
            if event == Event::PeerClosed {
                self.end.ledger.peer_closed = true;
            }
            assert_ne!(event, Event::Died(Death::Aborted), "nobody aborted");
        }
        let (una, nxt, max) = endpoint.send_positions();
        assert!(una <= nxt && nxt <= max, "SND.UNA {una}, SND.NXT {nxt}, SND.MAX {max}");
        assert!(endpoint.cwnd() >= endpoint.smss(), "cwnd {}, SMSS {}", endpoint.cwnd(), endpoint.smss());
        assert!(
            endpoint.readable() <= self.end.config.receive_buffer.get(),
            "{} to read",
            endpoint.readable()
        );
        let active = !matches!(endpoint.state(), State::Closed | State::Listen);
        let waits = una < max || endpoint.unsent() > 0;
        assert!(!(active && waits) || endpoint.deadline().is_some(), "{:?}: no timer", endpoint.state());
        self.check_memory();
    }

    /// The scoreboard and the runs are bounded by number, pieces by the octets they hold: two neighbours hold more than
    /// 2048 together.
    fn check_memory(&self) {
        let kept = self.end.endpoint.footprint();
        assert!(kept.sacked_ranges <= 4096 && kept.runs <= 1024, "{kept:?}");
        assert!(kept.sent_runs <= (1 << 16) + (1 << 13) + 2, "{kept:?}");
        let octets = self.end.config.receive_buffer.get() as usize;
        assert!(kept.reassembly <= 2 * (octets / 1024 + kept.runs) + 4, "{kept:?} for {octets} octets");
    }
}

fn near(n: Near, origin: SeqNum, low: u64, high: u64) -> SeqNum {
    let at = |position: u64, by: i8| origin + (position as u32).wrapping_add_signed(i32::from(by));
    match n {
        Near::Low(by) => at(low, by),
        Near::High(by) => at(high, by),
        Near::Within(by) => origin + (low + u64::from(by) % (high.saturating_sub(low) + 3)) as u32,
        Near::Any(seq) => SeqNum(seq),
    }
}

/// An approximation of our right edge: scaling only makes it larger.
fn offered(segment: &Segment, peer_iss: SeqNum) -> u64 {
    if !segment.flags.contains(Flags::ACK) {
        return 0;
    }
    segment.ack.distance(peer_iss).max(0) as u64 + u64::from(segment.window)
}

/// Whether a segment may have led from `before` to `after`. `exact`: its number is RCV.NXT; `acks_all`: it acknowledges
/// everything sent.
fn judge(before: State, after: State, segment: &Segment, exact: bool, acks_all: bool) {
    let (rst, ack) = (segment.flags.contains(Flags::RST), segment.flags.contains(Flags::ACK));
    let allowed = match (before, after) {
        // RFC 9293 §3.10.7.3, second: a reset of our SYN acknowledges it.
        (State::SynSent, State::Closed) => rst && ack && acks_all,
        // The acknowledgement of our FIN, or a reset.
        (State::LastAck, State::Closed) => (rst && exact) || (!rst && ack && acks_all),
        // RFC 5961 §3.2: a reset exactly at RCV.NXT. In SYN-RECEIVED a passive opener listens again.
        (_, State::Closed) | (State::SynReceived, State::Listen) => rst && exact,
        (_, State::Listen) => false,
        _ => !rst,
    };
    assert!(
        allowed,
        "{before:?} became {after:?} by {segment:?} (exact: {exact}, acknowledges all: {acks_all})"
    );
}
