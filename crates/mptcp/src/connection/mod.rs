//! The connection: what its owner calls, and what all parts of it share.

mod api;
mod arrival;
mod decorate;
mod handshake;
mod open;
mod schedule;
mod settle;
mod signals;
mod timers;

use std::collections::VecDeque;
use std::net::IpAddr;

use handfast_core::{Instant, Stream};

use crate::data::{DataReceiver, DataSender};
use crate::event::MAX_EVENTS;
use crate::keys::Key;
use crate::subflow::Subflow;
use crate::{Config, Counters, Event, Failure, State};

pub use open::token_of_join;

/// What it speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Nobody knows yet: there is only the first sub-flow.
    Opening,
    /// Multipath TCP. `confirmed`: the peer has shown that it does, too (§3.1).
    Multipath { confirmed: bool },
    /// Plain TCP (§3.7). `announce`: until so many octets of the sub-flow are acknowledged, segments carry an infinite mapping.
    Plain { announce: u64 },
}

/// One Multipath TCP connection, either end of it.
pub struct Connection {
    config: Config,
    random: Stream,
    mode: Mode,
    state: State,
    /// It began with [`Connection::connect`].
    initiator: bool,
    /// Whether DSS options carry checksums.
    checksum: bool,
    /// The peer wants no sub-flow to the address of the first one (§3.1, C).
    closed_address: bool,
    key: Key,
    peer_key: Option<Key>,
    /// Addresses of ours that the peer was told of, by their IDs.
    own: Vec<(u8, IpAddr)>,
    /// In the order of their ids.
    subflows: Vec<Subflow>,
    next_id: u32,
    /// Whose turn it is to send.
    turn: usize,
    tx: DataSender,
    rx: DataReceiver,
    /// When what is out and not acknowledged by `DATA_ACK` leaves again, and how often it did.
    data_timer: Option<Instant>,
    backoff: u32,
    /// When it gives up waiting for a sub-flow.
    orphan: Option<Instant>,
    /// `MP_FASTCLOSE` goes with the resets.
    fast_close: bool,
    /// The peer's end of data was told to the owner.
    peer_closed: bool,
    connected: bool,
    events: VecDeque<Event>,
    counters: Counters,
    /// What sub-flows have counted that are gone.
    past: handfast_tcp::Counters,
}

impl Connection {
    fn emit(&mut self, event: Event) {
        if self.events.len() == MAX_EVENTS {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }

    fn fail(&mut self, why: Failure) {
        if self.state != State::Closed {
            self.state = State::Closed;
            (self.data_timer, self.orphan) = (None, None);
            self.emit(Event::Failed(why));
        }
    }

    /// The data sequence number of our first octet: `MP_CAPABLE` has the one before (§3.3.1).
    fn first_sent(&self) -> u64 {
        self.key.initial_data_seq().wrapping_add(1)
    }

    /// The same of the peer's; [`None`]: its key is not known.
    fn first_come(&self) -> Option<u64> {
        Some(self.peer_key?.initial_data_seq().wrapping_add(1))
    }

    /// RFC 8684 §3.7: it goes on as a plain TCP connection over its only sub-flow.
    fn fall_back(&mut self, announce: u64) {
        self.mode = Mode::Plain { announce };
        if self.state != State::Closed {
            self.state = State::Plain;
            self.emit(Event::FellBack);
        }
        self.data_timer = None;
    }
}
