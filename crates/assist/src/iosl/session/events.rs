//! What a program, or who looks after it, is told.

use std::collections::VecDeque;
use std::mem::discriminant;

use handfast_core::Duration;

use crate::iosl::frame::Reason;

/// Something has happened to a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The peer has answered.
    Opened,
    /// There are octets to read, or their end.
    Readable,
    /// There is room to write, which there was not.
    Writable,
    /// A datagram has come.
    Datagram,
    /// A new path is in use; nothing could travel for so long before.
    Resumed {
        /// Zero where the path before was in use until then.
        away: Duration,
    },
    /// All has come, in both directions.
    Done,
    /// It is over before its time. Comes after the octets that had come before were read.
    Failed(Reason),
}

/// Those that nobody has asked for, one of a kind at most: the last of it.
#[derive(Debug, Default)]
pub(super) struct Events(VecDeque<Event>);

impl Events {
    pub(super) fn push(&mut self, event: Event) {
        match self.0.iter_mut().find(|waiting| discriminant(*waiting) == discriminant(&event)) {
            Some(waiting) => *waiting = event,
            None => self.0.push_back(event),
        }
    }

    pub(super) fn pop(&mut self) -> Option<Event> {
        self.0.pop_front()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether nobody knows yet that the session is open.
    pub(super) fn has_opened(&self) -> bool {
        self.0.contains(&Event::Opened)
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
