//! The referee's book on one end: what the wire has shown of it, and what follows that it may and may not send.
//!
//! Positions are octets of a send stream: 0 is the SYN, 1 the first octet of payload, the FIN follows the last.

use handfast_core::SeqNum;
use handfast_tcp::{Config, Endpoint, Frto, State};
use handfast_wire::Payload;
use handfast_wire::tcp::{Flags, Segment};

use crate::case::Side;
use crate::ranges::Ranges;

/// What both ends settled in the handshake, as their configurations say.
#[derive(Clone, Copy, Debug)]
pub struct Agreed {
    pub timestamps: bool,
    pub sack: bool,
    pub scaling: bool,
    /// Octets of payload and options in a segment (RFC 6691).
    pub mss: u64,
}

impl Agreed {
    pub fn of(a: &Config, b: &Config) -> Self {
        Self {
            timestamps: a.timestamps && b.timestamps,
            sack: a.sack && b.sack,
            scaling: a.window_scaling && b.window_scaling,
            mss: u64::from(a.mss.min(b.mss).max(88)),
        }
    }
}

pub struct Ledger {
    side: Side,
    agreed: Agreed,
    pub iss: SeqNum,
    peer_iss: SeqNum,
    /// Octets the application has written, and whether it has closed.
    pub written: u64,
    pub closed: bool,
    /// The ID-oriented socket layer has suspended it.
    pub suspended: bool,
    /// Its SYN carries data, or it takes those of the peer's.
    pub is_fast: bool,
    /// Octets the application has read.
    pub read: u64,
    /// The peer's FIN was in order.
    pub peer_closed: bool,
    una: u64,
    max: u64,
    /// Our octets that the peer has SACKed, in acknowledgements that we surely took.
    sacked: Ranges,
    /// The largest right edge that the peer has let us know.
    edge: u64,
    /// The peer's shift and ours.
    peer_shift: u8,
    shift: u8,
    /// The peer's octets that have reached us, and where its FIN stands.
    delivered: Ranges,
    fin: Option<u64>,
    /// The peer's first timestamp and its newest, where both sides use them.
    first_ts: Option<u32>,
    newest_ts: Option<u32>,
    /// cwnd alone says how much may be in flight: no SACK, whose pipe is less than that, and no F-RTO, which sends two
    /// segments whatever cwnd says (RFC 5682 §2.1 step 2b).
    plain_flight: bool,
    /// What we last acknowledged and offered.
    acked: u64,
    pub offered: u64,
    capacity: u64,
}

impl Ledger {
    pub fn new(side: Side, config: &Config, agreed: Agreed, iss: SeqNum, peer_iss: SeqNum) -> Self {
        let capacity = config.receive_buffer.get();
        Self {
            side,
            agreed,
            iss,
            peer_iss,
            written: 0,
            closed: false,
            suspended: false,
            is_fast: false,
            read: 0,
            peer_closed: false,
            una: 0,
            max: 0,
            sacked: Ranges::default(),
            edge: 0,
            peer_shift: 0,
            shift: 0,
            delivered: Ranges::default(),
            fin: None,
            first_ts: None,
            newest_ts: None,
            plain_flight: !agreed.sack && config.frto == Frto::Off,
            acked: 0,
            offered: 0,
            capacity: if agreed.scaling { capacity } else { capacity.min(65_535) },
        }
    }

    /// Position of the next octet we expect: what was read, what can be, the SYN, perhaps the FIN.
    pub fn next_expected(&self, endpoint: &Endpoint) -> u64 {
        1 + self.read + endpoint.readable() + u64::from(self.peer_closed)
    }

    /// The sequence number of a position in the peer's stream.
    pub fn peer_seq(&self, position: u64) -> SeqNum {
        self.peer_iss + position as u32
    }

    pub fn newest_ts(&self) -> Option<u32> {
        self.newest_ts
    }

    pub fn first_ts(&self) -> Option<u32> {
        self.first_ts
    }

    pub fn shift(&self) -> u8 {
        self.shift
    }

    /// The largest right edge that the peer has let us know.
    pub fn window_edge(&self) -> u64 {
        self.edge
    }

    /// A segment of ours leaves.
    pub fn sent(&mut self, s: &Segment, endpoint: &Endpoint) {
        if s.flags.contains(Flags::RST) {
            return;
        }
        let start = offset(s.seq, self.iss);
        let end = start + s.payload.len() as u64;
        if s.flags.contains(Flags::SYN) {
            assert_eq!(start, 0, "{:?}: a SYN with another number", self.side);
            self.check_early(s);
            self.shift = if self.agreed.scaling { s.window_scale.unwrap_or(0) } else { 0 };
        } else {
            self.check_options(s);
            self.check_payload(s, start, end);
            if s.flags.contains(Flags::FIN) {
                assert!(self.closed, "{:?}: a FIN before the application closed", self.side);
                assert_eq!(end, self.written + 1, "{:?}: the FIN follows the last octet", self.side);
            }
            assert!(start >= self.una || end == start, "{:?}: sends what is acknowledged", self.side);
            if end > self.max {
                self.check_flight(endpoint);
            }
        }
        if s.flags.contains(Flags::ACK) {
            self.check_acknowledgement(s, endpoint);
        }
    }

    /// RFC 7413 §4.2.2: a SYN carries data once, and only where its end was asked to.
    fn check_early(&self, s: &Segment) {
        let (side, len) = (self.side, s.payload.len() as u64);
        if len > 0 {
            assert!(
                self.is_fast && self.max == 0 && !s.flags.contains(Flags::ACK),
                "{side:?}: payload on a SYN"
            );
            assert!(len <= self.written.min(496) && holds(&s.payload, side, 0), "{side:?}: {s:?}");
        }
    }

    fn check_options(&self, s: &Segment) {
        let side = self.side;
        assert!(s.flags.contains(Flags::ACK), "{side:?}: {s:?}");
        assert_eq!(s.timestamps.is_some(), self.agreed.timestamps, "{side:?}: RFC 7323 §3.2");
        assert!(self.agreed.sack || s.sack.is_empty(), "{side:?}: SACK blocks without consent");
        assert!(s.options_len() <= 40, "{side:?}: options of {} octets", s.options_len());
        // RFC 6691 §2
        assert!(
            s.payload.is_empty() || (s.payload.len() + s.options_len()) as u64 <= self.agreed.mss,
            "{side:?}: {} octets of payload and {} of options exceed the MSS {}",
            s.payload.len(),
            s.options_len(),
            self.agreed.mss
        );
        if let (Some(ts), Some(newest)) = (s.timestamps, self.newest_ts) {
            assert!(!SeqNum(ts.ecr).after(SeqNum(newest)), "{side:?}: echoes a timestamp it never had");
        }
    }

    fn check_payload(&self, s: &Segment, start: u64, end: u64) {
        let side = self.side;
        if start == end {
            return;
        }
        assert!(1 <= start && end <= self.written + 1, "{side:?}: {start}..{end} was never written");
        assert!(holds(&s.payload, side, start - 1), "{side:?}: the wrong octets at {start}");
        // RFC 2018 §8 and RFC 6675 §4: what the receiver holds is not sent again.
        assert!(!self.sacked.meets(start, end), "{side:?}: {start}..{end} of {:?} are SACKed", self.sacked);
        // RFC 9293 §3.8.6.1: beyond the window goes a probe of one octet, and nothing else.
        let probe = start == self.una && end == start + 1 && self.edge <= start;
        assert!(
            end <= self.edge || probe,
            "{side:?}: {start}..{end} lies beyond the window's edge {}",
            self.edge
        );
    }

    /// New data goes out within cwnd, and two segments beyond it by limited transmit (RFC 5681 §3.1, RFC 3042 §2).
    fn check_flight(&self, endpoint: &Endpoint) {
        let (una, nxt, _) = endpoint.send_positions();
        let (cwnd, smss) = (endpoint.cwnd(), endpoint.smss());
        assert!(
            !self.plain_flight || nxt - una <= cwnd + 2 * smss + 1,
            "{:?}: {} in flight, cwnd {cwnd}, SMSS {smss}",
            self.side,
            nxt - una
        );
    }

    fn check_acknowledgement(&mut self, s: &Segment, endpoint: &Endpoint) {
        let side = self.side;
        let syn = s.flags.contains(Flags::SYN);
        let ack = offset(s.ack, self.peer_iss);
        let mut here = self.delivered.contiguous(1);
        here += u64::from(self.fin == Some(here));
        assert!(ack <= here, "{side:?}: acknowledges {ack}, has {here}");
        assert!(ack >= self.acked, "{side:?}: takes back an acknowledgement");
        self.acked = ack;
        for (i, block) in s.sack.as_slice().iter().enumerate() {
            let (start, end) = (offset(block.start, self.peer_iss), offset(block.end, self.peer_iss));
            assert!(start < end && self.delivered.contains(start, end), "{side:?}: SACKs {start}..{end}");
            // RFC 2883 §4: only the first block may report a duplicate.
            assert!(i == 0 || start > ack, "{side:?}: SACKs {start}..{end}, acknowledges {ack}");
        }
        let edge = ack + (u64::from(s.window) << if syn { 0 } else { self.shift });
        let rounding = (1 << self.shift) - 1;
        // A SYN that is sent again says no more than its field holds (RFC 7323 §2.2), whatever was offered since.
        let full = syn && s.window == u16::MAX;
        // [iosl] §VI.A: one that is suspended closes its window, whatever it has offered.
        let closed = self.suspended && s.window == 0;
        // RFC 9293 §3.8.6: the right edge does not move to the left, but for the rounding of RFC 7323 §2.4.
        assert!(
            full || closed || edge + rounding >= self.offered,
            "{side:?}: shrinks its window: {edge} after {}",
            self.offered
        );
        self.offered = self.offered.max(edge);
        let buffered = self.read + self.capacity + 1 + u64::from(self.peer_closed);
        assert!(edge <= buffered, "{side:?}: offers {edge} with {} read of {}", self.read, self.capacity);
        assert!(endpoint.readable() <= self.capacity, "{side:?}: holds more than its buffer");
    }

    /// A segment of the peer has been handed to us; `next` is what we expected before it, `was_open` whether we were past
    /// the handshake. True if we surely took its acknowledgement.
    pub fn received(&mut self, s: &Segment, endpoint: &Endpoint, next: u64, was_open: bool) -> bool {
        let syn = s.flags.contains(Flags::SYN);
        if s.flags.contains(Flags::RST) {
            return false;
        }
        let start = offset(s.seq, self.peer_iss);
        let end = start + s.payload.len() as u64;
        if syn {
            self.peer_shift = if self.agreed.scaling { s.window_scale.unwrap_or(0) } else { 0 };
            self.delivered.insert(0, 1 + s.payload.len() as u64);
        } else {
            self.delivered.insert(start, end);
            if s.flags.contains(Flags::FIN) {
                self.fin = Some(end);
            }
        }
        let fresh = self.note_timestamp(s);
        if !s.flags.contains(Flags::ACK) {
            // The window of a SYN counts from the first octet.
            self.edge = self.edge.max(1 + u64::from(s.window));
            return false;
        }
        let ack = offset(s.ack, self.iss);
        self.edge = self.edge.max(ack + (u64::from(s.window) << if syn { 0 } else { self.peer_shift }));
        let len = u64::from(s.seq_len());
        let acceptable = if len == 0 { start == next } else { start <= next && next < start + len };
        let taken = !syn && was_open && fresh && acceptable && ack == endpoint.send_positions().0;
        if taken {
            self.note_sacks(s, ack);
        }
        taken
    }

    fn note_timestamp(&mut self, s: &Segment) -> bool {
        let Some(ts) = s.timestamps.filter(|_| self.agreed.timestamps) else { return true };
        self.first_ts.get_or_insert(ts.val);
        let fresh = self.newest_ts.is_none_or(|newest| !SeqNum(ts.val).before(SeqNum(newest)));
        if fresh {
            self.newest_ts = Some(ts.val);
        }
        fresh
    }

    fn note_sacks(&mut self, s: &Segment, ack: u64) {
        for block in s.sack.as_slice().iter().filter(|_| self.agreed.sack) {
            let (start, end) = (offset(block.start, self.iss), offset(block.end, self.iss));
            if start > ack && start < end && end <= self.max {
                self.sacked.insert(start, end);
            }
        }
    }

    /// The order of the send variables; true where SND.UNA has moved.
    pub fn check_positions(&mut self, endpoint: &Endpoint) -> bool {
        let (una, nxt, max) = endpoint.send_positions();
        let side = self.side;
        if endpoint.state() == State::Listen {
            // A refused SYN-ACK leads back here (RFC 9293 §3.10.7.4, second).
            (self.una, self.max, self.edge) = (0, 0, 0);
        }
        assert!(una <= nxt && nxt <= max, "{side:?}: SND.UNA {una}, SND.NXT {nxt}, SND.MAX {max}");
        // RFC 7413 §4.2.2: what a SYN carried and the peer left counts as not sent.
        let has_begun = self.una > 0;
        assert!(una >= self.una && (max >= self.max || !has_begun), "{side:?}: SND.UNA or SND.MAX fell back");
        let moved = una > self.una;
        (self.una, self.max) = (una, max);
        moved
    }
}

fn offset(seq: SeqNum, iss: SeqNum) -> u64 {
    // Cases are far shorter than 2^31 octets; a negative distance becomes a number that no check lets pass.
    seq.distance(iss) as u64
}

/// The stream of a side: synthetic and real payload hold the same octets.
pub fn stream(side: Side) -> u32 {
    side as u32 + 1
}

/// Whether `payload` is what `side` has written at `at`.
pub fn holds(payload: &Payload, side: Side, at: u64) -> bool {
    match payload {
        Payload::Synthetic { stream: s, offset, .. } => (*s, *offset) == (stream(side), at),
        Payload::Bytes(bytes) => {
            let written = Payload::Synthetic { stream: stream(side), offset: at, len: bytes.len() as u32 };
            written.to_bytes() == *bytes
        }
    }
}
