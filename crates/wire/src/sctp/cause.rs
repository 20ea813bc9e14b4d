//! Error causes of ABORT and ERROR (§3.3.10).

use bytes::Bytes;
use handfast_core::SeqNum;

use super::error::{Element, ParseError};
use super::parameter::fixed;
use super::tlv;

/// Codes of error causes (§3.3.10).
#[expect(missing_docs, reason = "the names are RFC 9260's")]
pub mod code {
    pub const INVALID_STREAM: u16 = 1;
    pub const MISSING_MANDATORY_PARAMETER: u16 = 2;
    pub const STALE_COOKIE: u16 = 3;
    pub const OUT_OF_RESOURCE: u16 = 4;
    pub const UNRESOLVABLE_ADDRESS: u16 = 5;
    pub const UNRECOGNIZED_CHUNK_TYPE: u16 = 6;
    pub const INVALID_MANDATORY_PARAMETER: u16 = 7;
    pub const UNRECOGNIZED_PARAMETERS: u16 = 8;
    pub const NO_USER_DATA: u16 = 9;
    pub const COOKIE_WHILE_SHUTTING_DOWN: u16 = 10;
    pub const RESTART_WITH_NEW_ADDRESSES: u16 = 11;
    pub const USER_INITIATED_ABORT: u16 = 12;
    pub const PROTOCOL_VIOLATION: u16 = 13;
}

/// Why a chunk of type ABORT or ERROR was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Invalid Stream Identifier (1).
    InvalidStream(u16),
    /// Stale Cookie (3).
    StaleCookie {
        /// So many microseconds too old.
        microseconds: u32,
    },
    /// No User Data (9).
    NoUserData(SeqNum),
    /// Any other.
    Other {
        /// One of [`code`], or one that nobody here knows.
        code: u16,
        /// Its value.
        value: Bytes,
    },
}

impl Cause {
    /// One without a value.
    pub const fn plain(code: u16) -> Self {
        Self::Other { code, value: Bytes::new() }
    }

    /// Its code.
    pub const fn code(&self) -> u16 {
        match self {
            Self::InvalidStream(_) => code::INVALID_STREAM,
            Self::StaleCookie { .. } => code::STALE_COOKIE,
            Self::NoUserData(_) => code::NO_USER_DATA,
            Self::Other { code, .. } => *code,
        }
    }

    pub(super) fn parse(kind: u16, value: Bytes) -> Result<Self, ParseError> {
        let wrong = ParseError::Length { element: Element::Cause(kind), len: value.len() };
        Ok(match kind {
            code::INVALID_STREAM => {
                let [high, low, _, _] = fixed::<4>(&value, wrong)?;
                Self::InvalidStream(u16::from_be_bytes([high, low]))
            }
            code::STALE_COOKIE => {
                Self::StaleCookie { microseconds: u32::from_be_bytes(fixed::<4>(&value, wrong)?) }
            }
            code::NO_USER_DATA => Self::NoUserData(SeqNum(u32::from_be_bytes(fixed::<4>(&value, wrong)?))),
            code => Self::Other { code, value },
        })
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        let four = |word: u32, out: &mut Vec<u8>| tlv::emit(self.code(), &word.to_be_bytes(), out);
        match self {
            Self::InvalidStream(stream) => four(u32::from(*stream) << 16, out),
            Self::StaleCookie { microseconds } => four(*microseconds, out),
            Self::NoUserData(tsn) => four(tsn.0, out),
            Self::Other { code, value } => tlv::emit(*code, value, out),
        }
    }

    /// Bytes of its value.
    pub(super) fn value_len(&self) -> usize {
        match self {
            Self::InvalidStream(_) | Self::StaleCookie { .. } | Self::NoUserData(_) => 4,
            Self::Other { value, .. } => value.len(),
        }
    }
}
