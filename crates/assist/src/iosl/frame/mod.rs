//! What the two ends of a session tell each other: frames, inside records that are sealed (`secure/`).
//!
//! A frame is a type and its fields, numbers as in RFC 9000 §16. Every frame has one form, so that what was parsed is emitted as
//! the same bytes. One that is unknown, cut or out of range makes its whole record malformed: there is no version yet in which
//! an end could meet frames that it may skip.

mod emit;
mod parse;
mod reason;
mod target;
pub mod varint;

use bytes::Bytes;
use handfast_core::Duration;

pub(crate) use emit::emit_data;
pub use parse::{Malformed, parse};
pub use reason::Reason;
pub use target::Target;

use super::ids::Id;

/// The version that this is.
pub const VERSION: u64 = 1;

/// Type and longest numbers of [`Frame::Data`]: what a record has to have room for beside the bytes.
pub const DATA_OVERHEAD: usize = 1 + 8 + 4;

/// The longest datagram.
pub const MOST_DATAGRAM: usize = 16_000;

/// What an end is able to, beyond streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Takes datagrams.
    pub datagrams: bool,
    /// Uses hints on windows. Where an end does not, to send some breaks the rules.
    pub windows: bool,
}

/// What an end says of the path below: hints, which may lower the other end's window, and never raise it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Windows {
    /// Bytes.
    pub cwnd: u64,
    /// Bytes.
    pub rwnd: u64,
    /// On the wire in microseconds.
    pub rtt: Duration,
}

/// A frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// First on each path, from each end.
    Hello {
        /// [`VERSION`].
        version: u64,
        /// Of the sender.
        capabilities: Capabilities,
        /// After how long without a path the sender gives the session up; on the wire in milliseconds.
        expiry: Duration,
    },
    /// A new session: of octets, or of datagrams, which has a type of its own. An end that does not know that one refuses the session
    /// and loses nothing else.
    Open {
        /// To where.
        target: Target,
        /// As [`Frame::Resume`]'s: the dialler may have tried before.
        epoch: u64,
    },
    /// Octets of the stream from this offset on.
    Data {
        /// The first octet has offset 0.
        offset: u64,
        /// At least one.
        bytes: Bytes,
    },
    /// What has come.
    Ack {
        /// All before has, in order. The end of the stream counts as an octet, like a FIN.
        offset: u64,
        /// Up to here the peer may send.
        credit: u64,
    },
    /// The stream ends here.
    Fin {
        /// Its length.
        offset: u64,
    },
    /// The session is no more, or does not come about.
    Reset(Reason),
    /// Send nothing until [`Frame::Continue`], or on another path.
    Suspend,
    /// The path that was suspended is used again.
    Continue,
    /// A session goes on, on this path. The answer repeats session and epoch.
    Resume {
        /// The ID that the peer has given for this.
        session: Id,
        /// Of the path: above all before it. Odd where the end that opened the session has dialled, even otherwise.
        epoch: u64,
        /// As [`Frame::Ack`]'s offset.
        received: u64,
    },
    /// The ID by which the peer resumes next time.
    Migrated(Id),
    /// Hints.
    Windows(Windows),
    /// Comes once, or not at all.
    Datagram(Bytes),
    /// The sender has given the session up, or is done with it, and will not resume it.
    Expire,
    /// Asks for an [`Frame::Ack`]: whether somebody is there (as RFC 9000 §19.2).
    Ping,
}

impl Frame {
    /// Appends the bytes on the wire.
    pub fn emit(&self, out: &mut Vec<u8>) {
        emit::put(self, out);
    }
}

/// The bytes of several frames.
pub fn emitted(frames: &[Frame]) -> Vec<u8> {
    let mut out = Vec::new();
    for frame in frames {
        frame.emit(&mut out);
    }
    out
}

#[cfg(test)]
mod tests;
