//! Bytes to a segment.

use handfast_core::SeqNum;

use super::{Flags, HEADER_LEN, Segment, options};
use crate::error::{Header, ParseError};

/// The byte with the data offset (RFC 9293 §3.1).
const DATA_OFFSET_AT: usize = 12;

/// The segment without its payload, and the payload's bytes.
pub(crate) fn parse(data: &[u8]) -> Result<(Segment, &[u8]), ParseError> {
    let Some(fixed) = data.first_chunk::<HEADER_LEN>() else {
        return Err(ParseError::Truncated { header: Header::Tcp, needed: HEADER_LEN, have: data.len() });
    };
    let [s0, s1, d0, d1, q0, q1, q2, q3, a0, a1, a2, a3, o0, o1, w0, w1, _, _, u0, u1] = *fixed;
    let (header, payload) = data.split_at(header_len(o0, data.len())?);
    let mut segment = Segment {
        src_port: u16::from_be_bytes([s0, s1]),
        dst_port: u16::from_be_bytes([d0, d1]),
        seq: SeqNum(u32::from_be_bytes([q0, q1, q2, q3])),
        ack: SeqNum(u32::from_be_bytes([a0, a1, a2, a3])),
        flags: Flags(u16::from_be_bytes([o0 & 0x0f, o1])),
        window: u16::from_be_bytes([w0, w1]),
        urgent: u16::from_be_bytes([u0, u1]),
        ..Segment::EMPTY
    };
    options::parse(&mut segment, &header[HEADER_LEN..])?;
    Ok((segment, payload))
}

/// Bytes of the header that `data` begins with; [`None`] where it does not hold one.
pub(crate) fn header_len_of(data: &[u8]) -> Option<usize> {
    header_len(data.get(DATA_OFFSET_AT).copied()?, data.len()).ok()
}

/// The control bits of the header that `data` begins with; [`None`] where it does not hold one.
pub(crate) fn flags_of(data: &[u8]) -> Option<Flags> {
    header_len_of(data)?;
    let &[offset, flags] = data.get(DATA_OFFSET_AT..DATA_OFFSET_AT + 2)? else { return None };
    Some(Flags(u16::from_be_bytes([offset & 0x0f, flags])))
}

/// RFC 9293 §3.1: the data offset counts 32-bit words.
fn header_len(offset_flags: u8, have: usize) -> Result<usize, ParseError> {
    let stated = usize::from(offset_flags >> 4) * 4;
    if (HEADER_LEN..=have).contains(&stated) {
        return Ok(stated);
    }
    let max = have.min(HEADER_LEN + options::MAX_LEN);
    Err(ParseError::HeaderLength { header: Header::Tcp, stated, min: HEADER_LEN, max })
}
