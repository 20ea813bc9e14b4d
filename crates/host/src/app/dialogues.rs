//! The registry of the applications of two ends ([`crate::dialogue`]).

use std::fmt;

use super::page::{self, Page};
use super::terminal::{self, Terminal};
use super::video::{self, Video};
use crate::dialogue::{Client, Description};

/// An application of two ends, with what it is told.
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
