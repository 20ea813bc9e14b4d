//! What can be wrong with a message.

use std::error::Error;
use std::fmt;

/// A part of a message, for errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the specification's own")]
pub enum Part {
    Message,
    Header,
    HelloElement,
    VersionBitmap,
    Error,
    FeaturesRequest,
    FeaturesReply,
    SwitchConfig,
    PacketIn,
    FlowRemoved,
    PortStatus,
    PacketOut,
    FlowMod,
    MultipartRequest,
    MultipartReply,
    TableStats,
    TableFeatures,
    FlowStatsRequest,
    FlowStats,
    BarrierRequest,
    BarrierReply,
    Role,
    Port,
    Match,
    OxmField,
    Action,
    OutputAction,
    Instruction,
    GotoTable,
    ClearActions,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Message => "message",
            Self::Header => "header",
            Self::HelloElement => "hello element",
            Self::VersionBitmap => "version bitmap",
            Self::Error => "error",
            Self::FeaturesRequest => "features request",
            Self::FeaturesReply => "features reply",
            Self::SwitchConfig => "switch configuration",
            Self::PacketIn => "packet-in",
            Self::FlowRemoved => "flow-removed",
            Self::PortStatus => "port status",
            Self::PacketOut => "packet-out",
            Self::FlowMod => "flow-mod",
            Self::MultipartRequest => "multipart request",
            Self::MultipartReply => "multipart reply",
            Self::TableStats => "table statistics",
            Self::TableFeatures => "table features",
            Self::FlowStatsRequest => "flow statistics request",
            Self::FlowStats => "flow statistics",
            Self::BarrierRequest => "barrier request",
            Self::BarrierReply => "barrier reply",
            Self::Role => "role",
            Self::Port => "port",
            Self::Match => "match",
            Self::OxmField => "OXM field",
            Self::Action => "action",
            Self::OutputAction => "output action",
            Self::Instruction => "instruction",
            Self::GotoTable => "goto-table instruction",
            Self::ClearActions => "clear-actions instruction",
        })
    }
}

/// Why bytes are not an `OpenFlow` 1.3 message. Its text says what was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// The bytes end inside a part.
    Truncated {
        /// Which part.
        part: Part,
        /// Bytes it needs.
        needed: usize,
        /// Bytes there are.
        have: usize,
    },
    /// A version other than 1.3 in the header of a message that is not a hello.
    Version(u8),
    /// A length field that its part cannot have, or that goes beyond what holds the part.
    Length {
        /// Which part.
        part: Part,
        /// The length it states, in bytes.
        stated: usize,
        /// The least it may state, in bytes.
        min: usize,
        /// The most it may state, in bytes.
        max: usize,
    },
    /// A length that is not a multiple of what the part is made of.
    Multiple {
        /// Which part.
        part: Part,
        /// The length it states, in bytes.
        stated: usize,
        /// Of what it should be a multiple.
        of: usize,
    },
    /// Bytes after the end of a part that is the last one.
    Trailing {
        /// Which part.
        part: Part,
        /// How many bytes.
        extra: usize,
    },
    /// A number without a meaning where only the known ones can be: a command, a reason, a role.
    Value {
        /// In which part.
        part: Part,
        /// The number.
        found: u32,
        /// The highest with a meaning.
        max: u32,
    },
    /// A match that is not of OXM fields.
    MatchType(u16),
    /// A known OXM field whose length is not that field's.
    FieldLength {
        /// Its class.
        class: u16,
        /// Its number within the class.
        field: u8,
        /// The length it states, in bytes.
        stated: usize,
        /// The length it has, in bytes.
        expected: usize,
    },
    /// A known OXM field that comes twice.
    DuplicateField {
        /// Its class.
        class: u16,
        /// Its number within the class.
        field: u8,
    },
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Truncated { part, needed, have } => {
                write!(f, "OpenFlow {part}: expected at least {needed} bytes, {have} are there")
            }
            Self::Version(found) => write!(f, "OpenFlow version {found}: expected 4 (OpenFlow 1.3)"),
            Self::Length { part, stated, min, max } => {
                write!(f, "OpenFlow {part}: states its length as {stated} bytes, expected {min} to {max}")
            }
            Self::Multiple { part, stated, of } => {
                write!(f, "OpenFlow {part}: states its length as {stated} bytes, expected a multiple of {of}")
            }
            Self::Trailing { part, extra } => {
                write!(f, "OpenFlow {part}: expected its end, {extra} more bytes are there")
            }
            Self::Value { part, found, max } => {
                write!(f, "OpenFlow {part}: value {found}, expected 0 to {max}")
            }
            Self::MatchType(found) => write!(f, "OpenFlow match of type {found}: expected 1 (OXM fields)"),
            Self::FieldLength { class, field, stated, expected } => {
                write!(
                    f,
                    "OXM field {field} of class {class:#06x}: states its length as {stated} bytes, expected {expected}"
                )
            }
            Self::DuplicateField { class, field } => {
                write!(f, "OXM field {field} of class {class:#06x}: expected once, it comes twice")
            }
        }
    }
}

impl Error for ParseError {}

/// Why a message has no form on the wire, or none that parses back to the same message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmitError {
    /// Longer than the length field of the header can say: its length in bytes.
    Length(usize),
    /// A part kept as bytes under a number whose parse gives something else.
    Known {
        /// Which part.
        part: Part,
        /// Its number.
        kind: u16,
    },
    /// An action kept as bytes that does not fill words of 8 bytes: its length.
    ActionLength(usize),
    /// [`super::Match::other`] holds a field that is known here, or is not made of whole fields.
    OtherFields,
}

impl fmt::Display for EmitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Length(len) => write!(f, "OpenFlow message of {len} bytes: expected at most 65535"),
            Self::Known { part, kind } => {
                write!(
                    f,
                    "OpenFlow {part} of type {kind}: expected one that does not parse as something else"
                )
            }
            Self::ActionLength(len) => {
                write!(f, "OpenFlow action of {len} bytes: expected a multiple of 8")
            }
            Self::OtherFields => f.write_str("other OXM fields: expected whole fields of kinds not parsed"),
        }
    }
}

impl Error for EmitError {}
