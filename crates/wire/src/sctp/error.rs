//! What can be wrong with an SCTP packet.

use std::error::Error;
use std::fmt;

/// A part of a packet, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// The common header.
    CommonHeader,
    /// The header of a chunk, of a parameter or of an error cause.
    Header,
    /// A chunk of this type.
    Chunk(u8),
    /// A parameter of this type.
    Parameter(u16),
    /// An error cause of this code.
    Cause(u16),
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CommonHeader => f.write_str("SCTP common header"),
            Self::Header => f.write_str("header of a chunk, parameter or cause"),
            Self::Chunk(kind) => write!(f, "SCTP chunk of type {kind}"),
            Self::Parameter(kind) => write!(f, "SCTP parameter of type {kind}"),
            Self::Cause(code) => write!(f, "SCTP error cause {code}"),
        }
    }
}

/// Why bytes are not an SCTP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// More bytes than a packet can have.
    TooLong {
        /// How many.
        len: usize,
    },
    /// The bytes end inside something.
    Truncated {
        /// Inside what.
        element: Element,
        /// Bytes it needs.
        needed: usize,
        /// Bytes there are.
        have: usize,
    },
    /// The checksum is wrong.
    Checksum {
        /// What stands there.
        found: u32,
        /// What these bytes should have.
        expected: u32,
    },
    /// A length that does not fit what has it.
    Length {
        /// What states it.
        element: Element,
        /// Bytes of its value.
        len: usize,
    },
    /// A gap block that ends before it begins, or begins at the cumulative acknowledgement (§3.3.4).
    Gap {
        /// Its start.
        start: u16,
        /// Its end.
        end: u16,
    },
    /// A HEARTBEAT whose only parameter is not the sender's information (§3.3.5).
    Heartbeat,
    /// No chunk at all.
    Empty,
}

impl ParseError {
    pub(super) const fn truncated(element: Element, needed: usize, have: usize) -> Self {
        Self::Truncated { element, needed, have }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::TooLong { len } => write!(f, "SCTP packet of {len} bytes: expected at most 65535"),
            Self::Truncated { element, needed, have } => {
                write!(f, "{element}: expected at least {needed} bytes, {have} are there")
            }
            Self::Checksum { found, expected } => {
                write!(f, "SCTP common header: CRC32c {found:#010x}, expected {expected:#010x}")
            }
            Self::Length { element, len } => {
                write!(f, "{element}: a value of {len} bytes is not what it has")
            }
            Self::Gap { start, end } => {
                write!(
                    f,
                    "gap block from {start} to {end}: expected a start from 1 on, and an end not before it"
                )
            }
            Self::Heartbeat => f.write_str("HEARTBEAT: expected one parameter, of type 1"),
            Self::Empty => f.write_str("SCTP packet: expected at least one chunk"),
        }
    }
}

impl Error for ParseError {}

/// Why a packet has no form on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmitError {
    /// The packet is longer than an IP header can state.
    TooLong {
        /// Its length in bytes.
        len: usize,
    },
}

impl fmt::Display for EmitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::TooLong { len } = self;
        write!(f, "SCTP packet of {len} bytes: expected at most 65535")
    }
}

impl Error for EmitError {}
