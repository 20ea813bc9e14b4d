//! SACK (§3.3.4).

use bytes::BufMut;
use handfast_core::SeqNum;

use super::error::{Element, ParseError};

/// Bytes of the fixed fields.
const FIXED_LEN: usize = 12;

/// What has arrived.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sack {
    /// All up to this TSN.
    pub cumulative: SeqNum,
    /// Advertised receiver window credit.
    pub a_rwnd: u32,
    /// What has arrived beyond it.
    pub gaps: Vec<Gap>,
    /// TSNs that have come more than once since the last SACK.
    pub duplicates: Vec<SeqNum>,
}

/// A gap ack block: TSNs that have arrived, counted from the cumulative one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gap {
    /// The first.
    pub start: u16,
    /// The last.
    pub end: u16,
}

impl Sack {
    /// Bytes of the chunk with so many blocks and duplicates.
    pub const fn chunk_len(gaps: usize, duplicates: usize) -> usize {
        super::CHUNK_HEADER_LEN + FIXED_LEN + 4 * (gaps + duplicates)
    }

    pub(super) fn parse(kind: u8, value: &[u8]) -> Result<Self, ParseError> {
        let Some((&[c0, c1, c2, c3, w0, w1, w2, w3, g0, g1, d0, d1], rest)) =
            value.split_first_chunk::<FIXED_LEN>()
        else {
            return Err(ParseError::truncated(Element::Chunk(kind), FIXED_LEN, value.len()));
        };
        let counts = [u16::from_be_bytes([g0, g1]), u16::from_be_bytes([d0, d1])].map(usize::from);
        let (words, []) = rest.as_chunks::<4>() else {
            return Err(ParseError::Length { element: Element::Chunk(kind), len: value.len() });
        };
        if words.len() != counts[0] + counts[1] {
            return Err(ParseError::Length { element: Element::Chunk(kind), len: value.len() });
        }
        let (gaps, duplicates) = words.split_at(counts[0]);
        Ok(Self {
            cumulative: SeqNum(u32::from_be_bytes([c0, c1, c2, c3])),
            a_rwnd: u32::from_be_bytes([w0, w1, w2, w3]),
            gaps: gaps.iter().copied().map(gap).collect::<Result<_, _>>()?,
            duplicates: duplicates.iter().map(|&word| SeqNum(u32::from_be_bytes(word))).collect(),
        })
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        out.put_u32(self.cumulative.0);
        out.put_u32(self.a_rwnd);
        // A packet has at most 65,535 bytes: fewer than 65,536 of either.
        out.put_u16(self.gaps.len() as u16);
        out.put_u16(self.duplicates.len() as u16);
        for gap in &self.gaps {
            out.put_u16(gap.start);
            out.put_u16(gap.end);
        }
        self.duplicates.iter().for_each(|tsn| out.put_u32(tsn.0));
    }

    pub(super) fn value_len(&self) -> usize {
        Self::chunk_len(self.gaps.len(), self.duplicates.len()) - super::CHUNK_HEADER_LEN
    }
}

fn gap([s0, s1, e0, e1]: [u8; 4]) -> Result<Gap, ParseError> {
    let (start, end) = (u16::from_be_bytes([s0, s1]), u16::from_be_bytes([e0, e1]));
    if start == 0 || start > end { Err(ParseError::Gap { start, end }) } else { Ok(Gap { start, end }) }
}
