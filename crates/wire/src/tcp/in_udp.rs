//! TCP segments in UDP datagrams: a header of ours, and the segment without what UDP has said already.
//!
//! Of the segment the ports, the checksum and the urgent pointer are left out, as draft-cheshire-tcp-over-udp-00 §3.1 has it: UDP has
//! ports and checksum, and nobody here urges. Where that draft's connection is the four-tuple of UDP, ours has a number beside it,
//! which its opener has chosen at random: who has not seen it can neither reset the connection nor put anything into it (as the
//! verification tag of RFC 9260 §3.1).
//!
//! ```text
//! version, kind (4 bits each)   number (7 bytes)   [token (8 bytes)]   [length of the segment (2 bytes)]
//! sequence   acknowledgment   offset, flags   window   options   payload   [padding]
//! ```
//!
//! A datagram of one kind holds no segment: what two ends send each other beside the connection, which they have sealed.

use bytes::{BufMut, Bytes};

use super::{HEADER_LEN, Segment, emit, parse};
use crate::Payload;
use crate::error::EmitError;

/// The version of this header.
pub const VERSION: u8 = 1;

/// Kinds: a segment, with what these bits say before it.
const WITH_TOKEN: u8 = 0b01;
const PADDED: u8 = 0b10;
/// No segment.
const RETRY: u8 = 0b100;
const BESIDE: u8 = 0b101;

/// Octets of a padded datagram, and of any: RFC 9000 §14 has them as the least that every path carries.
pub const DATAGRAM: usize = 1_200;

/// Octets at most of a datagram that holds something beside the connection: what fits into a packet of IPv6 that every link carries
/// (RFC 8200 §5: 1,280 octets), so that QUIC's first packets (RFC 9000 §14.1: 1,200) fit with what seals them.
pub const BESIDE_DATAGRAM: usize = 1_280 - 40 - 8;

/// Octets of what is sealed, at least: of a counter and a tag.
const BESIDE_LEAST: usize = 17;

/// Bytes of a segment's length where there is padding behind it.
const LENGTH_LEN: usize = 2;

/// Bytes of this header, without a token.
pub const OWN_HEADER_LEN: usize = 8;

/// Bytes of a token.
pub const TOKEN_LEN: usize = 8;

/// Of a fixed TCP header: ports before, checksum and urgent pointer after.
const KEPT: std::ops::Range<usize> = 4..16;

/// What a fixed TCP header loses.
pub const SAVED: usize = HEADER_LEN - (KEPT.end - KEPT.start);

/// The longest TCP header, options included (RFC 9293 §3.1).
const MOST_HEADER: usize = 60;

/// A connection's number, less than 2^56.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Number(u64);

impl Number {
    /// Of these random bytes.
    pub const fn of([b0, b1, b2, b3, b4, b5, b6]: [u8; 7]) -> Self {
        Self(u64::from_be_bytes([0, b0, b1, b2, b3, b4, b5, b6]))
    }
}

/// What shows that somebody is at an address.
pub type Token = [u8; TOKEN_LEN];

/// What a datagram holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InUdp {
    /// A segment, whose ports and urgent pointer are 0.
    Segment {
        /// Of its connection.
        number: Number,
        /// The answer to [`InUdp::Retry`].
        token: Option<Token>,
        /// The datagram has [`DATAGRAM`] octets: whoever answers may answer three times as much (RFC 9000 §14.1).
        padded: bool,
        /// It.
        segment: Segment,
    },
    /// The answer to a SYN of which nothing was kept: it is to come again with this token (RFC 9000 §8.1.2).
    Retry {
        /// Of the connection.
        number: Number,
        /// To be repeated.
        token: Token,
    },
    /// Something beside the connection.
    Beside {
        /// Of the connection.
        number: Number,
        /// What its ends understand.
        sealed: Bytes,
    },
}

impl InUdp {
    /// What a datagram holds; [`None`]: nothing of this kind. Every datagram has one form.
    pub fn parse(datagram: &Bytes) -> Option<Self> {
        let (&[first, number @ ..], mut rest) = datagram.split_first_chunk::<OWN_HEADER_LEN>()?;
        let number = Number::of(number);
        let kind = first.checked_sub(VERSION << 4).filter(|kind| *kind <= BESIDE)?;
        if kind == BESIDE {
            let is_right = rest.len() >= BESIDE_LEAST && datagram.len() <= BESIDE_DATAGRAM;
            return is_right.then(|| Self::Beside { number, sealed: datagram.slice(OWN_HEADER_LEN..) });
        }
        let token = if kind & (WITH_TOKEN | RETRY) == 0 {
            None
        } else {
            let (token, behind) = rest.split_first_chunk::<TOKEN_LEN>()?;
            rest = behind;
            Some(*token)
        };
        if kind == RETRY {
            return token.filter(|_| rest.is_empty()).map(|token| Self::Retry { number, token });
        }
        let padded = kind & PADDED != 0;
        if padded {
            let (len, behind) = rest.split_first_chunk::<LENGTH_LEN>()?;
            let (whole, padding) = behind.split_at_checked(u16::from_be_bytes(*len).into())?;
            if datagram.len() != DATAGRAM || padding.iter().any(|&byte| byte != 0) {
                return None;
            }
            rest = whole;
        }
        Some(Self::Segment { number, token, padded, segment: segment(rest, datagram)? })
    }

    /// Appends the bytes on the wire.
    ///
    /// # Errors
    /// The segment has no form on the wire.
    pub fn emit(&self, out: &mut Vec<u8>) -> Result<(), EmitError> {
        match self {
            Self::Segment { number, token, padded, segment } => {
                emit_segment(*number, token.as_ref(), *padded, segment, out)?;
            }
            Self::Retry { number, token } => {
                own_header(RETRY, *number, out);
                out.extend_from_slice(token);
            }
            Self::Beside { number, sealed } => emit_beside(*number, sealed, out),
        }
        Ok(())
    }
}

/// Appends the datagram of a segment: [`InUdp::emit`] without making one.
///
/// # Errors
/// The segment has no form on the wire.
pub fn emit_segment(
    number: Number,
    token: Option<&Token>,
    padded: bool,
    segment: &Segment,
    out: &mut Vec<u8>,
) -> Result<(), EmitError> {
    emit::check(segment)?;
    let begin = out.len();
    let kind = if token.is_some() { WITH_TOKEN } else { 0 } | if padded { PADDED } else { 0 };
    own_header(kind, number, out);
    if let Some(token) = token {
        out.extend_from_slice(token);
    }
    let mut header = [0; MOST_HEADER];
    let len = emit::emit_header(segment, &mut header);
    if padded {
        out.put_u16((len - SAVED + segment.payload.len()) as u16);
    }
    out.extend_from_slice(&header[KEPT]);
    out.extend_from_slice(&header[HEADER_LEN..len]);
    match &segment.payload {
        Payload::Bytes(bytes) => out.extend_from_slice(bytes),
        synthetic @ Payload::Synthetic { .. } => out.extend_from_slice(&synthetic.to_bytes()),
    }
    if padded {
        out.resize(out.len().max(begin + DATAGRAM), 0);
    }
    Ok(())
}

/// Appends the datagram of something beside a connection: [`InUdp::emit`] without making one.
pub fn emit_beside(number: Number, sealed: &[u8], out: &mut Vec<u8>) {
    own_header(BESIDE, number, out);
    out.extend_from_slice(sealed);
}

fn own_header(kind: u8, Number(number): Number, out: &mut Vec<u8>) {
    let [_, number @ ..] = number.to_be_bytes();
    out.put_u8(VERSION << 4 | kind);
    out.extend_from_slice(&number);
}

/// The segment at the end of a datagram.
fn segment(rest: &[u8], datagram: &Bytes) -> Option<Segment> {
    let (kept, behind) = rest.split_at_checked(KEPT.end - KEPT.start)?;
    let mut header = [0; MOST_HEADER];
    header[KEPT].copy_from_slice(kept);
    let len = usize::from(header[KEPT.start + 8] >> 4) * 4;
    let (options, payload) = behind.split_at_checked(len.checked_sub(HEADER_LEN)?)?;
    header[HEADER_LEN..len].copy_from_slice(options);
    let (mut segment, _) = parse::parse(&header[..len]).ok()?;
    segment.payload = Payload::part_of(payload, datagram);
    // As our own: whoever pads, or orders options, in another way is somebody else.
    let mut again = [0; MOST_HEADER];
    emit::check(&segment).ok()?;
    let is_own_form = emit::emit_header(&segment, &mut again) == len && again == header;
    is_own_form.then_some(segment)
}
