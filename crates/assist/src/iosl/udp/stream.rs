//! One connection of TCP inside UDP.

use std::net::SocketAddr;

use handfast_core::Instant;
use handfast_tcp::{Death, Endpoint, Event, IoslRules, State};
use handfast_wire::tcp::in_udp::{DATAGRAM, Number, OWN_HEADER_LEN, SAVED, Token};
use handfast_wire::tcp::{HEADER_LEN, Segment};

use super::beside::Beside;

/// The longest answer to a SYN: this header, the fixed one, and its options of 20.
const SYN_ACK: u64 = (OWN_HEADER_LEN + HEADER_LEN - SAVED + 20) as u64;

/// How a connection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stands {
    /// Its handshake goes on.
    Connecting,
    /// Octets go both ways, or one way where an end has finished.
    Open,
    /// It is over; [`Some`]: before its time.
    Over(Option<Death>),
}

pub(super) struct Stream {
    pub(super) peer: SocketAddr,
    pub(super) number: Number,
    pub(super) endpoint: Endpoint,
    /// Its entry among the deadlines.
    pub(super) deadline: Option<Instant>,
    /// The peer has shown to be where it says: it has acknowledged a number that was sent there.
    pub(super) is_valid: bool,
    /// What the server wants to see again with the SYN.
    pub(super) token: Option<Token>,
    /// The SYN as it has left: a server that kept nothing of it wants it again, with what it carried.
    pub(super) first: Option<Segment>,
    /// Who opened it is not at this end.
    pub(super) is_guest: bool,
    /// Somebody has been told of it: who opened it, or who asked for those that have come.
    pub(super) is_known: bool,
    pub(super) died: Option<Death>,
    pub(super) has_ended: bool,
    /// Nobody wants it any more: it goes once it is closed.
    pub(super) is_released: bool,
    /// What waits unsent is to be little.
    pub(super) is_short: bool,
    /// What went beside it.
    pub(super) beside: Beside,
}

impl Stream {
    pub(super) fn new(mut endpoint: Endpoint, (peer, number): (SocketAddr, Number), is_guest: bool) -> Self {
        // It remembers what the window was before a timeout.
        endpoint.attach_iosl(IoslRules::default());
        Self {
            peer,
            number,
            endpoint,
            deadline: None,
            is_valid: !is_guest,
            token: None,
            first: None,
            is_guest,
            is_known: !is_guest,
            died: None,
            has_ended: false,
            is_released: false,
            is_short: false,
            beside: Beside::default(),
        }
    }

    /// Whether its handshake still goes on at the end that did not open it.
    pub(super) fn is_shaking(&self) -> bool {
        self.is_guest && matches!(self.endpoint.state(), State::Listen | State::SynReceived)
    }

    /// Whether it listens after its SYN has come: a reset has led it back (RFC 9293 §3.10.7.4, second). Nothing would end that.
    pub(super) fn is_forsaken(&self) -> bool {
        self.is_guest && !self.is_known && self.endpoint.state() == State::Listen
    }

    /// Octets that must be allowed for what leaves next, at most.
    pub(super) fn least(&self) -> u64 {
        let (_, next, _) = self.endpoint.send_positions();
        if next == 0 { SYN_ACK } else { (SYN_ACK + self.endpoint.unsent()).min(DATAGRAM as u64) }
    }

    /// Takes what the endpoint says: whether it may be told of from now on.
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
        is_connected && !std::mem::replace(&mut self.is_known, true)
    }

    pub(super) fn stands(&self) -> Stands {
        match (self.died, self.endpoint.state()) {
            (Some(death), _) => Stands::Over(Some(death)),
            (None, State::Closed) => Stands::Over(None),
            (None, State::Listen | State::SynSent) => Stands::Connecting,
            (None, _) => Stands::Open,
        }
    }

    /// Whether nothing of it is needed any more.
    pub(super) fn is_gone(&self) -> bool {
        let is_closed = self.endpoint.state() == State::Closed;
        // One whose handshake failed before anybody was told of it is nobody's.
        is_closed && (self.is_released || !self.is_known)
    }
}
