//! DATA (§3.3.1).

use bytes::{BufMut, Bytes};
use handfast_core::SeqNum;

use super::error::{Element, ParseError};
use super::{CHUNK_HEADER_LEN, DATA_HEADER_LEN};

/// Bytes of the fixed fields behind the chunk's header.
const FIXED_LEN: usize = DATA_HEADER_LEN - CHUNK_HEADER_LEN;

/// A message, or a fragment of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Data {
    /// The transmission sequence number.
    pub tsn: SeqNum,
    /// The stream.
    pub stream: u16,
    /// The stream sequence number; nothing where `unordered`.
    pub ssn: u16,
    /// The payload protocol identifier: the application's.
    pub ppid: u32,
    /// U: to be delivered at once, whatever comes before it.
    pub unordered: bool,
    /// B: the first fragment of its message.
    pub begin: bool,
    /// E: the last fragment of its message.
    pub end: bool,
    /// I: the sender asks for a SACK at once (§3.3.1, §6.2).
    pub immediate: bool,
    /// User data.
    pub payload: Bytes,
}

impl Data {
    const END: u8 = 1;
    const BEGIN: u8 = 2;
    const UNORDERED: u8 = 4;
    const IMMEDIATE: u8 = 8;

    pub(super) fn parse(kind: u8, flags: u8, value: &Bytes) -> Result<Self, ParseError> {
        let Some(&[t0, t1, t2, t3, s0, s1, n0, n1, p0, p1, p2, p3]) = value.first_chunk::<FIXED_LEN>() else {
            return Err(ParseError::truncated(Element::Chunk(kind), FIXED_LEN, value.len()));
        };
        Ok(Self {
            tsn: SeqNum(u32::from_be_bytes([t0, t1, t2, t3])),
            stream: u16::from_be_bytes([s0, s1]),
            ssn: u16::from_be_bytes([n0, n1]),
            ppid: u32::from_be_bytes([p0, p1, p2, p3]),
            unordered: flags & Self::UNORDERED != 0,
            begin: flags & Self::BEGIN != 0,
            end: flags & Self::END != 0,
            immediate: flags & Self::IMMEDIATE != 0,
            payload: value.slice(FIXED_LEN..),
        })
    }

    pub(super) fn flags(&self) -> u8 {
        let bits = [
            (self.end, Self::END),
            (self.begin, Self::BEGIN),
            (self.unordered, Self::UNORDERED),
            (self.immediate, Self::IMMEDIATE),
        ];
        bits.iter().filter(|(is, _)| *is).map(|(_, bit)| bit).sum()
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        out.put_u32(self.tsn.0);
        out.put_u16(self.stream);
        out.put_u16(self.ssn);
        out.put_u32(self.ppid);
        out.put_slice(&self.payload);
    }

    pub(super) fn value_len(&self) -> usize {
        FIXED_LEN + self.payload.len()
    }

    /// Bytes of the chunk without padding: what counts as outstanding (§7).
    pub fn chunk_len(&self) -> usize {
        DATA_HEADER_LEN + self.payload.len()
    }
}
