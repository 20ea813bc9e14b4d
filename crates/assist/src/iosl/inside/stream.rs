//! One connection of TCP inside UDP.

use std::net::IpAddr;

use bytes::Bytes;
use handfast_core::Instant;
use handfast_tcp::{Death, Endpoint, Event, IoslRules, State, StoredPath};
use handfast_wire::Payload;
use handfast_wire::tcp::in_udp::{DATAGRAM, Number, OWN_HEADER_LEN, SAVED, Token};
use handfast_wire::tcp::{HEADER_LEN, Segment};

use super::beside::Beside;
use super::{Failure, Stands};

/// The longest answer to a SYN: this header, the fixed one, and its options of 20.
const SYN_ACK: u64 = (OWN_HEADER_LEN + HEADER_LEN - SAVED + 20) as u64;

pub(super) struct Stream {
    pub(super) number: Number,
    pub(super) endpoint: Endpoint,
    /// The address of ours by which it goes: of one that others have opened, that to which the last datagram came.
    pub(super) local: Option<IpAddr>,
    /// The peer has shown to be where it says: it has acknowledged a number that was sent there.
    pub(super) is_valid: bool,
    /// What the server wants to see again with the SYN.
    pub(super) token: Option<Token>,
    /// The SYN as it has left: a server that kept nothing of it wants it again, with what it carried.
    pub(super) first: Option<Segment>,
    died: Option<Death>,
    has_ended: bool,
    /// What went beside it.
    pub(super) beside: Beside,
}

impl Stream {
    /// `is_valid`: who opens a connection knows where its peer is.
    pub(super) fn new(mut endpoint: Endpoint, number: Number, local: Option<IpAddr>, is_valid: bool) -> Self {
        // It remembers what the window was before a timeout.
        endpoint.attach_iosl(IoslRules::default());
        Self {
            number,
            endpoint,
            local,
            is_valid,
            token: None,
            first: None,
            died: None,
            has_ended: false,
            beside: Beside::default(),
        }
    }

    /// Whether a handshake that others have begun still goes on.
    pub(super) fn is_shaking(&self) -> bool {
        matches!(self.endpoint.state(), State::Listen | State::SynReceived)
    }

    /// One that listens after its SYN has come: a reset has led it back (RFC 9293 §3.10.7.4, second). Nothing would end that.
    pub(super) fn abort_if_led_back(&mut self) {
        if self.endpoint.state() == State::Listen {
            self.endpoint.abort();
        }
    }

    /// Octets that must be allowed for what leaves next, at most.
    pub(super) fn least(&self) -> u64 {
        let (_, next, _) = self.endpoint.send_positions();
        if next == 0 { SYN_ACK } else { (SYN_ACK + self.endpoint.unsent()).min(DATAGRAM as u64) }
    }

    /// Takes what the endpoint says: whether the handshake is over.
    pub(super) fn settle(&mut self) -> bool {
        let mut is_connected = false;
        while let Some(event) = self.endpoint.poll_event() {
            match event {
                Event::Connected => is_connected = true,
                Event::PeerClosed => self.has_ended = true,
                Event::Died(death) => self.died = Some(death),
                _ => {}
            }
        }
        self.is_valid |= !matches!(self.endpoint.state(), State::Listen | State::SynReceived | State::Closed);
        if self.endpoint.state() != State::SynSent {
            self.first = None;
        }
        is_connected
    }

    pub(super) fn stands(&self) -> Stands {
        match (self.died, self.endpoint.state()) {
            (Some(Death::Reset), _) => Stands::Over(Some(Failure::Reset)),
            (Some(_), _) => Stands::Over(Some(Failure::GivenUp)),
            (None, State::Closed) => Stands::Over(None),
            (None, State::Listen | State::SynSent) => Stands::Connecting,
            (None, _) => Stands::Open,
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.endpoint.state() == State::Closed
    }

    /// Whether the peer has finished, and all of it was read.
    pub(super) fn is_at_end(&self) -> bool {
        self.has_ended && self.endpoint.readable() == 0
    }

    /// Takes what there is room for: how much.
    pub(super) fn write(&mut self, octets: &[u8], most_unsent: u64) -> usize {
        let room = most_unsent.saturating_sub(self.endpoint.unsent());
        let taken = octets.len().min(usize::try_from(room).unwrap_or(usize::MAX));
        if taken == 0 {
            return 0;
        }
        self.endpoint.write(Payload::Bytes(Bytes::copy_from_slice(&octets[..taken])))
    }

    /// The window as it is, or was before timeouts. [`None`]: nothing was measured.
    pub(super) fn window(&self, now: Instant) -> Option<StoredPath> {
        (self.endpoint.snapshot(now).acknowledged > 0).then(|| self.endpoint.stored_path())
    }

    /// Nobody wants it any more. One that has not ended in both directions is reset.
    pub(super) fn leave(&mut self, now: Instant) {
        if matches!(self.endpoint.state(), State::LastAck | State::Closing | State::TimeWait) {
            self.endpoint.close(now);
        } else {
            self.endpoint.abort();
        }
    }
}
