//! Applications of two ends: a person's end, the client, asks; the other, the server, answers. The client is at the flow's `to` and
//! opens the connections; the server is at its `from`, so that a flow's data goes the way it always does.
//!
//! All clients speak to the same server: a request says how long its answer is ([`request`]). What a person does when, and what is
//! measured of it, is a [`Client`], one application a file in `app/`. A client owns no clock, no socket and no connection: the same
//! one runs in the simulator, over [`crate::over_tcp`], and in the lab, over sockets.

mod asker;
pub mod request;
mod waits;

use std::fmt;

use handfast_core::Instant;

pub use asker::{Asker, SharedAsker};
pub use request::Request;
pub(crate) use waits::Waits;

use crate::transport::Figures;

/// What is known of such an application beforehand.
pub(crate) struct Description {
    /// Connections that its client has at once, at most.
    pub(crate) connections: u32,
    /// Why it cannot run, as the end of a sentence that begins with the flow.
    pub(crate) problem: Option<String>,
}

/// What a person does at one end: a machine that asks, and takes note of answers. Connections are counted from 0.
pub trait Client: Send + fmt::Debug {
    /// It begins: the first connection is about to be opened.
    fn on_start(&mut self, now: Instant);

    /// A connection is open.
    fn on_open(&mut self, _now: Instant, _connection: usize) {}

    /// When [`Client::on_timer`] has something to do; [`None`]: nothing before something else happens.
    fn deadline(&self) -> Option<Instant>;

    /// Does what is due; afterwards the deadline, if there is one, is in the future.
    fn on_timer(&mut self, now: Instant);

    /// What it asks next by a connection that is open; [`None`]: nothing now.
    fn ask(&mut self, now: Instant, connection: usize) -> Option<Request>;

    /// The oldest request of a connection that has no whole answer yet has it now.
    fn on_answer(&mut self, now: Instant, connection: usize);

    /// Whether a person waits for something: it has been asked for, or will be as soon as a connection is open.
    fn is_waiting(&self) -> bool;

    /// How many connections it wants to have open, the first ones.
    fn wants(&self) -> usize {
        1
    }

    /// What a person felt up to now, for the result of its flow.
    fn figures(&self, now: Instant) -> Figures;
}
