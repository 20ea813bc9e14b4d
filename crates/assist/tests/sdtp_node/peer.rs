//! Hosts that send until all has been acknowledged, and check what they get: TCP as far as a path can tell.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use bytes::Bytes;
use handfast_core::{Duration, Instant, SeqNum};
use handfast_wire::tcp::{Flags, Segment, Timestamps};
use handfast_wire::{Body, Packet, Payload};

use crate::world::{Host, ms};

/// What a connection carries in one direction, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sends {
    pub(crate) bytes: u32,
    pub(crate) segment: u16,
    pub(crate) interval: Duration,
    /// Segments in flight.
    pub(crate) window: u32,
    pub(crate) iss: u32,
    /// For the byte at an offset: differs between connections and directions.
    pub(crate) salt: u8,
}

impl Sends {
    fn byte(&self, at: u32) -> u8 {
        (at.wrapping_mul(2_654_435_761) >> 13) as u8 ^ self.salt
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Listen,
    SynSent,
    SynReceived,
    Open,
    /// Everything has been sent and acknowledged, and everything has come.
    Done,
    /// The peer has given up, or this end has.
    Reset(&'static str),
}

/// One end of a connection. Offsets count from the SYN, 0; the first byte is 1, and the FIN comes after the last.
pub(crate) struct Peer {
    local: SocketAddr,
    remote: SocketAddr,
    sends: Sends,
    gets: Sends,
    has_timestamps: bool,
    pub(crate) state: State,
    una: u32,
    nxt: u32,
    /// What has been sent at all.
    most: u32,
    most_segment: u32,
    may_send: Instant,
    timeout: Duration,
    timer: Option<Instant>,
    tries: u32,
    duplicates: u32,
    rcv_nxt: u32,
    early: BTreeMap<u32, u32>,
    recent: u32,
}

const MOST_TRIES: u32 = 25;

impl Peer {
    pub(crate) fn new(
        ends: [SocketAddr; 2],
        [sends, gets]: [Sends; 2],
        has_timestamps: bool,
        starts: Option<Instant>,
    ) -> Self {
        Self {
            local: ends[0],
            remote: ends[1],
            sends,
            gets,
            has_timestamps,
            state: if starts.is_some() { State::SynSent } else { State::Listen },
            una: 0,
            nxt: 0,
            most: 0,
            most_segment: u32::from(sends.segment),
            may_send: starts.unwrap_or(Instant::ZERO),
            timeout: ms(1_000),
            timer: None,
            tries: 0,
            duplicates: 0,
            rcv_nxt: 0,
            early: BTreeMap::new(),
            recent: 0,
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        matches!(self.state, State::Done | State::Reset(_))
    }

    /// Behind the FIN.
    fn end(sends: &Sends) -> u32 {
        sends.bytes + 2
    }

    fn packet(&self, now: Instant, at: u32, flags: Flags, payload: Payload) -> Packet {
        let clock = (now.as_nanos() / 1_000_000) as u32;
        let val = Timestamps { val: clock, ecr: self.recent };
        let segment = Segment {
            src_port: self.local.port(),
            dst_port: self.remote.port(),
            seq: SeqNum(self.sends.iss) + at,
            ack: if flags.contains(Flags::ACK) { SeqNum(self.gets.iss) + self.rcv_nxt } else { SeqNum(0) },
            flags,
            window: 60_000,
            mss: flags.contains(Flags::SYN).then_some(1_460),
            timestamps: self.has_timestamps.then_some(val),
            payload,
            ..Segment::EMPTY
        };
        Packet::tcp(self.local.ip(), self.remote.ip(), segment)
    }

    fn ack(&self, now: Instant) -> Packet {
        self.packet(now, self.nxt, Flags::ACK, Payload::EMPTY)
    }

    /// The segment at an offset, and the offset behind it.
    fn segment_at(&self, now: Instant, at: u32) -> (Packet, u32) {
        let synced = if self.state == State::SynSent { Flags::NONE } else { Flags::ACK };
        if at == 0 {
            return (self.packet(now, 0, Flags::SYN | synced, Payload::EMPTY), 1);
        }
        let to = (at + self.most_segment).min(self.sends.bytes + 1);
        let is_last = to == self.sends.bytes + 1;
        let bytes: Vec<u8> = (at..to).map(|offset| self.sends.byte(offset)).collect();
        let payload = if bytes.is_empty() { Payload::EMPTY } else { Payload::Bytes(Bytes::from(bytes)) };
        let flags = if is_last { Flags::ACK | Flags::FIN } else { Flags::ACK };
        (self.packet(now, at, flags, payload), to + u32::from(is_last))
    }

    fn may_send_now(&self, now: Instant) -> bool {
        let opens = matches!(self.state, State::SynSent | State::SynReceived) && self.nxt == 0;
        let flows = matches!(self.state, State::Open)
            && self.nxt < Self::end(&self.sends)
            && self.nxt < self.una + self.sends.window * self.most_segment;
        (opens || flows) && self.may_send <= now
    }

    fn send(&mut self, now: Instant, out: &mut Vec<Packet>) {
        if !self.may_send_now(now) {
            return;
        }
        let (packet, next) = self.segment_at(now, self.nxt);
        self.nxt = next;
        self.most = self.most.max(next);
        self.may_send = now + self.sends.interval;
        self.timer.get_or_insert(now + self.timeout);
        out.push(packet);
    }

    fn expire(&mut self, now: Instant, out: &mut Vec<Packet>) {
        self.tries += 1;
        if self.tries > MOST_TRIES {
            self.reset(now, "no answer", out);
            return;
        }
        self.timeout = (self.timeout * 2).min(ms(3_000));
        self.timer = Some(now + self.timeout);
        let (packet, next) = self.segment_at(now, self.una);
        // All behind it goes again, as far as the peer does not acknowledge it.
        self.nxt = next;
        out.push(packet);
    }

    fn reset(&mut self, now: Instant, reason: &'static str, out: &mut Vec<Packet>) {
        out.push(self.packet(now, self.nxt, Flags::RST | Flags::ACK, Payload::EMPTY));
        (self.state, self.timer) = (State::Reset(reason), None);
    }

    fn on_segment(&mut self, now: Instant, segment: &Segment, out: &mut Vec<Packet>) {
        if matches!(self.state, State::Reset(_)) {
            return;
        }
        let at = segment.seq.distance(SeqNum(self.gets.iss));
        if segment.flags.contains(Flags::RST) {
            // RFC 9293 §3.10.7.4.
            if self.state != State::Done && (at == self.rcv_nxt as i32 || self.state == State::SynSent) {
                (self.state, self.timer) = (State::Reset("the peer has given up"), None);
            }
            return;
        }
        assert!(
            (0..=Self::end(&self.gets) as i32).contains(&at),
            "a number of another connection: {segment:?}"
        );
        let at = at as u32;
        if segment.flags.contains(Flags::SYN) {
            return self.on_syn(now, segment, out);
        }
        if matches!(self.state, State::Listen | State::SynSent) {
            return;
        }
        // RFC 7323 §5.3 R1. An acknowledgment of a bare one would be answered likewise, for ever.
        if self.is_old(at, segment) {
            out.extend((segment.seq_len() > 0).then(|| self.ack(now)));
            return;
        }
        self.on_ack(now, segment, out);
        if segment.seq_len() > 0 {
            self.on_data(at, segment);
            out.push(self.ack(now));
        }
        if self.una == Self::end(&self.sends) && self.rcv_nxt == Self::end(&self.gets) {
            self.state = State::Done;
        }
    }

    fn is_old(&mut self, at: u32, segment: &Segment) -> bool {
        let Some(Timestamps { val, .. }) = segment.timestamps.filter(|_| self.has_timestamps) else {
            return false;
        };
        let is_old = SeqNum(val).before(SeqNum(self.recent));
        if !is_old && at <= self.rcv_nxt {
            self.recent = val;
        }
        is_old
    }

    fn on_syn(&mut self, now: Instant, segment: &Segment, out: &mut Vec<Packet>) {
        let answers = segment.flags.contains(Flags::ACK);
        if let Some(mss) = segment.mss {
            let room = if self.has_timestamps { 12 } else { 0 };
            self.most_segment = u32::from(self.sends.segment).min(u32::from(mss) - room);
        }
        self.recent = segment.timestamps.map_or(self.recent, |timestamps| timestamps.val);
        match (self.state, answers) {
            (State::Listen, false) => {
                (self.state, self.rcv_nxt) = (State::SynReceived, 1);
                self.send(now, out);
            }
            (State::SynReceived, false) => out.push(self.segment_at(now, 0).0),
            (State::SynSent, true) => {
                (self.state, self.rcv_nxt) = (State::Open, 1);
                self.acknowledged(segment);
                out.push(self.ack(now));
            }
            _ => out.push(self.ack(now)),
        }
    }

    /// Whether something new is acknowledged.
    fn acknowledged(&mut self, segment: &Segment) -> bool {
        let ack = segment.ack.distance(SeqNum(self.sends.iss));
        assert!((0..=self.most as i32).contains(&ack), "what was never sent is acknowledged: {segment:?}");
        let ack = ack as u32;
        if ack <= self.una {
            return false;
        }
        (self.una, self.nxt) = (ack, self.nxt.max(ack));
        (self.tries, self.duplicates, self.timeout) = (0, 0, ms(300));
        self.timer = None;
        true
    }

    fn on_ack(&mut self, now: Instant, segment: &Segment, out: &mut Vec<Packet>) {
        let is_new = self.acknowledged(segment);
        if self.state == State::SynReceived && self.una > 0 {
            self.state = State::Open;
        }
        if self.una < self.nxt {
            self.timer.get_or_insert(now + self.timeout);
        }
        if !is_new && segment.seq_len() == 0 && self.una < self.most {
            self.duplicates += 1;
            if self.duplicates == 3 {
                out.push(self.segment_at(now, self.una).0);
            }
        }
    }

    /// Every byte is what it must be, whenever it comes.
    fn on_data(&mut self, at: u32, segment: &Segment) {
        for (offset, byte) in (at..).zip(segment.payload.to_bytes()) {
            assert_eq!(byte, self.gets.byte(offset), "at {offset} of {}", self.gets.bytes);
        }
        let to = at + segment.seq_len();
        let has_end = segment.flags.contains(Flags::FIN);
        assert!(to <= Self::end(&self.gets) - u32::from(!has_end), "{segment:?}");
        assert!(!has_end || to == Self::end(&self.gets), "{segment:?}");
        let entry = self.early.entry(at).or_default();
        *entry = (*entry).max(to);
        while let Some((&from, &to)) = self.early.first_key_value()
            && from <= self.rcv_nxt
        {
            self.rcv_nxt = self.rcv_nxt.max(to);
            self.early.remove(&from);
        }
    }

    fn deadline(&self) -> Option<Instant> {
        let due = self.may_send_now(Instant::MAX).then_some(self.may_send);
        due.into_iter().chain(self.timer).min()
    }
}

/// The hosts at one end.
pub(crate) struct Hosts(pub(crate) Vec<Peer>);

impl Host for Hosts {
    fn on_packet(&mut self, now: Instant, packet: Packet, out: &mut Vec<Packet>) {
        let Body::Tcp(segment) = &packet.body else { panic!("{packet:?}") };
        if packet.corrupted {
            return;
        }
        let ends =
            [SocketAddr::new(packet.dst, segment.dst_port), SocketAddr::new(packet.src, segment.src_port)];
        let peer = self.0.iter_mut().find(|peer| [peer.local, peer.remote] == ends).expect("a host's");
        peer.on_segment(now, segment, out);
        peer.send(now, out);
    }

    fn on_timer(&mut self, now: Instant, out: &mut Vec<Packet>) {
        for peer in &mut self.0 {
            if peer.timer.is_some_and(|due| due <= now) {
                peer.expire(now, out);
            }
            peer.send(now, out);
        }
    }

    fn deadline(&self) -> Option<Instant> {
        self.0.iter().filter_map(Peer::deadline).min()
    }
}
