//! SCTP packets (RFC 9260 §3): the common header with its `CRC32c`, chunks, parameters and error causes.
//!
//! [`Packet::parse`] keeps the contract of [`crate::Packet::parse`]: it never panics, never reads beyond the bytes, and an error says
//! what was expected. What it returns has a form on the wire that parses back to the same packet. Chunks and parameters that nobody
//! here knows are kept: what becomes of them is for the association to say (§3.2, §3.2.1).

mod cause;
mod chunk;
mod data;
mod error;
mod init;
mod parameter;
mod sack;
mod tlv;

use bytes::{BufMut, Bytes};

use crate::checksum::Checksums;

pub use cause::{Cause, code};
pub use chunk::{Action, Chunk};
pub use data::Data;
pub use error::{Element, EmitError, ParseError};
pub use init::Init;
pub use parameter::Parameter;
pub use sack::{Gap, Sack};

/// The protocol number in an IP header (RFC 9260 §15).
pub const PROTOCOL: u8 = 132;

/// The port of SCTP in UDP (RFC 6951 §5.1).
pub const UDP_PORT: u16 = 9899;

/// Bytes of the common header (§3.1).
pub const HEADER_LEN: usize = 12;

/// Bytes of a chunk's header (§3.2).
pub const CHUNK_HEADER_LEN: usize = 4;

/// Bytes of a DATA chunk before the user data (§3.3.1).
pub const DATA_HEADER_LEN: usize = 16;

/// The most bytes of a packet: what the length field of an IPv6 header can state.
pub const MAX_LEN: usize = u16::MAX as usize;

/// Where the checksum stands (§3.1).
const CHECKSUM: std::ops::Range<usize> = 8..12;

/// An SCTP packet (§3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// The verification tag.
    pub tag: u32,
    /// The chunks, in the order of the wire.
    pub chunks: Vec<Chunk>,
}

impl Packet {
    /// Reads the payload of an IP packet of protocol [`PROTOCOL`], or of a UDP datagram (RFC 6951).
    ///
    /// # Errors
    /// Where the checksum is wrong and to be verified, or a length or a field is not what §3 says.
    pub fn parse(bytes: &Bytes, checksums: Checksums) -> Result<Self, ParseError> {
        if bytes.len() > MAX_LEN {
            return Err(ParseError::TooLong { len: bytes.len() });
        }
        let Some((&[s0, s1, d0, d1, t0, t1, t2, t3, c0, c1, c2, c3], _)) =
            bytes.split_first_chunk::<HEADER_LEN>()
        else {
            return Err(ParseError::truncated(Element::CommonHeader, HEADER_LEN, bytes.len()));
        };
        if checksums == Checksums::Verify {
            let (found, expected) = (u32::from_le_bytes([c0, c1, c2, c3]), checksum(bytes));
            if found != expected {
                return Err(ParseError::Checksum { found, expected });
            }
        }
        Ok(Self {
            src_port: u16::from_be_bytes([s0, s1]),
            dst_port: u16::from_be_bytes([d0, d1]),
            tag: u32::from_be_bytes([t0, t1, t2, t3]),
            chunks: chunk::parse_all(&bytes.slice(HEADER_LEN..))?,
        })
    }

    /// The bytes of the packet, its checksum included.
    ///
    /// # Errors
    /// Where a chunk, or something in it, is longer than its length field can say, or the packet than [`MAX_LEN`].
    pub fn emit(&self) -> Result<Bytes, EmitError> {
        let len = self.wire_len();
        if len > MAX_LEN {
            return Err(EmitError::TooLong { len });
        }
        let mut out = Vec::with_capacity(len);
        out.put_u16(self.src_port);
        out.put_u16(self.dst_port);
        out.put_u32(self.tag);
        out.put_u32(0);
        for chunk in &self.chunks {
            chunk.emit(&mut out);
        }
        let sum = checksum(&out);
        // RFC 9260 appendix A: the CRC's bytes go in the order in which a little-endian machine keeps them.
        out[CHECKSUM].copy_from_slice(&sum.to_le_bytes());
        Ok(out.into())
    }

    /// Bytes of the packet on the wire.
    pub fn wire_len(&self) -> usize {
        HEADER_LEN + self.chunks.iter().map(Chunk::wire_len).sum::<usize>()
    }
}

/// `CRC32c` over the packet, its checksum taken as zero (RFC 9260 §6.8, appendix A).
fn checksum(packet: &[u8]) -> u32 {
    let before = crc32c::crc32c(&packet[..CHECKSUM.start]);
    crc32c::crc32c_append(crc32c::crc32c_append(before, &[0; 4]), &packet[CHECKSUM.end..])
}

/// The length with the padding to four bytes (§3.2).
const fn padded(len: usize) -> usize {
    len.next_multiple_of(4)
}
