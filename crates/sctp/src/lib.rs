//! An SCTP association (RFC 9260) as a machine: no clock, no socket, no thread.
//!
//! The driver hands in packets and expired deadlines, asks for packets to send, and learns the next deadline:
//!
//! ```text
//! on_packet(now, &Received)   on_timer(now)   poll_transmit(now, budget) -> Option<Transmit>   deadline() -> Option<Instant>
//! ```
//!
//! [`Association::connect`] opens one; a [`Listener`] answers what belongs to none, and opens one for a valid cookie. Sections in
//! comments are RFC 9260's.
#![forbid(unsafe_code)]

mod association;
mod config;
mod event;
mod handshake;
mod listener;
mod path;
mod receive;
mod send;
mod transfer;
mod tsn;

pub use association::{Association, Endpoints};
pub use config::Config;
pub use event::{Counters, Event, Failure, Footprint, State};
pub use handshake::CookieKey;
pub use listener::{Answer, Listener};
pub use path::{MAX_PATHS, PathState, PathStatus};
pub use transfer::{Message, Received, Transmit, WriteError};
