//! A program that waits for its connection.

use std::io::Write;

use handfast_assist::iosl::frame::Target;
use handfast_io::SourceId;

use super::super::carrier::Plug;
use super::front::{Dialect, Refusal};

/// A program, and what it wants.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) plug: Plug,
    /// Its number, if it is waited for.
    pub(super) id: Option<SourceId>,
    pub(super) dialect: Dialect,
    pub(super) target: Target,
    /// What it has said already for the target.
    pub(super) rest: Vec<u8>,
}

impl Client {
    /// Tells it that it gets none. A new connection has room for one short answer.
    pub(super) fn refuse(mut self, why: Refusal) {
        let _ = self.plug.write(&self.dialect.refused(why));
    }
}
