//! A Multipath TCP connection, version 1 (RFC 8684), as a machine: no clock, no socket, no thread.
//!
//! Its sub-flows are [`handfast_tcp::Endpoint`]s, which know nothing of it: it puts its options on their segments, and reads those of
//! segments that come. The driver hands in segments and expired deadlines, asks for segments to send, and learns the next deadline:
//!
//! ```text
//! on_segment(now, &Received)   on_timer(now)   poll_transmit(now, budget) -> Option<Transmit>   deadline() -> Option<Instant>
//! ```
//!
//! [`Connection::connect`] opens one, [`Connection::accept`] answers a SYN, [`Connection::join`] adds a sub-flow, and
//! [`Connection::accept_join`] one of the peer's, which [`Connection::token`] names. Sections in comments are RFC 8684's.
#![forbid(unsafe_code)]

mod config;
mod connection;
mod data;
mod event;
mod keys;
mod subflow;
mod transfer;

pub use config::Config;
pub use connection::{Connection, token_of_join};
pub use event::{Counters, Event, Failure, Footprint, State, SubflowId, SubflowStatus};
pub use transfer::{Flow, Received, Transmit};
