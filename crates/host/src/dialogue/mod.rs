//! Applications of two ends: a person's end, the client, asks; the other, the server, answers. The client is at the flow's `to` and
//! opens the connections; the server is at its `from`, so that a flow's data goes the way it always does.
//!
//! All clients speak to the same server: a request says how long its answer is ([`request`]). What a person does when, and what is
//! measured of it, is a [`Client`], one application a file in `app/`. A client owns no clock, no socket and no connection: the same
//! one runs in the simulator, over [`Asking`] and [`Serving`], and in the lab, over sockets.

mod asker;
mod asking;
pub mod request;
mod serving;
#[cfg(test)]
pub(crate) mod testing;
mod waits;

use std::fmt;

use handfast_core::Instant;

pub use asker::{Asker, SharedAsker};
pub use asking::Asking;
pub use request::Request;
pub use serving::Serving;
pub(crate) use waits::Waits;

use crate::app::page::{self, Page};
use crate::app::terminal::{self, Terminal};
use crate::app::video::{self, Video};
use crate::transport::Figures;

/// The registry: the applications of two ends, each with what it is told.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A person types, and sees what was typed.
    Terminal(Terminal),
    /// A person reads web pages.
    Page(Page),
    /// A person watches a video.
    Video(Video),
}

/// The hash of a scenario is of this text.
impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Terminal(terminal) => terminal.fmt(f),
            Self::Page(page) => page.fmt(f),
            Self::Video(video) => video.fmt(f),
        }
    }
}

/// What is known of such an application beforehand.
pub(crate) struct Description {
    /// Connections that its client has at once, at most.
    pub(crate) connections: u32,
    /// Why it cannot run, as the end of a sentence that begins with the flow.
    pub(crate) problem: Option<String>,
}

impl Kind {
    /// Its word in scenario files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Terminal(_) => "terminal",
            Self::Page(_) => "page",
            Self::Video(_) => "video",
        }
    }

    pub(crate) fn description(self) -> Description {
        match self {
            Self::Terminal(terminal) => terminal::description(terminal),
            Self::Page(page) => page::description(page),
            Self::Video(video) => video::description(video),
        }
    }

    /// Connections that its client has at once, at most.
    pub fn connections(self) -> u32 {
        self.description().connections
    }

    /// Its client in a run with that seed, as the flow of that name.
    pub fn client(self, seed: u64, flow: &str) -> Box<dyn Client> {
        match self {
            Self::Terminal(terminal) => terminal::client(terminal, seed, flow),
            Self::Page(page) => page::client(page, seed, flow),
            Self::Video(video) => video::client(video),
        }
    }
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

    /// How many connections it wants to have open, the first ones.
    fn wants(&self) -> usize {
        1
    }

    /// What a person felt up to now, for the result of its flow.
    fn figures(&self, now: Instant) -> Figures;
}
