//! One connection inside UDP, whichever it is: where the two kinds are told apart for whoever uses it.

use std::net::{IpAddr, SocketAddr};

use bytes::Bytes;
use handfast_core::Instant;
use handfast_sctp::PathState;
use handfast_tcp::StoredPath;

use super::agenda::SHORT;
use super::carried::Carried;
use super::stream::Stream;

/// How a connection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stands {
    /// Its handshake goes on.
    Connecting,
    /// Octets go both ways, or one way where an end has finished.
    Open,
    /// It is over; [`Some`]: before its time.
    Over(Option<Failure>),
}

/// Why a connection is over before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The peer wants no more of it, or knows none.
    Reset,
    /// This end has given it up: the peer says nothing, or nothing that has sense.
    GivenUp,
}

/// What a connection's path carries, for one that takes its place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Window {
    /// Of TCP.
    Tcp(StoredPath),
    /// Of an association.
    Sctp(PathState),
}

pub(super) enum Body {
    Tcp(Box<Stream>),
    Sctp(Box<Carried>),
}

pub(super) struct One {
    /// Where its peer is, or was when it was opened, as the socket writes it.
    pub(super) peer: SocketAddr,
    /// Its entry among the deadlines.
    pub(super) deadline: Option<Instant>,
    /// Who opened it is not at this end.
    pub(super) is_guest: bool,
    /// Somebody has been told of it: who opened it, or who asked for those that have come.
    pub(super) is_known: bool,
    /// Nobody wants it any more: it goes once it is closed.
    pub(super) is_released: bool,
    /// It carries datagrams: little is to wait unsent.
    pub(super) is_short: bool,
    pub(super) body: Body,
}

impl One {
    pub(super) fn new(peer: SocketAddr, is_guest: bool, body: Body) -> Self {
        let (is_known, is_released, is_short) = (!is_guest, false, false);
        Self { peer, deadline: None, is_guest, is_known, is_released, is_short, body }
    }

    pub(super) fn stream(&self) -> Option<&Stream> {
        match &self.body {
            Body::Tcp(stream) => Some(stream),
            Body::Sctp(_) => None,
        }
    }

    pub(super) fn stream_mut(&mut self) -> Option<&mut Stream> {
        match &mut self.body {
            Body::Tcp(stream) => Some(stream),
            Body::Sctp(_) => None,
        }
    }

    pub(super) fn carried(&self) -> Option<&Carried> {
        match &self.body {
            Body::Sctp(carried) => Some(carried),
            Body::Tcp(_) => None,
        }
    }

    pub(super) fn carried_mut(&mut self) -> Option<&mut Carried> {
        match &mut self.body {
            Body::Sctp(carried) => Some(carried),
            Body::Tcp(_) => None,
        }
    }

    /// Takes what its endpoint says: whether somebody may be told of it from now on.
    pub(super) fn settle(&mut self, now: Instant) -> bool {
        let is_connected = match &mut self.body {
            Body::Tcp(stream) => {
                if self.is_guest && !self.is_known {
                    stream.abort_if_led_back();
                }
                stream.settle()
            }
            Body::Sctp(carried) => carried.settle(now),
        };
        is_connected && !std::mem::replace(&mut self.is_known, true)
    }

    /// Whether its handshake still goes on at the end that did not open it. Of an association nothing is kept so long.
    pub(super) fn is_shaking(&self) -> bool {
        self.is_guest && self.stream().is_some_and(Stream::is_shaking)
    }

    /// Whether nothing of it is needed any more. One whose handshake failed before anybody was told of it is nobody's.
    pub(super) fn is_gone(&self) -> bool {
        let is_closed = match &self.body {
            Body::Tcp(stream) => stream.is_closed(),
            Body::Sctp(carried) => carried.is_closed(),
        };
        is_closed && (self.is_released || !self.is_known)
    }

    pub(super) fn stands(&self) -> Stands {
        match &self.body {
            Body::Tcp(stream) => stream.stands(),
            Body::Sctp(carried) => carried.stands(),
        }
    }

    /// When its endpoint wants to be woken.
    pub(super) fn wakes_at(&self) -> Option<Instant> {
        match &self.body {
            Body::Tcp(stream) => stream.endpoint.deadline(),
            Body::Sctp(carried) => carried.association.deadline(),
        }
    }

    pub(super) fn on_timer(&mut self, now: Instant) {
        self.deadline = None;
        match &mut self.body {
            Body::Tcp(stream) => stream.endpoint.on_timer(now),
            Body::Sctp(carried) => carried.association.on_timer(now),
        }
    }

    /// Up to `most` octets that have come.
    pub(super) fn read(&mut self, now: Instant, most: usize) -> Option<Bytes> {
        match &mut self.body {
            Body::Tcp(stream) => stream.endpoint.read(most).map(|payload| payload.to_bytes()),
            Body::Sctp(carried) => carried.read(now, most),
        }
    }

    /// Whether the peer has finished, and all of it was read.
    pub(super) fn is_at_end(&self) -> bool {
        match &self.body {
            Body::Tcp(stream) => stream.is_at_end(),
            Body::Sctp(carried) => carried.is_at_end(),
        }
    }

    /// Takes what there is room for, `unsent` octets at most with those that wait: how much.
    pub(super) fn write(&mut self, octets: &[u8], unsent: u64) -> usize {
        let most = if self.is_short { SHORT } else { unsent };
        match &mut self.body {
            Body::Tcp(stream) => stream.write(octets, most),
            Body::Sctp(carried) => carried.write(octets, most),
        }
    }

    pub(super) fn window(&self, now: Instant) -> Option<Window> {
        match &self.body {
            Body::Tcp(stream) => stream.window(now).map(Window::Tcp),
            Body::Sctp(carried) => carried.window().map(Window::Sctp),
        }
    }

    /// It takes the place of one that had this window; whether that is one of its kind.
    pub(super) fn take_over(&mut self, now: Instant, window: Window) -> bool {
        match (&mut self.body, window) {
            (Body::Tcp(stream), Window::Tcp(window)) => stream.endpoint.take_over(now, window),
            (Body::Sctp(carried), Window::Sctp(window)) => carried.take_over(now, window),
            _ => return false,
        }
        true
    }

    /// By which address of ours data leaves.
    pub(super) fn local(&self) -> Option<IpAddr> {
        match &self.body {
            Body::Tcp(stream) => stream.local,
            Body::Sctp(carried) => carried.local(),
        }
    }

    /// Nothing more is written. SCTP has no half-closed state (RFC 9260 §9): there nothing more comes either.
    pub(super) fn finish(&mut self, now: Instant) {
        match &mut self.body {
            Body::Tcp(stream) => stream.endpoint.close(now),
            Body::Sctp(carried) => carried.association.shutdown(now),
        }
    }

    /// Nobody wants it any more. One that does not end already is reset.
    pub(super) fn release(&mut self, now: Instant) {
        self.is_released = true;
        match &mut self.body {
            Body::Tcp(stream) => stream.leave(now),
            Body::Sctp(carried) => carried.leave(),
        }
    }
}
