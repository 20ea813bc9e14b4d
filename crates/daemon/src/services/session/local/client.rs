//! A program that waits for its connection.

use std::io::Write;

use handfast_assist::iosl::frame::Target;
use handfast_io::{Attempt, SourceId};

use super::super::carrier::Plug;
use super::catcher::{Catcher, UNREACHABLE};
use super::front::{Dialect, Refusal};

/// How a program has come here.
#[derive(Debug)]
pub(super) enum Via {
    /// By a socket, with its number if it is waited for.
    Plug(Plug, Option<SourceId>),
    /// It is in a call of connect(2), which waits for an answer.
    Call(Attempt),
}

/// A program, and what it wants.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) via: Via,
    pub(super) dialect: Dialect,
    pub(super) target: Target,
    /// What it has said already for the target.
    pub(super) rest: Vec<u8>,
}

impl Client {
    /// Tells it that it gets none.
    pub(super) fn refuse(self, catcher: Option<&Catcher>, why: Refusal) {
        match self.via {
            // It is connected already, and has to see that this is no end.
            Via::Plug(plug, _) if self.dialect == Dialect::Silent => plug.abort(),
            // A new connection has room for one short answer.
            Via::Plug(mut plug, _) => drop(plug.write(&self.dialect.refused(why))),
            Via::Call(attempt) => {
                if let Some(catcher) = catcher {
                    catcher.refuse(&attempt, UNREACHABLE);
                }
            }
        }
    }
}
