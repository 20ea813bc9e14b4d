//! One sub-flow: a TCP connection, what its octets are, and how far its own handshake is (RFC 8684 §3.1, §3.2).

pub(crate) mod mappings;

use std::collections::VecDeque;

use handfast_core::{Instant, SeqNum};
use handfast_tcp::{Endpoint, State as TcpState};
use handfast_wire::tcp::mptcp::Mptcp;
use handfast_wire::tcp::{Flags, Segment};

use crate::{Flow, SubflowId, SubflowStatus};
use mappings::{Come, Sent};

/// Options that wait for a segment to take them.
const MAX_SIGNALS: usize = 8;

/// How far its handshake is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The first one: SYN and SYN/ACK carry `MP_CAPABLE`.
    First,
    /// We join: the SYN carries our random number.
    Joining { nonce: u32 },
    /// We have joined: every segment carries our HMAC until the peer says something (§3.2: the third ACK is to be repeated).
    Proving { hmac: [u8; 20] },
    /// The peer joins: the third ACK must carry its HMAC.
    Joined { nonce: u32, peer_nonce: u32 },
    /// It carries data.
    Up,
    /// It may not carry data any more: the peer has closed it, or it is being reset.
    Down,
}

/// One sub-flow.
pub(crate) struct Subflow {
    pub(crate) id: SubflowId,
    pub(crate) flow: Flow,
    pub(crate) endpoint: Endpoint,
    pub(crate) phase: Phase,
    /// Our initial sequence number, and the peer's once it is known.
    pub(crate) iss: SeqNum,
    pub(crate) irs: Option<SeqNum>,
    /// The window scale shifts: ours, and the peer's.
    shifts: (u8, u8),
    pub(crate) sent: Sent,
    pub(crate) come: Come,
    /// Octets that it was given.
    pub(crate) written: u64,
    /// Octets of those that the peer has acknowledged.
    pub(crate) acked: u64,
    /// Octets that were read from it.
    pub(crate) read: u64,
    /// B, by our word and by the peer's.
    pub(crate) backup: (bool, bool),
    /// Its retransmission timer has expired, and nothing was acknowledged since.
    pub(crate) silent: bool,
    pub(crate) suspended: bool,
    /// IDs of our address and the peer's.
    pub(crate) address_ids: (u8, u8),
    pub(crate) signals: VecDeque<Mptcp>,
    /// When the third ACK goes again.
    pub(crate) prove_at: Option<Instant>,
    /// Of the reset that leaves, and of one that came.
    pub(crate) reset_reason: Option<u8>,
    pub(crate) heard_reason: Option<u8>,
    /// Its owner knows that it is gone.
    pub(crate) told_down: bool,
}

impl Subflow {
    pub(crate) fn new(id: SubflowId, flow: Flow, endpoint: Endpoint, iss: SeqNum, phase: Phase) -> Self {
        Self {
            id,
            flow,
            endpoint,
            phase,
            iss,
            irs: None,
            shifts: (0, 0),
            sent: Sent::default(),
            come: Come::default(),
            written: 0,
            acked: 0,
            read: 0,
            backup: (false, false),
            silent: false,
            suspended: false,
            address_ids: (0, 0),
            signals: VecDeque::new(),
            prove_at: None,
            reset_reason: None,
            heard_reason: None,
            told_down: false,
        }
    }

    /// Whether it may carry new data.
    pub(crate) fn carries(&self) -> bool {
        let open = matches!(self.endpoint.state(), TcpState::Established | TcpState::CloseWait);
        self.phase == Phase::Up && open && !self.suspended
    }

    pub(crate) fn is_backup(&self) -> bool {
        self.backup.0 || self.backup.1
    }

    pub(crate) fn status(&self, now: Instant) -> SubflowStatus {
        let tcp = self.endpoint.snapshot(now);
        SubflowStatus {
            id: self.id,
            established: self.phase == Phase::Up,
            backup: self.is_backup(),
            silent: self.silent,
            suspended: self.suspended,
            tcp,
            srtt: tcp.srtt,
        }
    }

    /// An option waits for the next acknowledgement, which leaves at once.
    pub(crate) fn signal(&mut self, option: Mptcp) {
        if self.signals.len() < MAX_SIGNALS {
            self.signals.push_back(option);
        }
        self.endpoint.acknowledge();
    }

    /// It is reset, for this reason (§3.6).
    pub(crate) fn reset(&mut self, reason: u8) {
        self.reset_reason = Some(reason);
        self.phase = Phase::Down;
        self.endpoint.abort();
    }

    /// A SYN of ours leaves: what it settles of the window's scale.
    pub(crate) fn note_own_syn(&mut self, segment: &Segment) {
        self.shifts.0 = segment.window_scale.unwrap_or(0).min(handfast_tcp::MAX_SHIFT);
    }

    /// Nobody scales windows.
    pub(crate) fn without_scale(&mut self) {
        self.shifts = (0, 0);
    }

    /// The peer's SYN: its sequence number and scale.
    pub(crate) fn note_peer_syn(&mut self, segment: &Segment) {
        self.irs = Some(segment.seq);
        match segment.window_scale {
            Some(shift) => self.shifts.1 = shift.min(handfast_tcp::MAX_SHIFT),
            // RFC 7323 §1.3: only if both offer it.
            None => self.shifts = (0, 0),
        }
    }

    /// The field for a window of so many octets.
    pub(crate) fn window_field(&self, octets: u64) -> u16 {
        u16::try_from(octets >> self.shifts.0).unwrap_or(u16::MAX)
    }

    /// The window that the peer offers.
    pub(crate) fn peer_window(&self, segment: &Segment) -> u64 {
        // The window of a SYN is not scaled (RFC 7323 §2.2).
        let shift = if segment.flags.contains(Flags::SYN) { 0 } else { self.shifts.1 };
        u64::from(segment.window) << shift
    }

    /// The position of our octet with this sequence number; it is near what is acknowledged.
    pub(crate) fn sent_position(&self, seq: SeqNum) -> Option<u64> {
        near(self.acked, seq, self.iss)
    }

    /// The position of the peer's octet with this relative sequence number (§3.3: the SYN has 0).
    pub(crate) fn come_position(&self, relative: u32) -> Option<u64> {
        let distance = relative.wrapping_sub(1).wrapping_sub(self.read as u32) as i32;
        self.read.checked_add_signed(i64::from(distance))
    }

    /// The position of the peer's octet with this sequence number.
    pub(crate) fn come_at(&self, seq: SeqNum) -> Option<u64> {
        near(self.read, seq, self.irs?)
    }

    /// What it has acknowledged; whether that is more than before.
    pub(crate) fn note_acked(&mut self) -> bool {
        let acked = self.endpoint.send_positions().0.saturating_sub(1).min(self.written);
        let more = acked > self.acked;
        if more {
            self.acked = acked;
            self.silent = false;
            self.sent.release(acked);
        }
        more
    }
}

/// The position near `known` of the octet at `seq`, where the SYN has `first`.
fn near(known: u64, seq: SeqNum, first: SeqNum) -> Option<u64> {
    known.checked_add_signed(i64::from(seq.distance(first + 1 + known as u32)))
}
